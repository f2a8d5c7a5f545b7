"""What nodes make of their GPUs by MIG: by a script of their boot, by MIG manager, or nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.catalog.mig import ALL_DISABLED
from eks_gpushare.config.sharing import MigGroup
from eks_gpushare.inventory.bottlerocket import own_plugin, profile_of
from eks_gpushare.inventory.daemons import role_of
from eks_gpushare.inventory.items import ConfigMap, Release, Workload
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.mig_commands import devices_made
from eks_gpushare.inventory.nodes import CATALOG
from eks_gpushare.inventory.plugin_configs import file_of_map, plugin_settings
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import scripts
from eks_gpushare.inventory.values import at, items, may_be_same, pairs, switch, text
from eks_gpushare.sharing.mig.layout import ALL_ENABLED, LayoutError, LayoutProblem, node_layout

if TYPE_CHECKING:
    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.sharing import Layout
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.inventory.source import Maybe

MIG_CONFIG_LABEL = "nvidia.com/mig.config"
"""Names what MIG manager makes of a node's GPUs."""
CONFIG_KEY = "config.yaml"
"""Key of MIG manager's ConfigMap."""
_OF_NVIDIA = re.compile(r"all-(balanced|disabled|enabled|[0-9]+g\.)")
"""What names of the layouts begin with that come with MIG manager."""
_BOOT = re.compile(r'MIG_LAYOUT="?([^"\n]*)')
_BY_HAND = re.compile(r"nvidia-smi\s+mig|nvidia-mig-parted")


@dataclass(frozen=True, slots=True)
class MigState:
    """What the GPUs of a node are."""

    by: Literal["nobody", "boot", "label", "bottlerocket"]
    """What makes it so."""
    instances: Mapping[str, int] | None
    """MIG devices of a node by profile; None where that is not known."""
    whole: int | None
    """GPUs that stay whole."""
    problems: Sequence[LayoutProblem] = ()
    """Why the GPUs cannot be so."""
    named: str = ""
    """Name of the layout, where it has one."""
    is_known_name: bool | None = True
    """Whether the layout of that name is there."""


UNKNOWN_GPUS = MigState("nobody", None, None)
"""GPUs of which nothing is known."""


def mig_state(inventory: Inventory, kind: NodeKind) -> MigState:
    """What the GPUs of a node are, as far as it can be told."""
    if own_plugin(kind.nodes):
        return _of_bottlerocket(kind)
    label = (
        kind.nodes.labels
        if kind.nodes.labels is UNKNOWN
        else kind.nodes.labels.get(MIG_CONFIG_LABEL)
    )
    if label is not UNKNOWN and label is not None:
        return _of_label(inventory, kind, str(text(label)))
    by_hand = MIG_CONFIG_LABEL in kind.by_hand
    if label is UNKNOWN or kind.nodes.user_data is UNKNOWN or by_hand:
        return UNKNOWN_GPUS
    booted = _BOOT.search(kind.nodes.user_data)
    if booted is not None:
        return _of_boot(kind, booted[1])
    script = scripts(kind.nodes.user_data)
    if _BY_HAND.search(script):
        return _of_commands(kind, script)
    return MigState("nobody", {}, kind.type.gpu_count if kind.type else None)


def _of_bottlerocket(kind: NodeKind) -> MigState:
    model = _model(kind.type)
    if model is None:
        return MigState("bottlerocket", {}, kind.type.gpu_count if kind.type else None)
    found = profile_of(kind.nodes, model)
    if found is None or kind.type is None:
        return MigState("bottlerocket", None, None)
    name, count = found
    return MigState("bottlerocket", {name: count * kind.type.gpu_count}, 0)


def _model(instance_type: InstanceType | None) -> Any:
    gpu = None if instance_type is None else instance_type.gpu
    return None if gpu is None else CATALOG.mig_model(gpu)


def _laid_out(kind: NodeKind, layout: Layout, by: Literal["boot", "label"], name: str) -> MigState:
    if kind.type is None:
        return MigState(by, None, None, named=name)
    try:
        found = node_layout(layout, kind.type, CATALOG)
    except LayoutError as error:
        return MigState(by, None, None, tuple(error.problems), name)
    return MigState(by, found.instances, found.whole, named=name)


def _of_boot(kind: NodeKind, written: str) -> MigState:
    """The layout of a node's own boot: `GPU=profile:start,...`, with `*` for all others."""
    model = _model(kind.type)
    if kind.type is None:
        return MigState("boot", None, None)
    numbers = {
        str(profile.smi_id): profile.name for profile in (model.profiles.values() if model else ())
    }
    entries = dict(entry.partition("=")[::2] for entry in written.split())
    per_gpu: list[dict[str, int]] = []
    for index in range(kind.type.gpu_count):
        devices: dict[str, int] = {}
        for item in filter(None, entries.get(str(index), entries.get("*", "")).split(",")):
            number = item.partition(":")[0]
            profile = numbers.get(number, number)
            devices[profile] = devices.get(profile, 0) + 1
        per_gpu.append(devices)
    return _of_devices(kind, per_gpu, "boot", "")


def _of_commands(kind: NodeKind, script: str) -> MigState:
    """What commands of nvidia-smi make of the GPUs, where it does not hang on the machine."""
    model = _model(kind.type)
    if kind.type is None:
        return MigState("boot", None, None)
    numbers = {
        str(profile.smi_id): profile.name for profile in (model.profiles.values() if model else ())
    }
    found = devices_made(script, kind.type.gpu_count, numbers)
    return MigState("boot", None, None) if found is None else _of_devices(kind, found, "boot", "")


def _of_devices(
    kind: NodeKind, per_gpu: Sequence[Mapping[str, int]], by: Literal["boot", "label"], name: str
) -> MigState:
    groups = tuple(
        MigGroup.model_construct(gpus=(index,), devices=dict(devices))
        for index, devices in enumerate(per_gpu)
        if devices
    )
    if not groups:
        return MigState(by, {}, len(per_gpu), named=name)
    return _laid_out(kind, groups, by, name)


def _of_label(inventory: Inventory, kind: NodeKind, name: str) -> MigState:
    if name == ALL_DISABLED:
        return MigState("label", {}, kind.type.gpu_count if kind.type else None, named=name)
    configs = mig_configs(inventory, kind.nodes.cluster)
    if configs is None:  # what MIG manager makes of the hardware itself
        if name == ALL_ENABLED:
            return MigState("label", {}, 0, named=name)
        if not inventory.complete and not is_of_nvidia(name):
            # Somebody's own, in a ConfigMap that is not here.
            return MigState("label", None, None, named=name, is_known_name=None)
        return _laid_out(kind, name, "label", name)
    if configs is UNKNOWN or name not in configs or kind.type is None:
        is_known = None if configs is UNKNOWN else name in configs
        return MigState("label", None, None, named=name, is_known_name=is_known)
    return _of_devices(kind, _per_gpu(configs[name], kind.type), "label", name)


def is_of_nvidia(name: str) -> bool:
    """Whether a name is one of the layouts that MIG manager makes of the hardware itself."""
    return bool(_OF_NVIDIA.match(name))


def _per_gpu(config: Any, instance_type: InstanceType) -> list[dict[str, int]]:
    """What mig-parted makes of each GPU: items apply in order, the later go over the former."""
    found: list[dict[str, int]] = [{} for _ in range(instance_type.gpu_count)]
    for item in items(config):
        if not _is_for(at(item, "device-filter"), instance_type):
            continue
        devices = {
            str(profile): count
            for profile, count in pairs(at(item, "mig-devices"))
            if isinstance(count, int) and count > 0
        }
        listed = at(item, "devices")
        meant = range(len(found)) if listed == "all" else items(listed)
        for index in meant:
            if isinstance(index, int) and 0 <= index < len(found):
                found[index] = devices if at(item, "mig-enabled") is True else {}
    return found


def _is_for(given: Any, instance_type: InstanceType) -> bool:
    """Whether an item's filter, device ids such as `0x20B010DE`, lets these GPUs through."""
    if given is None:
        return True
    model = _model(instance_type)
    ids = {f"{device_id}10DE".lower() for device_id in model.device_ids} if model else set()
    listed = [str(item).lower() for item in (items(given) or [given])]
    return not ids or any(device.partition(":")[0] in ids for device in listed)


@kept
def mig_configs(inventory: Inventory, cluster: str) -> Maybe[Mapping[str, Any] | None]:
    """The layouts of MIG manager's ConfigMap by name; None where it makes its own list."""
    for release in mig_managers(inventory, cluster):
        block: Maybe[Any] = at(release.values, "migManager", "config")
        if block is UNKNOWN:
            return UNKNOWN
        given = at(block, "data")
        name = text(at(block, "name"))
        if given:
            return layouts_of(at(given, CONFIG_KEY) if isinstance(given, dict) else given)
        if not name:
            return None
        found = next(
            (
                config_map
                for config_map in inventory.of(ConfigMap, cluster)
                if config_map.name == name
            ),
            None,
        )
        return layouts_of(at(found.data, CONFIG_KEY)) if found is not None else UNKNOWN
    return _of_daemon_sets(inventory, cluster)


def _of_daemon_sets(inventory: Inventory, cluster: str) -> Maybe[Mapping[str, Any] | None]:
    """The same of a MIG manager that is there as the operator makes it, such as in a cluster."""
    for workload in inventory.of(Workload, cluster):
        if role_of(workload.spec) != "migManager":
            continue
        for _, container in containers(workload.spec):
            path = plugin_settings(container).get("config-file", "")
            named = file_of_map(workload, container, path) if isinstance(path, str) else None
            if named is not None:
                return _of_map(inventory, workload, *named)
    return None


def _of_map(
    inventory: Inventory, workload: Workload, name: Any, key: Any
) -> Maybe[Mapping[str, Any] | None]:
    found = (
        config_map.data
        for config_map in inventory.of(ConfigMap, workload.cluster)
        if config_map.name == name and may_be_same(config_map.namespace, workload.namespace)
    )
    data = next(found, UNKNOWN)
    return UNKNOWN if data is UNKNOWN else layouts_of(at(data, key))


def mig_managers(inventory: Inventory, cluster: str) -> tuple[Release, ...]:
    """Releases of the GPU Operator whose MIG manager is on, as it is by default."""
    return tuple(
        release
        for release in inventory.of(Release, cluster)
        if chart_of(release.chart) == OPERATOR_CHART
        and (
            release.values is UNKNOWN
            or (on := at(release.values, "migManager", "enabled")) is None
            or switch(on)
        )
    )


def layouts_of(given: Any) -> Maybe[Mapping[str, Any] | None]:
    """The layouts of a text or a mapping by name; UNKNOWN where it is none of mig-parted's."""
    from eks_gpushare.documents.go_yaml import first_document

    if isinstance(given, str):
        try:
            given = first_document(given)
        except ValueError:
            return UNKNOWN
    configs: Any = at(given, "mig-configs")
    return dict(configs) if isinstance(configs, Mapping) else UNKNOWN
