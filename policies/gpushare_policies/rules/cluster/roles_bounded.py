"""Roles in AWS are for somebody, and for something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.checks import Unjudged
from gpushare_policies.props import each, given, is_known, peek
from gpushare_policies.reading.permissions import (
    CHOSEN,
    ActionRequest,
    Context,
    PolicyStatement,
    may,
    statements,
)
from gpushare_policies.reading.powers import all_of_iam, owns_most, to_administrator
from gpushare_policies.reading.roles import NAMING_NODES, GrantedPolicy, StackRoles
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import (
    POLICY,
    POLICY_ATTACHMENT,
    ROLE,
    ROLE_ATTACHMENT,
    ROLE_ATTACHMENTS,
    ROLE_POLICY,
)
from gpushare_policies.words import Fix

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
_RIGHTS = Fix(
    _STACK_FILE,
    "Name the actions and resources that are needed.",
    "Name the actions and resources that are needed in `policy`.",
)


_ADMIN = re.compile(
    r".*:aws:policy/(job-function/)?(AdministratorAccess(-[A-Za-z-]+)?|IAMFullAccess|PowerUserAccess)"
)
"""By the second its holder is an administrator; the third is every service but IAM."""
_OF_THE_CLUSTER = frozenset(("eks.amazonaws.com", "pods.eks.amazonaws.com"))
"""Services that take roles for a cluster and for its pods."""
_ATTACH = "Attach a policy that names what is needed."
_LESS = Fix(_STACK_FILE, _ATTACH, _ATTACH)


def _roles(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    stack = StackRoles(args.resources)
    of_nodes = {role.urn for role in stack.of_nodes()}
    told: dict[tuple[str, str] | Unjudged, None] = {}
    placed: set[str] = set()
    for role in stack.roles:
        yield from _trusts(role)
        documents, unjudged = stack.documents_of(role)
        placed |= {document.policy.urn for document in documents}
        placed |= {policy.urn for policy in stack.bounds_of(role)}
        if role.urn not in of_nodes:
            yield from unjudged
            told |= dict.fromkeys(_allows(role, stack, documents))
    yield from told  # of a policy that several roles have once
    for policy in (*stack.inline, *stack.managed):
        # Of a role that is elsewhere, or of none yet.
        if policy.urn not in placed and not any(
            map(_is_of_machines, policy.property_dependencies.get("role", ()))
        ):
            yield from _by_itself(policy)


def _allows(
    role: PolicyResource, stack: StackRoles, documents: Sequence[GrantedPolicy]
) -> Iterator[tuple[str, str] | Unjudged]:
    bound = stack.boundary(role)
    if isinstance(bound, Unjudged):
        yield bound
        return
    of_cluster, of_machines = _is_of_the_cluster(role), _is_of_machines(role)
    for arn, resource in stack.policies(role):
        if (
            (of_cluster or of_machines)
            and _ADMIN.fullmatch(arn)
            and (bound is None or to_administrator(bound))
        ):
            what = f"{arn}. It must have what is needed alone, or"
            yield _too_mighty(role, what, resource), resource.urn
    for document in documents:
        if owns_most(document.statements, bound):
            yield _everything(document.policy), document.policy.urn
        elif of_cluster and (action := to_administrator(document.statements, bound)):
            what = (
                f"{document.what} allows {action} on whatever there is, which makes whoever has it "
                f"an administrator. It must name what is needed, or"
            )
            yield _too_mighty(role, what, document.resource), document.resource.urn
        elif _is_of_a_service(role) and all_of_iam(document.statements, bound):
            what = f"{document.what} allows every action of IAM. It must name what is needed, or"
            yield _too_mighty(role, what, document.resource), document.resource.urn


def _is_of_a_service(role: PolicyResource) -> bool:
    """Whether a service of AWS takes a role, and nobody who deploys."""
    trust = statements(peek(role.props, "assumeRolePolicy")) or ()
    allowed = [statement for statement in trust if statement.allows]
    return bool(allowed) and all(_principals(statement, "Service") for statement in allowed)


def _too_mighty(role: PolicyResource, what: str, resource: PolicyResource) -> str:
    others = "a cluster or its pods" if _is_of_the_cluster(role) else "services"
    who = "machines" if _is_of_machines(role) else others
    return (
        f"The role {role.name}, which {who} take, has {what} who gets at its credentials owns the "
        f"account. {_LESS.of(resource.urn)}"
    )


def _by_itself(policy: PolicyResource) -> Iterator[tuple[str, str] | Unjudged]:
    if not is_known(policy.props, "policy"):
        if given(policy.props, "policy"):
            yield Unjudged(f"policy of {policy.name}")
    elif owns_most(statements(peek(policy.props, "policy")) or ()):
        yield _everything(policy), policy.urn


def _everything(policy: PolicyResource) -> str:
    called = "An inline policy of the role" if policy.resource_type == ROLE else "The policy"
    return (
        f"{called} {policy.name} allows every action on every resource. It must name what is "
        f"needed, or a pod with this role owns the account. {_RIGHTS.of(policy.urn)}"
    )


def _is_of_the_cluster(role: PolicyResource) -> bool:
    """Whether EKS takes a role, or pods by Pod Identity or the cluster's identity provider."""
    return any(
        _OF_THE_CLUSTER.intersection(_principals(statement, "Service"))
        or any(_OF_EKS in provider for provider in _principals(statement, "Federated"))
        for statement in statements(peek(role.props, "assumeRolePolicy")) or ()
        if statement.allows
    )


def _principals(statement: PolicyStatement, kind: str) -> list[str]:
    principal = statement.principal
    return [str(one) for one in each(principal.get(kind))] if isinstance(principal, Mapping) else []


def _trusts(role: PolicyResource) -> Iterator[tuple[str, str] | Unjudged]:
    key = "assumeRolePolicy"
    if not is_known(role.props, key):
        if given(role.props, key):
            yield Unjudged(f"{key} of {role.name}")
        return
    trust = statements(peek(role.props, key)) or ()
    denied = [statement for statement in trust if not statement.allows]
    for statement in trust:
        if not statement.allows:
            continue
        strangers = (
            stranger | named
            for account in _ACCOUNTS
            for stranger in (_stranger(account),)
            for named in ({}, *_called(statement, account))
        )
        keys = _keys((statement, *denied))
        chosen = CHOSEN | {key for key in keys if key.startswith(_OF_CALLERS)}
        if _is_everybody(statement) and any(
            _lets_in(stranger, statement, denied, chosen) for stranger in strangers
        ):
            condition = "no condition" if not statement.conditions else "its condition does not"
            says = "says who of them" if not statement.conditions else "say who of them"
            whom = "is `*`" if not statement.all_other_principals else "is all but some"
            yield (
                (
                    f"The role {role.name} may be taken by everybody: the principal of its trust "
                    f"policy {whom}, and {condition} {says}. It must name who takes it. "
                    f"{_TRUST.of(role.urn)}"
                ),
                role.urn,
            )
        elif provider := _open_provider(statement, denied):
            of_eks = "On EKS every pod of the cluster may take it. " if _OF_EKS in provider else ""
            yield (
                (
                    f"The role {role.name} may be taken by everybody whom {provider} knows: no "
                    f"condition of its trust policy says which subject. {of_eks}"
                    f"{_SUBJECT.of(role.urn)}"
                ),
                role.urn,
            )


def _is_everybody(statement: PolicyStatement) -> bool:
    """Whether AWS's accounts are all meant, or all but some."""
    principal = statement.principal
    if statement.all_other_principals:
        return True
    if isinstance(principal, Mapping):
        return any("*" in each(principal[kind]) for kind in principal)
    return bool(principal == "*")


_OF_CALLERS = (
    *("aws:principaltag/", "aws:requesttag/", "aws:username", "sts:sourceidentity"),
    *("aws:sourceidentity", "aws:multifactorauth", "aws:tokenissuetime"),
)
"""Beginnings of keys whose values whoever owns an account gives to the roles and users in it."""
_ACCOUNTS = ("999999999999", "888888888888")
"""Of which a condition may leave out one, and so have heard of it."""


def _called(statement: PolicyStatement, account: str) -> Iterator[dict[str, tuple[str, ...]]]:
    """What somebody of an account may be called there, to be of the patterns of a condition."""
    for tests in statement.conditions.values():
        for key, values in tests.items():
            for pattern in map(str, each(values)):
                parts = pattern.split(":", 5)
                if str(key).lower() == "aws:principalarn" and parts[4:5] == ["*"]:
                    arn = ":".join((*parts[:4], account, *parts[5:]))
                    yield {"aws:principalarn": (arn.replace("*", "a"),)}
                elif str(key).lower() == "aws:userid" and pattern.startswith("*"):
                    yield {"aws:userid": (f"AROAANYBODY{pattern[1:]}",)}


def _stranger(account: str) -> dict[str, tuple[str, ...]]:
    """Somebody of an account that nobody has heard of."""
    return {
        "aws:principalaccount": (account,),
        "aws:principalarn": (f"arn:aws:iam::{account}:role/anybody",),
        "aws:principalorgid": (f"o-anybody{account}",),
        "aws:principalorgpaths": (f"o-anybody{account}/r-999/ou-999/",),
        "aws:principaltype": ("AssumedRole",),
        "aws:sourceip": (f"203.0.113.{account[:2]}",),
        "aws:userid": ("AROAANYBODY:anybody",),
    }


_TAKING = ("sts:AssumeRole", "sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML")
_SUBJECTS = {
    _OF_EKS: ("system:serviceaccount:anybody-999:anybody-999", ""),
    "token.actions.githubusercontent.com": (
        "repo:anybody-999/anybody-999:ref:refs/heads/main",
        "/",
    ),
    "oidc-provider/gitlab.com": (
        "project_path:anybody-999/anybody-999:ref_type:branch:ref:main",
        "/",
    ),
    "oidc-provider/app.terraform.io": (
        "organization:anybody-999:project:a:workspace:a:run_phase:a",
        ":",
    ),
}
"""Providers that many share, in part of their ARN, with a subject there that nobody has heard of,
and what ends the name of whom it belongs to, which strangers may have begin like any other.

A condition on `sub` tells them apart, whose `aud` is the same for all:
https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html and
https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_create_oidc.html
"""


def _open_provider(statement: PolicyStatement, denied: Sequence[PolicyStatement]) -> str:
    """The identity provider whose strangers a statement lets in; empty if there is none."""
    for provider in _principals(statement, "Federated"):
        keys = _keys((statement, *denied))
        # For whom a token is, who asks for it chooses.
        chosen = CHOSEN | {key for key in keys if key.endswith(":aud")}
        for part, (subject, end) in _SUBJECTS.items():
            for stranger in (subject, *_alike(statement, end)) if part in provider else ():
                context = {key: (stranger,) for key in keys if key.endswith(":sub")}
                if _lets_in(context, statement, denied, chosen):
                    return provider
        chosen = CHOSEN | {key for key in keys if key.endswith(":amr")}
        if provider in _APPLICATIONS and _lets_in({}, statement, denied, chosen):
            return provider
    return ""


def _keys(given: Sequence[PolicyStatement]) -> set[str]:
    """The keys of all conditions, in small letters."""
    return {
        str(key).lower()
        for statement in given
        for tests in statement.conditions.values()
        for key in tests
    }


def _alike(statement: PolicyStatement, end: str) -> Iterator[str]:
    """Subjects of strangers whose names begin as a pattern does: `repo:acme*` is of `acme-2/x`."""
    for tests in statement.conditions.values():
        for key, values in tests.items():
            for pattern in map(str, each(values)) if str(key).lower().endswith(":sub") else ():
                kind, _, whose = pattern.partition(":")
                begins, is_open, rest = whose.partition("*")
                if end and begins and is_open and end not in begins:
                    other = "-999" if rest.startswith(end) else f"-999{end}a"
                    yield f"{kind}:{begins}{other}{rest.replace('*', 'a')}"


_APPLICATIONS = (
    *("accounts.google.com", "graph.facebook.com", "www.amazon.com"),
    "cognito-identity.amazonaws.com",
)
"""Providers that know everybody, and tell by `aud` or `app_id` for which application a token is:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html"""


def _lets_in(
    context: Context,
    statement: PolicyStatement,
    denied: Sequence[PolicyStatement],
    chosen: frozenset[str] = CHOSEN,
) -> bool:
    asked = (ActionRequest(action, "*", context, chosen) for action in _TAKING)
    return any(may(request, (statement, *denied)) for request in asked)


def _is_of_machines(role: PolicyResource) -> bool:
    """Whether EC2 takes a role; of those that nodes have, node-role-rights speaks."""
    return "ec2.amazonaws.com" in str(peek(role.props, "assumeRolePolicy"))


ROLES_BOUNDED = StackPolicy(
    "roles-bounded",
    "Roles in AWS must name who takes them, and what they may do.",
    check=_roles,
    applies_to=(
        ROLE,
        ROLE_POLICY,
        POLICY,
        ROLE_ATTACHMENT,
        ROLE_ATTACHMENTS,
        POLICY_ATTACHMENT,
        *NAMING_NODES,
    ),
    unseen=(
        "what a role that is not of this stack, or that no cluster, pod or machine takes, gets by "
        "policies of AWS: who deploys is somebody else's decision."
    ),
    severity=Severity.CRITICAL,
    fix=Fix(_STACK_FILE, f"{_TRUST.eks} {_RIGHTS.eks}", f"{_TRUST.raw} {_RIGHTS.raw}"),
)
