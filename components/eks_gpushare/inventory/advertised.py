"""What nodes advertise to the scheduler, by the device plugin that is there and its configuration.

Counts follow `sharing.resources`, from which the pools of a stack are planned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.catalog import why_no_mig
from eks_gpushare.documents.device_plugin import PluginConfig
from eks_gpushare.inventory.bottlerocket import own_config, own_plugin
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.mig_states import UNKNOWN_GPUS, MigState, mig_state
from eks_gpushare.inventory.nodes import CATALOG, NodeKind, gpu_nodes, without_operands
from eks_gpushare.inventory.plugin_configs import config_for, configs_of, written_config
from eks_gpushare.inventory.scheduling import landing
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, SHARED_SUFFIX, mig_resource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory

_MIG_DEVICE = re.compile(re.escape(MIG_PREFIX) + r"([0-9]+)g\.([0-9]+)gb")
"""Of a device, and of what of it is given out by other names, slices and memory."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What nodes of one kind have for pods."""

    kind: NodeKind
    resources: Mapping[str, int | None] | None
    """Extended resources of NVIDIA by name with how many a node has, None where that is not known;
    None altogether where not even the names are known."""
    mig: MigState
    """What MIG makes of their GPUs."""
    config: PluginConfig | None = None
    """What the plugin goes by."""
    plugins: tuple[Daemon, ...] = field(default=())
    """Device plugins that are there."""

    def has(self, resource: str) -> bool | None:
        """Whether nodes have a resource, None where that is not known."""
        if self.resources is None:
            return False if lacks_for_ever(self.kind, resource) else None
        return resource in self.resources and self.resources[resource] != 0

    def is_shared(self, resource: str) -> bool:
        """Whether pods take turns on what one of a resource stands for."""
        if self.config is None:
            return resource.endswith(SHARED_SUFFIX)
        base = resource.removesuffix(SHARED_SUFFIX)
        return self.config.replicas.get(base, 1) > 1


class Offers(NamedTuple):
    """What all nodes with GPUs of a cluster have."""

    every: tuple[Offer, ...]

    def by_nodes(self) -> dict[int, list[Offer]]:
        """Them by the `id` of the declaration of their nodes: one for each instance type."""
        found: dict[int, list[Offer]] = {}
        for offer in self.every:
            found.setdefault(id(offer.kind.nodes), []).append(offer)
        return found

    def names(self) -> tuple[str, ...]:
        """All resources that any of them is known to have, each once."""
        return tuple(
            dict.fromkeys(
                name for offer in self.every for name in offer.resources or {} if offer.has(name)
            )
        )


@kept
def offers(inventory: Inventory, cluster: str) -> Offers:
    """What the nodes with GPUs of a cluster advertise."""
    plugins = tuple(daemon for daemon in daemons(inventory, cluster) if daemon.role == "plugin")
    return Offers(
        tuple(
            _offer(inventory, kind, plugins)
            for kind in gpu_nodes(inventory, cluster)
            if not kind.is_partial
        )
    )


def _offer(inventory: Inventory, kind: NodeKind, plugins: tuple[Daemon, ...]) -> Offer:
    planned = _planned(kind)
    # What a plan says has been checked, and does not follow from labels alone.
    state = mig_state(inventory, kind) if planned is None else UNKNOWN_GPUS
    if own_plugin(kind.nodes):
        config = own_config(kind.nodes)
    elif kind.serves_itself:  # EKS Auto Mode, which shares nothing
        config = PluginConfig()
    else:
        plugins = serving(plugins, kind)
        config = _config(inventory, kind, plugins)
    if planned is not None:
        return Offer(kind, planned, state, config, plugins)
    if config is None:
        return Offer(kind, None, state, plugins=plugins)
    return Offer(kind, _resources(kind, state, config), state, config, plugins)


def _planned(kind: NodeKind) -> Mapping[str, int | None] | None:
    """What a plan says that nodes have."""
    if kind.nodes.advertised is None or kind.type is None:
        return None
    has = kind.nodes.advertised.get(kind.type.name, {})
    return {name: count for name, count in has.items() if is_gpu_resource(name)}


def serving(plugins: tuple[Daemon, ...], kind: NodeKind) -> tuple[Daemon, ...]:
    """Those of some DaemonSets that are for nodes, which feature discovery has labelled."""
    found = (
        daemon for daemon in plugins if not (daemon.of_operator and without_operands(kind.nodes))
    )
    return tuple(
        daemon for daemon in found if not landing(daemon.spec, kind.nodes.taints, kind.label).labels
    )


def _config(
    inventory: Inventory, kind: NodeKind, plugins: tuple[Daemon, ...]
) -> PluginConfig | None:
    """What the one plugin goes by; of several, or of one that is not here, nothing is known."""
    if len(plugins) != 1:
        return None
    item = plugins[0].item
    if isinstance(item, Workload):
        return written_config(inventory, item, kind)
    configs = configs_of(inventory, item)
    return None if configs is None else config_for(configs, kind)


def _resources(
    kind: NodeKind, state: MigState, config: PluginConfig
) -> Mapping[str, int | None] | None:
    devices = _devices(kind, state, config.mig_strategy)
    if devices is None:
        return None
    on_mig = config.mig_strategy != "none" and bool(state.instances)
    if config.sharing == "mps" and on_mig:
        return {}  # the plugin stops: MPS is not for MIG devices
    return _shared(devices, config)


def _devices(kind: NodeKind, state: MigState, strategy: str) -> Mapping[str, int | None] | None:
    """Devices by resource before any is shared; none at all where the plugin stops."""
    if strategy == "none":
        return {GPU: kind.type.gpu_count if kind.type else None}
    if state.instances is None:
        if state.problems and kind.type is not None and why_no_mig(kind.type) is not None:
            return {GPU: kind.type.gpu_count}  # which stay as they are
        return {} if state.problems else None
    if not state.instances:
        return {GPU: state.whole} if state.whole != 0 else {}
    if strategy == "mixed":
        whole: dict[str, int | None] = {GPU: state.whole} if state.whole else {}
        return whole | {mig_resource(name): count for name, count in state.instances.items()}
    uniform = len(state.instances) == 1 and not state.whole
    return {GPU: sum(state.instances.values())} if uniform else {}


def _shared(devices: Mapping[str, int | None], config: PluginConfig) -> dict[str, int | None]:
    """Devices as pods see them: as many shares of each, by another name where they are renamed."""
    found: dict[str, int | None] = {}
    for name, count in devices.items():
        replicas = config.replicas.get(name)
        if replicas is None:
            found[name] = count
        else:
            called = name + SHARED_SUFFIX if config.renamed else name
            found[called] = None if count is None else count * replicas
    return found


def lacks_for_ever(kind: NodeKind, resource: str) -> bool:
    """Whether a resource is a MIG device that the GPUs of nodes cannot be cut into.

    That is so whatever plugin they get, and however it is configured.
    """
    asked = _MIG_DEVICE.match(resource)
    if asked is None or kind.type is None:
        return False
    if why_no_mig(kind.type) is not None:
        return True
    model = None if kind.type.gpu is None else CATALOG.mig_model(kind.type.gpu)
    if model is None:
        return False
    sizes = (_MIG_DEVICE.match(mig_resource(name)) for name in model.profiles)
    return asked.groups() not in [size.groups() for size in sizes if size is not None]


def is_gpu_resource(name: str) -> bool:
    """Whether a resource is one that NVIDIA's device plugin gives out."""
    return name in (GPU, GPU + SHARED_SUFFIX) or name.startswith(MIG_PREFIX)
