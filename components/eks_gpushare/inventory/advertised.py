"""What nodes advertise to the scheduler, by the device plugin that is there and its configuration.

Counts follow `sharing.resources`, from which the pools of a stack are planned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.nodes import NodeKind, gpu_nodes
from eks_gpushare.inventory.plugin_configs import config_for, configs_of
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, SHARED_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.documents.device_plugin import PluginConfig
    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory


@dataclass(frozen=True, slots=True)
class Offer:
    """What nodes of one kind have for pods."""

    kind: NodeKind
    resources: Mapping[str, int | None] | None
    """Extended resources of NVIDIA by name with how many a node has, None where that is not known;
    None altogether where not even the names are known."""
    config: PluginConfig | None = None
    """What the plugin goes by."""
    plugins: tuple[Daemon, ...] = field(default=())
    """Device plugins that are there."""

    def has(self, resource: str) -> bool | None:
        """Whether nodes have a resource, None where that is not known."""
        if self.resources is None:
            return None
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

    def names(self) -> tuple[str, ...]:
        """All resources that any of them is known to have, each once."""
        return tuple(
            dict.fromkeys(
                name for each in self.every for name in each.resources or {} if each.has(name)
            )
        )


def offers(inventory: Inventory, cluster: str) -> Offers:
    """What the nodes with GPUs of a cluster advertise."""
    plugins = tuple(each for each in daemons(inventory, cluster) if each.role == "plugin")
    return Offers(
        tuple(
            _offer(inventory, kind, plugins)
            for kind in gpu_nodes(inventory, cluster)
            if kind.nodes.provisioner != "byHand"
        )
    )


def _offer(inventory: Inventory, kind: NodeKind, plugins: tuple[Daemon, ...]) -> Offer:
    if kind.serves_itself:
        return Offer(kind, None)
    config = _config(inventory, kind, plugins)
    if config is None:
        return Offer(kind, None, plugins=plugins)
    return Offer(kind, _resources(kind, config), config, plugins)


def _config(
    inventory: Inventory, kind: NodeKind, plugins: tuple[Daemon, ...]
) -> PluginConfig | None:
    """What the one plugin goes by; of several, or of one without values, nothing is known."""
    if len(plugins) != 1 or not isinstance(plugins[0].item, Release):
        return None
    configs = configs_of(inventory, plugins[0].item)
    return None if configs is None else config_for(configs, kind)


def _resources(kind: NodeKind, config: PluginConfig) -> Mapping[str, int | None] | None:
    if config.mig_strategy != "none":
        return None
    return _shared({GPU: kind.type.gpu_count if kind.type else None}, config)


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


def is_gpu_resource(name: str) -> bool:
    """Whether a resource is one that NVIDIA's device plugin gives out."""
    return name in (GPU, GPU + SHARED_SUFFIX) or name.startswith(MIG_PREFIX)
