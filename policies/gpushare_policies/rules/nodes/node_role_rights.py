"""The rule on what the role of nodes may do, which every pod with access to it may do too."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.props import each, peek
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackRule, security_hub
from gpushare_policies.tokens import (
    INSTANCE_PROFILE,
    NODE_GROUP,
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


def _is_for_nodes(role: PolicyResource, of_nodes: set[str]) -> bool:
    return role.urn in of_nodes or "ec2.amazonaws.com" in str(
        peek(role.props, "assumeRolePolicy") or ""
    )


def _roles(resources: Sequence[PolicyResource]) -> list[PolicyResource]:
    """The roles of nodes: a node group names them, or EC2 may take them."""
    of_nodes = {
        role.urn
        for resource in resources
        if resource.resource_type in (NODE_GROUP, INSTANCE_PROFILE)
        for key in ("nodeRoleArn", "role")
        for role in resource.property_dependencies.get(key, [])
    }
    return [
        each_role
        for each_role in resources
        if each_role.resource_type == ROLE and _is_for_nodes(each_role, of_nodes)
    ]


def _names(role: PolicyResource) -> set[str]:
    return {str(value) for key in ("name", "id", "arn") if (value := peek(role.props, key))}


def _attached(resource: PolicyResource) -> tuple[str, list[str]]:
    """The property that names roles, and the policies they get."""
    if resource.resource_type == ROLE_ATTACHMENT:
        return "role", [str(peek(resource.props, "policyArn") or "")]
    if resource.resource_type == ROLE_ATTACHMENTS:
        return "roleName", [str(arn) for arn in each(peek(resource.props, "policyArns"))]
    return "roles", [str(peek(resource.props, "policyArn") or "")]


def _is_of(resource: PolicyResource, key: str, role: PolicyResource) -> bool:
    used = resource.property_dependencies.get(key, [])
    if any(found.urn == role.urn for found in used):
        return True
    return bool({str(name) for name in each(peek(resource.props, key))} & _names(role))


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


def _judge(role: PolicyResource, resources: Sequence[PolicyResource]) -> Iterator[tuple[str, str]]:
    for arn in each(peek(role.props, "managedPolicyArns")):
        if too_much(str(arn)):
            yield _message(role, str(arn), role.urn), role.urn
    for inline in each(peek(role.props, "inlinePolicies")):
        if allows_everything(peek(inline, "policy")):
            yield _message(role, "an inline policy that allows everything", role.urn), role.urn
    for resource in resources:
        if (
            resource.resource_type == ROLE_POLICY
            and allows_everything(peek(resource.props, "policy"))
            and _is_of(resource, "role", role)
        ):
            what = "an inline policy that allows everything"
            yield _message(role, what, resource.urn), resource.urn
        if resource.resource_type not in (ROLE_ATTACHMENT, ROLE_ATTACHMENTS, POLICY_ATTACHMENT):
            continue
        key, arns = _attached(resource)
        for arn in filter(too_much, arns):
            if _is_of(resource, key, role):
                yield _message(role, arn, resource.urn), resource.urn


def _message(role: PolicyResource, what: str, urn: str) -> str:
    return (
        f"The role of nodes {role.name} has {what}. It must have no more than nodes need: whoever "
        f"gets at a node's credentials has all of it. {_FIX.of(urn)}"
    )


def _rights(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    yield from over_each(_roles(args.resources), lambda role: _judge(role, args.resources))


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
    severity=Severity.HIGH,
    framework=security_hub("IAM.1", "IAM policies do not allow full administrative privileges."),
    fix=_FIX,
)
