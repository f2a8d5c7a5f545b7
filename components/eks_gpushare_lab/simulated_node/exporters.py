"""The DCGM exporters of all simulated nodes: what a scrape of each gets now.

A node answers if a pod of the exporter runs on it, and says what `dcgm_exporter` makes of the GPUs,
of the pods that hold them, and of the load that annotations put on those.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.observing.watches import Watch
from eks_gpushare_lab.simulated_node import gpus
from eks_gpushare_lab.simulated_node.allocation import DeviceManager, devices
from eks_gpushare_lab.simulated_node.dcgm_exporter import (
    ExporterMachine,
    exposition,
    options_of,
    unseen,
)
from eks_gpushare_lab.simulated_node.hardware import INSTANCE_TYPE, hardware_of
from eks_gpushare_lab.simulated_node.load import (
    GPU_DEMAND,
    GPU_LOAD,
    GPU_MEMORY,
    IDLE,
    Load,
    LoadError,
    parse,
)
from eks_gpushare_lab.simulated_node.pods import EXPORTER, is_alive, role_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.observing.watches import Listener, Watches
    from eks_gpushare_lab.simulated_node.config_file import Configuration

SERIES = "lab.eks-gpushare/metrics"
"""Annotation of a workload or a ConfigMap: series, as an exporter writes them, that something else
would tell of, such as the requests that wait at an ingress controller."""

HELD_MIB = 512.0
"""GPU memory of a pod of which no annotation says another."""

_KINDS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "ReplicaSet": "replicasets"}


class Exporters:
    """Answers for every node. Scrapes come from several threads."""

    def __init__(
        self,
        client: Client,
        watches: Watches,
        configuration: Callable[[str], Configuration | None],
    ) -> None:
        """Use what is watched, and watch workloads besides.

        Args:
            client: the API server.
            watches: what is there.
            configuration: what the device plugin of a node runs with, None if none serves.
        """
        self._watches = watches
        self._configuration = configuration
        paths = {kind: f"/apis/apps/v1/{plural}" for kind, plural in _KINDS.items()}
        self._workloads = {kind: Watch(client, path) for kind, path in paths.items()}
        self._managers: dict[str, DeviceManager] = {}
        self._began: dict[tuple[str, str], tuple[str, float, Load]] = {}
        self._lock = threading.Lock()
        self.unreadable: dict[str, str] = {}
        """What is wrong with a load that cannot be read, by what it is a load of."""

    def start(self) -> None:
        """Begin to watch workloads."""
        for workload in self._workloads.values():
            workload.start()

    def stop(self) -> None:
        """End that."""
        for workload in self._workloads.values():
            workload.stop()

    def listen(self, listener: Listener) -> None:
        """Tell of every change of a workload, and of what is there."""
        for workload in self._workloads.values():
            workload.listen(listener)

    def nodes(self) -> dict[str, Object]:
        """Pods of the exporter that run, by their node."""
        return {
            pod["spec"]["nodeName"]: pod
            for pod in self._watches.pods.all()
            if pod["spec"].get("nodeName") and role_of(pod["spec"]) == EXPORTER and is_alive(pod)
        }

    def page(self) -> str:
        """What all exporters say, as a Prometheus has it that scrapes each, and `series`."""
        every = (self.scrape(name, _target(name, pod)) for name, pod in self.nodes().items())
        return "".join([*filter(None, every), self.series()])

    def scrape(self, name: str, target: Mapping[str, str] | None = None) -> str | None:
        """What the exporter of a node says; None if none runs there.

        Args:
            name: of the node.
            target: labels that Prometheus adds. Default: none.
        """
        exporter = self.nodes().get(name)
        node = self._watches.nodes.get(name)
        if exporter is None or node is None:
            return None
        hardware = hardware_of(node["metadata"].get("labels", {}).get(INSTANCE_TYPE, ""))
        if hardware is None:
            return None
        found = gpus.of_node(node, hardware.count)
        pods = [pod for pod in self._watches.pods.all() if pod["spec"].get("nodeName") == name]
        configuration = self._configuration(name)
        with self._lock:
            manager = self._managers.setdefault(name, DeviceManager())
            if configuration is not None:
                manager.update(devices(found, configuration), pods)
            holdings = manager.holdings
        running = {pod["metadata"]["uid"]: pod for pod in pods if is_alive(pod)}
        machine = ExporterMachine(name, hardware, found, holdings, running, self.load, self.memory)
        return exposition(machine, options_of(exporter), target)

    def series(self) -> str:
        """What annotations of workloads and ConfigMaps say besides."""
        watches = (*self._workloads.values(), self._watches.config_maps)
        every = (obj for watch in watches for obj in watch.all())
        return "".join(f"{text.strip()}\n" for text in (_note(e, SERIES) for e in every) if text)

    def settled(self) -> float:
        """Seconds since a load last changed; less than 0 if one is going to."""
        now = time.monotonic()
        with self._lock:
            began = list(self._began.values())
        ages = [now - at - load.steps[-1][0] for _, at, load in began]
        return min(ages, default=float("inf"))

    def blind(self, pod: Object) -> str:
        """Why nothing tells of a running pod how much it uses its GPU; `""` if something does."""
        name = pod["spec"]["nodeName"]
        exporter = self.nodes().get(name)
        if exporter is None:
            return f"no DCGM exporter runs on node {name}"
        self.scrape(name)
        manager = self._managers.get(name)
        held = manager.holdings if manager else ()
        mine = (share for share in held if share.pod == pod["metadata"]["uid"])
        options = options_of(exporter)
        return next(filter(None, (unseen(share, options) for share in mine)), "")

    def load(self, pod: Object) -> float:
        """Percent that a pod would use now if nobody else used its GPU."""
        if _note(pod, GPU_LOAD):
            return self._now(pod, GPU_LOAD)
        workload = self._workload(pod)
        if workload is None:
            return 0.0
        together = self._now(workload, GPU_DEMAND)
        shared = together / self._running(pod) if together else 0.0
        return self._now(workload, GPU_LOAD) + shared

    def memory(self, pod: Object) -> float:
        """MiB that a pod holds of each device that it has."""
        workload = self._workload(pod)
        text = _note(pod, GPU_MEMORY) or (_note(workload, GPU_MEMORY) if workload else "")
        try:
            return float(text) if text else HELD_MIB
        except ValueError:
            self.unreadable[str(workload_of(pod))] = f"{text!r} is no number of MiB"
            return HELD_MIB

    def _workload(self, pod: Object) -> Object | None:
        workload = workload_of(pod)
        watch = self._workloads.get(workload.kind)
        return watch.get(workload.name, workload.namespace) if watch else None

    def _running(self, pod: Object) -> int:
        """Pods that run for the workload of a pod."""
        workload = workload_of(pod)
        every = (other for other in self._watches.pods.all() if is_alive(other))
        return max(1, sum(workload_of(other) == workload for other in every))

    def _now(self, given: Object, key: str) -> float:
        """Percent of a load; its schedule began when its text was first seen."""
        metadata, text = given["metadata"], _note(given, key)
        if not text:
            return 0.0
        now = time.monotonic()
        with self._lock:
            known = self._began.get((metadata["uid"], key))
            if known is None or known[0] != text:
                try:
                    load = parse(text)
                except LoadError as error:
                    self.unreadable[f"{metadata['namespace']}/{metadata['name']}"] = str(error)
                    load = IDLE
                known = self._began[metadata["uid"], key] = (text, now, load)
        return known[2].at(now - known[1])


def _target(node: str, pod: Object) -> dict[str, str]:
    """Labels by which Prometheus knows an exporter."""
    metadata = pod["metadata"]
    return {
        "job": EXPORTER,
        "instance": f"{node}:9400",
        "container": pod["spec"]["containers"][0]["name"],
        "namespace": metadata["namespace"],
        "pod": metadata["name"],
    }


def _note(given: Object, key: str) -> str:
    text: str = (given["metadata"].get("annotations") or {}).get(key, "")
    return text
