"""One run on a lab: install a stack, apply manifests, wait until nothing moves, look."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Self

from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.install.installer import Installer
from eks_gpushare_lab.observing.observer import (
    FAILED,
    PENDING,
    RUNNING,
    STARTING,
    SUCCEEDED,
    Observer,
    Workload,
)
from eks_gpushare_lab.observing.watches import Watches
from eks_gpushare_lab.simulated_node.controller import SimulatedNodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster
    from eks_gpushare_lab.install.manifests import Manifest
    from eks_gpushare_lab.install.nodes import LabNode

SCALABLE = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments/{}",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets/{}",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets/{}",
}
"""Paths of the workloads that have replicas, by kind."""

STEADY_SECONDS = 1.0
"""How long nothing may move until the lab counts as steady, if not told otherwise."""
LONGEST_SECONDS = 120.0
"""How long to wait for that."""

_LATE_SECONDS = 10.0
"""How long controllers may be late. What seems to be left for them then is not: a rollout that has
no room, or a DaemonSet of which they think otherwise."""

_TICK = 0.05


class NoWorkloadError(Exception):
    """A name that no workload has; the text names those there are."""


class Session:
    """The watches and the simulated nodes over a running control plane."""

    def __init__(self, client: Client) -> None:
        """Use an API server. Use it in a `with` block."""
        self.client = client
        """The API server."""
        self.watches = Watches(client)
        """What is there."""
        self.applied: dict[Workload, int | None] = {}
        """Workloads that were applied, with the pods they want; None where that is not known."""
        self.steady = True
        """Whether the last wait ended because nothing moved."""
        self._of_stack: dict[Workload, int | None] = {}
        self._installer = Installer(client)
        self._simulated = SimulatedNodes(client, self.watches)

    def __enter__(self) -> Self:
        self.watches.start()
        self.observer = Observer(self.watches, self._simulated.holds)
        self._simulated.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._simulated.stop()
        self.watches.stop()
        self.client.close()

    @property
    def nodes(self) -> list[LabNode]:
        """Nodes of the stack that is installed, or being installed."""
        return self._installer.nodes

    @property
    def findings(self) -> list[Finding]:
        """What the API server refused or warned of so far."""
        return self._installer.findings

    def touch(self) -> None:
        """Wait anew for rest: something was just done."""
        self.observer.changed = time.monotonic()

    def install(self, desired: DesiredCluster, up: Callable[[], bool] | None = None) -> None:
        """Make the lab what a stack says, in place of what was there.

        Args:
            desired: what a cluster would have of the stack.
            up: makes its objects and releases by other means than the lab's own, and returns
                whether that went well.
        """
        self._installer.install(desired, up)
        self._of_stack = dict(filter(None, map(_wanted, self._installer.made)))
        self.touch()

    def apply(self, manifests: Sequence[Manifest]) -> None:
        """Apply manifests."""
        self.applied |= filter(None, map(_wanted, self._installer.apply(manifests)))
        self.touch()

    def scale(self, name: str, replicas: int) -> None:
        """Scale a workload, given as NAME or NAMESPACE/NAME.

        Raises:
            NoWorkloadError: If there is none of that name, or several.
        """
        workload = self.find(name, SCALABLE)
        path = SCALABLE[workload.kind].format(workload.namespace, workload.name)
        self.client.patch(f"{path}/scale", {"spec": {"replicas": replicas}})
        self.applied[workload] = replicas
        self.touch()

    def find(self, name: str, kinds: Sequence[str] | dict[str, str] | None = None) -> Workload:
        """The workload of a name.

        Raises:
            NoWorkloadError: If there is none, or several.
        """
        known = [each for each in self.workloads() if kinds is None or each.kind in kinds]
        found = [each for each in known if name in {each.name, str(each)}]
        if len(found) == 1:
            return found[0]
        there = ", ".join(map(str, found or known)) or "none"
        what = "Several workloads are" if found else "No workload is"
        raise NoWorkloadError(f"{what} called {name}; there are {there}.")

    def workloads(self) -> list[Workload]:
        """Everything that makes pods, but DaemonSets: what was applied, then what has pods."""
        alive = [each for each, counts in self.observer.counts.items() if +counts]
        every = dict.fromkeys([*self.applied, *sorted(alive)])
        return [each for each in every if each.kind != "DaemonSet"]

    def settle(
        self,
        seconds: float = STEADY_SECONDS,
        longest: float = LONGEST_SECONDS,
        show: Callable[[], object] = lambda: None,
    ) -> bool:
        """Wait until nothing has moved for some seconds, and return whether that came.

        Args:
            seconds: how long nothing may move.
            longest: when to give up.
            show: called twenty times a second.
        """
        end = time.monotonic() + longest
        while time.monotonic() < end:
            show()
            now = time.monotonic()
            quiet = now - self.observer.changed
            if quiet >= seconds and self._is_done():
                late = quiet < _LATE_SECONDS and self._is_late()
                if not late:
                    self.steady = True
                    return True
            time.sleep(_TICK)
        self.steady = False
        return False

    def _is_done(self) -> bool:
        return self._simulated.idle and not self.observer.moving() and self._complete()

    def _is_late(self) -> bool:
        """Whether controllers seem to have something to do yet, which a busy machine delays."""
        more = (
            self._pods_of(workload) > wanted for workload, wanted in self._wanted_pods().items()
        )
        return any(more) or self.observer.daemon_sets_are_late()

    def _wanted_pods(self) -> dict[Workload, int]:
        """Workloads of the stack and of the manifests with the pods they want, if that is known."""
        every = {**self._of_stack, **self.applied}
        return {workload: wanted for workload, wanted in every.items() if wanted is not None}

    def _pods_of(self, workload: Workload) -> int:
        """Pods that are there and have not ended."""
        counts = self.observer.counts.get(workload, Counter())
        return counts[RUNNING] + counts[PENDING] + counts[STARTING]

    def _complete(self) -> bool:
        """Whether every workload that was applied has its pods, or cannot have them.

        Its controller may be too busy to have made them yet, for longer than the lab is quiet.
        """
        for workload, wanted in self._wanted_pods().items():
            counts, there = self.observer.counts.get(workload, Counter()), self._pods_of(workload)
            if workload.kind == "Pod":  # nobody makes another when it has ended
                there += counts[SUCCEEDED] + counts[FAILED]
            if there < wanted and not self.refused(workload):
                return False
        return True

    def refused(self, workload: Workload) -> list[Object]:
        """Events that tell of pods of a workload which could not be created."""
        return [
            event
            for event in self.watches.refusals.all()
            if _is_about(event["involvedObject"], workload)
        ]

    def replicas(self, workload: Workload) -> int | None:
        """Pods that a workload wants now; None where that is not known."""
        if workload.kind not in SCALABLE:
            return self.applied.get(workload, 1 if workload.kind == "Pod" else None)
        path = SCALABLE[workload.kind].format(workload.namespace, workload.name)
        try:
            there = self.client.get(path)
        except ApiError:
            there = None
        return int(there["spec"].get("replicas", 1)) if there else self.applied.get(workload)


def _wanted(given: Object) -> tuple[Workload, int | None] | None:
    """A workload with the pods that it wants, None where that is not known; None for others."""
    metadata, kind = given["metadata"], given["kind"]
    workload = Workload(metadata.get("namespace", ""), kind, metadata["name"])
    if kind in SCALABLE:
        return workload, int((given.get("spec") or {}).get("replicas", 1))
    if kind == "Pod":
        return workload, 1
    return (workload, None) if kind in {"Job", "CronJob"} else None


def _is_about(involved: Object, workload: Workload) -> bool:
    if involved.get("namespace") != workload.namespace:
        return False
    name, kind = involved.get("name", ""), involved.get("kind")
    if kind == workload.kind:
        return bool(name == workload.name)
    # A ReplicaSet is called after its Deployment and a hash.
    return workload.kind == "Deployment" and name.rpartition("-")[0] == workload.name
