"""Roles in AWS are for somebody, and for something."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.props import each, given, is_known, peek
from gpushare_policies.reading.roles import StackRoles
from gpushare_policies.rule import StackPolicy, Unjudged
from gpushare_policies.tokens import (
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS,
    ROLE_POLICY,
)
from gpushare_policies.words import Fix

_POLICY = "aws:iam/policy:Policy"
_STACK_FILE = (
    "Roles made from a stack file name whom and what they are for: remove what changes that, such "
    "as a transform."
)
_TRUST = Fix(
    _STACK_FILE,
    "Name the service or the role under `Principal` of the trust policy.",
    "Name the service or the role under `Principal` of `assumeRolePolicy`.",
)
_CONDITION = (
    "Add a `Condition` with `StringEquals` on the provider's `:sub`, such as "
    "`system:serviceaccount:NAMESPACE:NAME`."
)
_SUBJECT = Fix(_STACK_FILE, _CONDITION, _CONDITION)
_OF_EKS = "oidc-provider/oidc.eks."
_ANYBODY = frozenset(("*", "system:*", "system:serviceaccount:*", "system:serviceaccount:*:*"))
_RIGHTS = Fix(
    _STACK_FILE,
    "Name the actions and resources that are needed.",
    "Name the actions and resources that are needed in `policy`.",
)


_ADMIN = re.compile(r".*:aws:policy/(job-function/)?AdministratorAccess(-[A-Za-z-]+)?")
_OF_THE_CLUSTER = frozenset(("eks.amazonaws.com", "pods.eks.amazonaws.com"))
"""Services that take roles for a cluster and for its pods."""
_ATTACH = "Attach a policy that names what is needed."
_LESS = Fix(_STACK_FILE, _ATTACH, _ATTACH)


def _roles(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    yield from _administer(StackRoles(args.resources))
    for resource in args.resources:
        if resource.resource_type == ROLE:
            yield from _trusts(resource)
        elif resource.resource_type in (ROLE_POLICY, _POLICY) and not _is_of_nodes(resource):
            yield from _allows(resource)


def _administer(roles: StackRoles) -> Iterator[tuple[str, str]]:
    """Clusters and pods that are administrators; of nodes node-role-rights speaks."""
    of_nodes = {role.urn for role in roles.of_nodes()}
    for role in roles.resources:
        if role.resource_type != ROLE or role.urn in of_nodes or not _is_of_the_cluster(role):
            continue
        for arn, resource in roles.policies(role):
            if _ADMIN.fullmatch(arn):
                yield (
                    (
                        f"The role {role.name}, which a cluster or its pods take, has {arn}. It "
                        f"must have what is needed alone, or who gets at its credentials owns the "
                        f"account. {_LESS.of(resource.urn)}"
                    ),
                    resource.urn,
                )


def _is_of_the_cluster(role: PolicyResource) -> bool:
    """Whether EKS takes a role, or pods by Pod Identity or the cluster's identity provider."""
    for statement in _statements(role, "assumeRolePolicy"):
        principal = None if isinstance(statement, Unjudged) else statement.get("Principal")
        if isinstance(principal, Mapping):
            services = _OF_THE_CLUSTER.intersection(each(principal.get("Service")))
            federated = each(principal.get("Federated"))
            if services or any(_OF_EKS in str(provider) for provider in federated):
                return True
    return False


def _trusts(role: PolicyResource) -> Iterator[tuple[str, str] | Unjudged]:
    for statement in _statements(role, "assumeRolePolicy"):
        if isinstance(statement, Unjudged):
            yield statement
        elif _is_everybody(statement.get("Principal")) and not statement.get("Condition"):
            yield (
                (
                    f"The role {role.name} may be taken by everybody: the principal of its trust "
                    f"policy is `*`, and no condition says who of them. It must name who takes it. "
                    f"{_TRUST.of(role.urn)}"
                ),
                role.urn,
            )
        elif provider := _any_of(statement):
            yield (
                (
                    f"The role {role.name} may be taken by everybody whom {provider} knows: no "
                    f"condition of its trust policy says which subject. On EKS every pod of the "
                    f"cluster may take it. {_SUBJECT.of(role.urn)}"
                ),
                role.urn,
            )


def _any_of(statement: Mapping[str, Any]) -> str:
    """The identity provider of a statement that takes whomever it knows; empty if there is none.

    A condition on `sub` tells the pods of an EKS cluster apart, whose `aud` is the same for all:
    https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
    """
    principal = statement.get("Principal")
    federated = principal.get("Federated") if isinstance(principal, Mapping) else None
    named = [str(each_of) for each_of in each(federated) if _OF_EKS in str(each_of)]
    conditions = statement.get("Condition")
    for tests in conditions.values() if isinstance(conditions, Mapping) else ():
        for key, values in tests.items() if isinstance(tests, Mapping) else ():
            if str(key).lower().endswith(":sub") and not _ANYBODY.intersection(each(values)):
                return ""
    return named[0] if named else ""


def _allows(policy: PolicyResource) -> Iterator[tuple[str, str] | Unjudged]:
    for statement in _statements(policy, "policy"):
        if isinstance(statement, Unjudged):
            yield statement
        elif _has_all(statement, "Action") and _has_all(statement, "Resource"):
            yield (
                (
                    f"The policy {policy.name} allows every action on every resource. It must name "
                    f"what is needed, or a pod with this role owns the account. "
                    f"{_RIGHTS.of(policy.urn)}"
                ),
                policy.urn,
            )


def _statements(resource: PolicyResource, key: str) -> Iterator[Mapping[str, Any] | Unjudged]:
    """The statements that allow something."""
    if not is_known(resource.props, key):
        if given(resource.props, key):
            yield Unjudged(f"{key} of {resource.name}")
        return
    document = peek(resource.props, key)
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError:
            return  # AWS refuses it
    if not isinstance(document, Mapping):
        return
    for statement in each(document.get("Statement")):
        if isinstance(statement, Mapping) and statement.get("Effect") == "Allow":
            yield statement


def _is_everybody(principal: Any) -> bool:
    if isinstance(principal, Mapping):
        return any("*" in each(principal[kind]) for kind in principal)
    return bool(principal == "*")


def _has_all(statement: Mapping[str, Any], key: str) -> bool:
    wide = {"*", "*:*"} if key == "Action" else {"*"}
    return any(str(value) in wide for value in each(statement.get(key)))


def _is_of_nodes(policy: PolicyResource) -> bool:
    """Whether it is for roles of nodes, of which node-role-rights speaks."""
    roles = policy.property_dependencies.get("role", ())
    return any("ec2.amazonaws.com" in str(peek(role.props, "assumeRolePolicy")) for role in roles)


ROLES_BOUNDED = StackPolicy(
    "roles-bounded",
    "Roles in AWS must name who takes them, and what they may do.",
    check=_roles,
    applies_to=(
        ROLE,
        ROLE_POLICY,
        _POLICY,
        ROLE_ATTACHMENT,
        ROLE_ATTACHMENTS,
        POLICY_ATTACHMENT,
    ),
    severity=Severity.CRITICAL,
    fix=Fix(_STACK_FILE, f"{_TRUST.eks} {_RIGHTS.eks}", f"{_TRUST.raw} {_RIGHTS.raw}"),
)
