"""How long pods may take to end, against the time that Karpenter gives their node.

Source: `terminationGracePeriod` of https://karpenter.sh/docs/concepts/disruption/, November 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.two_numbers import CUT_SHORT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_PERIOD: Final = ("spec", "template", "spec", "terminationGracePeriod")
_DURATION: Final = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
_USUAL: Final = 30
"""Seconds that pods have where nobody says."""


@edge(CUT_SHORT)
def grace(inventory: Inventory) -> Iterator[Judgement]:
    """Of pods whose nodes all are of pools that end sooner."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            wanted: Any = at(workload.spec, "terminationGracePeriodSeconds")
            if not isinstance(wanted, int) or wanted <= _USUAL:
                continue
            places = ground.places(workload, requests)
            given = [_seconds(at(value_of(e.kind.nodes), *_PERIOD)) for e in places.seen]
            known = [each for each in given if each is not None]
            if not known or len(known) != len(places.possible) or wanted <= max(known):
                continue
            nodes = places.seen[0].kind.nodes
            yield Problem(
                CUT_SHORT,
                nodes.source,
                _PERIOD,
                f"{at_start(workload.source.name)} may take {wanted} s to end, and "
                f"{nodes.source.name} ends its nodes {max(known)} s after it begins to drain them.",
                f"Let terminationGracePeriod be more than {wanted} s.",
            )


def _seconds(given: Any) -> int | None:
    found = _DURATION.fullmatch(given) if isinstance(given, str) and given else None
    if found is None:
        return None
    hours, minutes, seconds = (int(each or 0) for each in found.groups())
    return hours * 3600 + minutes * 60 + seconds
