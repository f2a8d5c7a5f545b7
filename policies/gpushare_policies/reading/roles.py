"""Roles of AWS in a program, and the policies that its resources give them."""

from __future__ import annotations

import re
from base64 import b64decode
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pulumi_policy.proxy import UnknownValueError

from gpushare_policies.checks import Unjudged
from gpushare_policies.props import each, given, is_known, peek
from gpushare_policies.reading.held_resources import made_by
from gpushare_policies.reading.launches import KINDS
from gpushare_policies.reading.permissions import PolicyStatement, statements
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
    LAUNCH_TEMPLATE,
    NODE_CLASS,
    NODE_GROUP,
    POLICY,
    POLICY_ATTACHMENT,
    PROFILE,
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
        """The roles as they are named; of several, those that are known if the others are used."""
        if self.resource.resource_type != POLICY_ATTACHMENT:
            return named_by(self.resource, self._key)
        roles = each(peek(self.resource.props, self._key))
        known = [number for number in range(len(roles)) if _is_there(roles, number)]
        if len(roles) - len(known) > len(self.used):
            return named_by(self.resource, self._key)  # which says that it cannot be read
        return frozenset(str(roles[number]) for number in known)


_NAMING = {ROLE_ATTACHMENT: "role", ROLE_ATTACHMENTS: "roleName", POLICY_ATTACHMENT: "roles"}
"""The property that names the roles."""


NAMING_NODES = (PROFILE, NODE_GROUP, ACCESS_ENTRY, *KINDS, NODE_CLASS)
"""Types of resources that tell which roles nodes have."""


class StackRoles:
    """The roles of a stack, and what gives them policies."""

    def __init__(self, resources: Sequence[PolicyResource]) -> None:
        found = (made_by(one, token) for one in resources for token in (ROLE, ROLE_POLICY))
        resources = [*resources, *(made for each_made in found for made in each_made)]
        self.resources = resources
        self.attachments = [Attachment(one) for one in resources if one.resource_type in _NAMING]
        self.inline = [one for one in resources if one.resource_type == ROLE_POLICY]
        self.roles = [one for one in resources if one.resource_type == ROLE]
        self.managed = [one for one in resources if one.resource_type == POLICY]
        self._inline = [(one, used_by(one, "role"), named_by(one, "role")) for one in self.inline]
        self._policies: dict[str, tuple[tuple[str, PolicyResource], ...]] = {}

    def of_nodes(self) -> Iterator[PolicyResource]:
        """The roles of nodes: their policy, or what lets nodes join, tells.

        A node group names them, a node class of Karpenter, or an access entry of a type for nodes.
        """
        naming = [(one, path) for one in self.resources if (path := _naming_nodes(one))]
        naming += [(profile, ("role",)) for profile in self._profiles_of_nodes()]
        named = {urn for one, path in naming for urn in used_by(one, path[0])}
        called = {name for one, path in naming for name in called_by(peek(one.props, *path))}
        for role in self.roles:
            if (
                role.urn in named
                or names_of(role) & called
                or any(_WORKERS.fullmatch(arn) for arn, _ in self.policies(role))
            ):
                yield role

    def _profiles_of_nodes(self) -> Iterator[PolicyResource]:
        """The instance profiles of machines that join a cluster."""
        wanted = [
            (resource, path[0], peek(resource.props, *path))
            for resource in self.resources
            for path in _profiles(resource)
        ]
        for profile in self.resources:
            if profile.resource_type == PROFILE and any(
                profile.urn in used_by(user, key) or named in names_of(profile)
                for user, key, named in wanted
            ):
                yield profile

    def documents_of(self, role: PolicyResource) -> tuple[list[GrantedPolicy], list[Unjudged]]:
        """What the program itself writes of a role's permissions, a policy at a time."""
        found = list(self._documents(role))
        documents = [one for one in found if isinstance(one, GrantedPolicy)]
        denied = tuple(told for one in documents for told in one.statements if not told.allows)
        return (
            [
                one._replace(statements=(*(s for s in one.statements if s.allows), *denied))
                for one in documents
            ],
            [one for one in found if isinstance(one, Unjudged)],
        )

    def _documents(self, role: PolicyResource) -> Iterator[GrantedPolicy | Unjudged]:
        for inline in each(peek(role.props, "inlinePolicies")):
            yield from _document(_INLINE, inline, role, role, role)
        names = names_of(role)
        for resource, used, named in self._inline:
            if role.urn in used or named & names:
                yield from _document(_INLINE, resource.props, resource, resource, role)
        for arn, attachment in self.policies(role):
            if ":aws:policy/" not in arn:
                yield from self._own(role, arn, attachment)

    def _own(
        self, role: PolicyResource, arn: str, attachment: PolicyResource
    ) -> Iterator[GrantedPolicy | Unjudged]:
        """A policy that is none of AWS's; one of another stack is not seen."""
        policies = self.policies_called(arn, attachment, "policyArn")
        for policy in policies:
            yield from _document(
                f"the policy {policy.name}", policy.props, policy, attachment, role
            )
        if not arn and not policies:
            yield Unjudged(f"the policy that {attachment.name} gives the role {role.name}")

    def policies_called(self, arn: Any, user: PolicyResource, key: str) -> list[PolicyResource]:
        """The managed policies of the program that a property names."""
        used = used_by(user, key)
        return [
            policy
            for policy in self.managed
            if (arn and peek(policy.props, "arn") == arn) or policy.urn in used
        ]

    def boundary(self, role: PolicyResource) -> Sequence[PolicyStatement] | Unjudged | None:
        """The permissions boundary of a role; None where nothing bounds it."""
        key = "permissionsBoundary"
        if not given(role.props, key):
            return None
        if str(peek(role.props, key)).endswith(":aws:policy/AdministratorAccess"):
            return None
        for policy in self.bounds_of(role):
            found = statements(peek(policy.props, "policy"))
            if found is not None:
                return found
        return Unjudged(f"the permissions boundary of the role {role.name}")

    def bounds_of(self, role: PolicyResource) -> list[PolicyResource]:
        """The policies of the program that bound a role."""
        key = "permissionsBoundary"
        return self.policies_called(peek(role.props, key), role, key)

    def policies(self, role: PolicyResource) -> tuple[tuple[str, PolicyResource], ...]:
        """The managed policies of a role, with the resource that attaches each."""
        if role.urn not in self._policies:
            self._policies[role.urn] = tuple(self._attached(role))
        return self._policies[role.urn]

    def _attached(self, role: PolicyResource) -> Iterator[tuple[str, PolicyResource]]:
        for arn in each(peek(role.props, "managedPolicyArns")):
            yield str(arn), role
        names = names_of(role)
        for attachment in self.attachments:
            arns = attachment.arns
            if role.urn in attachment.used or attachment.names & names:
                yield from ((arn, attachment.resource) for arn in arns)


_INLINE = "an inline policy"


class GrantedPolicy(NamedTuple):
    """A policy of a role, and the resource that gives it."""

    what: str
    """How a message names it, up to its verb."""
    statements: Sequence[PolicyStatement]
    """What it allows, and all that its role is denied."""
    policy: PolicyResource
    """What writes it."""
    resource: PolicyResource
    """What gives it to the role."""


def _document(
    what: str, props: Any, policy: PolicyResource, resource: PolicyResource, role: PolicyResource
) -> Iterator[GrantedPolicy | Unjudged]:
    if not is_known(props, "policy"):
        if given(props, "policy"):
            yield Unjudged(f"what {what} allows the role {role.name}")
    elif (found := statements(peek(props, "policy"))) is not None:  # AWS refuses what is none
        verb = " that" if policy.resource_type != POLICY else ", which"
        yield GrantedPolicy(f"{what}{verb}", found, policy, resource)


_JOINS = re.compile(r"/etc/eks/bootstrap\.sh|nodeadm|node\.eks\.aws|\[settings\.kubernetes\]")
"""What machines are told that join a cluster."""


def _profiles(resource: PolicyResource) -> Iterator[tuple[str, ...]]:
    """The properties by which what makes nodes names an instance profile."""
    kind, props = resource.resource_type, resource.props
    if kind in KINDS and _joins(props):
        if kind == LAUNCH_TEMPLATE:
            yield "iamInstanceProfile", "name"
            yield "iamInstanceProfile", "arn"
        else:
            yield ("iamInstanceProfile",)
    elif kind == NODE_CLASS:
        yield "spec", "instanceProfile"


def _joins(props: Any) -> bool:
    for key in ("userData", "userDataBase64"):
        text = str(peek(props, key) or "")
        with suppress(ValueError):
            text += b64decode(text, validate=True).decode("utf-8", "replace")
        if _JOINS.search(text):
            return True
    return False


def _naming_nodes(resource: PolicyResource) -> tuple[str, ...]:
    """The property by which a resource names the role of nodes; empty if it names none."""
    if resource.resource_type == NODE_GROUP:
        return ("nodeRoleArn",)
    if resource.resource_type == NODE_CLASS:
        return "spec", "role"
    is_entry = resource.resource_type == ACCESS_ENTRY
    of_nodes = is_entry and str(peek(resource.props, "type")) in _ENTRIES
    return ("principalArn",) if of_nodes else ()


def names_of(role: PolicyResource) -> frozenset[str]:
    """What other resources may call a role."""
    return frozenset(
        str(value) for key in ("name", "id", "arn") if (value := peek(role.props, key))
    )


def _is_there(roles: Sequence[Any], number: int) -> bool:
    try:
        return roles[number] is not None
    except UnknownValueError:
        return False


def used_by(resource: PolicyResource, key: str) -> frozenset[str]:
    """The URNs of what a property comes from."""
    return frozenset(found.urn for found in resource.property_dependencies.get(key, []))


_ROLE_ARN = re.compile(r"arn:[^:]*:iam::[^:]*:role/(?:[^/]*/)*([^/]+)")


def called_by(given: Any) -> frozenset[str]:
    """How a text calls a role: an ARN has its name too, which no other has in its account."""
    text = given if isinstance(given, str) else ""
    found = _ROLE_ARN.fullmatch(text)
    return frozenset(filter(None, (text, found[1] if found else "")))


def named_by(resource: PolicyResource, key: str) -> frozenset[str]:
    """What a property names, as far as that is known."""
    return frozenset(str(name) for name in each(peek(resource.props, key)))
