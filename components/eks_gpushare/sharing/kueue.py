"""Kueue: what tenants are sure of and may borrow, as its flavors, queues and configuration.

What is derived has an answer to each trap that was met on a real control plane with Kueue 0.16:

* A flavor for each pool and every resource of its nodes in one group: a pod gets the selector and
  the tolerations of a pool that can run it. A transformation that replaces what is asked for by GiB
  alone admits pods to pools that have no such device, where they wait for ever.
* Counts of each profile are the guarantee, and GiB only a ceiling: GiB alone guarantee no slices,
  since eight slices of 5 GiB are no two of 20. A ceiling is a quota of the tenant's own, which it
  does not borrow: whoever borrows one resource that a pod asks for gets none of the others back.
* CPU, memory and what else is no GPU are not counted; a resource that is requested and not covered
  holds its pod back for ever.
* Namespaces of tenants only: its webhooks refuse whatever they select while Kueue is down.

Source: https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/ and
charts/kueue/values.yaml of https://github.com/kubernetes-sigs/kueue at the version in
`catalog.versions`; read 2026-11-27.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from eks_gpushare.config.taints import tolerating
from eks_gpushare.documents.helm import merge_values, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.config.queues import QueuedTenant, QueuePool
    from eks_gpushare.config.taints import Taint

API_VERSION = "kueue.x-k8s.io/v1beta2"
"""Of its kinds, since 0.16."""
CONFIG_VERSION = "config.kueue.x-k8s.io/v1beta2"
"""Of its configuration."""
CONFIGURATION = "controllerManagerConfigYaml"
"""The value, below `managerConfig`, that has its configuration as one text."""
FRAMEWORKS = ("pod", "deployment", "statefulset")
"""Integrations without which a tenant's pods pass its queue by."""
NAMESPACE = "kueue-system"
"""Where it is installed, unless another is named."""
COHORT = "eks-gpushare"
"""The one cohort, within which tenants borrow."""
LOCAL_QUEUE = "default"
"""Name of the queue of each namespace: workloads that name no queue are in the one of this name."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Label by which a pod, or what makes it, names its LocalQueue."""
GPU_MEMORY = "eks-gpushare.io/gpu-memory"
"""What a ceiling in GiB counts; no node has it."""
NOT_COUNTED = ("cpu", "memory", "ephemeral-storage", "hugepages-", "vpc.amazonaws.com/")
"""Starts of the names of resources that are not queued for: those of the node, and of its network.
"""
WEIGHTS = {"low": 1, "normal": 2, "high": 4}
"""By priority of a tenant, how much of what is free it gets while others borrow too."""


class QuotaRange(NamedTuple):
    """How many of one resource a tenant may have."""

    guaranteed: int
    """That it gets whenever it asks."""
    maximum: int
    """That it has at most, with what it borrows."""


class PoolShare(NamedTuple):
    """What one tenant has of one pool."""

    tenant: str
    """Name of the tenant, and of its ClusterQueue."""
    namespaces: tuple[str, ...]
    """Its namespaces."""
    pool: str
    """Name of the pool, and of its flavor."""
    node_selector: Mapping[str, str]
    """Labels of the pool's nodes."""
    taints: tuple[Taint, ...]
    """Taints of the pool's nodes."""
    resources: Mapping[str, QuotaRange]
    """By resource of the pool's nodes. One that is left out is 0: it is refused."""
    priority: str = "normal"
    """low, normal or high."""
    maximum_gib: int | None = None
    """GiB of GPU memory that the tenant has of the pool at most. Default: as counts allow."""
    gib: Mapping[str, int] = {}
    """GiB of GPU memory of one of each resource, for ceilings."""


def kueue_objects(
    shares: Sequence[PoolShare], free: Mapping[str, Mapping[str, int]] | None = None
) -> list[dict[str, Any]]:
    """Flavors, the cohort, queues of tenants and queues of their namespaces, in that order.

    Args:
        shares: of all tenants; those of one tenant have the same namespaces and priority.
        free: by pool and resource, what no tenant is sure of: each may borrow it. Default: nothing.
    """
    return [*_flavors(shares), *_cohort(free or {}), *_queues(shares)]


def manager_configuration(shares: Sequence[PoolShare]) -> dict[str, Any]:
    """What Kueue's configuration says for these tenants, besides the chart's own defaults."""
    resources: dict[str, Any] = {"excludeResourcePrefixes": list(NOT_COUNTED)}
    if _has_ceilings(shares):
        # Retain, never Replace: see the head of this module.
        resources["transformations"] = [
            {"input": name, "strategy": "Retain", "outputs": {GPU_MEMORY: gib}}
            for name, gib in sorted(_memory(shares).items())
        ]
    found: dict[str, Any] = {
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": _named(name for s in shares for name in s.namespaces),
        "resources": resources,
    }
    if _has_weights(shares):
        strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
        found["fairSharing"] = {"preemptionStrategies": strategies}
    return found


def unequal_memory(shares: Iterable[PoolShare]) -> dict[str, dict[str, int]]:
    """Resources that are not the same number of GiB in every pool, with that number by pool.

    A transformation has one number for a resource, whichever pool it is of, so that a ceiling in
    GiB is not to be had where there is any.
    """
    found: dict[str, dict[str, int]] = {}
    for share in shares:
        for name, gib in share.gib.items():
            found.setdefault(name, {})[share.pool] = gib
    return {name: pools for name, pools in found.items() if len(set(pools.values())) > 1}


def _flavors(shares: Sequence[PoolShare]) -> Iterator[dict[str, Any]]:
    for share in {share.pool: share for share in shares}.values():
        spec: dict[str, Any] = {"nodeLabels": dict(share.node_selector)}
        # A pod that asks for a renamed resource has the toleration for that name only.
        if share.taints:
            spec["tolerations"] = tolerating(share.taints)
        yield _object("ResourceFlavor", share.pool, spec)


def _cohort(free: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """The cohort with what no tenant is sure of; without that, its name in the queues will do."""
    if not any(count for counts in free.values() for count in counts.values()):
        return
    names = sorted({name for counts in free.values() for name in counts})
    quotas = {
        pool: {name: QuotaRange(counts.get(name, 0), 0) for name in names}
        for pool, counts in free.items()
    }
    yield _object("Cohort", COHORT, {"resourceGroups": [_group(quotas, limited=False)]})


def _queues(shares: Sequence[PoolShare]) -> Iterator[dict[str, Any]]:
    ceilings, memory = _has_ceilings(shares), _memory(shares)
    weighted = _has_weights(shares)
    by_tenant: dict[str, list[PoolShare]] = {}
    for share in shares:
        by_tenant.setdefault(share.tenant, []).append(share)
    local = []
    for tenant, own in by_tenant.items():
        names = sorted({name for share in own for name in share.resources})
        quotas = {
            # 0 where a pool lacks a resource: every flavor of a group says all of them.
            share.pool: {
                **{name: share.resources.get(name, QuotaRange(0, 0)) for name in names},
                **({GPU_MEMORY: _ceiling(share, memory)} if ceilings else {}),
            }
            for share in own
        }
        spec: dict[str, Any] = {
            "cohortName": COHORT,
            "namespaceSelector": _named(own[0].namespaces),
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [_group(quotas, limited=True)],
        }
        if weighted:
            spec["fairSharing"] = {"weight": str(WEIGHTS[own[0].priority])}
        yield _object("ClusterQueue", tenant, spec)
        local += [(namespace, tenant) for namespace in own[0].namespaces]
    for namespace, tenant in local:
        queue = _object("LocalQueue", LOCAL_QUEUE, {"clusterQueue": tenant})
        queue["metadata"]["namespace"] = namespace
        yield queue


def _ceiling(share: PoolShare, memory: Mapping[str, int]) -> QuotaRange:
    counts = {name: quota.maximum for name, quota in share.resources.items()}
    most = share.maximum_gib
    if most is None:
        most = sum(count * memory.get(name, 0) for name, count in counts.items())
    return QuotaRange(most, most)


def _group(quotas: Mapping[str, Mapping[str, QuotaRange]], *, limited: bool) -> dict[str, Any]:
    """One group of all resources, so that all that a pod asks for comes of one pool."""
    covered = list(next(iter(quotas.values())))
    flavors = []
    for pool, of_pool in quotas.items():
        resources: list[dict[str, Any]] = []
        for name in covered:
            quota: dict[str, Any] = {"name": name, "nominalQuota": of_pool[name].guaranteed}
            if limited:  # without a limit there is none but the cohort's end
                quota["borrowingLimit"] = of_pool[name].maximum - of_pool[name].guaranteed
            resources.append(quota)
        flavors.append({"name": pool, "resources": resources})
    return {"coveredResources": covered, "flavors": flavors}


def _named(namespaces: Iterable[str]) -> dict[str, Any]:
    """Selects namespaces by the one label that nobody can give to another."""
    values = sorted(set(namespaces))
    return {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": values}
        ]
    }


def _has_ceilings(shares: Iterable[PoolShare]) -> bool:
    return any(share.maximum_gib is not None for share in shares)


def _has_weights(shares: Iterable[PoolShare]) -> bool:
    return len({share.priority for share in shares}) > 1


def _memory(shares: Iterable[PoolShare]) -> dict[str, int]:
    """GiB of one of each resource, one table for all queues: Kueue compares the numbers only."""
    return {name: gib for share in shares for name, gib in share.gib.items()}


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


_DEFAULTS: dict[str, Any] = {
    "apiVersion": CONFIG_VERSION,
    "kind": "Configuration",
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": ":8443"},
    "webhook": {"port": 9443},
    "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
    "controller": {
        "groupKindConcurrency": {
            "Job.batch": 5,
            "Pod": 5,
            "Workload.kueue.x-k8s.io": 5,
            "LocalQueue.kueue.x-k8s.io": 1,
            "ClusterQueue.kueue.x-k8s.io": 1,
            "ResourceFlavor.kueue.x-k8s.io": 1,
        }
    },
    "clientConnection": {"qps": 50, "burst": 100},
    "integrations": {
        "frameworks": [
            "batch/job",
            "kubeflow.org/mpijob",
            "ray.io/rayjob",
            "ray.io/raycluster",
            "jobset.x-k8s.io/jobset",
            "trainer.kubeflow.org/trainjob",
            "kubeflow.org/paddlejob",
            "kubeflow.org/pytorchjob",
            "kubeflow.org/tfjob",
            "kubeflow.org/xgboostjob",
            "kubeflow.org/jaxjob",
            "workload.codeflare.dev/appwrapper",
            *FRAMEWORKS,
            "leaderworkerset.x-k8s.io/leaderworkerset",
        ]
    },
}
"""The chart's own configuration: its value is one text, which is replaced as a whole."""


def kueue_values(
    shares: Sequence[PoolShare], replicas: int, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Values of the chart.

    Args:
        shares: Of all tenants.
        replicas: Copies of the controller.
        given: The user's values, which go over the derived ones. A configuration among them goes
            over the derived one key by key.
    """
    labels = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    # Tenants' pods are refused while no copy answers, so one stays when nodes are drained.
    manager: dict[str, Any] = {"replicas": replicas}
    if replicas > 1:
        manager["podDisruptionBudget"] = {"enabled": True, "minAvailable": 1}
        manager["topologySpreadConstraints"] = [spread]
    configuration = merge_values(
        {**_DEFAULTS, **manager_configuration(shares)}, given_configuration(given), keep_null=True
    )
    merged = merge_values({"controllerManager": manager}, given, keep_null=True)
    # JSON is YAML, and the same text each time.
    text = json.dumps(configuration, indent=2, sort_keys=True)
    block = merged.get("managerConfig")
    block = block if isinstance(block, dict) else {}
    merged["managerConfig"] = {**block, CONFIGURATION: text}
    return merged


def given_configuration(values: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration among the user's values; empty where there is none that can be read."""
    text = value_at(values, f"managerConfig.{CONFIGURATION}")
    try:
        found = yaml.safe_load(text) if isinstance(text, str) else None
    except yaml.YAMLError:  # which the rules refuse
        found = None
    return found if isinstance(found, dict) else {}


def pool_shares(
    pools: Mapping[str, QueuePool], tenants: Mapping[str, QueuedTenant]
) -> list[PoolShare]:
    """What each tenant has of each pool, for blocks that the rules have accepted."""
    return [
        PoolShare(
            name,
            tuple(tenant.namespaces),
            pool,
            pools[pool].node_selector,
            tuple(pools[pool].taints),
            {
                resource: QuotaRange(
                    quota.guaranteed.get(resource, 0),
                    quota.maximum.get(resource, quota.guaranteed.get(resource, 0)),
                )
                for resource in sorted({*quota.guaranteed, *quota.maximum})
            },
            tenant.priority,
            quota.maximum_gib,
            pools[pool].gib,
        )
        for name, tenant in tenants.items()
        for pool, quota in tenant.pools.items()
    ]


def unguaranteed(
    pools: Mapping[str, QueuePool], shares: Sequence[PoolShare]
) -> dict[str, dict[str, int]]:
    """By pool and resource, what of the pool no tenant is sure of."""
    found: dict[str, dict[str, int]] = {}
    for name, pool in pools.items():
        own = [share for share in shares if share.pool == name]
        for resource, count in pool.advertised.items():
            sure = sum(s.resources[resource].guaranteed for s in own if resource in s.resources)
            # Of a pool that nobody has there is no flavor.
            if own and count > sure:
                found.setdefault(name, {})[resource] = count - sure
    return found
