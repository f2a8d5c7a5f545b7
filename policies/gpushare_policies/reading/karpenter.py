"""What Karpenter's objects say of the nodes that come of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.gpus import is_gpu_type
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.plain import items, mappings

if TYPE_CHECKING:
    from collections.abc import Mapping

NODE_POOL = Kind("karpenter.sh", "NodePool")
NODE_CLASS = Kind("karpenter.k8s.aws", "EC2NodeClass")
CLASS_OF_AUTO_MODE = Kind("eks.amazonaws.com", "NodeClass")
"""What EKS Auto Mode has in place of EC2NodeClasses."""

_GPU_KEYS = frozenset(
    (
        "karpenter.k8s.aws/instance-gpu-count",
        "karpenter.k8s.aws/instance-gpu-name",
        "karpenter.k8s.aws/instance-gpu-memory",
    )
)
_TYPE, _FAMILY = "node.kubernetes.io/instance-type", "karpenter.k8s.aws/instance-family"
_MAKER = "karpenter.k8s.aws/instance-gpu-manufacturer"
_CATEGORY = "karpenter.k8s.aws/instance-category"


def gives_gpus(pool: Mapping[str, Any]) -> bool | None:
    """Whether nodes of a NodePool have GPUs of NVIDIA; None if that is not known."""
    template = at(pool, "spec", "template")
    if template is UNKNOWN:
        return None
    if _is_marked(template):
        return True
    requirements = at(template, "spec", "requirements")
    if requirements is UNKNOWN or UNKNOWN in items(requirements):
        return None
    verdicts = [_asks_for_gpus(requirement) for _, requirement in mappings(requirements)]
    if True in verdicts:
        return True
    return None if None in verdicts else False


def _is_marked(template: Any) -> bool:
    """By labels or taints that only GPU nodes have."""
    labels = at(template, "metadata", "labels")
    keys = [str(key) for key in labels] if isinstance(labels, dict) else []
    for part in ("taints", "startupTaints"):
        keys += [
            str(requirement.get("key")) for _, requirement in mappings(at(template, "spec", part))
        ]
    return any(key.startswith("nvidia.com/") for key in keys)


def _asks_for_gpus(requirement: Mapping[str, Any]) -> bool | None:
    key, operator, values = (requirement.get(part) for part in ("key", "operator", "values"))
    if UNKNOWN in (key, operator, values) or UNKNOWN in items(values):
        return None
    key = str(key).replace(f"{CLASS_OF_AUTO_MODE.group}/", f"{NODE_CLASS.group}/")
    named = {str(value) for value in items(values)}
    if key in _GPU_KEYS:
        return operator in ("Exists", "Gt", "Gte") or (operator == "In" and named != {"0"})
    if key == _MAKER and operator == "Exists":  # NVIDIA's, but for one family of AMD's
        return True
    return operator == "In" and _names_gpus(key, named)


def _names_gpus(key: str, values: set[str]) -> bool:
    """Whether values of a label of instance types are those of types with GPUs."""
    if key == _MAKER:
        return "nvidia" in values
    if key == _TYPE:
        return any(map(is_gpu_type, values))
    if key == _FAMILY:
        return any(is_gpu_type(f"{value}.large") for value in values)
    return key == _CATEGORY and values <= {"g", "gr", "p"} and bool(values)
