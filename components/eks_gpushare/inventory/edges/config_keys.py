"""What of ConfigMaps is named amiss: keys, where something else stands for them, and namespaces.

Source: `config.default` and the label in the README of https://github.com/NVIDIA/k8s-device-plugin,
at the version in `catalog.versions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.edges.configs import MAP_MISSING, is_plugin_map
from eks_gpushare.inventory.edges.mig import OF_THE_OPERATOR
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.plugin_configs import config_paths, configs_of
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.labels import CONFIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.plugin_configs import Configs
    from eks_gpushare.inventory.problem import Judgement

KEY_MISSING = rule_of("GPU1122")
_WITH_MAPS: Final = ("devicePlugin", "migManager", "dcgmExporter")
"""What of the operator is configured by a ConfigMap."""


@edge(KEY_MISSING)
def keys(inventory: Inventory) -> Iterator[Judgement]:
    """What stands for a key: a whole configuration as the default, a ConfigMap's name as label."""
    for cluster in inventory.clusters():
        releases = [
            release
            for release in inventory.of(Release, cluster)
            if chart_of(release.chart) in (PLUGIN_CHART, OPERATOR_CHART)
        ]
        for release in releases:
            if (configs := configs_of(inventory, release)) is not None:
                yield from _whole(configs)
        if not releases:  # otherwise the labels are held against what those have
            yield from _names(inventory, cluster)


@edge(MAP_MISSING)
def maps_of_one_operator(inventory: Inventory) -> Iterator[Problem]:
    """ConfigMaps that a ClusterPolicy names, which has no namespace: the operator's is one.

    Where that is, these tell by themselves if they are in two.
    """
    for cluster in inventory.clusters():
        maps = inventory.of(ConfigMap, cluster)
        for release in inventory.of(Release, cluster):
            if chart_of(release.chart) == OPERATOR_CHART and release.namespace is UNKNOWN:
                yield from _apart(release, maps)


def _apart(release: Release, maps: Sequence[ConfigMap]) -> Iterator[Problem]:
    found: dict[str, list[tuple[str, str]]] = {}
    for part in _WITH_MAPS:
        name = _named_map(at(release.values, part))
        spaces = {each.namespace for each in maps if name and each.name == name}
        space = spaces.pop() if len(spaces) == 1 else None
        # What has none written gets that of whoever applies it.
        if isinstance(space, str) and space not in ("", "default"):
            found.setdefault(space, []).append((str(name), part))
    if len(found) > 1:
        listed = " and ".join(f"{of[0][0]} of namespace {space}" for space, of in found.items())
        (_, part), *_ = min(found.values(), key=len)
        yield Problem(
            MAP_MISSING,
            release.source,
            value_place(release, (part, "config", "name")),
            f"{at_start(release.source.name)} names the ConfigMaps {listed}. The operator's pods "
            "read ConfigMaps of their own namespace only.",
            "Make all of them in the namespace of the operator.",
        )


def _named_map(part: Any) -> Any:
    """The ConfigMap that a part of the operator reads and somebody else makes; None without one."""
    config = at(part, "config")
    name = text(at(config, "name"))
    is_own = at(config, "create") or at(config, "data") or name == OF_THE_OPERATOR
    return None if is_own or at(part, "enabled") in (False, UNKNOWN) else name


def _whole(configs: Configs) -> Iterator[Problem]:
    given, release = configs.default, configs.release
    if configs.is_there or not isinstance(given, str) or "\n" not in given.strip():
        return
    path = config_paths(release)
    inner = "data" if chart_of(release.chart) == OPERATOR_CHART else "map"
    yield Problem(
        KEY_MISSING,
        release.source,
        value_place(release, (*path, "default")),
        f"The default of {release.source.name} is a whole configuration. It is the key of one, so "
        "that nothing reads this.",
        f"Write it below a key of `{'.'.join(path)}.{inner}`, and that key as the default.",
    )


def _names(inventory: Inventory, cluster: str) -> Iterator[Problem]:
    every = inventory.of(ConfigMap, cluster)
    maps = {found.name: found for found in every if is_plugin_map(found)}
    known = {key for found in every for key, _ in pairs(found.data)}
    for nodes in inventory.of(NodeSet, cluster):
        label = None if nodes.labels is UNKNOWN else nodes.labels.get(CONFIG_LABEL)
        if not isinstance(label, str) or label not in maps or label in known:
            continue
        listed = [key for key, _ in pairs(maps[label].data)]
        yield Problem(
            KEY_MISSING,
            nodes.source,
            ("labels", CONFIG_LABEL),
            f"{at_start(nodes.source.name)} has the label {CONFIG_LABEL}={label}, which is the "
            f"name of a ConfigMap. Its configurations are {', '.join(listed)}.",
            f"Give the label one of those, such as {CONFIG_LABEL}={listed[0]}.",
        )
