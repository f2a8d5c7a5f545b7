"""Whether Kueue will admit a workload that waits, by the quota that its queue has left.

Kueue collects what came free for a second before it tries again (`RequeueBatchPeriodProd`), and
on a busy machine for longer: until then all that it says is of before. Left out is what it would
do by preemption within a queue, and by `lendingLimit`: where that is set nothing is judged.

Source: pkg/cache/scheduler/resource_node.go and pkg/cache/queue/inadmissible_workloads.go of
kubernetes-sigs/kueue, at the version in `binaries.versions`.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare_lab.client import Object

_NOTHING = Fraction(0)


def has_room(
    workload: Object, queue: Object, queues: Sequence[Object], cohorts: Sequence[Object]
) -> bool:
    """Whether a ClusterQueue could admit a Workload now.

    Args:
        workload: one that waits.
        queue: the ClusterQueue of its LocalQueue.
        queues: all ClusterQueues.
        cohorts: all Cohorts.
    """
    wanted = _wanted(workload)
    cohort = queue["spec"].get("cohortName")
    of_cohort = [each for each in queues if cohort and each["spec"].get("cohortName") == cohort]
    lenders = of_cohort or [queue]
    given = [each for each in cohorts if each["metadata"]["name"] == cohort]
    quotas = [quota for each in (*lenders, *given) for *_, quota in _quotas(each)]
    if not wanted or any("lendingLimit" in quota for quota in quotas):
        return False
    left: defaultdict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for each in (*lenders, *given):
        for flavor, name, quota in _quotas(each):
            left[flavor, name] += _number(quota.get("nominalQuota"))
        for key, amount in _used(each).items():
            left[key] -= amount
    used = _used(queue)
    takes_back = (queue["spec"].get("preemption") or {}).get("reclaimWithinCohort") == "Any"
    room: dict[str, dict[str, Fraction]] = {}
    for flavor, name, quota in _quotas(queue):
        own = _number(quota.get("nominalQuota")) - used.get((flavor, name), _NOTHING)
        shared = left[flavor, name]
        if "borrowingLimit" in quota:
            shared = min(shared, own + _number(quota["borrowingLimit"]))
        room.setdefault(flavor, {})[name] = max(shared, own) if takes_back else shared
    return all(
        any(_fits(group, flavor["name"], wanted, room) for flavor in group["flavors"])
        for group in queue["spec"].get("resourceGroups") or ()
    )


def _fits(
    group: Mapping[str, Any],
    flavor: str,
    wanted: Mapping[str, Fraction],
    room: Mapping[str, Mapping[str, Fraction]],
) -> bool:
    left = room.get(flavor, {})
    asked = (name for name in group["coveredResources"] if name in wanted)
    return all(wanted[name] <= left.get(name, _NOTHING) for name in asked)


def _wanted(workload: Object) -> dict[str, Fraction]:
    """What it asks for as Kueue counts it; nothing before Kueue has tried it."""
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for part in (workload.get("status") or {}).get("resourceRequests") or ():
        for name, amount in (part.get("resources") or {}).items():
            found[name] += _number(amount)
    return found


def _quotas(given: Object) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Quotas of a ClusterQueue or Cohort, each with its flavor and resource."""
    for group in (given.get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for quota in flavor.get("resources") or ():
                yield flavor["name"], quota["name"], quota


def _used(queue: Object) -> dict[tuple[str, str], Fraction]:
    return {
        (flavor["name"], resource["name"]): _number(resource.get("total"))
        for flavor in (queue.get("status") or {}).get("flavorsReservation") or ()
        for resource in flavor.get("resources") or ()
    }


def _number(amount: object) -> Fraction:
    return quantity(str(amount)) or _NOTHING
