"""One simulated node: the programs on it, and what the kubelet and they make of its GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.live.amounts import quantity
from eks_gpushare_lab.simulated_node import advertising, discovery, efa, gpus, operator
from eks_gpushare_lab.simulated_node.advertising import DevicesError
from eks_gpushare_lab.simulated_node.boot import built_in
from eks_gpushare_lab.simulated_node.hardware import INSTANCE_TYPE, hardware_of
from eks_gpushare_lab.simulated_node.instance import RunningProgram
from eks_gpushare_lab.simulated_node.mig_manager import MigManager
from eks_gpushare_lab.simulated_node.mps_server import MpsServer
from eks_gpushare_lab.simulated_node.pods import (
    DISCOVERY,
    EFA_PLUGIN,
    MIG_MANAGER,
    MPS_DAEMON,
    PLUGIN,
    VALIDATOR,
    WORKER,
    is_alive,
    program_of,
    role_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.simulated_node.config_file import Configuration
    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu
    from eks_gpushare_lab.simulated_node.hardware import Hardware

BUILT_IN = "lab.eks-gpushare/built-in-plugin"
"""Annotation of a node: what the device plugin that its OS brings says."""

_NO_DRIVER = "failed to initialize NVML: could not load NVML library"


class SimulatedNode:
    """A node as the programs on it see it."""

    def __init__(self, name: str, uid: str = "") -> None:
        """Begin with nothing on it."""
        self.name, self.uid = name, uid
        self.instances: dict[str, RunningProgram] = {}
        """The programs that run or try to, by their command."""
        self.manager: MigManager | None = None
        """The MIG manager, if its pod is there."""
        self.capacity: dict[str, int] = {}
        """What the kubelet shows as capacity of device plugins."""
        self.allocatable: dict[str, int] = {}
        """What it shows as allocatable: 0 for a resource whose plugin has gone."""
        self.labels: dict[str, str] = {}
        """Labels that GPU feature discovery has published."""
        self.changes: operator.Changes = {}
        """Labels that other programs change now."""
        self.notes: dict[str, str] = {}
        """Annotations of the machine."""
        self.mps_server = MpsServer()
        """Its MPS server; it matters where `shares_by_mps`."""
        self._built_in: Configuration | None = None
        self._known = False

    def update(
        self,
        node: Object,
        pods: Sequence[Object],
        find: Callable[[str, str], Mapping[str, str] | None],
    ) -> None:
        """Take in the node and its pods as they are now.

        Args:
            node: the node.
            pods: those of NVIDIA's and NFD's programs that are bound to it.
            find: the data of a ConfigMap by namespace and name.
        """
        if not self._known:
            self._known = True
            self._take_over(node)
        self.changes, self.notes = {}, {}
        labels = node["metadata"].get("labels", {})
        hardware = hardware_of(labels.get(INSTANCE_TYPE, ""))
        alive = {role_of(pod["spec"]): pod for pod in pods if is_alive(pod)}
        self._programs(alive.values())
        for instance in self.instances.values():
            if instance.program.gated and VALIDATOR not in alive and instance.configuration is None:
                instance.hold()
                continue
            instance.update(labels.get(instance.program.label, ""), find)
            if hardware is None and instance.configuration is not None:
                instance.configuration = None
                instance.stop(_NO_DRIVER)
        if hardware is not None:
            found_gpus = gpus.of_node(node, hardware.count)
            if WORKER in alive:
                self.changes |= operator.discovered()
            self._daemon(hardware)
            self._discover(hardware, found_gpus, labels)
            self._advertise(self._counts(node, hardware, found_gpus))
            self._manage(alive.get(MIG_MANAGER), labels, found_gpus, hardware, find)
        self._hand_out_efa(node, served=EFA_PLUGIN in alive)

    def go_on(self, node: Object, pods: Iterable[Object]) -> None:
        """Let the MIG manager go on if the pods it waits for have gone.

        Args:
            node: the node.
            pods: all pods on it.
        """
        labels = node["metadata"].get("labels", {})
        hardware = hardware_of(labels.get(INSTANCE_TYPE, ""))
        if self.manager is None or hardware is None:
            return
        found_gpus = gpus.of_node(node, hardware.count)
        self.manager.go_on(labels, found_gpus, hardware, pods)
        self._take_changes(self.manager)

    def plugin_configuration(self) -> Configuration | None:
        """What the device plugin runs with, if it serves requests."""
        plugin = self.instances.get(PLUGIN)
        running = plugin.configuration if plugin else self._built_in
        given = (n for name, n in self.allocatable.items() if name.startswith(advertising.PREFIX))
        return running if any(given) else None

    @property
    def shares_by_mps(self) -> bool:
        """Whether the shares that it gives out are those of MPS."""
        running = self.plugin_configuration()
        return running is not None and running.strategy == "mps"

    def reads(self, config_map: str) -> bool:
        """Whether a program on it is configured by a ConfigMap of this name."""
        names = [instance.program.config_map for instance in self.instances.values()]
        return config_map in [*names, self.manager and self.manager.config_map]

    def _take_over(self, node: Object) -> None:
        """Begin with what the node shows, which an earlier process may have made."""
        self.capacity, self.allocatable = (
            {
                name: int(quantity(count))
                for name, count in node["status"].get(part, {}).items()
                if name.startswith(advertising.PREFIX) or name == efa.RESOURCE
            }
            for part in ("capacity", "allocatable")
        )

    def _hand_out_efa(self, node: Object, *, served: bool) -> None:
        """What the EFA device plugin registers, whatever is there of GPUs."""
        interfaces = efa.interfaces_of(node)
        if served and interfaces:
            self.capacity[efa.RESOURCE] = self.allocatable[efa.RESOURCE] = interfaces
        elif efa.RESOURCE in self.capacity:
            self.capacity[efa.RESOURCE], self.allocatable[efa.RESOURCE] = interfaces, 0

    def _programs(self, pods: Iterable[Object]) -> None:
        alive: dict[str, RunningProgram] = {}
        for pod in pods:
            program = program_of(pod)
            if program is None:
                continue
            known = self.instances.get(program.name)
            same = known is not None and known.uid == pod["metadata"]["uid"]
            alive[program.name] = (
                known if known and same else RunningProgram(pod, program, self.name)
            )
        self.instances = alive

    def _manage(
        self,
        pod: Object | None,
        labels: Mapping[str, str],
        found_gpus: tuple[SimulatedGpu, ...],
        hardware: Hardware,
        find: Callable[[str, str], Mapping[str, str] | None],
    ) -> None:
        if pod is None:
            self.manager = None
            return
        if self.manager is None or self.manager.uid != pod["metadata"]["uid"]:
            self.manager = MigManager(pod, self.name)
        self.manager.update(labels, found_gpus, hardware, find)
        self._take_changes(self.manager)

    def _take_changes(self, manager: MigManager) -> None:
        self.changes |= manager.labels
        if manager.gpus is not None:
            self.notes[gpus.STATE] = gpus.encode(manager.gpus)

    def commit(self) -> None:
        """Forget what the MIG manager has changed: the node has it now."""
        if self.manager is not None:
            self.manager.labels, self.manager.gpus = {}, None

    def _daemon(self, hardware: Hardware) -> None:
        daemon = self.instances.get(MPS_DAEMON)
        if daemon is not None and daemon.configuration is not None:
            why = _too_many_clients(hardware, daemon.configuration)
            if why:
                daemon.stop(why)

    def _discover(
        self, hardware: Hardware, found_gpus: Sequence[SimulatedGpu], there: Mapping[str, str]
    ) -> None:
        found = self.instances.get(DISCOVERY)
        if found is None or found.configuration is None:
            return
        try:
            self.labels = discovery.labels(hardware, found_gpus, found.configuration)
        except DevicesError as error:
            found.stop(str(error))
            return
        self.changes |= dict.fromkeys(discovery.stale(there, self.labels))

    def _counts(
        self, node: Object, hardware: Hardware, found_gpus: Sequence[SimulatedGpu]
    ) -> dict[str, int] | None:
        """What a plugin registers, or None if none serves."""
        plugin = self.instances.get(PLUGIN)
        if plugin is None:
            return self._built_in_counts(node, hardware, found_gpus)
        if plugin.configuration is None:
            return None
        try:
            counts = advertising.advertised(found_gpus, plugin.configuration)
            plugin.unlisted = advertising.unlisted(found_gpus, plugin.configuration)
        except DevicesError as error:
            plugin.configuration = None
            plugin.stop(str(error))
            return None
        if plugin.configuration.strategy == "mps":
            daemon = self.instances.get(MPS_DAEMON)
            if daemon is None or daemon.configuration is None or daemon.trouble is not None:
                return None
        return {name: n for name, n in counts.items() if name not in plugin.unlisted}

    def _built_in_counts(
        self, node: Object, hardware: Hardware, found_gpus: Sequence[SimulatedGpu]
    ) -> dict[str, int] | None:
        """The same of the plugin that Bottlerocket brings."""
        settings = built_in(node)
        self._built_in = settings.plugin if settings else None
        if self._built_in is None:
            return None
        try:
            counts = advertising.advertised(found_gpus, self._built_in)
            why = _too_many_clients(hardware, self._built_in)
        except DevicesError as error:
            counts, why = {}, str(error)
        self.notes[BUILT_IN] = f"stops: {why}" if why else "runs"
        return None if why else counts

    def _advertise(self, counts: dict[str, int] | None) -> None:
        if counts is None:
            # The kubelet keeps the capacity of a plugin that has gone, and gives none of it out.
            self.allocatable = dict.fromkeys(self.allocatable, 0)
            return
        gone = dict.fromkeys(self.capacity.keys() - counts.keys(), 0)
        self.capacity = {**counts, **gone}
        self.allocatable = dict(self.capacity)


def _too_many_clients(hardware: Hardware, configuration: Configuration) -> str:
    """Why the MPS daemon stops, `""` if it does not."""
    replicas = configuration.replicas(advertising.GPU)
    if configuration.strategy != "mps" or replicas <= hardware.mps_clients:
        return ""
    return (
        "invalid MPS configuration: invalid device maximum allowed replicas exceeded: "
        f"{replicas} > {hardware.mps_clients}"
    )
