"""Service accounts in bindings of roles, which have two names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import ACCOUNT_USER
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.plain import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpushare_policies.checks import Unjudged
    from gpushare_policies.reading.on_objects import ObjectCheck, Subject


def by_either_name(check: ObjectCheck) -> ObjectCheck:
    """The check of a binding, whose service accounts may be named as the users that they are."""

    def look(subject: Subject) -> Iterator[str | Unjudged]:
        body = subject.object.body
        if isinstance(body.get("subjects"), list):
            body = {**body, "subjects": [_account(bound) for bound in body["subjects"]]}
        yield from check(replace(subject, object=replace(subject.object, body=body)))

    return look


def cluster_role(binding: Mapping[str, Any]) -> Any:
    """The ClusterRole that a binding gives; empty where it is a Role of a namespace's own.

    Such a one may bear any name, and has no rights but those written in it.
    """
    if at(binding, "roleRef") is None:  # a patch of one that Kubernetes makes, named as its role
        return text(at(binding, "metadata", "name"))
    kind, name = (text(at(binding, "roleRef", key)) for key in ("kind", "name"))
    return "" if kind == "Role" else name


def _account(given: Any) -> Any:
    name = at(given, "name")
    if (
        at(given, "kind") != "User"
        or not isinstance(name, str)
        or not name.startswith(ACCOUNT_USER)
    ):
        return given
    namespace, _, account = name.removeprefix(ACCOUNT_USER).partition(":")
    return {"kind": "ServiceAccount", "name": account, "namespace": namespace}
