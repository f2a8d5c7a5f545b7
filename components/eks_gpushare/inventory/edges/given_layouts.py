"""MIG devices that pods ask for, where labels are all that is known of the nodes.

The layouts that somebody gives to nodes one by one tell which devices there are. One that only
another layout of the same ConfigMap has was meant, and is nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.mig_states import MIG_CONFIG_LABEL, mig_configs, mig_managers
from eks_gpushare.inventory.plugin_configs import mig_strategy
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.inventory.written_labels import values_written
from eks_gpushare.sharing.resources import MIG_PREFIX, SHARED_SUFFIX, mig_resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

NOT_ADVERTISED = rule_of("GPU1110")


@edge(NOT_ADVERTISED)
def given_layouts(inventory: Inventory) -> Iterator[Judgement]:
    """Of one MIG manager with a list of its own, all of whose labels are known."""
    for cluster in inventory.clusters():
        managers = mig_managers(inventory, cluster)
        if len(managers) != 1 or offers(inventory, cluster).every:
            continue  # of nodes that are declared it is told by what they have
        layouts = _layouts(inventory, managers[0])
        given = _given(inventory, managers[0])
        written = set(map(str, values_written(inventory, MIG_CONFIG_LABEL)))
        if not given or (given | written) - (given & layouts.keys()):
            continue
        have = set[str]().union(*(layouts[name] for name in given))
        for workload, requests in gpu_workloads(inventory, cluster):
            for request in requests:
                name = request.resource.removesuffix(SHARED_SUFFIX)
                others = [each for each, devices in layouts.items() if name in devices]
                if not name.startswith(MIG_PREFIX) or name in have or not others:
                    continue
                yield Problem(
                    NOT_ADVERTISED,
                    workload.source,
                    request.place,
                    f"{at_start(workload.source.name)} asks for {request.resource}, which is of "
                    f"the MIG layout {', '.join(others)}; nodes are given "
                    f"{', '.join(sorted(given))}.",
                    f"Label nodes with {MIG_CONFIG_LABEL}={others[0]}, or ask for a device that "
                    "there is.",
                    "warning",
                )


def _layouts(inventory: Inventory, manager: Release) -> dict[str, set[str]]:
    """The devices of each layout by the names that pods ask for; none where some are not known."""
    configs: Mapping[str, Any] | Any = mig_configs(inventory, manager.cluster)
    if configs in (None, UNKNOWN) or has_unknown(configs) or mig_strategy(manager) != "mixed":
        return {}
    return {
        name: {
            mig_resource(str(profile))
            for each in items(layout)
            if at(each, "mig-enabled") is True
            for profile, count in pairs(at(each, "mig-devices"))
            if count
        }
        for name, layout in pairs(configs)
    }


def _given(inventory: Inventory, manager: Release) -> set[str]:
    """The layouts that nodes get; none where not all are known, or a guide shows how it is done."""
    every = inventory.of(NodeSet, manager.cluster)
    names = [text(at(each.labels, MIG_CONFIG_LABEL)) for each in every]
    default = text(at(manager.values, "migManager", "config", "default"))
    labelled = [each for each, name in zip(every, names, strict=True) if name]
    shown = any(is_guide(each.source.file) for each in labelled)
    if not labelled or shown or UNKNOWN in (default, *names):
        return set()
    return {str(name) for name in (default, *names) if name}
