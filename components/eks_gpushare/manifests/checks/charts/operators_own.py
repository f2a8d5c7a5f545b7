"""ConfigMaps of the GPU Operator: those that it writes itself, and those that its chart leaves out.

Sources: `createConfigMap` in controllers/object_controls.go of NVIDIA/gpu-operator, which writes
its own layouts of MIG unless others are named, and templates/plugin_config.yaml and
mig_config.yaml of its chart, which make no ConfigMap without data; November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.documents.go_yaml import first_document
from eks_gpushare.inventory.edges.mig import NOT_UNIFORM, OF_THE_OPERATOR
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Release
from eks_gpushare.inventory.mig_states import is_of_nvidia, mig_configs
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, may_be_same, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.mig_parted import MADE_BY_OPERATOR, MAP_MISSING
from eks_gpushare.sharing.mig_manager import MIG_CONFIG_LABEL

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


@edge(NOT_UNIFORM)
def layouts_of_nodes(inventory: Inventory) -> Iterator[Judgement]:
    """Layouts that nodes of no known type are labelled with, where the strategy is single."""
    for cluster in inventory.clusters():
        configs = mig_configs(inventory, cluster)
        named = {
            str(text(found)): nodes
            for nodes in inventory.of(NodeSet, cluster)
            if not nodes.instance_types and (found := at(nodes.labels, MIG_CONFIG_LABEL))
        }
        for release in inventory.of(Release, cluster) if isinstance(configs, dict) else ():
            path = ("mig", "strategy")
            of_operator = chart_of(release.chart) == OPERATOR_CHART
            if not of_operator or at(release.values, *path) != "single":
                continue
            for name, nodes in named.items():
                kinds = [pairs(at(one, "mig-devices")) for one in items(at(configs, name))]
                several = next((each for each in kinds if len(each) > 1), None)
                if several is not None:
                    yield Problem(
                        NOT_UNIFORM,
                        release.source,
                        value_place(release, path),
                        f"{at_start(nodes.source.name)} is labelled with the layout {name}, of "
                        f"{' and '.join(kind for kind, _ in several)} on one GPU, and the MIG "
                        f"strategy of {release.source.name} is single: the plugin stops.",
                        "Write `mig.strategy: mixed`, or a layout of one profile.",
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
