"""Each pool's simulated node held against NVIDIA's own programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab import rules
from eks_gpushare_lab.nvidia import mock_gpus
from eks_gpushare_lab.nvidia.trial import Trial, TrialNode, TrialProgram, trial
from eks_gpushare_lab.simulated_node import gpus as gpus_of_node
from eks_gpushare_lab.simulated_node.boot import built_in
from eks_gpushare_lab.simulated_node.hardware import hardware_of
from eks_gpushare_lab.simulated_node.instance import GATED, NO_VOLUME
from eks_gpushare_lab.simulated_node.pods import (
    DISCOVERY,
    MPS_DAEMON,
    PLUGIN,
    arguments_of,
    environment_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.install.nodes import LabNode
    from eks_gpushare_lab.nvidia.trial import TrialResult
    from eks_gpushare_lab.session import Session
    from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu
    from eks_gpushare_lab.simulated_node.hardware import Hardware
    from eks_gpushare_lab.simulated_node.instance import RunningProgram
    from eks_gpushare_lab.simulated_node.node import SimulatedNode

_PREFIX = "nvidia.com/"
_MIG_CAPABLE = "nvidia.com/mig.capable"
_OF_THE_MACHINE = ("nvidia.com/cuda.", "nvidia.com/gfd.", "nvidia.com/gpu.mode")
"""Labels of the driver, of the hour and of the PCI bus, none of which a mock of NVML decides."""
_MAYBE_UNKNOWN = (".memory", ".multiprocessors")
"""Ends of labels that the agent leaves out where the catalog does not know them."""
_ENGINES = ".engines."
"""What is within labels of an instance that no catalog knows."""
_FIX = (
    "One of them is wrong about what EKS would show: report it with the ConfigMap, and trust "
    "NVIDIA's. Where NVIDIA's program stops, its last lines say why."
)


@dataclass(frozen=True, slots=True)
class Held:
    """One pool: what NVIDIA's programs and the simulated node make of the same."""

    pool: str
    """The pool."""
    node: str = ""
    """The node of it that was taken."""
    resources: Mapping[str, int] | None = None
    """What NVIDIA's plugin registered; None if it did not come to it."""
    simulated: Mapping[str, int] | None = None
    """What the simulated node advertises; None if its plugin stops."""
    labels: Mapping[str, str] | None = None
    """What NVIDIA's feature discovery wrote; None if it did not run."""
    compared: int = 0
    """How many labels were compared, of either."""
    differences: Sequence[str] = ()
    """Where they differ, in sentences."""
    apart: Sequence[str] = field(default=())
    """What of the pool was not compared, and why."""

    def as_json(self) -> dict[str, Any]:
        """The pool as JSON data."""
        return {
            "node": self.node or None,
            "registered": None if self.resources is None else dict(self.resources),
            "simulated": None if self.simulated is None else dict(self.simulated),
            "labels": None if self.labels is None else dict(self.labels),
            "labelsCompared": self.compared,
            "differences": list(self.differences),
            "notCompared": list(self.apart),
        }

    def findings(self) -> Iterator[Finding]:
        """An error for each difference, and a word on what was not compared."""
        at = ("pools", self.pool, "nodes", self.node) if self.node else ("pools", self.pool)
        for difference in self.differences:
            yield rules.NVIDIA_DIFFERS.finding(at, difference, _FIX)
        for name in self.apart:
            fix = "Nothing, if the rest is enough; docs/lab.md says what can be compared."
            yield rules.NVIDIA_NOT_COMPARED.finding(at, name, fix)


def hold(session: Session, folder: Path, work: Path, tell: Callable[[str], object]) -> list[Held]:
    """Run NVIDIA's programs for a node of each GPU pool of a lab that has come to rest.

    Args:
        session: the lab.
        folder: NVIDIA's programs.
        work: a folder of the lab, for what they read and write; nothing is left in it.
        tell: called with a sentence before each pool.

    Raises:
        LabError: If the library cannot be used at all.
    """
    chosen: dict[str, LabNode | None] = {}
    for each in session.nodes:
        if each.declared and each.joins and session.watches.nodes.get(each.name):
            chosen.setdefault(each.pool, each)
    for name in session.scaling.nodes_now():
        chosen.setdefault(name, None)
    found = []
    for pool, node in chosen.items():
        if node is None:
            found.append(Held(pool, apart=("No node of it is there.",)))
            continue
        tell(f"NVIDIA's own programs run for {node.name}")
        found.append(_held(session, node, folder, work / "nvidia"))
    return found


def _held(session: Session, node: LabNode, folder: Path, work: Path) -> Held:
    there = session.watches.nodes.get(node.name)
    simulated = session.simulated(node.name)
    hardware = hardware_of(node.instance_type)
    if there is None or simulated is None or hardware is None:
        return Held(node.pool, node.name, apart=("The lab knows no GPUs of it.",))
    if built_in(there) is not None:
        why = "Bottlerocket brings a device plugin and settings of its own; NVIDIA's is not run."
        return Held(node.pool, node.name, apart=(why,))
    gpus = gpus_of_node.of_node(there, hardware.count)
    described = TrialNode(
        node.name,
        hardware.machine,
        mock_gpus.configuration(hardware, gpus),
        any(gpu.mig for gpu in gpus),
    )
    with trial(folder, described, work) as place:
        shown = place.gpus()
        other = _other_gpus(shown, hardware, gpus)
        if other:
            return Held(node.pool, node.name, apart=(other,))
        return _compared(session, node, simulated, place, _Machine(hardware, shown))


class _Machine:
    """What may differ without anybody being wrong."""

    def __init__(self, hardware: Hardware, shown: Sequence[Mapping[str, object]]) -> None:
        self.hardware = hardware
        self.mig_differs = any(gpu["mig"] != hardware.mig_capable for gpu in shown)

    def is_compared(self, label: str, simulated: Mapping[str, str]) -> bool:
        if label.startswith(_OF_THE_MACHINE) or _ENGINES in label:
            return False
        if label == _MIG_CAPABLE and self.mig_differs:
            return False
        return label in simulated or not label.endswith(_MAYBE_UNKNOWN)


def _other_gpus(
    shown: Sequence[Mapping[str, object]], hardware: Hardware, gpus: Sequence[SimulatedGpu]
) -> str:
    """Why a library is no use for a node: it shows other GPUs than the node has. `""` if it is."""
    names = {str(gpu["name"]) for gpu in shown}
    if len(shown) != hardware.count or names != {hardware.product}:
        what = f"{len(shown)} GPUs, {' and '.join(sorted(names)) or 'of no name'}"
        return (
            f"The library in the folder shows {what}, and {hardware.machine} has {hardware.count} "
            f"of {hardware.product}. NVIDIA's mock of NVML takes them from {mock_gpus.VARIABLE}."
        )
    instances = [gpu["instances"] for gpu in shown]
    wanted = [len(gpu.instances) if gpu.mig else None for gpu in gpus]
    if instances != wanted:
        return (
            f"The library in the folder shows MIG instances {_numbers(instances)}, and the GPUs of "
            f"the node have {_numbers(wanted)}: a mock of NVML that knows MIG is needed."
        )
    return ""


def _numbers(instances: Sequence[object]) -> str:
    return ", ".join("off" if instance is None else str(instance) for instance in instances)


def _compared(
    session: Session, node: LabNode, simulated: SimulatedNode, place: Trial, machine: _Machine
) -> Held:
    differences: list[str] = []
    apart: list[str] = []
    given = {name: n for name, n in simulated.allocatable.items() if n and _is_nvidia(name)}
    plugin = simulated.instances.get(PLUGIN)
    counts: TrialResult | None = None
    program = _fed(session, plugin, PLUGIN, apart)
    waits = _waits_for_mps(simulated, plugin, apart)
    if program is not None and plugin is not None and not waits:
        counts = place.plugin(program, given)
        stops = plugin.trouble.message if plugin.trouble else ""
        differences += _differences(counts, given, stops)
    discovery = simulated.instances.get(DISCOVERY)
    written: TrialResult | None = None
    compared: list[str] = []
    program = _fed(session, discovery, DISCOVERY, apart)
    if program is not None and discovery is not None:
        written = place.discovery(program)
        stops = discovery.trouble.message if discovery.trouble else ""
        every = sorted(_labels(written).keys() | simulated.labels.keys())
        compared = [label for label in every if machine.is_compared(label, simulated.labels)]
        differences += _label_differences(written, simulated.labels, stops, compared)
    return Held(
        node.pool,
        node.name,
        _only_counts(counts),
        None if plugin is None or plugin.trouble else given,
        None if written is None or written.found is None else _labels(written),
        len(compared),
        tuple(differences),
        tuple(apart),
    )


def _waits_for_mps(
    simulated: SimulatedNode, plugin: RunningProgram | None, apart: list[str]
) -> bool:
    """Whether the plugin serves nothing before the MPS daemon runs, and that does not."""
    if plugin is None or plugin.configuration is None or plugin.configuration.strategy != "mps":
        return False
    daemon = simulated.instances.get(MPS_DAEMON)
    if daemon is None or daemon.configuration is None or daemon.trouble is not None:
        apart.append(f"{PLUGIN} waits for the MPS control daemon, which does not run on the node.")
        return True
    apart.append(
        "The MPS control daemon is not run, since it needs a GPU: it is taken for running, and how "
        "many clients it allows is the simulated node's word alone."
    )
    return False


def _is_nvidia(resource: str) -> bool:
    return resource.startswith(_PREFIX)


def _fed(
    session: Session, running: RunningProgram | None, name: str, apart: list[str]
) -> TrialProgram | None:
    """What a pod's program is given; None, and why, where it is not run."""
    if running is None:
        apart.append(f"No pod of {name} is on the node.")
        return None
    pod = session.watches.pods.get(running.pod, running.namespace)
    reason = running.trouble.reason if running.trouble else ""
    if pod is None or reason in {NO_VOLUME, GATED}:
        apart.append(f"The pod of {name} does not start.")
        return None
    text = None
    if running.program.config_map is not None:
        config_map = session.watches.config_maps.get(running.program.config_map, running.namespace)
        data = (config_map or {}).get("data") or {}
        if running.key is None:
            apart.append(f"The config-manager, which is not run, gives {name} no configuration.")
            return None
        text = data.get(running.key, "")
    return TrialProgram(arguments_of(pod, name), environment_of(pod, name), text)


def _differences(said: TrialResult, given: Mapping[str, int], stops: str) -> Iterator[str]:
    if said.found is None:
        if not stops:
            yield (
                f"NVIDIA's device plugin registers nothing, and the node advertises "
                f"{_text(given)}: {said.why}"
            )
        return
    if stops:
        yield (
            f"NVIDIA's device plugin registers {_text(said.found)}, and the simulated one stops: "
            f"{stops}"
        )
    elif dict(said.found) != dict(given):
        more = f" ({said.why})" if said.why else ""
        yield (
            f"NVIDIA's device plugin registers {_text(said.found)}{more}, and the node advertises "
            f"{_text(given)}."
        )


def _label_differences(
    said: TrialResult, simulated: Mapping[str, str], stops: str, compared: Sequence[str]
) -> Iterator[str]:
    if said.found is None:
        if not stops:
            yield (
                "NVIDIA's feature discovery writes no labels, and the simulated one does: "
                f"{said.why}"
            )
        return
    if stops:
        yield f"NVIDIA's feature discovery writes labels, and the simulated one stops: {stops}"
        return
    written = _labels(said)
    for label in compared:
        pair = written.get(label), simulated.get(label)
        if pair[0] != pair[1]:
            nvidia, ours = ("does not set it" if e is None else f"sets it to {e!r}" for e in pair)
            yield f"Label {label}: NVIDIA's feature discovery {nvidia}, the simulated one {ours}."


def _labels(said: TrialResult) -> dict[str, str]:
    return {name: str(value) for name, value in (said.found or {}).items()}


def _only_counts(said: TrialResult | None) -> dict[str, int] | None:
    if said is None or said.found is None:
        return None
    return {name: int(count) for name, count in said.found.items()}


def _text(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items())) or "nothing"
