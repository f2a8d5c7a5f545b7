"""Karpenter replaces GPU nodes a few at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.karpenter import NODE_POOL, gives_gpus
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import ResourcePolicy, number
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_REASONS = ("Drifted", "Underutilized")
"""Reasons for which nodes with pods go; those that are empty hurt nobody."""

MOST_PERCENT = number(
    "mostPercent",
    50,
    "Most of a pool's nodes that may be disrupted at once, in percent.",
    minimum=1,
)

_SET_BUDGET = "Set `spec.disruption.budgets: [{nodes: 10%}]` of the NodePool."
_BUDGET = Fix(
    "Lower `pools.<pool>.karpenter.budgets[].nodes` in the stack file, or leave the key out.",
    _SET_BUDGET,
    _SET_BUDGET,
)


def _budgets(subject: Subject) -> Iterator[str | Unjudged]:
    has_gpus = gives_gpus(subject.object.body)
    if has_gpus is False:
        return
    budgets = at(subject.object.body, "spec", "disruption", "budgets")
    if budgets is None:  # then 10 percent
        return
    if has_gpus is None or budgets is UNKNOWN or UNKNOWN in items(budgets):
        yield Unjudged("requirements" if has_gpus is None else "budgets")
        return
    if any(
        UNKNOWN in (budget.get("nodes"), budget.get("reasons")) for _, budget in mappings(budgets)
    ):
        yield Unjudged("budgets")
        return
    most = MOST_PERCENT.of(subject.args)
    calm = at(subject.object.body, "spec", "disruption", "consolidationPolicy") == "WhenEmpty"
    for reason in _REASONS[:1] if calm else _REASONS:
        # Each budget that is for the reason has to allow it; one with a schedule holds at times.
        nodes = [
            budget.get("nodes")
            for _, budget in mappings(budgets)
            if not budget.get("schedule")
            and (not budget.get("reasons") or reason in budget["reasons"])
        ]
        if all(_is_above(node, most) for node in nodes):
            given = ", ".join("10%" if node is None else str(node) for node in nodes)
            yield (
                f"{subject.opening} makes GPU nodes, and its budgets let Karpenter disrupt more "
                f"than {most}% of them at once for the reason {reason} "
                f"({f'nodes: {given}' if nodes else 'none is for it at all times'}). At most "
                f"{most}% must be disrupted, or an update of the image ends all pods on GPUs. "
                f"{_BUDGET.of(subject.args.urn)}"
            )
            return


def _is_above(given: Any, most: int) -> bool:
    """A number of nodes is somebody's decision; a share of all of them is judged."""
    written = "10%" if given is None else str(given)
    if not written.endswith("%"):
        return False
    digits = written.removesuffix("%")
    return digits.isascii() and digits.isdecimal() and int(digits) > most


GPU_POOL_BUDGETS = ResourcePolicy(
    "gpu-pool-budgets",
    "NodePools of GPU nodes must not replace most of their nodes at a time.",
    checks=ObjectChecks({NODE_POOL: _budgets}),
    level=EnforcementLevel.ADVISORY,
    unseen="budgets that are numbers of nodes, of which nobody knows how many there will be.",
    severity=Severity.LOW,
    fix=_BUDGET,
    settings=(MOST_PERCENT,),
)
