"""The rule on nodes that EC2 may take away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import given, read, stack_of, whole
from gpushare_policies.reading.karpenter import NODE_CLASS, NODE_POOL
from gpushare_policies.reading.launches import launch_of
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import ResourcePolicy, is_among, stacks
from gpushare_policies.tokens import (
    INSTANCE,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCALING_GROUP,
    SPOT_FLEET,
    SPOT_INSTANCE,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

STEADY_STACKS = stacks(
    "Stacks whose nodes must be On-Demand, as patterns of stack names (`*` matches anything)."
)
_FIX = Fix(
    "Set `pools.<pool>.capacityType: onDemand` in the stack file, or leave the key out.",
    "Set `capacityType: ON_DEMAND`, or remove `spotPrice`.",
    "Set `capacityType: ON_DEMAND`; remove `instanceMarketOptions` or `spotPrice`; set "
    "`instancesDistribution.onDemandPercentageAboveBaseCapacity: 100`.",
)
_INSTANCE = "Make an aws.ec2.Instance or an Auto Scaling group in its place."
_REQUEST_FIX = Fix(_FIX.stack_file, _INSTANCE, _INSTANCE)
_REQUESTS = (SPOT_INSTANCE, SPOT_FLEET)
_TAKE_OUT = (
    "Set the requirement `{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}`."
)
_POOL_FIX = Fix(_FIX.stack_file, _TAKE_OUT, _TAKE_OUT)
_ALL = 100
_CAPACITY = "karpenter.sh/capacity-type"


def _is_spot(args: ResourceValidationArgs) -> bool:
    props = args.props
    if args.resource_type in _REQUESTS:
        return True
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
        fix = _REQUEST_FIX if args.resource_type in _REQUESTS else _FIX
        yield _said(f"The {kind} {args.name}", args, fix)


def _said(opening: str, args: ResourceValidationArgs, fix: Fix) -> str:
    return (
        f"{opening} runs Spot instances, which EC2 takes back with two minutes' notice. In the "
        f"stack {stack_of(args.urn)} nodes must be On-Demand. {fix.of(args.urn)}"
    )


def _pool(subject: Subject) -> Iterator[str | Unjudged]:
    """A NodePool, whose nodes are Spot where it may choose, as where it says nothing of that.

    Source: https://karpenter.sh/docs/concepts/nodepools/#capacity-type, and `getCapacityType` of
    `pkg/providers/instance/instance.go` of karpenter-provider-aws: what is not required may be
    all. Of EKS Auto Mode it is not said, and of a patch the rest is in the cluster.
    """
    if not is_among(STEADY_STACKS.of(subject.args), subject.args.urn):
        return
    requirements = at(subject.object.body, "spec", "template", "spec", "requirements")
    template = at(subject.object.body, "spec", "template")
    labelled = at(template, "metadata", "labels", _CAPACITY)
    of_capacity = [
        requirement
        for _, requirement in mappings(requirements)
        if requirement.get("key") == _CAPACITY
    ]
    if labelled is not None:
        of_capacity.append({"operator": "In", "values": [labelled]})
    allowed = [_allows_spot(requirement) for requirement in of_capacity]
    of_own = at(template, "spec", "nodeClassRef", "group") in (None, NODE_CLASS.group)
    open_to_all = of_own and requirements is not None and not _has_unknown(requirements, ())
    if all(allowed) and (of_capacity or open_to_all):
        yield _said(subject.opening, subject.args, _POOL_FIX)
    elif False not in allowed and _has_unknown(requirements, of_capacity):
        yield Unjudged("requirements")


def _allows_spot(requirement: Mapping[str, Any]) -> bool | None:
    operator, values = requirement.get("operator"), requirement.get("values")
    named = "spot" in items(values)
    if UNKNOWN in (operator, values) or (not named and UNKNOWN in items(values)):
        return None
    verdicts = {"In": named, "NotIn": not named, "Exists": True}
    return verdicts.get(str(operator), False)


def _has_unknown(requirements: Any, of_capacity: Sequence[Mapping[str, Any]]) -> bool:
    keys = [requirement.get("key") for _, requirement in mappings(requirements)]
    return has_unknown(of_capacity) or UNKNOWN in (requirements, *items(requirements), *keys)


SPOT_NOT_IN_PRODUCTION = ResourcePolicy(
    "spot-not-in-production",
    "Nodes of production stacks must be On-Demand.",
    checks=ObjectChecks(
        {NODE_POOL: _pool},
        others=dict.fromkeys(
            (
                NODE_GROUP,
                SCALING_GROUP,
                LAUNCH_TEMPLATE,
                INSTANCE,
                LAUNCH_CONFIGURATION,
                *_REQUESTS,
            ),
            _spot,
        ),
    ),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.MEDIUM,
    fix=_FIX,
    settings=(STEADY_STACKS,),
)
