"""Workloads for GPUs whose pods a quota or an admission policy refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.values import at
from eks_gpushare.live import rules
from eks_gpushare.live.checks.room import asked_of
from eks_gpushare.live.faults import ClusterFault, Link
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.live.pods import PodOwner, condition, owner_of
from eks_gpushare.live.refusals import is_short_of_pods, refusals_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object

_REPLICAS: Final = frozenset(("Deployment", "ReplicaSet"))
_OTHERS: Final = frozenset(("StatefulSet", "Job"))
"""Kinds whose status says nothing of pods that could not be made."""
_FAILURE: Final = "ReplicaFailure"
_PATIENCE: Final = 60.0
"""Seconds that a controller may take for its first pod."""


def not_created_faults(
    objects: ClusterObjects, namespace: str | None = None
) -> Iterator[ClusterFault]:
    """Workloads for GPUs whose pods cannot be made: a quota, an admission policy."""
    refusals = refusals_of(objects)
    for given in (each for kind in (*_REPLICAS, *_OTHERS) for each in objects.of(kind)):
        spec = at(given, "spec", "template", "spec")
        if not spec or not asked_of(spec):
            continue
        if namespace is not None and namespace_of(given) != namespace:
            continue
        found = _of_replicas(given) if given["kind"] in _REPLICAS else None
        if given["kind"] in _OTHERS and _has_none(objects, given):
            owner = PodOwner(namespace_of(given), given["kind"], name_of(given))
            found = _unsaid(owner, refusals.get(owner))
        if found is None:
            continue
        said, evidence = found
        called = f"{given['kind']} {namespace_of(given)}/{name_of(given)}"
        finding = rules.NOT_CREATED.finding(
            ("workloads", f"{namespace_of(given)}/{name_of(given)}"),
            f"{called}: its pods cannot be created: {said.rstrip('.')}.",
            "Raise the quota or run fewer pods, or correct what the policy refuses.",
        )
        yield ClusterFault(finding, Link.PODS, evidence=(evidence,), is_cause_only=True)


def _of_replicas(given: Object) -> tuple[str, str] | None:
    """Why pods cannot be made, and where that stands, as a Deployment's status has it."""
    failed = condition(given, _FAILURE)
    if failed is None or at(failed, "status") != "True":
        return None
    since = f"status.conditions {_FAILURE} since {at(failed, 'lastTransitionTime')}"
    return str(at(failed, "message")), since


def _has_none(objects: ClusterObjects, given: Object) -> bool:
    """Whether a workload should have pods, has none, and has had the time to make one."""
    age = objects.seconds_since(at(given, "metadata", "creationTimestamp"))
    is_gone = at(given, "metadata", "deletionTimestamp") is not None
    if age is None or age < _PATIENCE or is_gone or not is_short_of_pods(given):
        return False
    owner = PodOwner(namespace_of(given), given["kind"], name_of(given))
    return not any(owner_of(pod) == owner for pod in objects.of("Pod"))


def _unsaid(owner: PodOwner, refused: str | None) -> tuple[str, str] | None:
    """The same of what an event says of a workload that has no pods; None where none does."""
    if refused is None:
        return None
    return refused, f"an event of {owner.kind} {owner}, reason FailedCreate"
