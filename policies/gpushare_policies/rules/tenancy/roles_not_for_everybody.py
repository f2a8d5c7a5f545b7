"""No right goes to everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.accounts import cluster_role
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings, text
from gpushare_policies.rule import ResourcePolicy, Unjudged
from gpushare_policies.rules.tenancy.service_accounts_not_admin import BINDINGS
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVERYBODY = {
    ("Group", "system:authenticated"): "everybody who has signed in, pods among them",
    ("Group", "system:unauthenticated"): "everybody, without signing in",
    ("User", "system:anonymous"): "everybody, without signing in",
    ("Group", "system:serviceaccounts"): "every pod of the cluster",
}
_HARMLESS = frozenset(("system:basic-user", "system:discovery", "system:public-info-viewer"))
"""Roles that Kubernetes gives to everybody by itself.

https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles (2026-11-22)
"""
_NAME_THEM = "Name the service accounts, users or groups that need the role."
_NAMED = Fix(_NAME_THEM, _NAME_THEM, _NAME_THEM)


def _binding(subject: Subject) -> Iterator[str | Unjudged]:
    subjects = at(subject.object.body, "subjects")
    role = at(subject.object.body, "roleRef", "name")
    if cluster_role(subject.object.body) in _HARMLESS:
        return
    if subjects is UNKNOWN or UNKNOWN in items(subjects):
        yield Unjudged("subjects")
    for _, each in mappings(subjects):
        kind, name = text(each.get("kind")), text(each.get("name"))
        if UNKNOWN in (kind, name):
            continue  # a name that a program makes up is not one of those
        if whose := _EVERYBODY.get((kind, name)):
            yield (
                f"{subject.opening} gives the {kind.lower()} {name} the role {role}: {whose}. It "
                f"must name who needs it. {_NAMED.of(subject.args.urn)}"
            )


ROLES_NOT_FOR_EVERYBODY = ResourcePolicy(
    "roles-not-for-everybody",
    "Roles must not be bound to everybody.",
    checks=ObjectChecks(dict.fromkeys(BINDINGS, _binding)),
    severity=Severity.HIGH,
    fix=_NAMED,
)
