"""Nodes that Karpenter makes may join the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity, StackValidationArgs

from gpushare_policies.props import is_known, read
from gpushare_policies.reading import kinds
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.objects import objects_of_stack
from gpushare_policies.rule import StackPolicy, Unjudged
from gpushare_policies.tokens import ACCESS_ENTRY, AWS_CLUSTER, ROLE
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
    entries = [resource for resource in args.resources if resource.resource_type == ACCESS_ENTRY]
    told = set()
    for resource, objects in objects_of_stack(args.resources):
        if all(obj.kind != NODE_CLASS for obj in objects):
            continue
        for role in _used(resource, "spec"):
            if role.urn in told:
                continue
            told.add(role.urn)
            yield from _let_in(resource, role, entries)


def _by_entries_only(cluster: PolicyResource) -> bool:
    known = is_known(cluster.props, "accessConfig", "authenticationMode")
    return known and read(cluster.props, "accessConfig", "authenticationMode") == "API"


def _used(resource: PolicyResource, key: str) -> list[PolicyResource]:
    """The roles that a property is made of; a role that is written out may be anybody's."""
    return [
        each for each in resource.property_dependencies.get(key, ()) if each.resource_type == ROLE
    ]


def _let_in(
    node_class: PolicyResource, role: PolicyResource, entries: Sequence[PolicyResource]
) -> Iterator[tuple[str, str] | Unjudged]:
    own = [entry for entry in entries if role in _used(entry, "principalArn")]
    if any(not is_known(resource.props, "type") for resource in own):
        yield Unjudged(f"the type of the access entry {own[0].name}")
        return
    kinds_given = [read(resource.props, "type") or "STANDARD" for resource in own]
    if any(kind in _JOINING for kind in kinds_given):
        return
    found = f"an access entry of the type {kinds_given[0]}" if own else "no access entry"
    message = (
        f"The role {role.name}, which the nodes of {node_class.name} get, has {found}. It must "
        f"have one of the type EC2_LINUX, or the nodes start, are paid for and never join."
    )
    yield f"{message} {_ENTRY.of(node_class.urn)}", node_class.urn


KARPENTER_NODES_MAY_JOIN = StackPolicy(
    "karpenter-nodes-may-join",
    "The role of nodes that Karpenter makes must have an access entry for nodes.",
    check=_roles,
    applies_to=(kinds.KARPENTER[2], ROLE, ACCESS_ENTRY),
    severity=Severity.HIGH,
    fix=_ENTRY,
)
