"""Workloads for GPUs whose pods a quota or an admission policy refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.values import at
from eks_gpushare.live import rules
from eks_gpushare.live.checks.waiting import asked_of
from eks_gpushare.live.faults import ClusterFault, Link
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import condition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.live.objects import ClusterObjects

_REPLICAS: Final = frozenset(("Deployment", "ReplicaSet"))
_FAILURE: Final = "ReplicaFailure"


def not_created_faults(
    objects: ClusterObjects, namespace: str | None = None
) -> Iterator[ClusterFault]:
    """Workloads for GPUs whose pods cannot be made: a quota, an admission policy."""
    for given in (each for kind in _REPLICAS for each in objects.of(kind)):
        failed = condition(given, _FAILURE) if given.get("status") else None
        spec = at(given, "spec", "template", "spec")
        if failed is None or at(failed, "status") != "True" or not spec or not asked_of(spec):
            continue
        if namespace is not None and namespace_of(given) != namespace:
            continue
        called = f"{given['kind']} {namespace_of(given)}/{name_of(given)}"
        finding = rules.NOT_CREATED.finding(
            ("workloads", f"{namespace_of(given)}/{name_of(given)}"),
            f"{called}: its pods cannot be created: {str(at(failed, 'message')).rstrip('.')}.",
            "Raise the quota or run fewer pods, or correct what the policy refuses.",
        )
        evidence = f"status.conditions {_FAILURE} since {at(failed, 'lastTransitionTime')}"
        yield ClusterFault(finding, Link.PODS, evidence=(evidence,), is_cause_only=True)
