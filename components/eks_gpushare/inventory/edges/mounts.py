"""ConfigMaps that DaemonSets for GPUs mount, written out or by a chart's values, with their keys.

Source: what the kubelet does with volumes, https://kubernetes.io/docs/concepts/storage/volumes/,
and `controllers/object_controls.go` of NVIDIA/gpu-operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import EXPORTER_CHART, OPERATOR_CHART, chart_of
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.daemons import role_of
from eks_gpushare.inventory.items import ConfigMap, Release, Workload
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.plugin_configs import file_of_map, find_map, plugin_settings
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


MOUNT_MISSING = rule_of("GPU1127")
FILE_MISSING = rule_of("GPU1128")
_OF_EVERY_NAMESPACE = ("kube-root-ca.crt",)
"""Kubernetes itself puts it into each."""
_CONFIG_FILE = "CONFIG_FILE"
"""The variable that does what the device plugin's --config-file does."""
_METRICS = ("dcgmExporter", "config", "name")


class _Use(NamedTuple):
    """That pods need a ConfigMap, or a key of it."""

    name: Any
    place: FieldPath
    """Of the name, below the source."""
    keys: tuple[tuple[Any, FieldPath], ...] = ()
    """Keys that have to be there, with their places."""


@edge(MOUNT_MISSING, FILE_MISSING)
def mounted(inventory: Inventory) -> Iterator[Judgement]:
    """Each against the ConfigMaps of its cluster and namespace."""
    for cluster in inventory.clusters():
        for workload in inventory.of(Workload, cluster):
            if workload.kind == "DaemonSet":
                yield from _of_daemon(inventory, workload)
        for release in inventory.of(Release, cluster):
            for use in _named_by(release):
                yield from _judged(inventory, release, use)


def _of_daemon(inventory: Inventory, workload: Workload) -> Iterator[Judgement]:
    role, title = role_of(workload.spec), workload.source.name
    if role is None:
        if inventory.complete and _runs_unknown(workload.spec):
            yield NotSeen(MOUNT_MISSING, workload.source, f"what {title} runs")
        return
    if _is_vague(workload.spec):
        yield NotSeen(MOUNT_MISSING, workload.source, f"what {title} mounts")
    missing: set[Any] = set()
    for use in _uses(workload):
        for problem in _judged(inventory, workload, use):
            # A ConfigMap that is not there is one mistake, wherever it is named.
            if problem.rule is not MOUNT_MISSING or use.name not in missing:
                yield problem
            if problem.rule is MOUNT_MISSING:
                missing.add(use.name)


def _runs_unknown(spec: Any) -> bool:
    listed = at(spec, "containers")
    return listed is UNKNOWN or any(at(item, "image") is UNKNOWN for item in items(listed))


def _is_vague(spec: Any) -> bool:
    """Whether pods may mount or read more than can be seen."""
    found = [at(spec, "volumes")]
    for _, container in containers(spec):
        found += [at(container, key) for key in ("volumeMounts", "envFrom", "command", "args")]
        variables = at(container, "env")
        found += [variables if variables is UNKNOWN else None]
        for one in items(variables):
            found += [at(one, key) for key in ("name", "valueFrom")]
            found += [at(one, "value")] if at(one, "name") == _CONFIG_FILE else []
    return has_unknown(found)


def _named_by(release: Release) -> Iterator[_Use]:
    """ConfigMaps that a chart's values name, and the chart does not make."""
    chart = chart_of(release.chart) or release.chart
    if chart == OPERATOR_CHART:
        if use := _metrics(release):
            yield use
        for operand, *path in _OF_OPERANDS:
            enabled = at(release.values, operand, "enabled")
            name = at(release.values, operand, *path)
            if (enabled is None or enabled is True) and name and isinstance(name, str):
                yield _Use(name, value_place(release, (operand, *path)))
    elif chart == EXPORTER_CHART:
        for number, volume in enumerate(items(at(release.values, *_VOLUMES))):
            place = value_place(release, (*_VOLUMES, str(number), "configMap"))
            yield from _source(at(volume, "configMap"), place)


_VOLUMES = ("extraConfigMapVolumes",)
"""Of dcgm-exporter, whose DaemonSet takes them so: `deployment/templates/daemonset.yaml`."""
_OF_OPERANDS = (
    ("driver", "kernelModuleConfig", "name"),
    ("driver", "repoConfig", "configMapName"),
    ("driver", "certConfig", "name"),
    ("driver", "licensingConfig", "configMapName"),
    ("driver", "virtualTopology", "config"),
    ("migManager", "gpuClientsConfig", "name"),
)
"""Of gpu-operator, which gives them to its DaemonSets as volumes."""


def _metrics(release: Release) -> _Use | None:
    """The ConfigMap with the exporter's metrics, which the chart does not make."""
    enabled = at(release.values, "dcgmExporter", "enabled")
    made = at(release.values, "dcgmExporter", "config", "create")
    if UNKNOWN in (enabled, made) or made or (enabled is not None and not enabled):
        return None
    name = at(release.values, *_METRICS)
    return _Use(name, value_place(release, _METRICS)) if name else None


def _uses(workload: Workload) -> Iterator[_Use]:
    """What the pods cannot start without."""
    every = list(containers(workload.spec))
    used = [at(item, "name") for _, one in every for item in items(at(one, "volumeMounts"))]
    for index, volume in enumerate(items(at(workload.spec, "volumes"))):
        # A volume that no container mounts is not set up.
        if at(volume, "name") not in used and UNKNOWN not in used:
            continue
        place = (*workload.spec_path, "volumes", index)
        for use in _source(at(volume, "configMap"), (*place, "configMap")):
            yield (
                use if use.keys else use._replace(keys=_parts_of(every, volume, workload.spec_path))
            )
        for number, source in enumerate(items(at(volume, "projected", "sources"))):
            inner = (*place, "projected", "sources", number, "configMap")
            yield from _source(at(source, "configMap"), inner)
    for where, container in every:
        yield from _environment(container, (*workload.spec_path, *where))
        yield from _files(workload, container, (*workload.spec_path, *where))


def _parts_of(
    every: Sequence[tuple[FieldPath, Any]], volume: Any, spec_path: FieldPath
) -> tuple[tuple[Any, FieldPath], ...]:
    """Keys that containers mount alone, by `subPath`."""
    return tuple(
        (at(mount, "subPath"), (*spec_path, *where, "volumeMounts", number, "subPath"))
        for where, container in every
        for number, mount in enumerate(items(at(container, "volumeMounts")))
        if at(mount, "name") == at(volume, "name") and at(mount, "subPath") is not None
    )


def _source(given: Any, place: FieldPath) -> Iterator[_Use]:
    if given is None or given is UNKNOWN or at(given, "optional") not in (None, False):
        return
    keys = tuple(
        (at(source, "key"), (*place, "items", number, "key"))
        for number, source in enumerate(items(at(given, "items")))
    )
    yield _Use(at(given, "name"), (*place, "name"), keys)


def _environment(container: Any, place: FieldPath) -> Iterator[_Use]:
    for number, source in enumerate(items(at(container, "envFrom"))):
        given = at(source, "configMapRef")
        yield from _source(given, (*place, "envFrom", number, "configMapRef"))
    for number, variable in enumerate(items(at(container, "env"))):
        given = at(variable, "valueFrom", "configMapKeyRef")
        for use in _source(given, (*place, "env", number, "valueFrom", "configMapKeyRef")):
            yield use._replace(keys=((at(given, "key"), (*use.place[:-1], "key")),))


def _files(workload: Workload, container: Any, place: FieldPath) -> Iterator[_Use]:
    """The device plugin's configuration, where its file is of a ConfigMap's volume."""
    if role_of({"containers": [container]}) != "plugin":
        return
    path = plugin_settings(container).get("config-file", "")
    found = file_of_map(workload, container, path) if isinstance(path, str) and path else None
    if found is not None:
        name, key = found
        parts = [at(container, part) for part in ("command", "args", "env", "volumeMounts")]
        if has_unknown([*parts, at(workload.spec, "volumes")]):
            key = UNKNOWN
        yield _Use(name, place, ((key, place),))


def _judged(inventory: Inventory, item: Workload | Release, use: _Use) -> Iterator[Judgement]:
    name, title = use.name, item.source.name
    if name in _OF_EVERY_NAMESPACE or not (name is UNKNOWN or (isinstance(name, str) and name)):
        return
    if name is UNKNOWN:
        yield NotSeen(MOUNT_MISSING, item.source, f"a ConfigMap of {title}")
        return
    maps = inventory.of(ConfigMap, item.cluster)
    here = [config_map for config_map in maps if may_be_same(config_map.namespace, item.namespace)]
    found = find_map(inventory, item, name)
    if found is not None:
        others = [config_map.data for config_map in here if config_map.name is UNKNOWN]
        yield from _keys(item, use, found, others)
    elif any(config_map.name is UNKNOWN for config_map in here):
        yield NotSeen(MOUNT_MISSING, item.source, f"whether there is the ConfigMap {name}")
    else:
        yield _missing(
            inventory, item, use, [config_map for config_map in maps if config_map.name == name]
        )


def _missing(
    inventory: Inventory, item: Workload | Release, use: _Use, elsewhere: list[ConfigMap]
) -> Problem:
    known = item.namespace is not UNKNOWN
    space = f"the namespace {item.namespace}" if known else "its namespace"
    but = f", which is in the namespace {elsewhere[0].namespace}" if elsewhere else ""
    of_charts = any(
        may_be_same(release.namespace, item.namespace)
        and release is not item
        and _may_make(release, str(use.name))
        for release in inventory.of(Release, item.cluster)
    )
    is_sure = elsewhere or (inventory.complete and not of_charts)
    not_here = "" if elsewhere else ", which is not here"
    return Problem(
        MOUNT_MISSING,
        item.source,
        use.place,
        f"{at_start(item.source.name)} mounts the ConfigMap {use.name}{but or not_here}.",
        f"Make it in {space}, or correct the name.",
        None if is_sure else "info",
    )


def _may_make(release: Release, name: str) -> bool:
    """Whether a chart may make a ConfigMap: those of NVIDIA name theirs as below, or by a value."""
    chart, told = chart_of(release.chart), release.values
    if chart is None or UNKNOWN in (told, release.name) or has_unknown(told):
        return True
    own = name.startswith(("default-", "nvidia-")) or chart in name or str(release.name) in name
    return own or f"'{name}'" in str(told)


def _keys(
    item: Workload | Release, use: _Use, found: ConfigMap, others: list[Any]
) -> Iterator[Judgement]:
    """Each key that it needs, which may also be of others whose name is not known."""
    for key, place in use.keys:
        if found.data is UNKNOWN or has_unknown([key]):
            yield NotSeen(FILE_MISSING, item.source, f"the keys of {found.source.name}")
        elif not isinstance(key, str) or key in found.data:
            continue
        elif any(keys is UNKNOWN or key in keys for keys in others):
            yield NotSeen(FILE_MISSING, item.source, f"whether another has {key}")
        else:
            known = ", ".join(name for name, _ in pairs(found.data)) or "none"
            yield Problem(
                FILE_MISSING,
                item.source,
                place,
                f"{at_start(item.source.name)} reads {text(key)} of {found.source.name}, whose "
                f"keys are {known}.",
                "Name one of those, or add the key to the ConfigMap.",
            )
