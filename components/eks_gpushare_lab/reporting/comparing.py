"""What nodes advertise against what their pools declare, and which link is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.live.placement import allocatable
from eks_gpushare_lab import rules
from eks_gpushare_lab.install.dropped_keys import dropped, looks_like_one
from eks_gpushare_lab.reporting.daemonset_coverage import why_not
from eks_gpushare_lab.reporting.machines import broken_machine
from eks_gpushare_lab.simulated_node import efa
from eks_gpushare_lab.simulated_node.instance import TOO_LONG
from eks_gpushare_lab.simulated_node.patches import LOG
from eks_gpushare_lab.simulated_node.pods import (
    EFA_PLUGIN,
    MPS_DAEMON,
    PLUGIN,
    Program,
    program_of,
    role_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.nodes import LabNode
    from eks_gpushare_lab.reporting.daemonset_coverage import Coverage
    from eks_gpushare_lab.session import Session

_PREFIX = "nvidia.com/"
_MPS_CAPABLE = "nvidia.com/mps.capable"
_FIXES = {
    "container stack to be setup": "Let the operator's validator run on the node.",
    "invalid MIG configuration": "Partition every GPU alike, or let the MIG strategy be mixed.",
    "same migEnabled value": "Partition every GPU alike, or let the MIG strategy be mixed.",
    "MPS is not supported for MIG": "Share MIG devices by time slicing.",
    "MPS sharing is not supported for mig": "Share MIG devices by time slicing.",
}


def advertised_by(node: Object | None) -> dict[str, int]:
    """NVIDIA resources and EFA interfaces that a node gives out."""
    there = allocatable(node) if node else {}
    return {
        name: int(count)
        for name, count in there.items()
        if name.startswith(_PREFIX) or name == efa.RESOURCE
    }


def differs(declared: Mapping[str, int], advertised: Mapping[str, int]) -> bool:
    """Whether two sets of counts differ; an absent resource is one of which there is none."""
    return any(
        declared.get(name, 0) != advertised.get(name, 0) for name in declared.keys() | advertised
    )


def comparison_findings(session: Session, coverages: Sequence[Coverage]) -> Iterator[Finding]:
    """A finding for each node that advertises other than its pool declares."""
    for node in session.nodes:
        there = session.watches.nodes.get(node.name)
        advertised = advertised_by(there)
        # Of nodes that no pool of ours has, nothing is declared: whatever they advertise is right.
        if there is None or not node.declared or not differs(node.declared, advertised):
            continue
        edge, fix = _efa_edge(session, coverages, node, there) or _broken_edge(
            session, coverages, node, there
        )
        message = f"{_text(node.declared)} declared, {_text(advertised)} advertised: {edge}"
        yield rules.DIFFERS.finding(("pools", node.pool, "nodes", node.name), message, fix)


def trouble_findings(session: Session) -> Iterator[Finding]:
    """Pods of NVIDIA's programs whose containers do not run."""
    for pod in session.watches.pods.all():
        program, trouble = program_of(pod), _waiting(pod)
        name = program.name if program else role_of(pod["spec"])
        if not name or trouble is None:
            continue
        node = pod["spec"].get("nodeName", "")
        pool = next((each.pool for each in session.nodes if each.name == node), "")
        detail, fix = f"{trouble[1]}.", "See the message."
        if program is not None:
            detail, fix = _explained(session, pod, program, trouble[1])
        message = f"{name} is in {trouble[0]}: {detail}"
        yield rules.NOT_RUNNING.finding(("pools", pool, "nodes", node), message, fix)


def unread_findings(session: Session) -> Iterator[Finding]:
    """ConfigMaps that hold a device plugin's configuration and are mounted by no pod."""
    read = {
        (daemon_set["metadata"]["namespace"], program.config_map)
        for daemon_set in session.watches.daemon_sets.all()
        if (program := program_of(daemon_set["spec"]["template"])) is not None
    }
    for config_map in session.watches.config_maps.all():
        namespace, name = config_map["metadata"]["namespace"], config_map["metadata"]["name"]
        texts = (config_map.get("data") or {}).values()
        if (namespace, name) in read or not any(map(looks_like_one, texts)):
            continue
        there = ", ".join(sorted(f"{space}/{one}" for space, one in read if one)) or "none"
        message = (
            f"It looks like a device plugin's configuration, and no device plugin reads it; "
            f"what is read is {there}."
        )
        fix = "Declare the sharing in the pool, or name it in the release's values: config.name."
        at = ("configMaps", f"{namespace}/{name}")
        yield rules.NOT_REFERRED_TO.finding(at, message, fix)


def _efa_edge(
    session: Session, coverages: Sequence[Coverage], node: LabNode, there: Object
) -> tuple[str, str] | None:
    """What is broken where the GPUs are as declared and the EFA interfaces are not."""
    advertised = advertised_by(there)
    gpus = ({k: v for k, v in c.items() if k != efa.RESOURCE} for c in (node.declared, advertised))
    if differs(*gpus):
        return None
    plugin = next((coverage for coverage in coverages if coverage.role == EFA_PLUGIN), None)
    if plugin is None:
        return "no DaemonSet runs an EFA device plugin.", "Install AWS's chart for it."
    if not efa.interfaces_of(there):
        return "its launch template gives it no EFA interface.", "Set efa: true in the pool."
    why = why_not(session, plugin, there)
    return f"no pod of {plugin.name} runs on it. {why}", "Let it reach the node."


def _broken_edge(
    session: Session, coverages: Sequence[Coverage], node: LabNode, there: Object
) -> tuple[str, str]:
    machine = broken_machine(session, there)
    if machine is not None:
        return machine
    pods = _programs_on(session, node.name)
    if PLUGIN not in pods:
        plugin = next((coverage for coverage in coverages if coverage.role == PLUGIN), None)
        if plugin is None:
            return "no DaemonSet runs a device plugin.", "Install NVIDIA's chart."
        why = why_not(session, plugin, there)
        return f"no pod of {plugin.name} is on it. {why}", "Let it reach the node."
    pod, program = pods[PLUGIN]
    trouble = _waiting(pod)
    if trouble is not None:
        detail, fix = _explained(session, pod, program, trouble[1])
        return f"its device plugin is in {trouble[0]}: {detail}", fix
    log = str((pod["metadata"].get("annotations") or {}).get(LOG, ""))
    if "mps of" in log:
        broken = _mps_edge(session, coverages, pods, there)
        if broken:
            return broken
    return _parsed_otherwise(session, pod, program, there, log)


def _mps_edge(
    session: Session,
    coverages: Sequence[Coverage],
    pods: Mapping[str, tuple[Object, Program]],
    there: Object,
) -> tuple[str, str] | None:
    if MPS_DAEMON not in pods:
        daemon = next((coverage for coverage in coverages if coverage.role == MPS_DAEMON), None)
        why = f" {why_not(session, daemon, there)}" if daemon else ""
        message = f"the MPS control daemon is not on it, and the device plugin waits for it.{why}"
        return message, f"Let GPU feature discovery run there: it sets {_MPS_CAPABLE}."
    pod, program = pods[MPS_DAEMON]
    trouble = _waiting(pod)
    if trouble is None:
        return None
    detail, fix = _explained(session, pod, program, trouble[1])
    return f"its MPS control daemon is in {trouble[0]}: {detail}", fix


def _parsed_otherwise(
    session: Session, pod: Object, program: Program, there: Object, log: str
) -> tuple[str, str]:
    key = _key_of(program, there)
    data = _data(session, pod, program) or {}
    unknown = dropped(data.get(key, ""))
    edge = f"its device plugin {log or 'has said nothing yet'}."
    if unknown:
        edge += f" It dropped keys that it does not know: {', '.join(unknown)}."
        return edge, f"Fix the keys in {program.config_map}."
    if TOO_LONG in log:
        return edge, "Share each GPU by fewer replicas."
    if program.config_map is None:
        return edge, "Let the release's values name the ConfigMap of the pools: config.name."
    return edge, f"See key {key} of {program.config_map}; an edit there is not noticed by itself."


def _explained(session: Session, pod: Object, program: Program, message: str) -> tuple[str, str]:
    """What a program says before it stops, with what it does not say."""
    node = session.watches.nodes.get(pod["spec"].get("nodeName", ""))
    data = _data(session, pod, program)
    if data is None and program.config_map:
        fix = f"Apply a ConfigMap {program.config_map}, or name one that there is: config.name."
        return f"{message}.", fix
    key = _key_of(program, node) if node else ""
    if data is not None and key and key not in data:
        labels = node["metadata"].get("labels", {}) if node else {}
        labelled = program.label in labels
        source = f"label {program.label}" if labelled else "value config.default"
        keys = ", ".join(sorted(data)) or "none"
        detail = f"{message}. The {source} names the key {key}; {program.config_map} has {keys}."
        return detail, f"Let the {source} name one of them."
    fix = next((fix for words, fix in _FIXES.items() if words in message), "")
    if fix:
        return f"{message}.", fix
    return f"{message}.", f"Fix key {key} of {program.config_map}." if key else "See the message."


def _programs_on(session: Session, node: str) -> dict[str, tuple[Object, Program]]:
    found = {}
    for pod in session.watches.pods.all():
        if pod["spec"].get("nodeName") == node and "deletionTimestamp" not in pod["metadata"]:
            program = program_of(pod)
            if program is not None:
                found[program.name] = (pod, program)
    return found


def _waiting(pod: Object) -> tuple[str, str] | None:
    """Reason and message of a container that waits."""
    for status in pod["status"].get("containerStatuses") or ():
        waiting = (status.get("state") or {}).get("waiting")
        if waiting and waiting.get("message"):
            return waiting["reason"], waiting["message"]
    return None


def _data(session: Session, pod: Object, program: Program) -> Mapping[str, str] | None:
    if program.config_map is None:
        return None
    found = session.watches.config_maps.get(program.config_map, pod["metadata"]["namespace"])
    return None if found is None else found.get("data") or {}


def _key_of(program: Program, node: Object) -> str:
    label = (node["metadata"].get("labels") or {}).get(program.label, "")
    return label or program.default


def _text(counts: Mapping[str, int]) -> str:
    shown = [f"{name}: {count}" for name, count in counts.items() if count]
    return ", ".join(shown) or "nothing"
