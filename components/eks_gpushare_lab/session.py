"""One run on a lab: install a stack, apply manifests, wait until nothing moves, look."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from eks_gpushare.live.pods import PENDING, RUNNING, STARTING, PodOwner
from eks_gpushare_lab import rules
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.controllers.by_use import ByUse
from eks_gpushare_lab.controllers.queueing import Queueing
from eks_gpushare_lab.controllers.rule_evaluation import RuleEvaluation
from eks_gpushare_lab.install.installer import Installer
from eks_gpushare_lab.install.launched import nodes_now
from eks_gpushare_lab.observing.autoscalers import PATIENCE_SECONDS
from eks_gpushare_lab.observing.observer import Observer, workload_of
from eks_gpushare_lab.observing.obstacles import on_its_node, references, waits_for_devices
from eks_gpushare_lab.observing.scaling import Scaling
from eks_gpushare_lab.observing.watches import Watches
from eks_gpushare_lab.observing.workloads import (
    DAEMON_SET,
    JOB,
    JOBS,
    SCALABLE,
    at_once,
    is_about,
    is_called,
    is_over,
    trial_of,
    wanted_by,
)
from eks_gpushare_lab.simulated_node.controller import SimulatedNodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster
    from eks_gpushare_lab.install.manifests import Manifest
    from eks_gpushare_lab.install.nodes import LabNode
    from eks_gpushare_lab.observing.obstacles import Obstacle
    from eks_gpushare_lab.observing.watches import Listener
    from eks_gpushare_lab.simulated_node.node import SimulatedNode

STEADY_SECONDS = 1.0
"""How long nothing may move until the lab counts as steady, if not told otherwise."""
LONGEST_SECONDS = 120.0
"""How long to wait for that."""
LONGEST_SCALING_SECONDS = 300.0
"""The same where an autoscaler adds and removes nodes."""

_LATE_SECONDS = 10.0
"""How long controllers may be late. What seems to be left for them then is not: a rollout that has
no room, or a DaemonSet of which they think otherwise."""

_SILENT_SECONDS = 20.0
"""When nothing has changed for so long, nothing will: whatever it is that the lab waits for."""

_STEPS = 12
"""How many steps of KEDA's are waited for, at least."""

_TICK = 0.05


class NoWorkloadError(Exception):
    """A name that no workload has; the text names those there are."""


class Session:
    """The watches and the simulated nodes over a running control plane."""

    def __init__(self, client: Client, lab: Lab | None = None) -> None:
        """Use an API server. Use it in a `with` block.

        Args:
            client: the API server.
            lab: whose it is. Default: somebody's, who starts no further programs.
        """
        self.client = client
        """The API server."""
        self.watches = Watches(client)
        """What is there."""
        self.applied: dict[PodOwner, int | None] = {}
        """Workloads that were applied, with the pods they want; None where that is not known."""
        self.steady = True
        """Whether the last wait ended because nothing moved."""
        self._coming: set[PodOwner] = set()
        self._trials: dict[PodOwner, str] = {}
        self._of_stack: dict[PodOwner, int | None] = {}
        self._installer = Installer(client)
        self._simulated = SimulatedNodes(client, self.watches)
        self.by_use = ByUse(client, lab, self.watches, self._simulated.configuration)
        """KEDA and Prometheus, if anything here is KEDA's."""
        self.queueing = Queueing(client, lab)
        """Kueue, if anything here is its own."""
        self.rules = RuleEvaluation(client, lab, self.watches, self._simulated.configuration)
        """A Prometheus with the rules of what is installed, if it has any."""

    def __enter__(self) -> Self:
        self.watches.start()
        self.observer = Observer(self.watches, self._holds)
        self.scaling = Scaling(self.client, self.watches)
        self.watches.config_maps.listen(self._on_named("ConfigMap"))
        self.watches.secrets.listen(self._on_named("Secret"))
        self._simulated.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.rules.stop()
        self.queueing.stop()
        self.by_use.stop()
        self._simulated.stop()
        self.scaling.autoscalers.stop()
        self.watches.stop()
        self.client.close()

    @property
    def nodes(self) -> list[LabNode]:
        """Nodes of the stack: as it was installed, and those that an autoscaler has launched."""
        return nodes_now(self._installer.nodes, self.scaling, self.watches.nodes.all())

    @property
    def findings(self) -> list[Finding]:
        """What the API server refused or warned of so far, and what keeps KEDA from scaling."""
        return [*self._installer.findings, *self.by_use.findings(), *self.queueing.findings]

    def simulated(self, node: str) -> SimulatedNode | None:
        """What NVIDIA's programs make of a node, as the lab simulates them."""
        return self._simulated.node(node)

    def touch(self) -> None:
        """Wait anew for rest: something was just done."""
        self.observer.changed = time.monotonic()

    def install(self, desired: DesiredCluster, up: Callable[[], bool] | None = None) -> None:
        """Make the lab what a stack says, in place of what was there.

        Args:
            desired: what a cluster would have of the stack.
            up: makes its objects and releases by other means than the lab's own, and returns
                whether that went well.

        Raises:
            LabError: If a program that the stack needs beside the control plane does not start.
        """
        if up is None:
            objects = self.by_use.take(desired.objects, desired.releases)
            desired = replace(desired, objects=tuple(objects))
            self.queueing.start_for(desired.objects, desired.releases)
            self.rules.start_for(desired.objects)
        self.scaling.begin(desired.gpu_pools, (release.chart for release in desired.releases))
        self._installer.install(desired, up)
        if up is not None:
            self.by_use.take_over(desired.objects, desired.releases)
        self.scaling.installed()
        self._of_stack = dict(filter(None, map(wanted_by, self._installer.made)))
        self.touch()

    def apply(self, manifests: Sequence[Manifest]) -> None:
        """Apply manifests; a CronJob among them is tried at once, whatever its schedule says.

        Raises:
            LabError: If a program that they need beside the control plane does not start.
        """
        objects = self.by_use.take([manifest.object for manifest in manifests])
        self.queueing.start_for(objects)
        self.rules.start_for(objects)
        self.queueing.await_queues()
        manifests = [replace(m, object=o) for m, o in zip(manifests, objects, strict=True)]
        # So that none of their pods counts as running before it is known whose it is.
        self._coming |= {
            reference for reference, _ in filter(None, (wanted_by(m.object) for m in manifests))
        }
        accepted = self._installer.apply(manifests)
        self.applied |= filter(None, map(wanted_by, accepted))
        for obj in accepted:
            if obj["kind"] == "CronJob" and not obj["spec"].get("suspend"):
                self._try(obj)
        self.observer.recount(self._is_applied)
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

    def find(self, name: str, kinds: Sequence[str] | dict[str, str] | None = None) -> PodOwner:
        """The workload of a name: NAME, NAMESPACE/NAME, KIND/NAME or KIND/NAMESPACE/NAME.

        Raises:
            NoWorkloadError: If there is none, or several.
        """
        known = [
            workload for workload in self.workloads() if kinds is None or workload.kind in kinds
        ]
        found = [reference for reference in known if is_called(reference, name)]
        if len(found) == 1:
            return found[0]
        there = ", ".join(f"{reference.kind}/{reference}" for reference in found)
        there = there or ", ".join(map(str, known)) or "none"
        what = "Several workloads are" if found else "No workload is"
        raise NoWorkloadError(f"{what} called {name}; there are {there}.")

    def workloads(self) -> list[PodOwner]:
        """What was applied, then all that KEDA scales or that has pods, but DaemonSets."""
        alive = {item for item, counts in self.observer.counts.items() if +counts}
        others = [e for e in sorted(alive | self.by_use.targets) if e.kind != "DaemonSet"]
        return list(dict.fromkeys([*self.applied, *others]))

    def settle(
        self,
        seconds: float = STEADY_SECONDS,
        longest: float | None = None,
        show: Callable[[], object] = lambda: None,
    ) -> bool:
        """Wait until nothing has moved for some seconds, and return whether that came.

        Args:
            seconds: how long nothing may move.
            longest: when to give up. Default: after two minutes, or five where nodes come and go.
            show: called twenty times a second.
        """
        begun = time.monotonic()
        while time.monotonic() < begun + self._longest(longest):
            show()
            self.scaling.look()
            if self.scaling.endless:
                break
            # What the copies are behind by may have moved something meanwhile.
            if self._is_steady(seconds) and self.watches.are_current() and self._is_steady(seconds):
                self.steady = True
                self.scaling.take_stock()
                return True
            time.sleep(_TICK)
        self.steady = False
        self.scaling.take_stock()
        return False

    def _longest(self, given: float | None) -> float:
        if given is not None:
            return given
        longest = LONGEST_SCALING_SECONDS if self.scaling.autoscalers.present else LONGEST_SECONDS
        return max(longest, _STEPS * self.by_use.patience)

    def _is_steady(self, seconds: float) -> bool:
        """Whether nothing has moved for some seconds, and nothing is about to."""
        quiet = time.monotonic() - max(self.observer.changed, self.scaling.changed)
        if quiet < seconds or not self._is_done(quiet):
            return False
        return quiet >= _LATE_SECONDS or not self._is_late()

    def _is_done(self, quiet: float) -> bool:
        if not self._simulated.idle:
            return False
        self.queueing.check()
        if not self.by_use.is_quiet(quiet):
            return False
        coming = self.scaling.coming(quiet)
        if quiet >= (PATIENCE_SECONDS if coming else _SILENT_SECONDS):
            return True
        moving = coming or self.observer.moving(self._is_stuck) or not self._complete()
        return not (moving or self.queueing.is_behind(self.watches.pods.all()))

    def _is_stuck(self, pod: Object) -> bool:
        return waits_for_devices(pod, self.client.get)

    def _is_applied(self, pod: Object) -> bool:
        workload = workload_of(pod)
        return workload in self.applied or workload in self._coming

    def _holds(self, pod: Object) -> bool:
        """Whether a pod that kwok has running would not, or not yet, run on a real node."""
        if self._simulated.holds(pod):
            return True
        return self._is_applied(pod) and bool(self.obstacles_on_node(pod))

    def obstacles_on_node(self, pod: Object) -> list[Obstacle]:
        """What keeps a kubelet from starting a pod."""
        namespace = pod["metadata"]["namespace"]
        config_map = partial(self.watches.config_maps.get, namespace=namespace)
        secret = partial(self.watches.secrets.get, namespace=namespace)
        return list(on_its_node(pod, config_map, secret))

    def _on_named(self, kind: str) -> Listener:
        """Look anew at the pods that name a ConfigMap or Secret when that comes or goes."""

        def changed(_: str, given: Object) -> None:
            metadata = given["metadata"]

            def names_it(pod: Object) -> bool:
                return pod["metadata"]["namespace"] == metadata["namespace"] and any(
                    reference.kind == kind and reference.name == metadata["name"]
                    for reference in references(pod["spec"])
                )

            self.observer.recount(names_it)

        return changed

    def _try(self, cron_job: Object) -> None:
        """Start a Job of a CronJob, whatever its schedule says."""
        job = trial_of(cron_job)
        namespace = job["metadata"]["namespace"]
        workload = PodOwner(namespace, "CronJob", cron_job["metadata"]["name"])
        try:
            there = self.client.request("POST", JOB.format(namespace, "").rstrip("/"), body=job)
        except ApiError as error:
            message = f"A Job of it is refused: {error}."
            fix = "Change the field that the message names."
            found = rules.REFUSED.finding(("workloads", str(workload)), message, fix)
            self._installer.findings.append(found)
        else:
            self._trials[workload] = there.object["metadata"]["name"]

    def _is_late(self) -> bool:
        """Whether controllers seem to have something to do yet, which a busy machine delays."""
        more = (
            self._pods_of(workload) > wanted for workload, wanted in self._wanted_pods().items()
        )
        seen = self.observer
        return any(more) or seen.daemon_sets_are_late() or seen.scheduler_is_late()

    def _wanted_pods(self) -> dict[PodOwner, int]:
        """Workloads of the stack and of the manifests with the pods they want, if that is known."""
        every = {**self._of_stack, **self.applied, **dict.fromkeys(self.by_use.targets)}
        return {workload: wanted for workload, wanted in every.items() if wanted is not None}

    def _pods_of(self, workload: PodOwner) -> int:
        """Pods that are there and have not ended."""
        counts = self.observer.counts.get(workload, Counter())
        return counts[RUNNING] + counts[PENDING] + counts[STARTING]

    def _complete(self) -> bool:
        """Whether every workload that was applied has its pods, or cannot have them.

        Its controller may be too busy to have made them yet, for longer than the lab is quiet.
        """
        for workload, wanted in self._wanted_pods().items():
            short = self._pods_of(workload) < wanted
            if short and not self._gets_no_more(workload) and not self.refused(workload):
                return False
        jobs = [reference for reference in self.applied if reference.kind in JOBS]
        return all(self._is_at_rest(job) or self.refused(job) for job in jobs)

    def _gets_no_more(self, workload: PodOwner) -> bool:
        """Whether nobody makes another pod of a workload, though it has fewer than it wants."""
        if workload.kind == "Pod":  # it has ended, or was evicted for a more important one
            return self.observer.has_seen(workload)
        # A StatefulSet makes the next when the one before runs.
        return workload.kind == "StatefulSet" and self.observer.waiting(workload) > 0

    def _is_at_rest(self, workload: PodOwner) -> bool:
        """Whether a Job has as many pods as it wants now; one whose pods fail waits for longer."""
        there = self.job_of(workload)
        if there is None or there["spec"].get("suspend") or is_over(there):
            return True
        if there.get("status", {}).get("failed"):
            return True
        left = at_once(there, self.observer.ended(workload))
        return self._pods_of(workload) >= left

    def job_of(self, workload: PodOwner) -> Object | None:
        """The Job of a workload, or that by which a CronJob is tried; None if there is none."""
        name = workload.name if workload.kind == "Job" else self._trials.get(workload)
        return self.client.get(JOB.format(workload.namespace, name)) if name else None

    def refused(self, workload: PodOwner) -> list[Object]:
        """Events that tell of pods of a workload which could not be created."""
        return [
            event
            for event in self.watches.refusals.all()
            if is_about(event["involvedObject"], workload, self._trials.get(workload))
        ]

    def replicas(self, workload: PodOwner) -> int | None:
        """Pods that a workload wants now; None where that is not known."""
        if workload.kind == "DaemonSet":
            there = self.client.get(DAEMON_SET.format(workload.namespace, workload.name))
            return int(there["status"].get("desiredNumberScheduled", 0)) if there else None
        if workload.kind not in SCALABLE:
            return self.applied.get(workload, 1 if workload.kind == "Pod" else None)
        path = SCALABLE[workload.kind].format(workload.namespace, workload.name)
        try:
            there = self.client.get(path)
        except ApiError:
            there = None
        return int(there["spec"].get("replicas", 1)) if there else self.applied.get(workload)
