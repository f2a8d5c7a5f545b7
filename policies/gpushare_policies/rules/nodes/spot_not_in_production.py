"""The rule on nodes that EC2 may take away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from gpushare_policies.props import given, read, stack_of, whole
from gpushare_policies.reading.launches import launch_of
from gpushare_policies.rule import Rule, is_among, stacks
from gpushare_policies.tokens import (
    INSTANCE,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCALING_GROUP,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

STEADY_STACKS = stacks(
    "Stacks whose nodes must be On-Demand, as patterns of stack names (`*` matches anything)."
)
_FIX = Fix(
    "Set `pools.<pool>.capacityType: onDemand` in the stack file, or leave the key out.",
    "Set `capacityType: ON_DEMAND`, or remove `spotPrice`.",
    "Set `capacityType: ON_DEMAND`; remove `instanceMarketOptions` or `spotPrice`; set "
    "`instancesDistribution.onDemandPercentageAboveBaseCapacity: 100`.",
)
_ALL = 100


def _is_spot(args: ResourceValidationArgs) -> bool:
    props = args.props
    if args.resource_type == NODE_GROUP:
        return str(read(props, "capacityType") or "").upper() == "SPOT"
    if args.resource_type == LAUNCH_CONFIGURATION:
        return given(props, "spotPrice") and read(props, "spotPrice") != ""
    if args.resource_type == SCALING_GROUP:
        share = read(
            props,
            "mixedInstancesPolicy",
            "instancesDistribution",
            "onDemandPercentageAboveBaseCapacity",
        )
        return share is not None and whole(share) != _ALL
    return any(
        str(read(launch.props, "instanceMarketOptions", "marketType") or "") == "spot"
        for launch in launch_of(args)
    )


def _spot(args: ResourceValidationArgs) -> Iterator[str]:
    if is_among(STEADY_STACKS.of(args), args.urn) and _is_spot(args):
        kind = args.resource_type.rpartition(":")[2]
        yield (
            f"The {kind} {args.name} runs Spot instances, which EC2 takes back with two minutes' "
            f"notice. In the stack {stack_of(args.urn)} nodes must be On-Demand. "
            f"{_FIX.of(args.urn)}"
        )


SPOT_NOT_IN_PRODUCTION = Rule(
    "spot-not-in-production",
    "Nodes of production stacks must be On-Demand.",
    checks=dict.fromkeys(
        (
            NODE_GROUP,
            SCALING_GROUP,
            LAUNCH_TEMPLATE,
            INSTANCE,
            LAUNCH_CONFIGURATION,
        ),
        _spot,
    ),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    fix=_FIX,
    settings=(STEADY_STACKS,),
)
