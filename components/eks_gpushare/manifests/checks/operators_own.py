"""ConfigMaps of the GPU Operator: those that it writes itself, and those that its chart leaves out.

Sources: `createConfigMap` in controllers/object_controls.go of NVIDIA/gpu-operator, which writes
its own layouts of MIG unless others are named, and templates/plugin_config.yaml and
mig_config.yaml of its chart, which make no ConfigMap without data; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.documents.go_yaml import first_document
from eks_gpushare.inventory.edges.mig import OF_THE_OPERATOR
from eks_gpushare.inventory.items import ConfigMap, Release
from eks_gpushare.inventory.mig_states import is_of_nvidia
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, may_be_same, pairs
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.mig_parted import MADE_BY_OPERATOR, MAP_MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_KEY: Final = "config.yaml"
_CONFIGS: Final = (("devicePlugin", "config"), ("migManager", "config"))


@edge(MADE_BY_OPERATOR, MAP_MISSING)
def operators_own(inventory: Inventory) -> Iterator[Judgement]:
    """Of releases whose values are known."""
    for cluster in inventory.clusters():
        for release in inventory.of(Release, cluster):
            if chart_of(release.chart) != OPERATOR_CHART or not isinstance(release.values, dict):
                continue
            maps = inventory.of(ConfigMap, cluster)
            named = at(release.values, "migManager", "config", "name")
            is_on = at(release.values, "migManager", "enabled") in (None, True)
            for each in maps if is_on and named in (None, "", OF_THE_OPERATOR) else ():
                yield from _overwritten(release, each)
            yield from _without_data(release, maps)


def _overwritten(release: Release, given: ConfigMap) -> Iterator[Problem]:
    """Layouts of one's own under the name of those that the operator writes."""
    if given.name != OF_THE_OPERATOR or not may_be_same(given.namespace, release.namespace):
        return
    if at(value_of(given), "metadata", "ownerReferences"):
        return  # as a cluster has it
    own = [name for name in _layouts(at(given.data, _KEY)) if not is_of_nvidia(name)]
    if own:
        yield Problem(
            MADE_BY_OPERATOR,
            given.source,
            ("metadata", "name"),
            f"{at_start(given.source.name)} has layouts such as {own[0]}, and the GPU Operator "
            "writes its own into a ConfigMap of that name.",
            "Give it another name, and name that by `migManager.config.name` of the chart.",
        )


def _layouts(given: Any) -> list[str]:
    try:
        read = first_document(given) if isinstance(given, str) else None
    except ValueError:
        return []
    return [name for name, _ in pairs(at(read, "mig-configs"))]


def _without_data(release: Release, maps: tuple[ConfigMap, ...]) -> Iterator[Problem]:
    for path in _CONFIGS:
        config = at(release.values, *path)
        name = at(config, "name")
        if at(config, "create") is not True or at(config, "data") or has_unknown(config):
            continue
        if not name or any(each.name in (name, UNKNOWN) for each in maps):
            continue
        yield Problem(
            MAP_MISSING,
            release.source,
            value_place(release, (*path, "data")),
            f"{at_start(release.source.name)} is to create the ConfigMap {name} and has no data "
            "for it: the chart makes none, and what names it waits for ever.",
            f"Write its texts under `{'.'.join(path)}.data`, or set `create: false` and make it.",
        )
