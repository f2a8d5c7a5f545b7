"""What a measurement of the lab at scale is asked for, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scale_setting import LabSetting


@dataclass(frozen=True, slots=True)
class Size:
    """How many pods, and how they come about."""

    pods: int
    directly: bool
    """Whether the pods are created one by one, without Deployments."""
    seconds: float
    """How long to wait without one node or pod more until the measurement is given up."""


@dataclass(frozen=True, slots=True)
class Phase:
    """What happened between two moments."""

    seconds: float
    cpu: dict[str, float]
    """CPU seconds by process of the lab."""
    others: float
    """Processors that other work kept busy meanwhile, on average."""

    def as_json(self) -> dict[str, Any]:
        """The phase as `--json` prints it."""
        return {
            "seconds": round(self.seconds, 2),
            "cpuSeconds": {name: round(each, 2) for name, each in self.cpu.items()},
            "otherWorkCores": round(self.others, 2),
        }


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """What one measurement found."""

    setting: LabSetting
    began: str
    """Date and time of the start."""
    nodes: int
    pods: int
    shares: int
    """Shares that the nodes advertise in all."""
    daemons: int
    """Pods of the DaemonSets that make the nodes usable."""
    directly: bool
    ready: Phase
    usable: Phase
    running: Phase
    scheduled_seconds: float
    """From the first Deployment to the last pod with a node."""
    used_nodes: int
    """Nodes with at least one of the pods."""
    most_on_a_node: int
    peak: float
    """Memory of the control plane, in MB."""
    peaks: dict[str, float]
    """The largest of each process, in MB."""
    load: tuple[float, float, float]
    """Load averages of the machine before the start."""
    versions: dict[str, str]

    @property
    def per_second(self) -> float:
        """Pods that came to run per second."""
        return self.pods / self.running.seconds

    @property
    def phases(self) -> dict[str, Phase]:
        """What the measurement consists of, in this order."""
        return {"ready": self.ready, "usable": self.usable, "running": self.running}

    def as_json(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        return {
            "setting": self.setting.name,
            "directly": self.directly,
            "began": self.began,
            "load": list(self.load),
            "nodes": self.nodes,
            "shares": self.shares,
            "daemonSetPods": self.daemons,
            "pods": self.pods,
            "podsPerSecond": round(self.per_second, 1),
            "scheduledSeconds": round(self.scheduled_seconds, 2),
            "usedNodes": self.used_nodes,
            "mostPodsOnANode": self.most_on_a_node,
            "peakMb": round(self.peak),
            "peaksMb": {name: round(size) for name, size in self.peaks.items()},
            "phases": {name: phase.as_json() for name, phase in self.phases.items()},
            "versions": self.versions,
        }
