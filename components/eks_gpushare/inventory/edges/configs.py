"""From the ConfigMap of the device plugin to the nodes: name, namespace, key, label.

Source: `cmd/config-manager` of NVIDIA/k8s-device-plugin and `controllers/object_controls.go` of
NVIDIA/gpu-operator, at the versions in `catalog.versions`.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.catalog.chart_releases import chart_history, parse_version
from eks_gpushare.documents.device_plugin import DocumentError, device_plugin_config
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import serving
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release, Workload
from eks_gpushare.inventory.nodes import NodeKind, gpu_nodes
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.plugin_configs import (
    Configs,
    config_paths,
    configs_of,
    find_map,
    is_installed,
    may_be_there,
)
from eks_gpushare.inventory.problem import Edit, NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start, if_missing
from eks_gpushare.sharing.labels import CONFIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.catalog.chart_releases import Ability
    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_CLOSE = 0.8
_FILLED_IN = re.compile(r"(?m)\{\{|\{%|\$\{|[A-Z0-9_]\|-\S|^ *[A-Z][A-Z0-9-]*_[A-Z0-9_-]*\s*$")
MAP_MISSING = rule_of("GPU1120")
MAP_UNUSED = rule_of("GPU1121")
KEY_MISSING = rule_of("GPU1122")
NO_KEY = rule_of("GPU1123")
LABEL_UNREAD = rule_of("GPU1124")
NO_YAML = rule_of("GPU1125")
OLD_CHART = rule_of("GPU1126")


@edge(NO_YAML, OLD_CHART)
def configurations(inventory: Inventory) -> Iterator[Judgement]:
    """Each text that a release reads, and what it takes of the chart's version."""
    for cluster in inventory.clusters():
        for release in inventory.of(Release, cluster):
            if chart_of(release.chart) not in (PLUGIN_CHART, OPERATOR_CHART):
                continue
            configs = configs_of(inventory, release)
            if configs is not None and configs.is_there:
                yield from _readable(inventory, configs)
                yield from _old(configs)


def _readable(inventory: Inventory, configs: Configs) -> Iterator[Problem]:
    for key, given in pairs(configs.documents):
        if not isinstance(given, str) or (wrong := not_yaml(given)) is None:
            continue
        release = configs.release
        found = find_map(inventory, release, configs.map_name) if configs.map_name else None
        source = release.source
        place: FieldPath = ("data", key)
        if found is not None:
            source = found.source
        else:
            inner = "data" if chart_of(release.chart) == OPERATOR_CHART else "map"
            place = value_place(release, (*config_paths(release), inner))
        yield Problem(
            NO_YAML,
            source,
            place,
            f"The configuration {key} of {source.name} is no YAML: {wrong}.",
            "Correct the text; `eks-gpushare lint` reads it as the device plugin does.",
        )


def not_yaml(given: str) -> str | None:
    """What a parser says of the first document of a text, None if it reads it.

    What a program fills in before anything reads it, such as `{{ .Env.REPLICAS }}`, is not known.
    """
    if _FILLED_IN.search(given):
        return None
    from eks_gpushare.documents.go_yaml import first_document

    try:
        first_document(given)
    except ValueError as error:
        return str(error).removeprefix("yaml: ")
    return None


def _old(configs: Configs) -> Iterator[Problem]:
    release = configs.release
    chart = chart_of(release.chart) or ""
    history = chart_history(chart)
    version = None if release.version is UNKNOWN else parse_version(str(release.version))
    if history is None or version is None:
        return
    wanted: list[tuple[Ability, str]] = [("config", "configurations by ConfigMap")]
    texts = [str(pair) for _, pair in pairs(configs.documents) if isinstance(pair, str)]
    if any(_shares_by_mps(text) for text in texts):
        wanted.append(("mps", "sharing by MPS"))
    for ability, what in wanted:
        since = history.since[ability]
        if version < (parse_version(since) or version):
            yield Problem(
                OLD_CHART,
                release.source,
                (),
                f"{at_start(release.source.name)} is of version {release.version} of {chart}, and "
                f"{what} came with {since}.",
                f"Take {since} or later; {history.newest} is the newest that is known.",
            )
            return


def _shares_by_mps(given: str) -> bool:
    """Whether a configuration shares GPUs by MPS."""
    try:
        return device_plugin_config(given).sharing == "mps"
    except DocumentError:
        return False


@edge(MAP_MISSING, KEY_MISSING, NO_KEY, LABEL_UNREAD)
def closure(inventory: Inventory) -> Iterator[Judgement]:
    """From the values to the ConfigMap, and from the nodes' labels to its keys."""
    for cluster in inventory.clusters():
        plugins = tuple(daemon for daemon in daemons(inventory, cluster) if daemon.role == "plugin")
        kinds = [node for node in gpu_nodes(inventory, cluster) if not node.serves_itself]
        anywhere = _anywhere(inventory, plugins)
        for plugin in plugins:
            if not isinstance(plugin.item, Release):
                continue
            configs = configs_of(inventory, plugin.item)
            if configs is None:
                yield NotSeen(MAP_MISSING, plugin.source, f"the values of {plugin.source.name}")
                continue
            served = [kind for kind in kinds if plugin in serving((plugin,), kind)]
            yield from _map(inventory, configs)
            yield from _default(inventory, configs)
            if not _may_have_more(inventory, configs) and (configs.is_there or not anywhere):
                yield from _of_nodes(configs, served)
        if not plugins and inventory.complete:
            yield from _of_no_plugin(kinds)


def _of_no_plugin(kinds: Sequence[NodeKind]) -> Iterator[Judgement]:
    for nodes in {id(kind.nodes): kind.nodes for kind in kinds}.values():
        given = None if nodes.labels is UNKNOWN else nodes.labels.get(CONFIG_LABEL)
        if given and given is not UNKNOWN:
            yield Problem(
                LABEL_UNREAD,
                nodes.source,
                ("labels", CONFIG_LABEL),
                f"{at_start(nodes.source.name)} has the label {CONFIG_LABEL}={text(given)}, and "
                "nothing brings a device plugin that reads it.",
                "Install the chart nvidia-device-plugin with `config.name`, or remove the label.",
            )


def _anywhere(inventory: Inventory, plugins: Iterable[Daemon]) -> bool:
    """Whether another release of a plugin has configurations, as after an upgrade in a guide."""
    found = [
        configs_of(inventory, daemon.item) for daemon in plugins if isinstance(daemon.item, Release)
    ]
    return any(config is None or config.is_there for config in found)


def _map(inventory: Inventory, configs: Configs) -> Iterator[Judgement]:
    release, name = configs.release, configs.map_name
    if name is UNKNOWN:
        yield NotSeen(MAP_MISSING, release.source, f"the ConfigMap of {release.source.name}")
        return
    if not name or configs.documents is not UNKNOWN or find_map(inventory, release, name):
        return
    if may_be_there(inventory, release):
        yield NotSeen(MAP_MISSING, release.source, f"whether there is the ConfigMap {name}")
        return
    place = value_place(release, (*config_paths(release), "name"))
    elsewhere = [
        config_map
        for config_map in inventory.of(ConfigMap, release.cluster)
        if config_map.name == name
    ]
    if elsewhere:
        message = (
            f"{at_start(release.source.name)} is in the namespace {release.namespace}, and the "
            f"ConfigMap {name} in {elsewhere[0].namespace}. A pod reads ConfigMaps of its own "
            "namespace only."
        )
        fix = f"Make the ConfigMap in the namespace {release.namespace}."
        yield Problem(MAP_MISSING, release.source, place, message, fix)
        return
    message = f"{at_start(release.source.name)} names the ConfigMap {name}, which is not here."
    known = release.namespace is not UNKNOWN
    space = f"the namespace {release.namespace}" if known else "the namespace of the release"
    path = ".".join(map(str, place))
    fix = f"Make it in {space} before the chart, or correct `{path}`."
    severity = if_missing(inventory)
    beside = [
        str(each.name)
        for each in inventory.of(ConfigMap, release.cluster)
        if each.name is not UNKNOWN and may_be_same(each.namespace, release.namespace)
    ]
    if severity is not None and (near := get_close_matches(str(name), beside, 1, _CLOSE)):
        severity, fix = "warning", f"Write {near[0]}, which is here, if that was meant."
    yield Problem(MAP_MISSING, release.source, place, message, fix, severity)


def _may_have_more(inventory: Inventory, configs: Configs) -> bool:
    """Whether the ConfigMap may have further keys, of a part of one that does not say which."""
    return bool(configs.map_name) and may_be_there(inventory, configs.release)


def _default(inventory: Inventory, configs: Configs) -> Iterator[Judgement]:
    key, documents, release = configs.default, configs.documents, configs.release
    if not configs.is_there or documents is UNKNOWN or not key or key in documents:
        return
    if key is UNKNOWN or _may_have_more(inventory, configs):
        yield NotSeen(KEY_MISSING, release.source, f"the default of {release.source.name}")
        return
    yield Problem(
        KEY_MISSING,
        release.source,
        value_place(release, (*config_paths(release), "default")),
        f"The default of {release.source.name} is {key}, and its configurations are "
        f"{_listed(documents)}.",
        "Name one of those, or add the key to the ConfigMap.",
    )


def _listed(documents: Mapping[str, Any]) -> str:
    return ", ".join(documents) or "none"


def _of_nodes(configs: Configs, kinds: Sequence[NodeKind]) -> Iterator[Judgement]:
    release = configs.release
    declared: dict[int, NodeKind] = {}
    for kind in kinds:
        declared.setdefault(id(kind.nodes), kind)
    for kind in declared.values():
        label = kind.label(CONFIG_LABEL)
        nodes = kind.nodes
        own = nodes.labels is not UNKNOWN and CONFIG_LABEL in nodes.labels
        at_label = ("labels", CONFIG_LABEL)
        if not configs.is_there:
            if own and label is not UNKNOWN:
                yield Problem(
                    LABEL_UNREAD,
                    nodes.source,
                    at_label,
                    f"{at_start(nodes.source.name)} has the label {CONFIG_LABEL}={text(label)}, "
                    f"and {release.source.name} has no ConfigMap with configurations.",
                    f"Set `{'.'.join(config_paths(release))}.name` of the chart to the ConfigMap, "
                    "or remove the label.",
                )
            continue
        if configs.documents is UNKNOWN or (label is UNKNOWN and own):
            continue
        if own and label not in configs.documents:
            yield Problem(
                KEY_MISSING,
                nodes.source,
                at_label,
                f"{at_start(nodes.source.name)} has the label {CONFIG_LABEL}={label}, and the "
                f"configurations of {release.source.name} are {_listed(configs.documents)}.",
                "Give the label one of those, or add the key to the ConfigMap.",
            )
        elif label is None and nodes.provisioner != "byHand":
            some = any(each.label(CONFIG_LABEL) for each in kinds)
            yield from _without_label(configs, nodes, "info" if some else "warning")


def _without_label(configs: Configs, nodes: NodeSet, severity: Severity) -> Iterator[Problem]:
    key, documents = configs.key_without_label(), configs.documents
    if key is UNKNOWN or documents is UNKNOWN or not documents or key:
        return
    release = configs.release
    of_operator = chart_of(release.chart) == OPERATOR_CHART
    if key == "" and not of_operator:  # the values ask for it
        return
    then = "GPUs are not shared" if of_operator else "the plugin's pod crashes"
    only = list(documents)
    path = (*config_paths(release), "default")
    place = value_place(release, path)
    yield Problem(
        NO_KEY,
        release.source,
        place[:-1],
        f"{at_start(release.source.name)} has the configurations {_listed(documents)} and no "
        f"default, and {nodes.source.name} has no label {CONFIG_LABEL}: {then}.",
        f"Set `{'.'.join(path)}` to one of them, or give the nodes the label.",
        severity if of_operator else None,
        edits=(Edit("set", place, only[0]),) if severity != "info" and len(only) == 1 else (),
    )


@edge(MAP_UNUSED)
def unused_maps(inventory: Inventory) -> Iterator[Judgement]:
    """ConfigMaps that look like what the plugin reads and that nothing names."""
    for cluster in inventory.clusters():
        maps = [
            config_map
            for config_map in inventory.of(ConfigMap, cluster)
            if is_plugin_map(config_map)
        ]
        releases = [
            release
            for release in inventory.of(Release, cluster)
            if chart_of(release.chart) in (PLUGIN_CHART, OPERATOR_CHART)
        ]
        written = [
            daemon
            for daemon in daemons(inventory, cluster)
            if daemon.role == "plugin" and isinstance(daemon.item, Workload)
        ]
        if not maps or not (releases or written or inventory.complete):
            continue
        names = _named(inventory, cluster, releases)
        for config_map in maps:
            if config_map.name is UNKNOWN or UNKNOWN in names:
                what = "the name of" if config_map.name is UNKNOWN else "whether anything names"
                yield NotSeen(MAP_UNUSED, config_map.source, f"{what} {config_map.source.name}")
            elif config_map.name not in names:
                yield _unused(config_map, releases, written)


def _named(inventory: Inventory, cluster: str, releases: Sequence[Release]) -> list[Any]:
    """Names of ConfigMaps that something reads."""
    found = [text(at(release.values, *config_paths(release), "name")) for release in releases]
    for workload in inventory.of(Workload, cluster):
        volumes = at(workload.spec, "volumes")
        found += [UNKNOWN] if has_unknown(volumes) else _mounted(volumes)
    return found


def _mounted(volumes: Any) -> Iterator[Any]:
    for volume in items(volumes):
        yield at(volume, "configMap", "name")
        for source in items(at(volume, "projected", "sources")):
            yield at(source, "configMap", "name")


def _unused(found: ConfigMap, releases: Sequence[Release], written: Sequence[Daemon]) -> Problem:
    if releases:
        release = releases[0]
        path = (*config_paths(release), "name")
        given = at(release.values, *path)
        said = f"names {text(given)}" if given else "names none"
        fix = f"Set `{'.'.join(path)}: {found.name}` of the chart."
        if at(release.values, "config", "map"):  # the chart refuses both
            said, fix = "has its own in config.map", "Move it there, or remove it."
        who = f"{release.source.name} {said}"
    elif written:
        who = f"{written[0].title} mounts none of that name"
        fix = "Mount it and name its file by CONFIG_FILE, or use the chart with `config.name`."
    else:
        who = "nothing here names it"
        fix = "Name it in the values of the device plugin's chart."
    message = (
        f"{at_start(found.source.name)} holds a configuration of the device plugin, and {who}."
    )
    # Values that nothing installs may have `--set` beside them, or a patch of the ClusterPolicy.
    is_sure = not releases or written or any(map(is_installed, releases))
    return Problem(MAP_UNUSED, found.source, (), message, fix, None if is_sure else "info")


def is_plugin_map(found: ConfigMap) -> bool:
    """Whether a ConfigMap holds what the device plugin reads: a document that shares something."""
    return any(isinstance(document, str) and _shares(document) for _, document in pairs(found.data))


def _shares(document: str) -> bool:
    """Whether it is such a document, as far as it can be read, and no values that have one."""
    if "replicas" not in document or not ("timeSlicing" in document or "mps" in document):
        return False
    from eks_gpushare.documents.go_yaml import first_document

    try:
        content = first_document(document)
    except ValueError:
        return "sharing" in document
    return any(key.lower() == "sharing" for key, _ in pairs(content))
