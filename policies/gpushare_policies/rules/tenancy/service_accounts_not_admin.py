"""Programs have no right to everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.accounts import by_either_name
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings, text
from gpushare_policies.rule import Rule, Unjudged, cis
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
    role = at(subject.object.body, "roleRef", "name")
    subjects = at(subject.object.body, "subjects")
    if role is not UNKNOWN and role != _ADMIN:
        return
    if UNKNOWN in (role, subjects) or UNKNOWN in items(subjects):
        yield Unjudged("roleRef" if role is UNKNOWN else "subjects")
        return
    for _, each in mappings(subjects):
        kind, name = text(each.get("kind")), text(each.get("name"))
        if kind == "ServiceAccount":
            whose = f"the service account {text(each.get('namespace'), 'default')}/{name}"
        elif kind == "Group" and str(name).startswith(_GROUPS):
            whose = f"all service accounts of the group {name}"
        else:
            continue
        yield (
            f"{subject.opening} gives {whose} the role {_ADMIN}. It must have what it needs and no "
            f"more: whoever gets into one of its pods has the cluster. "
            f"{_RIGHTS.of(subject.args.urn)}"
        )


SERVICE_ACCOUNTS_NOT_ADMIN = Rule(
    "service-accounts-not-admin",
    "Service accounts must not be bound to cluster-admin.",
    checks=ObjectChecks(dict.fromkeys(BINDINGS, by_either_name(_binding))),
    severity=Severity.HIGH,
    framework=cis("4.1.1", "The role cluster-admin is used only where it is needed."),
    fix=_RIGHTS,
)
