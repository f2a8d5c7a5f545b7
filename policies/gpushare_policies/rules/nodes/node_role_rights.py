"""The rule on what the role of nodes may do, which every pod with access to it may do too."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.props import each, is_known, peek
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackRule, Unjudged, security_hub
from gpushare_policies.tokens import (
    NODE_GROUP,
    POLICY,
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS,
    ROLE_POLICY,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RAW = (
    "Attach AmazonEKSWorkerNodePolicy, AmazonEC2ContainerRegistryPullOnly and what the nodes "
    "themselves need; give pods roles of their own by aws.eks.PodIdentityAssociation."
)
_FIX = Fix(
    "Nodes made from a stack file have four policies that EKS needs: remove the attachment, and "
    "give pods their own roles by EKS Pod Identity.",
    _RAW,
    _RAW,
)
_TOO_MUCH = re.compile(
    r"AdministratorAccess.*|PowerUserAccess|SystemAdministrator|SecretsManagerReadWrite"
    r"|AmazonEC2ContainerRegistryPowerUser|.*FullAccess(_?[vV][0-9]+)?"
)
"""Policies of AWS that let a node do what no node does:
https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html, read 2026-11-22."""


def too_much(arn: str) -> bool:
    """Whether a managed policy of AWS gives a node more than any node needs."""
    _, is_of_aws, path = arn.partition(":aws:policy/")
    return bool(is_of_aws) and bool(_TOO_MUCH.fullmatch(path.rpartition("/")[2]))


_OF_NODES = re.compile(r".*:policy/AmazonEKSWorkerNode(Minimal)?Policy")
"""What a role of nodes has and no other needs."""


class _Attachment:
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
        return _used(self.resource, self._key)

    @cached_property
    def names(self) -> frozenset[str]:
        """The roles as they are named."""
        return _named(self.resource, self._key)


_NAMING = {ROLE_ATTACHMENT: "role", ROLE_ATTACHMENTS: "roleName", POLICY_ATTACHMENT: "roles"}
"""The property that names the roles."""


class _Stack:
    """The resources of a stack, and those that give roles policies."""

    def __init__(self, resources: Sequence[PolicyResource]) -> None:
        self.resources = resources
        self.attachments = [_Attachment(one) for one in resources if one.resource_type in _NAMING]
        self.inline = [one for one in resources if one.resource_type == ROLE_POLICY]

    def roles(self) -> Iterator[PolicyResource]:
        """The roles of nodes: a node group names them, or they have the policy of nodes."""
        groups = [one for one in self.resources if one.resource_type == NODE_GROUP]
        named = {urn for group in groups for urn in _used(group, "nodeRoleArn")}
        arns = {peek(group.props, "nodeRoleArn") for group in groups} - {None}
        for role in self.resources:
            if role.resource_type == ROLE and (
                role.urn in named
                or peek(role.props, "arn") in arns
                or any(_OF_NODES.fullmatch(arn) for arn, _ in self.policies(role))
            ):
                yield role

    def policies(self, role: PolicyResource) -> Iterator[tuple[str, PolicyResource]]:
        """The managed policies of a role, with the resource that attaches each."""
        for arn in each(peek(role.props, "managedPolicyArns")):
            yield str(arn), role
        names = _names(role)
        for attachment in self.attachments:
            arns = attachment.arns
            if role.urn in attachment.used or attachment.names & names:
                yield from ((arn, attachment.resource) for arn in arns)


def _names(role: PolicyResource) -> frozenset[str]:
    return frozenset(
        str(value) for key in ("name", "id", "arn") if (value := peek(role.props, key))
    )


def _used(resource: PolicyResource, key: str) -> frozenset[str]:
    return frozenset(found.urn for found in resource.property_dependencies.get(key, []))


def _named(resource: PolicyResource, key: str) -> frozenset[str]:
    return frozenset(str(name) for name in each(peek(resource.props, key)))


def allows_everything(document: Any) -> bool:
    """Whether a policy document allows every action on everything."""
    try:
        statements = json.loads(document)["Statement"] if isinstance(document, str) else ()
    except (ValueError, KeyError, TypeError):
        return False
    return any(
        isinstance(statement, dict)
        and statement.get("Effect") == "Allow"
        and any(str(action) in ("*", "*:*") for action in each(statement.get("Action")))
        and "*" in each(statement.get("Resource"))
        for statement in (statements if isinstance(statements, list) else [statements])
    )


def _judge(role: PolicyResource, stack: _Stack) -> Iterator[tuple[str, str] | Unjudged]:
    for arn, resource in stack.policies(role):
        if too_much(arn):
            yield _message(role, arn, resource.urn), resource.urn
        elif ":aws:policy/" not in arn:
            yield from _own(role, arn, resource, stack.resources)
    what = "an inline policy that allows everything"
    for inline in each(peek(role.props, "inlinePolicies")):
        if allows_everything(peek(inline, "policy")):
            yield _message(role, what, role.urn), role.urn
    for resource in stack.inline:
        if allows_everything(peek(resource.props, "policy")) and (
            role.urn in _used(resource, "role") or _named(resource, "role") & _names(role)
        ):
            yield _message(role, what, resource.urn), resource.urn


def _own(
    role: PolicyResource,
    arn: str,
    attachment: PolicyResource,
    resources: Sequence[PolicyResource],
) -> Iterator[tuple[str, str] | Unjudged]:
    """What there is to say of a policy that is none of AWS's; one of another stack is not seen."""
    used = {found.urn for found in attachment.property_dependencies.get("policyArn", [])}
    policies = [
        resource
        for resource in resources
        if resource.resource_type == POLICY
        and (peek(resource.props, "arn") == arn if arn else resource.urn in used)
    ]
    for policy in policies:
        if not is_known(policy.props, "policy"):
            yield Unjudged(f"what the policy {policy.name} allows the role {role.name}")
        elif allows_everything(peek(policy.props, "policy")):
            what = f"the policy {policy.name}, which allows everything"
            yield _message(role, what, attachment.urn), attachment.urn
    if not arn and not policies:
        yield Unjudged(f"the policy that {attachment.name} gives the role {role.name}")


def _message(role: PolicyResource, what: str, urn: str) -> str:
    return (
        f"The role of nodes {role.name} has {what}. It must have no more than nodes need: whoever "
        f"gets at a node's credentials has all of it. {_FIX.of(urn)}"
    )


def _rights(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    stack = _Stack(args.resources)
    yield from over_each(stack.roles(), lambda role: _judge(role, stack))


NODE_ROLE_RIGHTS = StackRule(
    "node-role-rights",
    "The role of nodes must have no rights beyond what nodes need.",
    check=_rights,
    applies_to=(
        ROLE,
        ROLE_ATTACHMENT,
        ROLE_ATTACHMENTS,
        POLICY_ATTACHMENT,
        ROLE_POLICY,
        NODE_GROUP,
    ),
    unseen="roles and policies of other stacks, and permissions boundaries.",
    severity=Severity.HIGH,
    framework=security_hub("IAM.1", "IAM policies do not allow full administrative privileges."),
    fix=_FIX,
)
