"""The rule on what the nodes of a stack cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.node_groups import nodes_of
from gpushare_policies.reading.regions import region_of, region_of_subnets
from gpushare_policies.reading.types import dearest
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, number
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP, SCALING_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpushare_policies.reading.node_groups import NodeGroup

MAXIMUM_DOLLARS = number(
    "maximumDollarsPerHour",
    100,
    "What the nodes of a stack may cost at most, in USD per hour at On-Demand prices, at their "
    "wanted number.",
    minimum=1,
)
_SET_LESS = "Set a smaller `desiredSize` or a cheaper instance type, or raise this policy's budget."
_FIX = Fix(
    "Set `pools.<pool>.nodes` or `instanceTypes` lower in the stack file, or raise "
    "`maximumDollarsPerHour` of this policy.",
    _SET_LESS,
    _SET_LESS,
)
_DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True, slots=True)
class _Cost:
    """What one group costs in an hour."""

    nodes: NodeGroup
    kind: str
    count: int
    dollars: float


def _costs(nodes: NodeGroup, of_subnets: str | None) -> Iterator[_Cost | Unjudged]:
    least, wanted, _ = nodes.sizes()
    count = max(least or 0, wanted or 0)
    region = region_of(nodes.group, of_subnets) or _DEFAULT_REGION
    types = nodes.types() if count else []
    found = dearest(types, region)
    if found is not None:
        kind, price = found
        yield _Cost(nodes, kind, count, count * price)
    elif types:
        yield Unjudged(f"the price of {', '.join(types)} of {nodes.group.name} in {region}")


def _within(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    budget = MAXIMUM_DOLLARS.of(args)
    region = region_of_subnets(args.resources)
    found = list(over_each(nodes_of(args.resources), lambda nodes: _costs(nodes, region)))
    yield from (cost for cost in found if isinstance(cost, Unjudged))
    costs = [cost for cost in found if isinstance(cost, _Cost)]
    total = sum(cost.dollars for cost in costs)
    if total > budget:
        first = max(costs, key=lambda cost: cost.dollars)
        urn = first.nodes.group.urn
        message = (
            f"The nodes of this stack cost {total:.2f} USD per hour at On-Demand prices, "
            f"{first.dollars:.2f} of it {first.count} x {first.kind} of {first.nodes.group.name}. "
            f"They must cost at most {budget}. {_FIX.of(urn)}"
        )
        yield message, urn


COST_WITHIN_BUDGET = StackPolicy(
    "cost-within-budget",
    "The nodes of a stack must cost no more per hour than its budget.",
    check=_within,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE),
    level=EnforcementLevel.ADVISORY,
    unseen=(
        "nodes that Karpenter or EKS Auto Mode make, machines without a group that join by "
        "themselves, volumes, traffic, and discounts."
    ),
    severity=Severity.MEDIUM,
    fix=_FIX,
    settings=(MAXIMUM_DOLLARS,),
)
