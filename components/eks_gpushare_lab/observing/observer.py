"""Counting pods as they come and go, and knowing when nothing moves any more."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from eks_gpushare.live.placement import keeping_off
from eks_gpushare.live.pods import (
    PENDING,
    REFUSED,
    RUNNING,
    STARTING,
    SUCCEEDED,
    PodOwner,
    condition,
    owner_of,
    state_of,
)
from eks_gpushare_lab.observing.scheduling import is_behind

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.watches import Watches

CRON_JOB = "lab.eks-gpushare/cron-job"
"""Annotation of pods that the lab has started to try a CronJob: its name."""


def workload_of(pod: Object) -> PodOwner:
    """What made a pod, the CronJob of one that the lab has started to try it."""
    made_by, tried = owner_of(pod), (pod["metadata"].get("annotations") or {}).get(CRON_JOB)
    if made_by.kind == "Job" and tried:
        return PodOwner(made_by.namespace, "CronJob", tried)
    return made_by


class Observer:
    """Keeps count of pods by workload and notes when something last changed."""

    def __init__(self, watches: Watches, holds: Callable[[Object], bool] = lambda _: False) -> None:
        """Start to listen.

        Args:
            watches: what to listen to.
            holds: whether a pod that Kubernetes shows running may not be counted as such yet.
        """
        self._watches = watches
        self._holds = holds
        self._states: dict[str, tuple[PodOwner, str]] = {}
        self._seen: dict[str, object] = {}
        self._lock = threading.Lock()
        self.counts: dict[PodOwner, Counter[str]] = {}
        """Pods of each workload by state."""
        self.peaks: Counter[PodOwner] = Counter()
        """The most pods of each workload that ran at once."""
        self.changed = time.monotonic()
        """When something last changed that matters, by `time.monotonic`."""
        watches.pods.listen(self._on_pod)
        watches.nodes.listen(self._on_node)
        watches.daemon_sets.listen(self._on_daemon_set)

    def running(self, workload: PodOwner) -> int:
        """Pods of a workload that run now."""
        with self._lock:
            return self.counts.get(workload, Counter())[RUNNING]

    def waiting(self, workload: PodOwner) -> int:
        """Pods of a workload that are there and do not run, nor have ended."""
        with self._lock:
            counts = self.counts.get(workload, Counter())
            return counts[PENDING] + counts[STARTING]

    def ended(self, workload: PodOwner) -> int:
        """Pods of a workload that have come to their end and succeeded."""
        with self._lock:
            return self.counts.get(workload, Counter())[SUCCEEDED]

    def has_seen(self, workload: PodOwner) -> bool:
        """Whether a workload has, or has had, a pod."""
        with self._lock:
            return workload in self.counts

    def recount(self, concerned: Callable[[Object], bool]) -> None:
        """Look anew at pods that something else than their own change has touched."""
        for pod in self._watches.pods.all():
            if concerned(pod):
                self._look_again(pod)

    def moving(self, is_stuck: Callable[[Object], bool] = lambda _: False) -> bool:
        """Whether a pod or DaemonSet is on its way to somewhere.

        Args:
            is_stuck: whether a pod of which the scheduler says nothing waits for something else.
        """
        for daemon_set in self._watches.daemon_sets.all():
            status = daemon_set["status"]
            if status.get("observedGeneration") != daemon_set["metadata"]["generation"]:
                return True
            wanted = status.get("desiredNumberScheduled", 0)
            if status.get("updatedNumberScheduled", 0) != wanted and not self._is_refused(
                daemon_set
            ):
                return True
        return any(self._on_its_way(pod, is_stuck) for pod in self._watches.pods.all())

    def _on_its_way(self, pod: Object, is_stuck: Callable[[Object], bool]) -> bool:
        if "deletionTimestamp" in pod["metadata"]:
            return True
        if pod["status"].get("phase") != "Pending":
            return False
        if (condition(pod, "Ready") or {}).get("reason") == REFUSED:  # it will fail some time
            return False
        node = pod["spec"].get("nodeName")
        if node:
            return self._watches.nodes.get(node) is not None
        return condition(pod, "PodScheduled") is None and not is_stuck(pod)

    def daemon_sets_are_late(self) -> bool:
        """Whether the controller of DaemonSets has not taken in what nodes are like now.

        Of a node that has gone it learns when the pods go that were on it.
        """
        nodes = {node["metadata"]["name"]: node for node in self._watches.nodes.all()}
        orphans: dict[str, set[str]] = {}
        for pod in self._watches.pods.all():
            name = pod["spec"].get("nodeName")
            if name and name not in nodes:
                for owner in pod["metadata"].get("ownerReferences") or ():
                    orphans.setdefault(owner["uid"], set()).add(name)
        for daemon_set in self._watches.daemon_sets.all():
            spec = daemon_set["spec"]["template"]["spec"]
            wanted = sum(not keeping_off(spec, node) for node in nodes.values())
            most = wanted + len(orphans.get(daemon_set["metadata"]["uid"], ()))
            if not wanted <= daemon_set["status"].get("desiredNumberScheduled", 0) <= most:
                return True
        return False

    def scheduler_is_late(self) -> bool:
        """Whether what the scheduler has said of a pod no longer holds, and it will look again."""
        return is_behind(self._watches.pods.all(), self._watches.nodes.all())

    def _is_refused(self, daemon_set: Object) -> bool:
        """Whether the API server refuses the pods of a DaemonSet, so that none are on their way."""
        uid = daemon_set["metadata"]["uid"]
        events = self._watches.refusals.all()
        return any(event["involvedObject"].get("uid") == uid for event in events)

    def _look_again(self, pod: Object) -> None:
        metadata = pod["metadata"]
        with self._lock:
            there = self._watches.pods.get(metadata["name"], metadata["namespace"])
            known = self._states.get(metadata["uid"])
            if there is None or known is None or there["metadata"]["uid"] != metadata["uid"]:
                return
            state = self._state_of(there)
            if state != known[1]:
                self._count(metadata["uid"], known[0], state)
                self.changed = time.monotonic()

    def _state_of(self, pod: Object) -> str:
        state = state_of(pod)
        return STARTING if state == RUNNING and self._holds(pod) else state

    def _count(self, uid: str, workload: PodOwner, state: str) -> None:
        before = self._states.pop(uid, None)
        if before is not None:
            self.counts[before[0]][before[1]] -= 1
        self._states[uid] = (workload, state)
        counts = self.counts.setdefault(workload, Counter())
        counts[state] += 1
        self.peaks[workload] = max(self.peaks[workload], counts[RUNNING])

    def _on_pod(self, kind: str, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        gone = kind == "DELETED"
        state = self._state_of(pod)
        scheduled = condition(pod, "PodScheduled")
        signature = None if gone else (state, "deletionTimestamp" in pod["metadata"], scheduled)
        with self._lock:
            self._note(uid, _without_times(signature))
            if not gone:
                self._count(uid, workload_of(pod), state)
                return
            before = self._states.pop(uid, None)
            if before is not None:
                self.counts[before[0]][before[1]] -= 1

    def _on_node(self, kind: str, node: Object) -> None:
        labels, spec = node["metadata"].get("labels"), node["spec"].get("taints")
        there = (labels, spec, node["status"].get("allocatable"))
        with self._lock:
            self._note(node["metadata"]["uid"], None if kind == "DELETED" else str(there))

    def _on_daemon_set(self, kind: str, daemon_set: Object) -> None:
        there = (daemon_set["metadata"]["generation"], daemon_set["status"])
        with self._lock:
            self._note(daemon_set["metadata"]["uid"], None if kind == "DELETED" else str(there))

    def _note(self, uid: str, signature: object) -> None:
        if self._seen.get(uid) != signature:
            self.changed = time.monotonic()
        if signature is None:
            self._seen.pop(uid, None)
        else:
            self._seen[uid] = signature


def _without_times(signature: tuple[str, bool, Object | None] | None) -> object:
    if signature is None:
        return None
    state, going, scheduled = signature
    return (state, going, scheduled and (scheduled["status"], scheduled.get("message")))
