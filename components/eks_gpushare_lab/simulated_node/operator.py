"""Labels that node feature discovery and the GPU Operator put on nodes.

The operator's DaemonSets select nodes by labels that it sets itself, and it believes node feature
discovery alone about which nodes have GPUs.

Source: NVIDIA/gpu-operator, `controllers/nodelabeling_controller.go` and `state_manager.go` there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.simulated_node.pods import OPERATOR, environment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare_lab.client import Object

POLICY = "CLUSTER_POLICY"
"""Variable by which the lab's Deployment of the operator has what matters of the ClusterPolicy."""
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
"""Where ClusterPolicies are, if their definition is."""
MIG_CONFIG = "nvidia.com/mig.config"
"""The label that names the MIG configuration of a node."""
DEPLOY = "nvidia.com/gpu.deploy."
"""What the names of the labels begin with that DaemonSets of the operator select."""

_PRESENT = "nvidia.com/gpu.present"
_FEATURE = "feature.node.kubernetes.io/"
_CLASSES = ("pci-10de", "pci-0302_10de", "pci-0300_10de")
_OPERANDS = (
    "driver",
    "gpu-feature-discovery",
    "container-toolkit",
    "device-plugin",
    "dcgm",
    "dcgm-exporter",
    "node-status-exporter",
    "operator-validator",
    "client",
)
_MANAGER = f"{DEPLOY}mig-manager"
_CAPABLE, _PRODUCT = "nvidia.com/mig.capable", "nvidia.com/gpu.product"
_CAPABLE_PRODUCTS = ("h100", "a100", "a30")
_DISABLED = "all-disabled"


@dataclass(frozen=True, slots=True)
class Policy:
    """What of the ClusterPolicy the labels depend on."""

    mig_manager: bool = True
    """Whether the MIG manager is deployed."""
    mig_default: str = ""
    """The MIG configuration of nodes that have no label: all-disabled or `""`."""


Changes = dict[str, str | None]
"""Labels to set, and with None those to remove."""


def policy_of(pod: Object, find: Callable[[], Mapping[str, Any] | None] = lambda: None) -> Policy:
    """The policy that an operator's pod works by.

    Args:
        pod: the pod.
        find: gets the spec of the cluster's ClusterPolicy, which is there where Helm itself has
            installed the chart.
    """
    given = environment_of(pod, OPERATOR).get(POLICY)
    spec = json.loads(given) if given else find() or {}
    manager = spec.get("migManager") or {}
    config = manager.get("config") or {}
    return Policy(bool(manager.get("enabled", True)), str(config.get("default", "")))


def discovered() -> dict[str, str]:
    """Labels that node feature discovery puts on a node with NVIDIA's hardware.

    Both charts configure it to leave the class of the PCI device out of the name.
    """
    return {f"{_FEATURE}pci-10de.present": "true"}


def changes(there: Mapping[str, str], policy: Policy) -> Changes:
    """What the operator changes of the labels of a node."""
    labels: Changes = {}
    present = there.get(_PRESENT) == "true"
    has_gpus = any(there.get(f"{_FEATURE}{class_}.present") == "true" for class_ in _CLASSES)
    if has_gpus and not present:
        labels[_PRESENT] = "true"
    if present and not has_gpus:
        labels[_PRESENT] = "false"
    deployed = [f"{DEPLOY}{operand}" for operand in _OPERANDS]
    off = there.get(f"{DEPLOY}operands") == "false"
    if not has_gpus or off:
        labels |= dict.fromkeys(key for key in (*deployed, _MANAGER) if key in there)
    else:
        # A value that is there stays: MIG manager pauses operands by it, and people switch off.
        labels |= {key: "true" for key in deployed if not there.get(key)}
        if _is_capable(there) and _MANAGER not in there:
            labels[_MANAGER] = "true"
    defaults = policy.mig_manager and policy.mig_default == _DISABLED
    if has_gpus and defaults and _is_capable(there) and not there.get(MIG_CONFIG):
        labels[MIG_CONFIG] = _DISABLED
    return labels


def _is_capable(there: Mapping[str, str]) -> bool:
    if _CAPABLE in there:
        return there[_CAPABLE] == "true"
    product = there.get(_PRODUCT, "").lower()
    return any(each in product for each in _CAPABLE_PRODUCTS)
