"""Whether the machines are there, sound, and take pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.scheduling import is_of_agent, lasts
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live import rules
from eks_gpushare.live.faults import Link, NodeFault
from eks_gpushare.live.nodes import UNREGISTERED, writer_of
from eks_gpushare.sharing.labels import MIG_LABEL, MIG_REASON_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.live.nodes import LiveNode

_HARDWARE: Final = "AcceleratedHardwareReady"
"""Condition of EKS's node monitoring agent."""
_PRESSURES: Final = ("DiskPressure", "MemoryPressure", "PIDPressure", "NetworkUnavailable")
"""Conditions of kubelet and of the network, each of which keeps pods off where it is true."""
_SYSTEM: Final = ("KernelReady", "NetworkingReady", "StorageReady", "ContainerRuntimeReady")
"""Further conditions of EKS's node monitoring agent."""
_STARTUP_SECONDS: Final = 15 * 60.0
"""After how long a startup taint stays: as long as Karpenter gives a node to register."""
_STARTUP: Final = ("node.cloudprovider.kubernetes.io/uninitialized", UNREGISTERED)
_MIG_STATE: Final = "nvidia.com/mig.config.state"
_MIG_CONFIG: Final = "nvidia.com/mig.config"
_UNDER_WAY: Final = frozenset(("pending", "rebooting"))


def machine_faults(nodes: Iterable[LiveNode]) -> Iterator[NodeFault]:
    """Nodes that are not ready, broken or closed, with startup taints or a failed MIG layout."""
    for node in nodes:
        if node.is_leaving:
            continue
        if not node.is_ready:
            if not node.is_joining:
                yield _not_ready(node)
            continue
        yield from _hardware(node)
        yield from _system(node)
        yield from _closed(node)
        yield from _mig(node)


def _not_ready(node: LiveNode) -> NodeFault:
    ready = node.conditions.get("Ready")
    status = str(at(ready, "status") or "missing")
    said = " ".join(
        str(at(ready, part)) for part in ("reason", "message") if at(ready, part)
    ).rstrip(".")
    return NodeFault(
        rules.NODE_NOT_READY,
        Link.NODE,
        node,
        f"its kubelet does not say that it is ready{f': {said}' if said else ''}.",
        "See kubectl describe node {node} and the instance's system log; replace it if it does "
        "not come back.",
        f"status.conditions Ready is {status}{_since(ready)}",
        alike=f"{status} {at(ready, 'reason')}",
    )


def _since(found: object) -> str:
    """Since when a condition is as it is, where it says so."""
    time = at(found, "lastTransitionTime")
    return f" since {time}" if time else ""


def _hardware(node: LiveNode) -> Iterator[NodeFault]:
    found = node.conditions.get(_HARDWARE)
    if found is not None and str(at(found, "status")) == "False":
        reason, message = (str(at(found, part) or "") for part in ("reason", "message"))
        yield NodeFault(
            rules.HARDWARE_BROKEN,
            Link.NODE,
            node,
            f"its accelerators are not sound: {reason}"
            + (f", {message.rstrip('.')}." if message else "."),
            "Cordon and drain it, and let its group replace it: kubectl drain {node} "
            "--ignore-daemonsets --delete-emptydir-data.",
            f"status.conditions {_HARDWARE} is False, reason {reason}",
        )


def _system(node: LiveNode) -> Iterator[NodeFault]:
    wanted = {**dict.fromkeys(_PRESSURES, "False"), **dict.fromkeys(_SYSTEM, "True")}
    opposite = {"False": "True", "True": "False"}
    for kind, good in wanted.items():
        found = node.conditions.get(kind)
        if found is None or str(at(found, "status")) != opposite[good]:
            continue
        reason, message = (str(at(found, part) or "") for part in ("reason", "message"))
        said = ", ".join(filter(None, (reason, message.rstrip("."))))
        yield NodeFault(
            rules.SYSTEM_UNSOUND,
            Link.NODE,
            node,
            f"{kind} is {opposite[good]}{f': {said}' if said else ''}.",
            _FIXES.get(kind, "See kubectl describe node {node}; replace it if it does not pass."),
            f"status.conditions {kind} is {opposite[good]}{_since(found)}",
            alike=f"{kind} {reason}",
        )


_FIXES: Final = {
    "DiskPressure": "Kubelet evicts pods and takes no new ones until images and files are gone: "
    "see kubectl describe node {node}, and give the pool's nodes a larger disk.",
    "MemoryPressure": "Kubelet evicts pods and takes no new ones: see kubectl top pods, and give "
    "pods memory limits.",
}


def _closed(node: LiveNode) -> Iterator[NodeFault]:
    if node.is_cordoned:
        yield NodeFault(
            rules.CORDONED,
            Link.NODE,
            node,
            "it is cordoned, so that no pod comes to it.",
            "kubectl uncordon {node}, unless it is about to be replaced.",
            f"spec.unschedulable {writer_of(node.object, 'f:spec', 'f:unschedulable')}".rstrip(),
        )
    for taint in node.taints:
        started = not lasts(taint.key) or taint.key in _STARTUP or is_of_agent(taint.key)
        if started and (node.age is None or node.age > _STARTUP_SECONDS):
            yield NodeFault(
                rules.STARTUP_TAINT_STAYS,
                Link.TAINTS,
                node,
                f"the startup taint {taint} is still there.",
                "See the log of what takes it away: MIG manager, the agent of the network or of a "
                "CSI driver, Karpenter or the cloud controller.",
                taint_evidence(node, taint),
            )


def taint_evidence(node: LiveNode, taint: NodeTaint) -> str:
    """Where a taint stands, and who wrote the taints."""
    listed = [str(at(given, "key")) for given in items(at(node.object, "spec", "taints"))]
    place = listed.index(taint.key) if taint.key in listed else 0
    return f"spec.taints[{place}] {writer_of(node.object, 'f:spec', 'f:taints')}".rstrip()


def _mig(node: LiveNode) -> Iterator[NodeFault]:
    state, layout = node.labels.get(_MIG_STATE, ""), node.labels.get(_MIG_CONFIG, "")
    if state == "failed":
        yield NodeFault(
            rules.MIG_FAILED,
            Link.MIG,
            node,
            f"MIG manager could not make the layout {layout or 'that its label names'}.",
            "See the log of the MIG manager's pod on {node}; it tries again once the label "
            f"{_MIG_CONFIG} changes.",
            f"label {_MIG_STATE}=failed",
        )
    elif state in _UNDER_WAY and node.age is not None and node.age > _STARTUP_SECONDS:
        yield NodeFault(
            rules.MIG_FAILED,
            Link.MIG,
            node,
            f"MIG manager has not come to the end of the layout {layout} yet.",
            "Wait, or see the log of the MIG manager's pod on {node}.",
            f"label {_MIG_STATE}={state}",
            severity="warning",
        )
    if node.labels.get(MIG_LABEL) == "failed":
        why = node.labels.get(MIG_REASON_LABEL, "")
        yield NodeFault(
            rules.MIG_FAILED,
            Link.MIG,
            node,
            f"its MIG layout could not be made when it booted{f': {why}' if why else ''}.",
            "See docs/troubleshooting.md, MIG at boot; a node that is replaced tries again.",
            f"label {MIG_LABEL}=failed",
        )
