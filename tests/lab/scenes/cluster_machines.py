"""Nodes with GPUs of the stacks that are laid, and what may be done to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from cluster_breaking import GPU, ClusterFault, Machine, Object, config_map_of, patched, replaced

from eks_gpushare_lab.control_plane.names import SIMULATED_NODE

if TYPE_CHECKING:
    from cluster_breaking import Change

SLICED = Machine("time-slicing", "gpu-0", shares=40)
MPS = Machine("mps", "gpu-0", shares=4)
EXCLUSIVE = Machine("exclusive", "gpu-0", shares=8)
TOLERATES: Final = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
MIXED = Machine("mig-balanced", "gpu-0", "nvidia.com/mig-1g.5gb", 16, tolerations=TOLERATES)
MIG_SLICED = Machine(
    "mig-time-slicing", "gpu-0", "nvidia.com/mig-1g.5gb", 224, tolerations=TOLERATES
)
RENAMED = Machine("multi-tenant", "notebooks-0", "nvidia.com/gpu.shared", 8, tolerations=TOLERATES)
TENANTS = Machine("multi-tenant", "tenants-0", "nvidia.com/mig-1g.5gb", 28, tolerations=TOLERATES)
OPERATED = Machine(
    *("gpu-operator", "slices-0", GPU, 16),
    *("gpu-operator", "nvidia-device-plugin-daemonset"),
)
OPERATED_MIG = replace(
    OPERATED, node="mig-0", resource="nvidia.com/mig-1g.5gb", shares=56, tolerations=TOLERATES
)
BOTTLEROCKET = Machine("bottlerocket", "slices-0", GPU, 4)
BOTTLEROCKET_ALL = replace(BOTTLEROCKET, shares=60)
"""Both its pools advertise the same."""
KARPENTER = "karpenter-time-slicing"
CONFIG_LABEL: Final = "nvidia.com/device-plugin.config"
OWN_TAINT: Final = {"key": GPU, "value": "true", "effect": "NoSchedule"}


def fault(
    name: str, machine: Machine | str, code: str, *changes: Change, follows: str = "", **more: Any
) -> ClusterFault:
    stack = machine if isinstance(machine, str) else machine.stack
    below = frozenset(follows.split())
    about = more.pop("about", "" if isinstance(machine, str) else machine.node)
    return ClusterFault(name, stack, changes, code, below, about, **more)


def tainted(machine: Machine, *more: Object) -> Change:
    return patched(machine.path, {"spec": {"taints": [OWN_TAINT, *more]}})


def labelled(machine: Machine, **labels: str | None) -> Change:
    return patched(machine.path, {"metadata": {"labels": labels}})


def status(machine: Machine, **change: Any) -> Change:
    return patched(machine.path, {"status": change}, "status")


def advertising(machine: Machine, allocatable: int, capacity: int | None = None) -> Change:
    has = allocatable if capacity is None else capacity
    amounts = {"allocatable": {machine.resource: str(allocatable)}}
    return status(machine, **amounts, capacity={machine.resource: str(has)})


def condition(machine: Machine, kind: str, value: str, reason: str, message: str) -> Change:
    time = "2026-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    given = {"type": kind, "status": value, "reason": reason, "message": message}
    every = {"Ready": ready, kind: given}.values()
    times = {"lastHeartbeatTime": time, "lastTransitionTime": time}
    return status(machine, conditions=[{**each, **times} for each in every])


def left_alone(machine: Machine) -> Change:
    """A node without the mark by which its kubelet is simulated, so that its status stays."""
    key, _ = SIMULATED_NODE
    return patched(machine.path, {"metadata": {"annotations": {key: None}}})


def of_plugin(machine: Machine, daemon_set: str = "", **spec: Any) -> Change:
    return patched(machine.daemon_set(daemon_set), {"spec": {"template": {"spec": spec}}})


def of_config(machine: Machine, old: str, new: str) -> Change:
    def changed(given: Object) -> Object:
        data = {key: text.replace(old, new) for key, text in given["data"].items()}
        assert data != given["data"]
        return {**given, "data": data}

    return replaced(config_map_of(machine), changed)
