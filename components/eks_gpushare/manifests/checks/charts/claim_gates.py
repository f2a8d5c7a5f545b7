"""Feature gates in the values of NVIDIA's driver for claims, with each other and with EKS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_releases import parse_version
from eks_gpushare.catalog.claim_driver_gates import (
    EXCLUDES,
    FIRST,
    NEEDS,
    OF_KUBERNETES,
    ON,
    SINCE,
    came_before,
)
from eks_gpushare.documents.go_bool import FALSE, TRUE
from eks_gpushare.inventory.claim_drivers import DRIVER_CHARTS
from eks_gpushare.inventory.items import CLUSTER_VERSION, NodeSet, Pointer, Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.inventory.wording import at_start, slip_for
from eks_gpushare.manifests.rules.chart_values import BAD_GATES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_GATES: Final = "featureGates"


@edge(BAD_GATES)
def claim_gates(inventory: Inventory) -> Iterator[Judgement]:
    """Of each release of the driver whose gates are told."""
    for cluster in inventory.clusters():
        for release in inventory.of(Release, cluster):
            if release.chart not in DRIVER_CHARTS or came_before(release.version, FIRST):
                continue
            given = dict(pairs(at(release.values, _GATES)))
            yield from _not_there(release, given)
            yield from _together(release, given)
            yield from _on_eks(release, given, _kubernetes(inventory, cluster))


def _not_there(release: Release, given: Mapping[str, Any]) -> Iterator[Problem]:
    for gate in given:
        since = SINCE.get(gate)
        if since is None and (meant := slip_for(gate, SINCE)) is not None:
            message = f"{at_start(release.source.name)} has no gate {gate}: it ends as it starts."
            yield _problem(release, gate, message, f"Did you mean {meant}?")
        elif since is not None and came_before(release.version, since):
            message = (
                f"{at_start(release.source.name)} is {release.version}, which has no gate {gate} "
                "yet: it ends as it starts."
            )
            yield _problem(release, gate, message, f"Install {since} or later, or take it away.")


def _together(release: Release, given: Mapping[str, Any]) -> Iterator[Problem]:
    for one, other, since in EXCLUDES:
        both = _is_on(release, given, one) and _is_on(release, given, other)
        if both and not came_before(release.version, since):
            message = (
                f"{at_start(release.source.name)} has {one} and {other} on, which exclude each "
                "other: it ends as it starts."
            )
            yield _problem(release, other, message, "Leave one of them off.")
    for gate, needed in NEEDS:
        if _is_on(release, given, gate) and text(given.get(needed, needed in ON)) in FALSE:
            message = (
                f"{at_start(release.source.name)} has {gate} on and {needed} off, which it needs: "
                "it ends as it starts."
            )
            place = gate if gate in given else needed
            yield _problem(release, place, message, f"Set {needed}: true, or {gate}: false.")


def _kubernetes(inventory: Inventory, cluster: str) -> set[str]:
    """Versions of a control plane of EKS; where none is told, of its nodes, which may be older."""
    pointers = inventory.of(Pointer, cluster)
    told = {str(each.name) for each in pointers if each.kind == CLUSTER_VERSION}
    nodes = inventory.of(NodeSet, cluster)
    return told or {str(each.kubernetes) for each in nodes if each.provisioner != "byHand"}


def _on_eks(release: Release, given: Mapping[str, Any], told: Collection[str]) -> Iterator[Problem]:
    """What of EKS the gates need, where its version is known."""
    minors = [int(found[1]) for each in told if (found := re.fullmatch(r"1\.([0-9]+)", each))]
    if not minors or len(minors) < len(told):
        return
    for gate, needed in OF_KUBERNETES.items():
        if _is_on(release, given, gate) and max(minors) < needed.since:
            message = (
                f"{at_start(release.source.name)} has {gate} on, which needs {needed.gate} of "
                f"Kubernetes, and EKS has that off before 1.{needed.since}: {needed.without}."
            )
            fix = f"Bring the cluster from 1.{max(minors)} to 1.{needed.since}, or leave it off."
            yield _problem(release, gate, message, fix)


def _problem(release: Release, gate: str, message: str, fix: str) -> Problem:
    return Problem(BAD_GATES, release.source, value_place(release, (_GATES, gate)), message, fix)


def _is_on(release: Release, given: Mapping[str, Any], gate: str) -> bool:
    """Whether a gate is sure to be on, by itself too: of a release that may lack it, it is not."""
    if came_before(release.version, SINCE[gate]):
        return False
    if gate not in given:
        is_known = release.version == "" or parse_version(str(release.version)) is not None
        return gate in ON and is_known and not {"AllAlpha", "AllBeta"} & given.keys()
    return text(given[gate]) in TRUE
