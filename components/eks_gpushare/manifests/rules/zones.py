"""Zones of another region, which no node of a cluster is in.

A zone is the region with a letter, or with the city of a local zone; its ID has it in short:
https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html, read 2026-11-29.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.values import at, items
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.karpenter_pools import OTHER_WORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ZONE: Final = re.compile(r"([a-z]{2}(?:-[a-z]+)+-[0-9])(?:[a-z]|-[a-z0-9-]+)")
_ID: Final = re.compile(r"([a-z]+[0-9])-[a-z0-9-]+")
_PLACES: Final = {
    "topology.kubernetes.io/zone": _ZONE,
    "failure-domain.beta.kubernetes.io/zone": _ZONE,
    "topology.k8s.aws/zone-id": _ID,
    "topology.kubernetes.io/region": re.compile(r"([a-z]{2}(?:-[a-z]+)+-[0-9])"),
}
_SHORT: Final = {"northeast": "ne", "southeast": "se"}


def zones_elsewhere(found: Iterable[Any], region: str) -> Iterator[Problem]:
    """Requirements of node pools that name zones of other regions alone."""
    for nodes in found:
        if not isinstance(nodes, NodeSet) or nodes.provisioner not in ("karpenter", "autoMode"):
            continue
        place = ("spec", "template", "spec", "requirements")
        for number, requirement in enumerate(items(at(value_of(nodes), *place))):
            zones = items(at(requirement, "values"))
            pattern = _PLACES.get(str(at(requirement, "key")))
            if pattern is None or at(requirement, "operator") != "In" or not zones:
                continue
            if all(_is_elsewhere(zone, pattern, region) for zone in zones):
                listed = ", ".join(map(str, zones))
                yield Problem(
                    OTHER_WORD,
                    nodes.source,
                    (*place, number, "values"),
                    f"{listed} is not of {region}, where the cluster is, so Karpenter launches no "
                    f"node for this pool.",
                    f"Write zones of {region}.",
                )


def _is_elsewhere(zone: Any, pattern: re.Pattern[str], region: str) -> bool:
    match = pattern.fullmatch(zone) if isinstance(zone, str) else None
    own = _in_short(region) if pattern is _ID else region
    return match is not None and match[1] != own


def _in_short(region: str) -> str:
    """As IDs of zones have it: `usw2` of `us-west-2`."""
    first, *rest = region.split("-")
    return first + "".join(_SHORT.get(part, part[:1]) for part in rest)
