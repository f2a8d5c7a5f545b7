"""Roles of AWS in a program, and the policies that its resources give them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from gpushare_policies.props import each, peek
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
    NODE_GROUP,
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS,
    ROLE_POLICY,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pulumi_policy import PolicyResource

_WORKERS = re.compile(r".*:policy/AmazonEKSWorkerNode(Minimal)?Policy")
"""What a role of nodes has and no other needs."""
_ENTRIES = ("EC2", "EC2_LINUX", "EC2_WINDOWS", "HYBRID_LINUX")
"""Types of access entries that are for nodes:
https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html, read 2026-11-22."""


class Attachment:
    """A resource that gives roles policies; each of its properties is read once for all roles.

    What cannot be read is refused anew each time, so that every role hears of it.
    """

    def __init__(self, resource: PolicyResource) -> None:
        self.resource = resource
        self._key = _NAMING[resource.resource_type]

    @cached_property
    def arns(self) -> list[str]:
        """The policies that the roles get."""
        props = self.resource.props
        if self.resource.resource_type == ROLE_ATTACHMENTS:
            return [str(arn) for arn in each(peek(props, "policyArns"))]
        return [str(peek(props, "policyArn") or "")]

    @cached_property
    def used(self) -> frozenset[str]:
        """The URNs of the roles that its property comes from."""
        return used_by(self.resource, self._key)

    @cached_property
    def names(self) -> frozenset[str]:
        """The roles as they are named."""
        return named_by(self.resource, self._key)


_NAMING = {ROLE_ATTACHMENT: "role", ROLE_ATTACHMENTS: "roleName", POLICY_ATTACHMENT: "roles"}
"""The property that names the roles."""


class StackRoles:
    """The roles of a stack, and what gives them policies."""

    def __init__(self, resources: Sequence[PolicyResource]) -> None:
        self.resources = resources
        self.attachments = [Attachment(one) for one in resources if one.resource_type in _NAMING]
        self.inline = [one for one in resources if one.resource_type == ROLE_POLICY]

    def of_nodes(self) -> Iterator[PolicyResource]:
        """The roles of nodes: their policy, or what lets nodes join, tells.

        A node group names them, or an access entry of a type for nodes, as Karpenter's need one.
        """
        naming = [(one, key) for one in self.resources if (key := _naming_nodes(one))]
        named = {urn for one, key in naming for urn in used_by(one, key)}
        arns = {peek(one.props, key) for one, key in naming} - {None}
        for role in self.resources:
            if role.resource_type == ROLE and (
                role.urn in named
                or peek(role.props, "arn") in arns
                or any(_WORKERS.fullmatch(arn) for arn, _ in self.policies(role))
            ):
                yield role

    def policies(self, role: PolicyResource) -> Iterator[tuple[str, PolicyResource]]:
        """The managed policies of a role, with the resource that attaches each."""
        for arn in each(peek(role.props, "managedPolicyArns")):
            yield str(arn), role
        names = names_of(role)
        for attachment in self.attachments:
            arns = attachment.arns
            if role.urn in attachment.used or attachment.names & names:
                yield from ((arn, attachment.resource) for arn in arns)


def _naming_nodes(resource: PolicyResource) -> str:
    """The property by which a resource names the role of nodes; empty if it names none."""
    if resource.resource_type == NODE_GROUP:
        return "nodeRoleArn"
    is_entry = resource.resource_type == ACCESS_ENTRY
    of_nodes = is_entry and str(peek(resource.props, "type")) in _ENTRIES
    return "principalArn" if of_nodes else ""


def names_of(role: PolicyResource) -> frozenset[str]:
    """What other resources may call a role."""
    return frozenset(
        str(value) for key in ("name", "id", "arn") if (value := peek(role.props, key))
    )


def used_by(resource: PolicyResource, key: str) -> frozenset[str]:
    """The URNs of what a property comes from."""
    return frozenset(found.urn for found in resource.property_dependencies.get(key, []))


def named_by(resource: PolicyResource, key: str) -> frozenset[str]:
    """What a property names, as far as that is known."""
    return frozenset(str(name) for name in each(peek(resource.props, key)))
