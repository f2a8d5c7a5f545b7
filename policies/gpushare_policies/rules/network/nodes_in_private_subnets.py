"""The rule on the subnets of nodes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from gpushare_policies.props import each, is_true, peek, read
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, cis
from gpushare_policies.tokens import DEFAULT_SUBNET, NODE_GROUP, SCALING_GROUP, SUBNET
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIX = Fix(
    "Leave `network` to make private subnets, or name private ones under `pools.<pool>.subnetIds`.",
    "Give private subnets (`nodeSubnetIds`, or `subnetIds` of the ManagedNodeGroup).",
    "Give `subnetIds` (`vpcZoneIdentifiers`) of subnets with `mapPublicIpOnLaunch: false`.",
)


_SUBNETS = (SUBNET, DEFAULT_SUBNET)


def _known(items: Sequence[Any]) -> set[str]:
    """The items that are known, as text."""
    known = set()
    for at in range(len(items)):
        with suppress(UnknownValueError):
            known.add(str(items[at]))
    return known


class _Subnets:
    """The subnets of a stack, found by how nodes name them."""

    def __init__(self, resources: Sequence[PolicyResource]) -> None:
        self._all = [found for found in resources if found.resource_type in _SUBNETS]
        self._by_name: dict[str, list[int]] = {}
        for place, subnet in enumerate(self._all):
            for name in (subnet.urn, str(peek(subnet.props, "id") or "")):
                self._by_name.setdefault(name, []).append(place)

    def of(self, nodes: NodeGroup) -> Iterator[PolicyResource]:
        """Those that nodes are put into, in the order of the stack."""
        key = "subnetIds" if nodes.is_managed else "vpcZoneIdentifiers"
        used = {found.urn for found in nodes.group.property_dependencies.get(key, [])}
        names = (used | _known(each(peek(nodes.group.props, key)))) - {""}
        for place in sorted({place for name in names for place in self._by_name.get(name, ())}):
            yield self._all[place]


def _is_public(subnet: PolicyResource) -> bool:
    value = read(subnet.props, "mapPublicIpOnLaunch")
    # A default subnet of AWS gives addresses unless somebody has changed that:
    # https://docs.aws.amazon.com/vpc/latest/userguide/default-vpc-components.html
    return subnet.resource_type == DEFAULT_SUBNET if value is None else is_true(value)


def _private(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    subnets = _Subnets(args.resources)

    def judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
        public = [found.name for found in subnets.of(nodes) if _is_public(found)]
        if public:
            message = (
                f"{nodes.called} puts nodes into {', '.join(public)}, where each gets a public "
                f"address. Nodes must be in private subnets. {_FIX.of(nodes.group.urn)}"
            )
            yield message, nodes.group.urn

    yield from over_each(nodes_of(args.resources), judge)


NODES_IN_PRIVATE_SUBNETS = StackPolicy(
    "nodes-in-private-subnets",
    "Nodes must be in subnets that give no public addresses.",
    check=_private,
    applies_to=(NODE_GROUP, SCALING_GROUP, SUBNET, DEFAULT_SUBNET),
    unseen="subnets of other stacks, and where the route tables lead.",
    severity=Severity.HIGH,
    framework=cis("5.4.3", "Clusters have private nodes."),
    also=("aws-security-hub/EC2.15", "prowler/eks_cluster_private_nodes_enabled"),
    fix=_FIX,
)
