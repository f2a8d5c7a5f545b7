"""One measurement of the lab at scale: a control plane, its nodes, and pods on them."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from scale_count import NodeCount, PodCount
from scale_result import Phase, ScaleResult, Size
from scale_usage import CLIENT, Usage, machine_seconds

from eks_gpushare_lab.client import Client
from eks_gpushare_lab.control_plane.control_plane import ControlPlane, prepare
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scale_setting import LabSetting

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

TEAMS = 10
"""Namespaces, each with one Deployment. The controller of Deployments looks through all pods of a
namespace whenever one of them changes, so thousands in one keep it busy."""

_THREADS = 8
_TICK = 0.1
_TOLD_SECONDS = 5.0
_QUIET_SECONDS = 2.0
_REST_SECONDS = 900.0


class ScaleError(Exception):
    """A measurement came to no end; the text says how far it came."""


class _Clock:
    """Cuts a run into phases."""

    def __init__(self, usage: Usage | None = None) -> None:
        self._usage = usage
        self.begin()

    def begin(self) -> None:
        """Begin a phase now."""
        self.at = time.monotonic()
        self._cpu = self._usage.cpu() if self._usage else {}
        self._machine = machine_seconds()

    def end(self, at: float | None = None) -> Phase:
        """What the phase took, up to some moment if it ended before now."""
        seconds = (at or time.monotonic()) - self.at
        now = self._usage.cpu() if self._usage else {}
        cpu = {name: each - self._cpu.get(name, 0.0) for name, each in now.items()}
        busy = machine_seconds() - self._machine
        others = max(0.0, busy - sum(cpu.values())) / (time.monotonic() - self.at)
        return Phase(seconds, cpu, others)


def tell(text: str) -> None:
    """Say on standard error how it goes."""
    print(text, file=sys.stderr, flush=True)


def measure(setting: LabSetting, desired: DesiredCluster, size: Size) -> ScaleResult:
    """Start a control plane, make its nodes and pods, and stop it.

    Args:
        setting: of the control plane.
        desired: the cluster of a stack with one GPU pool.
        size: how many pods, and how they are made.

    Raises:
        ScaleError: Nodes or pods did not come in time.
    """
    prepare()  # what has to be built is no part of the time
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(
            flags=setting.all_flags(Path(folder)),
            environment=setting.environment,
            scheduler=setting.scheduler,
        )
        return _measured(plane, setting, desired, size)


def _measured(
    plane: ControlPlane, setting: LabSetting, desired: DesiredCluster, size: Size
) -> ScaleResult:
    load, began = os.getloadavg(), time.strftime("%Y-%m-%d %H:%M")
    clock, before = _Clock(), time.process_time()
    with plane:
        lab = plane.lab
        ready = clock.end()
        tell(f"{setting.name}: ready after {ready.seconds:.1f} s")
        client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key, connections=32)
        with Usage(lab.processes) as usage, Session(client) as session:
            cpu = usage.cpu()
            cpu[CLIENT] -= before  # this process has run for longer than the control plane
            ready = Phase(
                ready.seconds, cpu, max(0.0, ready.others - sum(cpu.values()) / ready.seconds)
            )
            run = _Run(session, usage, size)
            usable = run.install(desired)
            running, scheduled = run.fill()
            by_node = run.pods.by_node()
            return ScaleResult(
                setting=setting,
                began=began,
                nodes=len(run.declared),
                pods=size.pods,
                shares=sum(map(run.share_count, run.declared)),
                daemons=run.daemons(),
                directly=size.directly,
                ready=ready,
                usable=usable,
                running=running,
                scheduled_seconds=scheduled,
                used_nodes=len(by_node),
                most_on_a_node=max(by_node.values()),
                peak=usage.peak,
                peaks=usage.peaks,
                load=load,
                versions=dict(lab.versions),
            )


class _Run:
    """The steps of one measurement on a control plane that is up."""

    def __init__(self, session: Session, usage: Usage, size: Size) -> None:
        self._session, self._usage, self._size = session, usage, size
        self._clock = _Clock(usage)
        self.declared: dict[str, dict[str, int]] = {}
        self.namespaces = [f"team-{number}" for number in range(TEAMS)]
        self.pods = PodCount(self.namespaces)
        session.watches.pods.listen(self.pods.on_pod)

    def install(self, desired: DesiredCluster) -> Phase:
        """Have nodes that advertise their shares."""
        self._clock.begin()
        self._session.install(desired)
        self.declared = {n.name: dict(n.declared) for n in self._session.nodes if n.declared}
        errors = [each for each in self._session.findings if each.severity == "error"]
        if errors:
            raise ScaleError(f"the stack is refused: {errors[0].message}")
        count = NodeCount(self.declared)
        self._session.watches.nodes.listen(count.on_node)
        wanted = len(self.declared)
        self._await("nodes usable", lambda: len(count.usable), wanted)
        phase = self._clock.end(count.usable.at)
        tell(f"  {wanted} nodes usable after {phase.seconds:.1f} s")
        # What is still on its way would be in the next phase.
        if not self._session.settle(
            _QUIET_SECONDS, _REST_SECONDS, self._teller(lambda: "something still moves")
        ):
            raise ScaleError("the DaemonSets do not come to rest")
        return phase

    def fill(self) -> tuple[Phase, float]:
        """Have pods that run; also how long it took until all had a node."""
        resource = next(name for each in self.declared.values() for name, n in each.items() if n)
        client = self._session.client
        for namespace in self.namespaces:
            client.create(_object("v1", "Namespace", namespace))
        self._await("namespaces ready", self._accounts, TEAMS)
        self._clock.begin()
        begun = self._clock.at
        if self._size.directly:
            with ThreadPoolExecutor(_THREADS) as threads:
                list(threads.map(client.create, self._single_pods(resource)))
        else:
            for deployment in self._deployments(resource):
                client.create(deployment)
        self._await("pods running", lambda: len(self.pods.running), self._size.pods, self._further)
        phase = self._clock.end(self.pods.running.at)
        scheduled = self.pods.scheduled.at - begun
        rate = self._size.pods / phase.seconds
        tell(f"  {self._size.pods} pods running after {phase.seconds:.1f} s: {rate:.0f}/s")
        self._check()
        return phase, scheduled

    def share_count(self, node: str) -> int:
        """Shares of a node."""
        return sum(self.declared[node].values())

    def daemons(self) -> int:
        """Pods of DaemonSets."""
        return len(self._session.watches.pods.all()) - len(self.pods.created)

    def _accounts(self) -> int:
        """How many of the namespaces take pods: those with their service account."""
        paths = (f"/api/v1/namespaces/{each}/serviceaccounts/default" for each in self.namespaces)
        return sum(self._session.client.get(path) is not None for path in paths)

    def _deployments(self, resource: str) -> Iterator[Object]:
        """A Deployment for each namespace, which have all pods together."""
        for number, namespace in enumerate(self.namespaces):
            labels = {"app": "shares"}
            spec: Object = {
                "replicas": self._size.pods // TEAMS + (number < self._size.pods % TEAMS),
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": _pod_spec(resource)},
            }
            yield _object("apps/v1", "Deployment", "shares", namespace) | {"spec": spec}

    def _single_pods(self, resource: str) -> Iterator[Object]:
        for number in range(self._size.pods):
            namespace = self.namespaces[number % TEAMS]
            pod = _object("v1", "Pod", f"share-{number}", namespace)
            yield pod | {"spec": _pod_spec(resource)}

    def _further(self) -> str:
        return f", {len(self.pods.created)} created, {len(self.pods.scheduled)} with a node"

    def _check(self) -> None:
        """Hold what came out against what is possible."""
        if len(self.pods.created) != self._size.pods:
            raise ScaleError(f"{len(self.pods.created)} pods are there, not {self._size.pods}")
        for node, count in self.pods.by_node().items():
            if node not in self.declared or count > self.share_count(node):
                raise ScaleError(f"{count} pods are on {node}, which has not that many shares")

    def _await(
        self,
        what: str,
        count: Callable[[], int],
        wanted: int,
        further: Callable[[], str] = lambda: "",
    ) -> None:
        """Wait for as long as more and more come: how fast they do says nothing about the code."""

        def state() -> str:
            return f"{count()} of {wanted} {what}{further()}"

        show = self._teller(state)
        since, last = time.monotonic(), ""
        while count() < wanted:
            now, there = time.monotonic(), state()
            if there != last:
                since, last = now, there
            elif now - since > self._size.seconds:
                refused = self._session.watches.refusals.all()
                why = f"; the first refusal: {refused[0]['message']}" if refused else ""
                raise ScaleError(f"{there}, and no more for {self._size.seconds:.0f} s{why}")
            show()
            time.sleep(_TICK)

    def _teller(self, state: Callable[[], str]) -> Callable[[], None]:
        """What to call again and again for how it goes to be said every few seconds."""
        begun = told = time.monotonic()

        def show() -> None:
            nonlocal told
            now = time.monotonic()
            if now - told > _TOLD_SECONDS:
                told = now
                self._usage.cpu()  # fails where a process has ended
                tell(f"  {now - begun:.0f} s: {state()}")

        return show


def _pod_spec(resource: str) -> Object:
    container = {
        "name": "cuda",
        "image": "nvidia/cuda:12.9.0-base-ubi9",
        "resources": {"limits": {resource: 1}},
    }
    # Nobody in a pod that only computes asks the API server; without it pods are a fifth smaller.
    return {"containers": [container], "automountServiceAccountToken": False}


def _object(api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
