"""The rule on the subnets of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import each, given, is_true, peek, read
from gpushare_policies.reading import kinds
from gpushare_policies.reading.held_resources import made_by
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.launches import is_node
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of
from gpushare_policies.reading.objects import KubernetesObject, objects_of_stack
from gpushare_policies.reading.plain import mappings
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, cis
from gpushare_policies.tokens import (
    DEFAULT_SUBNET,
    EIP,
    EIP_ASSOCIATION,
    INSTANCE,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCALING_GROUP,
    SUBNET,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIX = Fix(
    "Leave `network` to make private subnets, or name private ones under `pools.<pool>.subnetIds`.",
    "Give private subnets (`nodeSubnetIds`, or `subnetIds` of the ManagedNodeGroup).",
    "Give `subnetIds` (`vpcZoneIdentifiers`) of subnets with `mapPublicIpOnLaunch: false`.",
)


_SET_TERMS = (
    "Set `spec.subnetSelectorTerms` to private subnets alone, or `associatePublicIPAddress: false`."
)
_OF_CLASSES = Fix(_FIX.stack_file, _SET_TERMS, _SET_TERMS)
_TAKE_AWAY = "Leave the instance without it, in a private subnet."
_OF_ELASTIC = Fix(
    "Nodes made from a stack file have none: remove what gives them one, such as a transform.",
    _TAKE_AWAY,
    _TAKE_AWAY,
)
_SUBNETS = (SUBNET, DEFAULT_SUBNET)


def _known(items: Sequence[Any]) -> set[str]:
    """The items that are known, as text."""
    known = set()
    for place in range(len(items)):
        with suppress(UnknownValueError):
            known.add(str(items[place]))
    return known


_INTERFACES = "networkInterfaces"


class _Subnets:
    """The subnets of a stack, found by how nodes name them."""

    def __init__(self, resources: Sequence[PolicyResource]) -> None:
        self._all = [found for found in resources if found.resource_type in _SUBNETS]
        self._all += [made for resource in resources for made in made_by(resource, SUBNET)]
        self._by_name: dict[str, list[int]] = {}
        for place, subnet in enumerate(self._all):
            for name in (subnet.urn, str(peek(subnet.props, "id") or "")):
                self._by_name.setdefault(name, []).append(place)

    def defaults_are_public(self) -> bool:
        """Whether default subnets give addresses, as they do unless the stack changes that."""
        defaults = [found for found in self._all if found.resource_type == DEFAULT_SUBNET]
        return all(map(_is_public, defaults))

    def of(self, nodes: NodeGroup) -> Iterator[PolicyResource]:
        """Those that nodes are put into, in the order of the stack."""
        key = "subnetIds" if nodes.is_managed else "vpcZoneIdentifiers"
        yield from self.named(nodes.group, key)
        if nodes.start is not None:  # of its interfaces, which go over those of the group
            yield from self.named(nodes.start, _INTERFACES)

    def named(self, resource: PolicyResource, key: str) -> Iterator[PolicyResource]:
        """Those that a property names."""
        used = {found.urn for found in resource.property_dependencies.get(key, [])}
        told = each(peek(resource.props, key))
        if key == _INTERFACES:
            told = [peek(interface, "subnetId") for interface in told]
        names = (used | _known(told)) - {""}
        for place in sorted({place for name in names for place in self._by_name.get(name, ())}):
            yield self._all[place]

    def selected(self, node_class: PolicyResource, terms: Any) -> Iterator[PolicyResource]:
        """Those that one of the terms of a node class selects, or that the class is made of."""
        used = {found.urn for found in node_class.property_dependencies.get("spec", [])}
        for subnet in self._all:
            if subnet.urn in used or any(_selects(term, subnet) for _, term in mappings(terms)):
                yield subnet


def _goes_by_zones(nodes: NodeGroup) -> bool:
    """Whether EC2 chooses the subnets, which are the default ones of the zones.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/asg-in-vpc.html (2026-11-29)
    """
    props = nodes.group.props
    if nodes.is_managed or given(props, "vpcZoneIdentifiers"):
        return False
    interfaces = each(peek(nodes.start.props, _INTERFACES)) if nodes.start is not None else ()
    return (
        given(props, "availabilityZones")
        and nodes.start is not None
        and not any(peek(interface, "subnetId") for interface in interfaces)
        and not _refuses(nodes)
    )


def _selects(term: Mapping[str, Any], subnet: PolicyResource) -> bool:
    """Whether a term is of a subnet: by its ID, or by tags, of which `*` is any value."""
    wanted = {key: value for key, value in term.items() if value is not None}
    if "id" in wanted:
        return str(wanted["id"]) == str(peek(subnet.props, "id") or "")
    tags = wanted.get("tags")
    own = peek(subnet.props, "tags")
    if not isinstance(tags, dict) or not isinstance(own, Mapping):
        return False
    found = {key: peek(own, key) for key in tags}
    return bool(tags) and all(
        found[key] is not None and value in ("*", found[key]) for key, value in tags.items()
    )


def _is_public(subnet: PolicyResource) -> bool:
    value = read(subnet.props, "mapPublicIpOnLaunch")
    # A default subnet of AWS gives addresses unless somebody has changed that:
    # https://docs.aws.amazon.com/vpc/latest/userguide/default-vpc-components.html
    return subnet.resource_type == DEFAULT_SUBNET if value is None else is_true(value)


def _refuses(nodes: NodeGroup) -> bool:
    """Whether the template gives nodes no address, whatever the subnet says."""
    if nodes.start is None or nodes.start.resource_type != LAUNCH_TEMPLATE:
        return False
    interfaces = each(read(nodes.start.props, "networkInterfaces"))
    said = [read(interface, "associatePublicIpAddress") for interface in interfaces]
    return bool(said) and all(one is not None and not is_true(one) for one in said)


def _private(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    subnets = _Subnets(args.resources)
    machines = [found for found in args.resources if found.resource_type == INSTANCE]

    def judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
        public = [found.name for found in subnets.of(nodes) if _is_public(found)]
        if public and not _refuses(nodes):
            message = (
                f"{nodes.called} puts nodes into {', '.join(public)}, where each gets a public "
                f"address. Nodes must be in private subnets. {_FIX.of(nodes.group.urn)}"
            )
            yield message, nodes.group.urn
        elif not public and _goes_by_zones(nodes) and subnets.defaults_are_public():
            message = (
                f"{nodes.called} names zones and no subnets: its nodes are in the default subnets "
                f"of those, where each gets a public address. Nodes must be in private subnets. "
                f"{_FIX.of(nodes.group.urn)}"
            )
            yield message, nodes.group.urn

    def alone(machine: PolicyResource) -> Iterator[tuple[str, str]]:
        if not is_node(machine.props) or read(machine.props, "associatePublicIpAddress") is False:
            return
        for subnet in subnets.named(machine, "subnetId"):
            if _is_public(subnet):
                message = (
                    f"The node {machine.name} is in {subnet.name}, where it gets a public address. "
                    f"Nodes must be in private subnets. {_FIX.of(machine.urn)}"
                )
                yield message, machine.urn

    yield from over_each(nodes_of(args.resources), judge)
    yield from over_each(machines, alone)
    attached = [found for found in args.resources if found.resource_type == _ATTACHMENT]
    yield from over_each(args.resources, lambda each: _elastic(each, machines, attached))
    classes = [
        (resource, obj)
        for resource, objects in objects_of_stack(args.resources)
        for obj in objects
        if obj.kind == NODE_CLASS
    ]
    yield from over_each(classes, lambda each: _of_class(*each, subnets))


_ATTACHMENT = "aws:ec2/networkInterfaceAttachment:NetworkInterfaceAttachment"
_TAKERS = {
    EIP: ("instance", "networkInterface"),
    EIP_ASSOCIATION: ("instanceId", "networkInterfaceId"),
}
"""What an address is given to."""
_OF_MACHINE = ("id", "primaryNetworkInterfaceId")


def _elastic(
    address: PolicyResource,
    machines: Sequence[PolicyResource],
    attached: Sequence[PolicyResource],
) -> Iterator[tuple[str, str]]:
    """An address that stays, of an instance that is a node by itself."""
    keys = _TAKERS.get(address.resource_type, ())
    named = {found.urn for key in keys for found in address.property_dependencies.get(key, [])}
    named |= {str(peek(address.props, key) or "") for key in keys} - {""}
    for link in attached:  # of an interface of its own to a machine
        if named & _linked(link, "networkInterfaceId"):
            named |= _linked(link, "instanceId")
    for machine in machines:
        own = {machine.urn, *(str(peek(machine.props, key) or "") for key in _OF_MACHINE)} - {""}
        if own & named and is_node(machine.props):
            message = (
                f"The address {address.name} is that of {machine.name}, a node, which so has a "
                f"public one. Nodes must have private addresses only. {_OF_ELASTIC.of(address.urn)}"
            )
            yield message, address.urn


def _linked(link: PolicyResource, key: str) -> set[str]:
    """What a property of an attachment is, by all that it may be called."""
    found = {each.urn for each in link.property_dependencies.get(key, [])}
    return (found | {str(peek(link.props, key) or "")}) - {""}


def _of_class(
    resource: PolicyResource, obj: KubernetesObject, subnets: _Subnets
) -> Iterator[tuple[str, str] | Unjudged]:
    gives = at(obj.body, "spec", "associatePublicIPAddress")
    if gives is False:  # whatever the subnet says
        return
    terms = at(obj.body, "spec", "subnetSelectorTerms")
    public = [found.name for found in subnets.selected(resource, terms) if _is_public(found)]
    if public and gives is UNKNOWN:
        yield Unjudged(f"associatePublicIPAddress of {resource.name}")
    elif public:
        message = (
            f"The node class {resource.name} selects {', '.join(public)}, where each node gets a "
            f"public address. Nodes must be in private subnets. {_OF_CLASSES.of(resource.urn)}"
        )
        yield message, resource.urn


NODES_IN_PRIVATE_SUBNETS = StackPolicy(
    "nodes-in-private-subnets",
    "Nodes must be in subnets that give them no public addresses, and have none that stays.",
    check=_private,
    applies_to=(
        NODE_GROUP,
        SCALING_GROUP,
        kinds.KARPENTER[2],
        SUBNET,
        DEFAULT_SUBNET,
        EIP,
        EIP_ASSOCIATION,
    ),
    unseen="subnets of other stacks, and where the route tables lead.",
    severity=Severity.HIGH,
    framework=cis("5.4.3", "Clusters have private nodes."),
    also=("aws-security-hub/EC2.15", "prowler/eks_cluster_private_nodes_enabled"),
    fix=_FIX,
)
