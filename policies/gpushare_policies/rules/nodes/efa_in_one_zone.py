"""The rule on where nodes with Elastic Fabric Adapters are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity, StackValidationArgs

from gpushare_policies.props import each, is_known, read
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP, SCALING_GROUP, SUBNET
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIX = Fix(
    "Name one zone under `pools.<pool>.zones` in the stack file.",
    "Set `placementGroupAvailabilityZone`, or one subnet.",
    "Name one subnet in `subnetIds` (`vpcZoneIdentifiers`).",
)
_ADAPTERS = ("efa", "efa-only")


def _judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
    if nodes.start is None:
        return
    interfaces = each(read(nodes.start.props, "networkInterfaces"))
    if not any(read(one, "interfaceType") in _ADAPTERS for one in interfaces):
        return
    key = "subnetIds" if nodes.is_managed else "vpcZoneIdentifiers"
    own = [
        read(subnet.props, "availabilityZone")
        for subnet in nodes.group.property_dependencies.get(key, ())
        if subnet.resource_type == SUBNET and is_known(subnet.props, "availabilityZone")
    ]
    subnets = each(settled(nodes.group, key))
    zones = () if nodes.is_managed else each(settled(nodes.group, "availabilityZones"))
    if own and len(own) == len(subnets) and None not in own and len(set(own)) == 1:
        return  # as the subnets of this stack say
    if len(subnets) > 1 or (not subnets and len(zones) > 1):
        # Traffic of EFA crosses no zone: https://docs.aws.amazon.com/AWSEC2/latest/
        # UserGuide/efa.html#efa-limits, read 2026-11-22.
        places = f"{len(subnets)} subnets" if subnets else f"{len(zones)} zones"
        message = (
            f"{nodes.called} has Elastic Fabric Adapters and {places}. Such nodes "
            f"must be in one zone, or their traffic does not reach each other. "
            f"{_FIX.of(nodes.group.urn)}"
        )
        yield message, nodes.group.urn


def _one_zone(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    yield from over_each(nodes_of(args.resources), _judge)


EFA_IN_ONE_ZONE = StackPolicy(
    "efa-in-one-zone",
    "Nodes with Elastic Fabric Adapters must be in one zone.",
    check=_one_zone,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE),
    severity=Severity.MEDIUM,
    fix=_FIX,
)
