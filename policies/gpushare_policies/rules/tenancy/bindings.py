"""Who gets rights: no service account all of them, and everybody none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.readers.values import walk
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.accounts import by_either_name, cluster_role
from gpushare_policies.reading.charts import charts_of
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings, text
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.tokens import CHART_V4, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_RBAC = "rbac.authorization.k8s.io"
BINDINGS = (Kind(_RBAC, "ClusterRoleBinding"), Kind(_RBAC, "RoleBinding"))
_ADMIN = "cluster-admin"
_GROUPS = "system:serviceaccounts"

_OWN_ROLE = "Make a Role or ClusterRole with what the program asks for, and bind that."
_RIGHTS = Fix(_OWN_ROLE, _OWN_ROLE, _OWN_ROLE)


def _binding(subject: Subject) -> Iterator[str | Unjudged]:
    role = cluster_role(subject.object.body)
    subjects = at(subject.object.body, "subjects")
    if role not in (_ADMIN, UNKNOWN):
        return
    for each in (UNKNOWN,) if subjects is UNKNOWN else items(subjects):
        whose = _program(each)
        if whose is UNKNOWN:
            yield Unjudged("subjects")
        elif whose and role is UNKNOWN:
            yield Unjudged("roleRef")
        elif whose:
            yield (
                f"{subject.opening} gives {whose} the role {_ADMIN}. It must have what it needs "
                f"and no more: whoever gets into one of its pods has the cluster. "
                f"{_RIGHTS.of(subject.args.urn)}"
            )


def _program(bound: Any) -> Any:
    """Whose pods a subject of a binding is; empty for people, `UNKNOWN` if that may be so."""
    kind, name = text(at(bound, "kind")), text(at(bound, "name"))
    if kind == "ServiceAccount":
        namespace = text(at(bound, "namespace"), "default")
        if UNKNOWN in (namespace, name):
            return "a service account that is yet to be named"
        return f"the service account {namespace}/{name}"
    if kind == "Group" and name is not UNKNOWN:
        return f"all service accounts of the group {name}" if name.startswith(_GROUPS) else ""
    return UNKNOWN if kind in ("Group", UNKNOWN) else ""


def _chart(args: ResourceValidationArgs) -> Iterator[str]:
    """Values by which a chart binds its own account."""
    for chart in charts_of(args.props):
        for path, inner in walk(chart.values):
            for key, value in inner.items():
                if value == _ADMIN and "role" in str(key).lower():
                    place = ".".join(map(str, (*path, key)))
                    yield (
                        f"`{place}` of {args.name} gives a service account of its chart the role "
                        f"{_ADMIN}. It must have what it needs and no more: whoever gets into one "
                        f"of its pods has the cluster. {_RIGHTS.of(args.urn)}"
                    )


SERVICE_ACCOUNTS_NOT_ADMIN = ResourcePolicy(
    "service-accounts-not-admin",
    "Service accounts must not be bound to cluster-admin.",
    checks=ObjectChecks(
        dict.fromkeys(BINDINGS, by_either_name(_binding)), {RELEASE: _chart, CHART_V4: _chart}
    ),
    severity=Severity.HIGH,
    framework=cis("4.1.1", "The role cluster-admin is used only where it is needed."),
    fix=_RIGHTS,
)


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


def _to_everybody(subject: Subject) -> Iterator[str | Unjudged]:
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
    checks=ObjectChecks(dict.fromkeys(BINDINGS, _to_everybody)),
    severity=Severity.HIGH,
    fix=_NAMED,
)
