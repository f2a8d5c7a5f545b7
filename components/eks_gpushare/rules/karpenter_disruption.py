"""Rules about how nodes of Karpenter's go: durations, budgets, consolidation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eks_gpushare.documents.cron import cron_fault
from eks_gpushare.documents.duration import LONGEST, seconds
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.karpenter_pools import moves_pods
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.config.autoscaling import DisruptionBudget
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_DISRUPTION = "https://karpenter.sh/docs/concepts/disruption/"
_BUDGETS = f"{_DISRUPTION}#nodepool-disruption-budgets"

BAD_DURATION = Rule(
    "GPU748",
    "error",
    "A duration is in hours, minutes and seconds.",
    "The NodePool is refused. A day is 24h: there is no letter for it.",
    _DISRUPTION,
)
BAD_BUDGET = Rule(
    "GPU749",
    "error",
    "A disruption budget is one that Karpenter can follow.",
    "The NodePool is refused; or Karpenter cannot read the schedule and disrupts no node at all.",
    _BUDGETS,
)
NODES_STAY = Rule(
    "GPU750",
    "warning",
    "Karpenter may remove nodes that nothing runs on.",
    "Empty nodes with GPUs stay, and are paid for.",
    _DISRUPTION,
)
EVICTS = rule_of("GPU751")
DRIFT_STUCK = Rule(
    "GPU759",
    "warning",
    "A static pool has room to exchange a node.",
    "Karpenter starts the new node before the old one goes. At the limit it cannot, so nodes keep "
    "an old image for ever.",
    "https://karpenter.sh/docs/concepts/nodepools/#specreplicas",
)

PAST_BUDGETS = Rule(
    "GPU768",
    "info",
    "Nodes that expire go whatever budgets say.",
    "Karpenter drains all that are of that age at once: a pool whose nodes came together goes "
    "together, also where a budget lets none go.",
    "https://github.com/kubernetes-sigs/karpenter/issues/1590",
)

_DURATION = re.compile(r"([0-9]+(s|m|h))+")
"""What the NodePool's definition leaves of Go's durations."""
_BUDGET_DURATION = re.compile(r"(([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?")
_NODES = re.compile(r"(100|[0-9]{1,2})%|[0-9]+")
_MOST_BUDGETS = 50
"""`maxItems` of budgets in a NodePool's definition
(https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/apis/crds/karpenter.sh_nodepools.yaml)."""
_MOST_NODES = 100_000
_LIKE = "Write it like 300s, 5m, 24h or 1h30m"


@check(Scope.POOL, BAD_DURATION)
def durations(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    if own is None:
        return
    for key, given, never in (
        ("consolidateAfter", own.consolidate_after, True),
        ("expireAfter", own.expire_after, True),
        ("terminationGracePeriod", own.termination_grace_period, False),
    ):
        if given is None or (never and given == "Never"):
            continue
        at = ("pools", name, "karpenter", key)
        or_never = ", or Never." if never else "; without the key there is no end."
        if not _DURATION.fullmatch(given):
            message = f'"{given}" is no duration.{_days(given)}'
            yield BAD_DURATION.finding(at, message, f"{_LIKE}{or_never}")
        elif (found := seconds(given)) is None:
            message = f"{given} is longer than the {LONGEST // 3600}h that Karpenter can count."
            yield BAD_DURATION.finding(at, message, f"{_LIKE}{or_never}")
        elif found == 0 and key == "expireAfter":
            message = f"After {given} every node would be replaced as soon as it is there."
            yield BAD_DURATION.finding(at, message, f"{_LIKE}{or_never}")


@check(Scope.POOL, PAST_BUDGETS)
def expiry(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    if own is None or pool.is_static:
        return
    after, budgets = own.expire_after, own.budgets or ()
    if after != "Never" and any(str(budget.nodes) in {"0", "0%"} for budget in budgets):
        yield PAST_BUDGETS.finding(
            ("pools", name, "karpenter", "expireAfter"),
            f"After {after} a node is drained, whatever budgets and consolidationPolicy say.",
            "Set expireAfter: Never to have nodes go by budgets alone, as when amiVersion changes; "
            "PodDisruptionBudgets hold in any case.",
        )


def _days(text: str) -> str:
    """A word on days, where somebody meant them."""
    found = re.fullmatch(r"([0-9]{1,6}) ?(d|days?)", text, re.IGNORECASE)
    return f" {found[1]} days are {int(found[1]) * 24}h." if found else ""


@check(Scope.POOL, BAD_BUDGET)
def budgets(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    if own is None or own.budgets is None:
        return
    at = ("pools", name, "karpenter", "budgets")
    if not own.budgets:
        message = "Without any budget all nodes may go at once."
        yield BAD_BUDGET.finding(
            at, message, 'Remove the key for one in ten, or write nodes: "100%".'
        )
    elif len(own.budgets) > _MOST_BUDGETS:
        message = f"{len(own.budgets)} budgets are more than the {_MOST_BUDGETS} of a NodePool."
        yield BAD_BUDGET.finding(at, message, "Remove some.")
    for index, budget in enumerate(own.budgets):
        yield from _budget((*at, index), budget)


def _budget(at: FieldPath, budget: DisruptionBudget) -> Iterator[Finding]:
    nodes = str(budget.nodes)
    if not nodes.isascii() or not _NODES.fullmatch(nodes):
        yield BAD_BUDGET.finding(
            (*at, "nodes"),
            f'"{nodes}" is neither a number of nodes nor a percentage from 0% to 100%.',
            'Write a number such as 1, or a percentage such as "10%".',
        )
    elif not nodes.endswith("%") and int(nodes) > _MOST_NODES:
        message = f"{nodes} nodes are more than any cluster has."
        yield BAD_BUDGET.finding((*at, "nodes"), message, f"Write at most {_MOST_NODES}.")
    reasons = budget.reasons
    if reasons is not None and not reasons:
        message = "The list is empty: the budget would hold for no reason."
        yield BAD_BUDGET.finding((*at, "reasons"), message, "Remove the key for all reasons.")
    elif reasons is not None and len({*reasons}) < len(reasons):
        twice = next(reason for n, reason in enumerate(reasons) if reason in reasons[:n])
        yield BAD_BUDGET.finding((*at, "reasons"), f"{twice} stands twice.", "Remove one.")
    if (budget.schedule is None) != (budget.duration is None):
        given, lacking = (
            ("schedule", "duration") if budget.duration is None else ("duration", "schedule")
        )
        message = f"{given} is given without {lacking}: the one says when, the other how long."
        yield BAD_BUDGET.finding((*at, given), message, f"Add {lacking}, or remove {given}.")
    if budget.duration is not None and not (
        budget.duration.isascii() and _BUDGET_DURATION.fullmatch(budget.duration)
    ):
        yield BAD_BUDGET.finding(
            (*at, "duration"),
            f'"{budget.duration}" is not in hours and minutes.{_days(budget.duration)}',
            "Write it like 8h, 90m or 1h30m.",
        )
    elif budget.duration is not None and not re.search("[1-9]", budget.duration):
        yield BAD_BUDGET.finding(
            (*at, "duration"),
            f"After {budget.duration} the budget would be over before it holds.",
            "Write it like 8h, 90m or 1h30m.",
        )
    if budget.schedule is not None and (fault := cron_fault(budget.schedule)):
        yield BAD_BUDGET.finding(
            (*at, "schedule"),
            f'"{budget.schedule}" is no schedule: {fault}.',
            'Write five fields in UTC, such as "0 9 * * mon-fri", or @daily.',
        )


@check(Scope.POOL, NODES_STAY, EVICTS, DRIFT_STUCK)
def consolidation(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    if own is None:
        return
    at = ("pools", name, "karpenter")
    if own.static:
        desired, most = 1 if pool.nodes.desired is None else pool.nodes.desired, pool.nodes.max
        limit = (own.limits or {}).get("nodes")
        if limit is not None:
            yield from _no_room(at, limit, desired)
        elif most is not None and most == desired and desired > 0:
            yield DRIFT_STUCK.finding(
                ("pools", name, "nodes", "max"),
                f"max {most} is as many nodes as the pool has, so none can be exchanged.",
                f"Set max to {most + 1} or more, or remove it.",
            )
        return
    if own.consolidate_after == "Never":
        message = "Karpenter never removes a node of this pool, whatever runs on it."
        yield NODES_STAY.finding((*at, "consolidateAfter"), message, "Set a time such as 5m.")
    for index, budget in enumerate(own.budgets or ()):
        if _forbids_always(budget):
            yield NODES_STAY.finding(
                (*at, "budgets", index),
                "This budget holds always and lets no empty node go.",
                "Give it reasons without Empty, or a schedule and duration.",
            )
    budgets = [budget.model_dump() for budget in own.budgets or ()]
    if moves_pods(own.consolidation_policy, own.consolidate_after, budgets):
        yield EVICTS.finding(
            (*at, "consolidationPolicy"),
            f"{own.consolidation_policy} evicts pods to put them on fewer or cheaper nodes.",
            "Remove it, or annotate pods that must not move with "
            'karpenter.sh/do-not-disrupt: "true".',
        )


def _no_room(at: FieldPath, limit: int | str, desired: int) -> Iterator[Finding]:
    """For a limit in place of `nodes.max`."""
    if quantity(str(limit)) == desired > 0:
        yield DRIFT_STUCK.finding(
            (*at, "limits", "nodes"),
            f"The limit of {limit} is as many nodes as the pool has, so none can be exchanged.",
            f"Set {desired + 1} or more, or remove it.",
        )


def _forbids_always(budget: DisruptionBudget) -> bool:
    empty = budget.reasons is None or "Empty" in budget.reasons
    nothing = str(budget.nodes).removesuffix("%").strip("0") == "" and str(budget.nodes) != ""
    return nothing and empty and budget.schedule is None
