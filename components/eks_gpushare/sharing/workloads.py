"""The objects of a workload: from its block and the plans of its pools to manifests.

A pod gets what the plan of a pool says that a pod needs there: the resource of one share, the label
of the pool's nodes, and tolerations of their taints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.config.workloads import Amounts, PodBudget, Workload
    from eks_gpushare.sharing.plan import PoolPlan

NAME_LABEL = "app.kubernetes.io/name"
"""Tells the pods of a workload from others of their namespace."""
PART_OF = {"app.kubernetes.io/part-of": "eks-gpushare"}
DEFAULT_NAMESPACE = "default"
"""The namespace that is in every cluster."""
CLASS_PREFIX = "eks-gpushare-"
"""What the names of the stack's PriorityClasses begin with."""
PRIORITIES = {"low": -1, "high": 1000}
"""Values of the PriorityClasses that the stack makes for workloads. Pods have 0 otherwise, and
placeholders of warm room less than any of these."""
DO_NOT_DISRUPT = {
    "karpenter.sh/do-not-disrupt": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}
"""What keeps Karpenter and Cluster Autoscaler from taking a pod's node away to save money:
https://karpenter.sh/docs/concepts/disruption/#pod-level-controls and the FAQ of Cluster Autoscaler,
"What types of pods can prevent CA from removing a node?"."""
_CONTAINER = "main"
_PORT = "http"
_SHARED_MEMORY = "shared-memory"
_MOST_WEIGHT = 100
"""https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity-weight"""


class PodPlacement(NamedTuple):
    """Where the pods of a workload run, and what they ask for there."""

    plans: tuple[PoolPlan, ...]
    """Its pools, the preferred one first."""
    resource: str
    """What a pod asks for."""

    @property
    def tolerations(self) -> list[dict[str, str]]:
        """What it has to tolerate on any of the pools, each once."""
        every = (dict(toleration) for plan in self.plans for toleration in plan.tolerations)
        return [
            dict(pairs) for pairs in dict.fromkeys(tuple(label_map.items()) for label_map in every)
        ]


def pools_of(workload: Workload) -> tuple[str, ...]:
    """Names of the pools of a workload, the preferred one first."""
    if workload.pools is not None:
        return tuple(workload.pools)
    return () if workload.pool is None else (workload.pool,)


def asked_share(workload: Workload, plan: PoolPlan) -> str:
    """The resource that the pods of a workload ask for.

    Args:
        workload: The workload.
        plan: The plan of its preferred pool, whose share it is where the workload names none.
    """
    return workload.share or next(iter(plan.request))


def placement(workload: Workload, plans: Sequence[PoolPlan]) -> PodPlacement:
    """Where the pods of a workload run.

    Args:
        workload: A workload that the rules have accepted.
        plans: The plans of its pools, the preferred one first.
    """
    return PodPlacement(tuple(plans), asked_share(workload, plans[0]))


def most_replicas(workload: Workload) -> int:
    """Most pods of a workload."""
    replicas = workload.replicas
    scheduled = (window.replicas for window in workload.schedule or ())
    return max(replicas.min, replicas.max or 0, *scheduled)


def place_of_most(workload: Workload) -> tuple[str, ...]:
    """The key of a workload that says how many pods there are at most."""
    replicas = workload.replicas
    if most_replicas(workload) > max(replicas.min, replicas.max or 0):
        return ("schedule",)
    return ("replicas", "min" if replicas.max is None else "max")


def is_scaled(workload: Workload) -> bool:
    """Whether the number of its pods follows their use."""
    follows = workload.auto_stop and not is_stopped_by_queue(workload)
    return follows or _grows(workload)


def is_stopped_by_queue(workload: Workload) -> bool:
    """Whether a queue alone starts and stops it: nothing is said of the use of its GPUs."""
    by_use = (workload.idle, workload.over_use, workload.use_query)
    queued = workload.wake is not None and workload.wake.queue is not None
    said = _grows(workload) or any(given is not None for given in by_use)
    return workload.auto_stop and queued and not said


def _grows(workload: Workload) -> bool:
    replicas = workload.replicas
    return replicas.max is not None and replicas.max > replicas.min


def is_set_by_keda(workload: Workload) -> bool:
    """Whether KEDA sets the number of its pods: by their use, by a queue or by the time."""
    return is_scaled(workload) or is_stopped_by_queue(workload) or bool(workload.schedule)


def class_of(priority: str | None) -> str | None:
    """Name of the PriorityClass of a workload's pods."""
    return f"{CLASS_PREFIX}{priority}" if priority in PRIORITIES else priority


def priority_class(name: str, value: int, description: str) -> dict[str, Any]:
    """A PriorityClass of the stack.

    Args:
        name: Its name in the cluster.
        value: Pods with a smaller one give way.
        description: What it is for.
    """
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "labels": dict(PART_OF)},
        "value": value,
        "globalDefault": False,
        "description": description,
    }


def labels_of(name: str) -> dict[str, str]:
    """Labels of everything that a workload consists of."""
    return {NAME_LABEL: name, **PART_OF}


def deployment(name: str, workload: Workload, where: PodPlacement) -> dict[str, Any]:
    """The Deployment of a workload; of one that KEDA scales it says no number of pods.

    Args:
        name: Name of the workload.
        workload: The workload.
        where: Where its pods run.
    """
    spec: dict[str, Any] = {"selector": {"matchLabels": {NAME_LABEL: name}}}
    if not is_set_by_keda(workload):
        spec["replicas"] = workload.replicas.min
    around = _metadata(name, workload)
    if workload.auto_stop or workload.replicas.min == 0:
        # It may be stopped while an update waits for its pods.
        around["annotations"] = {"pulumi.com/skipAwait": "true"}
    metadata: dict[str, Any] = {"labels": labels_of(name)}
    if workload.do_not_disrupt:
        metadata["annotations"] = dict(DO_NOT_DISRUPT)
    spec["template"] = {"metadata": metadata, "spec": _pod(name, workload, where)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": around,
        "spec": spec,
    }


def service(name: str, workload: Workload) -> dict[str, Any] | None:
    """The Service of a workload, None if it listens on no port."""
    if workload.port is None:
        return None
    port = {"name": _PORT, "port": workload.port, "targetPort": _PORT}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name, workload),
        "spec": {"selector": {NAME_LABEL: name}, "ports": [port]},
    }


def disruption_budget(name: str, workload: Workload) -> dict[str, Any] | None:
    """The PodDisruptionBudget of a workload, None for a single pod that may go.

    It says how many may be away and not how many stay, unless it is asked to: the latter would
    keep the only pod, and with it the node, for ever.
    """
    given = workload.disruption_budget
    if given is None and most_replicas(workload) == 1:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(name, workload),
        "spec": {"selector": {"matchLabels": {NAME_LABEL: name}}, **_budget(given)},
    }


def _budget(given: PodBudget | None) -> dict[str, int | str]:
    if given is not None and given.min_available is not None:
        return {"minAvailable": given.min_available}
    most = None if given is None else given.max_unavailable
    return {"maxUnavailable": 1 if most is None else most}


def _metadata(name: str, workload: Workload) -> dict[str, Any]:
    return {"name": name, "namespace": workload.namespace, "labels": labels_of(name)}


def _pod(name: str, workload: Workload, where: PodPlacement) -> dict[str, Any]:
    account = workload.service_account
    pod: dict[str, Any] = {
        **_affinity(where.plans),
        "tolerations": where.tolerations,
        "automountServiceAccountToken": account is not None,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(workload, where)],
    }
    if account is not None:
        pod["serviceAccountName"] = account
    if workload.run_as_non_root:
        pod["securityContext"]["runAsNonRoot"] = True
    if (priority := class_of(workload.priority)) is not None:
        pod["priorityClassName"] = priority
    if workload.stop_seconds is not None:
        pod["terminationGracePeriodSeconds"] = workload.stop_seconds
    if workload.shared_memory is not None:
        memory = {"medium": "Memory", "sizeLimit": workload.shared_memory}
        pod["volumes"] = [{"name": _SHARED_MEMORY, "emptyDir": memory}]
    if workload.spread_zones:
        pod["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                # A zone without GPUs to be had keeps no pod waiting.
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {NAME_LABEL: name}},
            }
        ]
    return pod


def _affinity(plans: Sequence[PoolPlan]) -> dict[str, Any]:
    """What brings a pod to its pools: of several to any, and rather to those named first."""
    if len(plans) == 1:
        return {"nodeSelector": dict(plans[0].node_selector)}
    every = {"key": POOL_LABEL, "operator": "In", "values": [plan.name for plan in plans]}
    preferred = [
        {
            "weight": max(1, _MOST_WEIGHT // (index + 1)),
            "preference": {
                "matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": [plan.name]}]
            },
        }
        for index, plan in enumerate(plans[:-1])
    ]
    terms = [{"matchExpressions": [every]}]
    return {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            }
        }
    }


def _container(workload: Workload, where: PodPlacement) -> dict[str, Any]:
    capabilities: dict[str, list[str]] = {"drop": ["ALL"]}
    if workload.capabilities:
        capabilities["add"] = list(workload.capabilities)
    container: dict[str, Any] = {
        "name": _CONTAINER,
        "image": workload.image,
        "resources": _resources(workload, where.resource),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": capabilities},
    }
    for key, given in (("command", workload.command), ("args", workload.args)):
        if given is not None:
            container[key] = list(given)
    if env := _env(workload):
        container["env"] = env
    if workload.port is not None:
        container["ports"] = [{"name": _PORT, "containerPort": workload.port}]
    if workload.readiness_path is not None:
        container["readinessProbe"] = {"httpGet": {"path": workload.readiness_path, "port": _PORT}}
    if workload.shared_memory is not None:
        container["volumeMounts"] = [{"name": _SHARED_MEMORY, "mountPath": "/dev/shm"}]  # noqa: S108  (an emptyDir of the pod's own)
    return container


def _env(workload: Workload) -> list[dict[str, Any]]:
    plain = [{"name": name, "value": value} for name, value in workload.env.items()]
    secret = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": secret.secret, "key": secret.key}}}
        for name, secret in workload.secret_env.items()
    ]
    return [*plain, *secret]


def _resources(workload: Workload, resource: str) -> dict[str, dict[str, str]]:
    """The share stands under the limits, which are the requests of a resource that nodes lack."""
    requests = _amounts(workload.resources.requests)
    limits = {**_amounts(workload.resources.limits), resource: str(workload.shares)}
    return {"limits": limits, **({"requests": requests} if requests else {})}


def _amounts(given: Amounts) -> dict[str, str]:
    both = {"cpu": given.cpu, "memory": given.memory}
    return {key: value for key, value in both.items() if value is not None}
