"""Room that is kept free of a pool, by pods that do nothing and give way to every other pod.

They wait for an autoscaler to make a node for them as others do. When a pod of a workload needs
their place, the scheduler takes it from them at once, and they wait for room again, which makes the
autoscaler add it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import versions
from eks_gpushare.sharing.schedules import keda_object, scheduled_spec
from eks_gpushare.sharing.workloads import CLASS_PREFIX, NAME_LABEL, PART_OF, priority_class

if TYPE_CHECKING:
    from eks_gpushare.sharing.plan import PoolPlan

NAMESPACE = "eks-gpushare-warm-room"
"""Namespace of the placeholders, which has nothing else in it."""
PRIORITY = -10
"""Priority of placeholders: below all that is asked for, and not below -10, from where on Cluster
Autoscaler adds no nodes for pods (`--expendable-pods-priority-cutoff`, in its FAQ)."""
CLASS = f"{CLASS_PREFIX}placeholder"
"""Their PriorityClass."""
_HOSTNAME = "kubernetes.io/hostname"
_USER = 65535
"""The user that the pause image names."""


def placeholder_class() -> dict[str, Any]:
    """The PriorityClass of placeholders, which take the place of nobody."""
    described = "Pods that keep room free, and give way to all others."
    return {
        **priority_class(CLASS, PRIORITY, described),
        "preemptionPolicy": "Never",
    }


def namespace() -> dict[str, Any]:
    """The namespace of placeholders, in which nothing can do more than they need."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted", **PART_OF}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": labels},
    }


def placeholders(plan: PoolPlan) -> dict[str, dict[str, Any]]:
    """The Deployments that keep room free on a pool, by what they keep: `shares` and `nodes`."""
    warm = plan.pool.warm
    found: dict[str, dict[str, Any]] = {}
    if warm is None:
        return found
    if warm.shares is not None:
        name = f"{plan.name}-shares"
        limits = {resource: str(count) for resource, count in plan.request.items()}
        # Together on as few nodes as they can, so that the others empty and go.
        beside = {"podAffinityTerm": _same_host(name), "weight": 100}
        affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [beside]}}
        found["shares"] = _deployment(plan, name, warm.shares, limits, affinity)
    if warm.nodes is not None:
        name = f"{plan.name}-nodes"
        apart = {"requiredDuringSchedulingIgnoredDuringExecution": [_same_host(name)]}
        found["nodes"] = _deployment(plan, name, warm.nodes, {}, {"podAntiAffinity": apart})
    return found


def schedules(plan: PoolPlan) -> dict[str, dict[str, Any]]:
    """The ScaledObjects by which they are there at some times only, by what they keep."""
    warm = plan.pool.warm
    if warm is None or not warm.schedule:
        return {}
    counts = {"shares": warm.shares, "nodes": warm.nodes}
    return {
        kept: keda_object(
            f"{plan.name}-{kept}",
            NAMESPACE,
            PART_OF,
            scheduled_spec([(window, count) for window in warm.schedule]),
        )
        for kept, count in counts.items()
        if count is not None
    }


def _same_host(name: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {NAME_LABEL: name}}, "topologyKey": _HOSTNAME}


def _deployment(
    plan: PoolPlan, name: str, count: int, limits: dict[str, str], affinity: dict[str, Any]
) -> dict[str, Any]:
    labels = {NAME_LABEL: name, **PART_OF}
    resources: dict[str, dict[str, str]] = {"requests": {"cpu": "1m", "memory": "8Mi"}}
    if limits:
        resources["limits"] = limits
    warm = plan.pool.warm
    image = warm.image if warm is not None else None
    pod = {
        "priorityClassName": CLASS,
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": dict(plan.node_selector),
        "tolerations": [dict(toleration) for toleration in plan.tolerations],
        "affinity": affinity,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "placeholder",
                "image": image or versions.PAUSE.reference,
                "resources": resources,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                },
            }
        ],
    }
    annotations = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    by_keda = warm is not None and bool(warm.schedule)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": labels,
            # They may wait for a node as long as there is none to be had.
            "annotations": {"pulumi.com/skipAwait": "true"},
        },
        "spec": {
            **({} if by_keda else {"replicas": count}),
            "selector": {"matchLabels": {NAME_LABEL: name}},
            # An update needs no room beside what there is.
            "strategy": {"type": "Recreate"},
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
        },
    }
