"""Recording rules: what is advertised, asked for, used and paid, once for all that asks for it.

Boards and alerts ask these series and not those of exporters, whose copies, labels and finished
pods are dealt with here alone.
"""

from __future__ import annotations

from typing import Final

from eks_gpushare.sharing.monitoring.promql import (
    NODE,
    SHARES,
    RecordingRule,
    in_phase,
    of_devices,
    of_pods,
    requests,
)

IDLE_SHARE: Final = 0.01
"""Part of the time in which a GPU computes below which it is idle: an idle one samples as 0, and
a driver's housekeeping as less than a percent."""
IDLE_WINDOW: Final = "30m"
"""How long it has to be so little."""
POD_AGE_SECONDS: Final = 3600
"""Age up to which pods count for how long they waited; those that still wait always do."""

_LABELS: Final = (
    ("pool", "label_eks_gpushare_pool"),
    ("instance_type", "label_node_kubernetes_io_instance_type"),
)


def _nodes() -> str:
    found = 'kube_node_labels{label_eks_gpushare_pool!=""}'
    for label, given in _LABELS:
        found = f'label_replace({found}, "{label}", "$1", "{given}", "(.+)")'
    return f"max by (node, pool, instance_type) ({found})"


NODES: Final = (
    RecordingRule(NODE, _nodes()),
    RecordingRule("gpushare:nodes", f"count by (pool, instance_type) ({NODE})"),
)
"""Nodes of pools; kube-state-metrics tells labels that it is told to."""

_ON_NODES: Final = requests('node!=""', "Pending|Running")
_ON_NONE: Final = requests('node=""', "Pending")
_GPU, _INSTANCE = 'GPU_I_ID=""', 'GPU_I_ID!=""'
_ALLOCATABLE = f"max by (node, resource) (kube_node_status_allocatable{{{SHARES}}})"
_KINDS = "pool, instance_type, resource"

OF_SHARES: Final = (
    RecordingRule(
        "gpushare:shares_declared",
        "sum by (pool, resource) (gpushare:shares_per_node "
        "* on (pool, instance_type) group_left () gpushare:nodes)",
    ),
    RecordingRule(
        "gpushare:node_shares_advertised",
        f"{_ALLOCATABLE} * on (node) group_left (pool, instance_type) {NODE}",
    ),
    RecordingRule(
        "gpushare:shares_advertised",
        "sum by (pool, resource) (gpushare:node_shares_advertised)",
    ),
    RecordingRule(
        "gpushare:node_shares_requested",
        f"sum by (node, {_KINDS}, namespace) ({_ON_NODES} "
        f"* on (node) group_left (pool, instance_type) {NODE})",
    ),
    RecordingRule(
        "gpushare:shares_requested",
        "sum by (pool, resource) (gpushare:node_shares_requested) "
        "or 0 * gpushare:shares_advertised",
    ),
    RecordingRule(
        "gpushare:namespace_shares_requested",
        "sum by (pool, resource, namespace) (gpushare:node_shares_requested)",
    ),
    RecordingRule(
        "gpushare:shares_waiting",
        f"sum by (namespace, resource) ({_ON_NONE})",
    ),
    RecordingRule(
        "gpushare:share_pressure",
        "gpushare:shares_requested / (gpushare:shares_advertised > 0)",
    ),
)
"""Shares: declared, advertised, asked for and waited for."""

OF_GPUS: Final = (
    RecordingRule("gpushare:gpu_memory_used_mib", of_devices("DCGM_FI_DEV_FB_USED")),
    RecordingRule(
        "gpushare:gpu_memory_total_mib",
        f"gpushare:gpu_memory_used_mib + {of_devices('DCGM_FI_DEV_FB_FREE')}",
    ),
    RecordingRule(
        "gpushare:gpu_memory_ratio",
        "gpushare:gpu_memory_used_mib / (gpushare:gpu_memory_total_mib > 0)",
    ),
    RecordingRule(
        "gpushare:gpu_active_ratio",
        f"({of_devices('DCGM_FI_DEV_GPU_UTIL', _GPU)}) / 100 "
        f"or {of_devices('DCGM_FI_PROF_GR_ENGINE_ACTIVE', _INSTANCE)}",
    ),
    RecordingRule(
        "gpushare:pod_memory_used_mib",
        "sum by (pool, node, namespace, pod) ("
        f"{of_pods('DCGM_FI_DEV_FB_USED', 'gpu', 'memory')} "
        f"or {of_pods('DCGM_FI_DEV_FB_USED', 'instance', 'memory')})",
    ),
    RecordingRule(
        "gpushare:pod_active_ratio",
        "avg by (pool, node, namespace, pod) ("
        f"({of_pods('DCGM_FI_DEV_GPU_UTIL', 'gpu', 'compute')}) / 100 "
        f"or {of_pods('DCGM_FI_PROF_GR_ENGINE_ACTIVE', 'instance', 'compute')})",
    ),
    RecordingRule(
        "gpushare:gpus_idle",
        "count by (pool) "
        f"(max_over_time(gpushare:gpu_active_ratio[{IDLE_WINDOW}]) < {IDLE_SHARE}) "
        "or 0 * count by (pool) (gpushare:gpu_active_ratio)",
    ),
    RecordingRule(
        "gpushare:mig_instances",
        "count by (node, pool, instance_type) (gpushare:gpu_memory_total_mib"
        '{GPU_I_ID!=""}) or 0 * count by (node, pool, instance_type) '
        "(gpushare:gpu_memory_total_mib)",
    ),
)
"""GPUs and MIG instances, each once, and pods where numbers are theirs."""

_HELD_USD: Final = (
    f"gpushare:node_shares_requested * on ({_KINDS}) group_left () gpushare:share_usd_per_hour"
)
_ON_NODE: Final = "node, pool"
_USED: Final = {
    "memory": f"sum by ({_ON_NODE}, namespace) (gpushare:pod_memory_used_mib)",
    "activity": f"sum by ({_ON_NODE}, namespace) (gpushare:device_active_ratio "
    "* on (pool, instance_type, GPU_I_PROFILE) group_left () gpushare:device_of_node "
    "or (gpushare:device_active_ratio unless on (pool, instance_type) gpushare:device_of_node))",
}
"""What pods of a namespace use of a node, in any unit: it is compared on one node alone."""
_OF_USE: Final = (
    RecordingRule(
        "gpushare:node_usd_held_per_hour", f"sum by ({_ON_NODE}, namespace) ({_HELD_USD})"
    ),
    RecordingRule(
        "gpushare:namespace_usd_per_hour",
        "sum by (pool, namespace) ((gpushare:namespace_use "
        f"/ on ({_ON_NODE}) group_left () (sum by ({_ON_NODE}) (gpushare:namespace_use) > 0)) "
        f"* on ({_ON_NODE}) group_left () sum by ({_ON_NODE}) (gpushare:node_usd_held_per_hour) "
        f"or (gpushare:node_usd_held_per_hour unless on ({_ON_NODE}) "
        f"(sum by ({_ON_NODE}) (gpushare:namespace_use) > 0)))",
    ),
)
"""What pods on a node hold together, divided by what each namespace uses of it. Where nothing is
measured, or all of it is zero, it is divided by shares."""
_BY_SHARE: Final = (
    RecordingRule("gpushare:namespace_usd_per_hour", f"sum by (pool, namespace) ({_HELD_USD})"),
)


def of_costs(split: str) -> tuple[RecordingRule, ...]:
    """USD an hour, on demand, where prices are known.

    However costs are split, those of the namespaces and the idle ones of a pool add up to what its
    nodes cost: use only says who of those on a node pays for what they hold together.

    Args:
        split: By what, as `observability.cost` says.
    """
    return (
        RecordingRule(
            "gpushare:pool_usd_per_hour",
            "sum by (pool) (gpushare:nodes * on (pool, instance_type) gpushare:node_usd_per_hour)",
        ),
        *(_BY_SHARE if split == "share" else (*_use(split), *_OF_USE)),
        RecordingRule(
            "gpushare:idle_usd_per_hour",
            "gpushare:pool_usd_per_hour - (sum by (pool) (gpushare:namespace_usd_per_hour) "
            "or 0 * gpushare:pool_usd_per_hour)",
        ),
    )


def _use(split: str) -> tuple[RecordingRule, ...]:
    """What pods that hold shares use, by node and namespace, in pools that are split by it."""
    active = RecordingRule(
        "gpushare:device_active_ratio",
        f"({of_pods('DCGM_FI_DEV_GPU_UTIL', 'gpu', 'compute')}) / 100 "
        f"or {of_pods('DCGM_FI_PROF_GR_ENGINE_ACTIVE', 'instance', 'compute')}",
    )
    use = RecordingRule(
        "gpushare:namespace_use",
        f"({_USED[split]}) * on (pool) group_left () gpushare:split_by_use "
        f"and on ({_ON_NODE}, namespace) gpushare:node_shares_requested",
        (("by", split),),
    )
    return (*((active,) if split == "activity" else ()), use)


OF_TENANTS: Final = (
    RecordingRule(
        "gpushare:tenant_shares_requested",
        "sum by (tenant, pool, resource) (gpushare:namespace_shares_requested "
        "* on (namespace) group_left (tenant) gpushare:namespace_tenant) "
        # Of a store that knows no node, nobody says that a tenant has none.
        f"or 0 * gpushare:tenant_guaranteed and on () {NODE}",
    ),
    RecordingRule(
        "gpushare:tenant_shares_waiting",
        "sum by (tenant, resource) (gpushare:shares_waiting "
        "* on (namespace) group_left (tenant) gpushare:namespace_tenant)",
    ),
    RecordingRule(
        "gpushare:tenant_usd_per_hour",
        "sum by (tenant, pool) (gpushare:namespace_usd_per_hour "
        "* on (namespace) group_left (tenant) gpushare:namespace_tenant)",
    ),
)
"""The same by tenant."""


def of_objectives(scheduling_seconds: int) -> tuple[RecordingRule, ...]:
    """How much of what users are promised they do not get.

    Args:
        scheduling_seconds: Seconds in which a pod that asks for a share is on a node.
    """
    asks = f"max by (namespace, pod) (kube_pod_container_resource_requests{{{SHARES}}})"
    created = f"max by (namespace, pod) (kube_pod_created) and on (namespace, pod) {asks}"
    waits = f"on (namespace, pod) ({in_phase('Pending')})"
    young = f"> time() - {POD_AGE_SECONDS}"
    return (
        RecordingRule(
            "gpushare:pod_created",
            f"(({created}) {young}) or (({created}) and {waits})",
        ),
        RecordingRule(
            "gpushare:pods_slow_ratio",
            "(count((max by (namespace, pod) (kube_pod_start_time) - gpushare:pod_created) "
            f"> {scheduling_seconds} or ((time() - gpushare:pod_created) > {scheduling_seconds} "
            f"and {waits})) or vector(0)) / (count(gpushare:pod_created) > 0)",
        ),
        RecordingRule(
            "gpushare:shares_missing_ratio",
            "sum by (pool) (clamp_min(gpushare:shares_declared - on (pool, resource) "
            "(gpushare:shares_advertised or 0 * gpushare:shares_declared), 0)) "
            "/ (sum by (pool) (gpushare:shares_declared) > 0)",
        ),
    )
