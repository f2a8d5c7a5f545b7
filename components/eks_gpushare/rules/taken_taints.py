"""Rules about taints that do not stay on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.karpenter_pools import AGENT_TAINTS
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

TAKEN_TAINT = Rule(
    "GPU655",
    "warning",
    "A pool's taints are ones that stay on its nodes.",
    "A controller takes such a taint away, or never lets a pod on the node; the nodes of the pool "
    "then take pods of any kind, or none.",
    "https://kubernetes.io/docs/reference/labels-annotations-taints/",
)

_LIFECYCLE = "Kubernetes' node controller"
_CLOUD = "AWS's cloud controller"
_TAKEN: Mapping[str, str] = {
    **{
        f"node.kubernetes.io/{name}": _LIFECYCLE
        for name in (
            *("not-ready", "unreachable", "unschedulable", "network-unavailable"),
            *("memory-pressure", "disk-pressure", "pid-pressure"),
        )
    },
    "node.alpha.kubernetes.io/notReady": _LIFECYCLE,
    "node.alpha.kubernetes.io/unreachable": _LIFECYCLE,
    "node.cloudprovider.kubernetes.io/uninitialized": _CLOUD,
    "node.cloudprovider.kubernetes.io/shutdown": _CLOUD,
    "karpenter.sh/unregistered": "Karpenter",
    "karpenter.sh/disrupted": "Karpenter",
    "karpenter.sh/disruption": "Karpenter",
    "ToBeDeletedByClusterAutoscaler": "Cluster Autoscaler",
    "DeletionCandidateOfClusterAutoscaler": "Cluster Autoscaler",
}
"""Who sets a taint and takes it away, by its key."""
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_FIX = "Use a key of your own, or remove taints to get nvidia.com/gpu=true:NoSchedule."


def taken_by(key: str) -> str | None:
    """Who sets a taint of this key and takes it away; None where nobody is known."""
    return _LIFECYCLE if key == _OUT_OF_SERVICE else _TAKEN.get(key)


@check(Scope.POOL, TAKEN_TAINT)
def taken_taints(_: Context, name: str, pool: Pool) -> Iterator[Finding]:
    gone = {*_TAKEN, *AGENT_TAINTS}
    stays = any(
        taint.key not in gone and taint.effect in {"NoSchedule", "NoExecute"}
        for taint in pool.taints
    )
    for index, taint in enumerate(pool.taints):
        at = ("pools", name, "taints", index)
        if (owner := _TAKEN.get(taint.key)) is not None:
            message = f"{taint.key} is for {owner}, which takes it away from a node that is well."
            yield TAKEN_TAINT.finding(at, message, _FIX)
        elif taint.key == _OUT_OF_SERVICE:
            message = f"{taint.key} says that a node is lost: its pods and volumes are taken away."
            yield TAKEN_TAINT.finding(at, message, _FIX)
        elif taint.key in AGENT_TAINTS and not stays:
            message = f"{taint.key} goes when its agent runs, and no other taint stays."
            yield TAKEN_TAINT.finding(
                at,
                message,
                'Add {key: nvidia.com/gpu, value: "true", effect: NoSchedule} beside it.',
            )
