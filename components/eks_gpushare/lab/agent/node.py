"""One simulated node: the programs on it, and what the kubelet and they make of its GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.lab.agent import advertising
from eks_gpushare.lab.agent.hardware import hardware_of
from eks_gpushare.lab.agent.instance import Instance
from eks_gpushare.lab.agent.pods import DISCOVERY, MPS_DAEMON, PLUGIN, is_alive, program_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eks_gpushare.lab.agent.config_file import Configuration
    from eks_gpushare.lab.agent.hardware import Hardware
    from eks_gpushare.lab.client import Object

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
"""The label that says what the simulated machine is."""

_NO_DRIVER = "failed to initialize NVML: could not load NVML library"


class SimulatedNode:
    """A node as the agent sees it."""

    def __init__(self, name: str) -> None:
        """Begin with nothing on it."""
        self.name = name
        self.instances: dict[str, Instance] = {}
        """The programs that run or try to, by their command."""
        self.capacity: dict[str, int] = {}
        """What the kubelet shows as capacity of device plugins."""
        self.allocatable: dict[str, int] = {}
        """What it shows as allocatable: 0 for a resource whose plugin has gone."""
        self.labels: dict[str, str] = {}
        """Labels that GPU feature discovery has published."""
        self._known = False

    def update(
        self,
        node: Object,
        pods: Iterable[Object],
        find: Callable[[str, str], Mapping[str, str] | None],
    ) -> None:
        """Take in the node and its pods as they are now.

        Args:
            node: the node.
            pods: those of NVIDIA's programs that are bound to it.
            find: the data of a ConfigMap by namespace and name.
        """
        if not self._known:
            self._known = True
            self._take_over(node)
        labels = node["metadata"].get("labels", {})
        hardware = hardware_of(labels.get(INSTANCE_TYPE, ""))
        self._programs(pods)
        for each in self.instances.values():
            each.update(labels.get(each.program.label, ""), find)
            if hardware is None and each.configuration is not None:
                each.configuration = None
                each.stop(_NO_DRIVER)
        if hardware is not None:
            self._daemon(hardware)
            self._discover(hardware)
            self._advertise(self._plugin_counts(hardware))

    def plugin_configuration(self) -> Configuration | None:
        """What the device plugin runs with, if it serves requests."""
        plugin = self.instances.get(PLUGIN)
        return plugin.configuration if plugin and any(self.allocatable.values()) else None

    def _take_over(self, node: Object) -> None:
        """Begin with what the node shows, which an agent before this one may have written."""
        for part, counts in (("capacity", self.capacity), ("allocatable", self.allocatable)):
            for name, count in node["status"].get(part, {}).items():
                if name.startswith(advertising.PREFIX):
                    counts[name] = int(count)

    def _programs(self, pods: Iterable[Object]) -> None:
        alive: dict[str, Instance] = {}
        for pod in pods:
            program = program_of(pod)
            if program is None or not is_alive(pod):
                continue
            known = self.instances.get(program.name)
            same = known is not None and known.uid == pod["metadata"]["uid"]
            alive[program.name] = known if known and same else Instance(pod, program, self.name)
        self.instances = alive

    def _daemon(self, hardware: Hardware) -> None:
        daemon = self.instances.get(MPS_DAEMON)
        if daemon is None or daemon.configuration is None:
            return
        if daemon.configuration.strategy == "mps":
            replicas = daemon.configuration.replicas(advertising.GPU)
            if replicas > hardware.mps_clients:
                daemon.stop(
                    "invalid MPS configuration: invalid device maximum allowed replicas exceeded: "
                    f"{replicas} > {hardware.mps_clients}"
                )

    def _discover(self, hardware: Hardware) -> None:
        discovery = self.instances.get(DISCOVERY)
        if discovery is not None and discovery.configuration is not None:
            self.labels = advertising.labels(hardware, discovery.configuration)

    def _plugin_counts(self, hardware: Hardware) -> dict[str, int] | None:
        """What the plugin registers, or None if it serves nothing."""
        plugin = self.instances.get(PLUGIN)
        if plugin is None or plugin.configuration is None:
            return None
        if plugin.configuration.strategy == "mps":
            daemon = self.instances.get(MPS_DAEMON)
            if daemon is None or daemon.configuration is None or daemon.trouble is not None:
                return None
        return advertising.advertised(hardware, plugin.configuration)

    def _advertise(self, counts: dict[str, int] | None) -> None:
        if counts is None:
            # The kubelet keeps the capacity of a plugin that has gone, and gives none of it out.
            self.allocatable = dict.fromkeys(self.allocatable, 0)
            return
        gone = dict.fromkeys(self.capacity.keys() - counts.keys(), 0)
        self.capacity = {**counts, **gone}
        self.allocatable = dict(self.capacity)
