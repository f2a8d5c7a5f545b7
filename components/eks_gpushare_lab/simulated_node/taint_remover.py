"""The small controller that takes the startup taint away once the MIG layout of a node is there.

Nothing ready-made does that. It runs as a Deployment, and the lab runs no containers: while a pod
of it runs, the lab does its work, by the same file of the same ConfigMap.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.live.amounts import quantity
from eks_gpushare_lab.simulated_node.hardware import INSTANCE_TYPE
from eks_gpushare_lab.simulated_node.mig_manager import STATE, SUCCESS
from eks_gpushare_lab.simulated_node.operator import MIG_CONFIG
from eks_gpushare_lab.simulated_node.pods import mounted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Object

TAINT = "eks-gpushare/mig-layout"
"""Key of the taint that keeps pods away until the layout is there."""
POOL = "eks-gpushare/pool"
"""The label by which a node names its pool."""

_SCRIPT = "mig_taint_remover.py"
_FOLDER = "/opt/eks-gpushare"
_EXPECTED = "expected.json"
_PREFIXES = ("nvidia.com/gpu", "nvidia.com/mig-")


def is_remover(pod: Object) -> bool:
    """Whether a pod runs that controller."""
    words = [
        word for container in pod["spec"]["containers"] for word in container.get("command") or ()
    ]
    return any(word.rpartition("/")[2] == _SCRIPT for word in words)


def config_map_of(pod: Object) -> tuple[str, str]:
    """Namespace and name of the ConfigMap that it works by."""
    return pod["metadata"]["namespace"], mounted(pod, _FOLDER) or ""


def without_taint(node: Object, files: Mapping[str, str] | None) -> Object | None:
    """The patch that takes the taint from a node whose layout is there, or None.

    Args:
        node: the node.
        files: what the controller's ConfigMap holds.
    """
    taints = node["spec"].get("taints") or []
    left = [taint for taint in taints if taint["key"] != TAINT]
    if len(left) == len(taints) or not files or _waits(node, json.loads(files[_EXPECTED])):
        return None
    # With the version, so that a taint that somebody adds meanwhile is not lost.
    version = {"resourceVersion": node["metadata"]["resourceVersion"]}
    return {"metadata": version, "spec": {"taints": left}}


def _waits(node: Object, pools: Mapping[str, Any]) -> bool:
    labels = node["metadata"].get("labels") or {}
    pool = pools.get(labels.get(POOL, ""))
    if pool is None or labels.get(MIG_CONFIG) != pool["config"] or labels.get(STATE) != SUCCESS:
        return True
    there = node["status"].get("allocatable") or {}
    found = {
        name: int(quantity(count))
        for name, count in there.items()
        if name.startswith(_PREFIXES) and int(quantity(count)) > 0
    }
    return bool(found != pool["advertises"].get(labels.get(INSTANCE_TYPE, "")))
