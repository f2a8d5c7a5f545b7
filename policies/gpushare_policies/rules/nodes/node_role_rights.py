"""The rule on what the role of nodes may do, which every pod with access to it may do too."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.props import each, is_known, peek
from gpushare_policies.reading.roles import StackRoles, named_by, names_of, used_by
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, Unjudged, security_hub
from gpushare_policies.tokens import (
    ACCESS_ENTRY,
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


def _judge(role: PolicyResource, stack: StackRoles) -> Iterator[tuple[str, str] | Unjudged]:
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
            role.urn in used_by(resource, "role") or named_by(resource, "role") & names_of(role)
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
    stack = StackRoles(args.resources)
    yield from over_each(stack.of_nodes(), lambda role: _judge(role, stack))


NODE_ROLE_RIGHTS = StackPolicy(
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
        ACCESS_ENTRY,
    ),
    unseen="roles and policies of other stacks, and permissions boundaries.",
    severity=Severity.HIGH,
    framework=security_hub("IAM.1", "IAM policies do not allow full administrative privileges."),
    fix=_FIX,
)
