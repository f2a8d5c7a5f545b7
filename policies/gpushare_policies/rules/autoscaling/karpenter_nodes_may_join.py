"""Nodes that Karpenter makes may join the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import is_known, peek, read
from gpushare_policies.reading import kinds
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.objects import objects_of_stack
from gpushare_policies.reading.roles import called_by, names_of, used_by
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import ACCESS_ENTRY, AWS_CLUSTER, NODE_GROUP, PROFILE, ROLE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pulumi_policy import PolicyResource

_JOINING = ("EC2_LINUX", "EC2_WINDOWS", "EC2", "HYBRID_LINUX")
"""Types of access entries with which EKS lets nodes in:
https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html (2026-11-22)."""
_STACK_FILE = (
    "The nodes of a stack file's Karpenter have an access entry: remove what changes it, such as "
    "a transform."
)
_RAW = "Make an aws.eks.AccessEntry of the type EC2_LINUX for the role."
_ENTRY = Fix(_STACK_FILE, _RAW, _RAW)


def _roles(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    clusters = [resource for resource in args.resources if resource.resource_type == AWS_CLUSTER]
    # Of another cluster, or one with aws-auth, others may have let the role in.
    if not clusters or any(not _by_entries_only(cluster) for cluster in clusters):
        return
    called = [peek(cluster.props, "name") for cluster in clusters]
    entries = [
        resource
        for resource in args.resources
        if resource.resource_type == ACCESS_ENTRY
        and (None in called or peek(resource.props, "clusterName") in (None, *called))
    ]
    roles = [resource for resource in args.resources if resource.resource_type == ROLE]
    profiles = [resource for resource in args.resources if resource.resource_type == PROFILE]
    by_eks = _let_in_by_eks(args.resources)
    told: set[str] = set()
    for resource, objects in objects_of_stack(args.resources):
        for obj in objects:
            if obj.kind != NODE_CLASS:
                continue
            named = _wanted(resource, "spec", at(obj.body, "spec", "role"), roles)
            for profile in _profiles(resource, at(obj.body, "spec", "instanceProfile"), profiles):
                named = _wanted(profile, "role", peek(profile.props, "role"), roles)
            for name, names in named:
                own = [entry for entry in entries if names & _principals(entry)]
                is_made_here = any(role.urn in names for role in roles)
                # EKS leaves an entry that is there as it is.
                if told & names or (by_eks & names and not own) or not (own or is_made_here):
                    continue
                told |= names
                yield from _let_in(resource, name, own)


def _profiles(
    node_class: PolicyResource, given: Any, profiles: Sequence[PolicyResource]
) -> Iterator[PolicyResource]:
    """The instance profile that a node class names in place of a role."""
    used = used_by(node_class, "spec")
    for profile in profiles if given is not None else ():
        if profile.urn in used or given in names_of(profile):
            yield profile


def _wanted(
    holder: PolicyResource, key: str, given: Any, roles: Sequence[PolicyResource]
) -> Iterator[tuple[str, frozenset[str]]]:
    """The roles of a node class or a profile by their names, with all that others may call them."""
    used = _used(holder, key) or [role for role in roles if given in names_of(role)]
    for role in used:
        yield role.name, names_of(role) | {role.urn}
    if not used and isinstance(given, str):
        yield given, called_by(given)


def _principals(resource: PolicyResource, key: str = "principalArn") -> frozenset[str]:
    """Whom an entry is for, or which role a node group has, by all that it may be called."""
    used = frozenset(role.urn for role in _used(resource, key))
    return used | called_by(peek(resource.props, key))


def _let_in_by_eks(resources: Sequence[PolicyResource]) -> frozenset[str]:
    """Roles of managed node groups, for which EKS makes the entry itself."""
    groups = [resource for resource in resources if resource.resource_type == NODE_GROUP]
    return frozenset().union(*(_principals(group, "nodeRoleArn") for group in groups))


def _by_entries_only(cluster: PolicyResource) -> bool:
    known = is_known(cluster.props, "accessConfig", "authenticationMode")
    return known and read(cluster.props, "accessConfig", "authenticationMode") == "API"


def _used(resource: PolicyResource, key: str) -> list[PolicyResource]:
    """The roles that a property is made of; a role that is written out may be anybody's."""
    return [
        each for each in resource.property_dependencies.get(key, ()) if each.resource_type == ROLE
    ]


def _let_in(
    node_class: PolicyResource, name: str, own: Sequence[PolicyResource]
) -> Iterator[tuple[str, str] | Unjudged]:
    if any(not is_known(resource.props, "type") for resource in own):
        yield Unjudged(f"the type of the access entry {own[0].name}")
        return
    kinds_given = [read(resource.props, "type") or "STANDARD" for resource in own]
    if any(kind in _JOINING for kind in kinds_given):
        return
    found = f"an access entry of the type {kinds_given[0]}" if own else "no access entry"
    message = (
        f"The role {name}, which the nodes of {node_class.name} get, has {found}. It must "
        f"have one of the type EC2_LINUX, or the nodes start, are paid for and never join."
    )
    yield f"{message} {_ENTRY.of(node_class.urn)}", node_class.urn


KARPENTER_NODES_MAY_JOIN = StackPolicy(
    "karpenter-nodes-may-join",
    "The role of nodes that Karpenter makes must have an access entry for nodes.",
    check=_roles,
    applies_to=(kinds.KARPENTER[2], ROLE, ACCESS_ENTRY),
    unseen="roles that another stack makes, if no access entry of this one names them.",
    severity=Severity.HIGH,
    fix=_ENTRY,
)
