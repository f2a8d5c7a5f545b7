"""What the DCGM exporter of the GPU Operator is told, so that it measures pods that share a GPU.

It finds the processes of pods by hostPID and a variable, and knows pods of renamed shares by
another: NVIDIA/dcgm-exporter, internal/pkg/transformation/kubernetes.go, read 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.helm import merge_values, value_at
from eks_gpushare.sharing.node_monitoring import exporter_values
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, shares
from eks_gpushare.sharing.workloads import is_scaled, pools_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool

BY_PROCESS = "KUBERNETES_VIRTUAL_GPUS"
"""Variable that makes it look for the processes of pods."""
RESOURCES = "NVIDIA_RESOURCE_NAMES"
"""Variable with the resources whose pods it sees, in addition to GPUs and MIG devices."""


def has_own_exporter(environment: Environment) -> bool:
    """Whether a stack runs the exporter whose metrics its workloads follow."""
    keda = environment.keda
    return (
        environment.gpu_stack.manager == "gpuOperator"
        and value_at(environment.charts.gpu_operator.values, "dcgmExporter.enabled") is not False
        and (keda is None or keda.prometheus.exporter is None)
    )


def followed_shares(environment: Environment, catalog: Catalog) -> list[str]:
    """Shares whose use decides about pods, and that an exporter does not know by itself.

    Args:
        environment: The environment; of instance types that nobody knows nothing follows.
        catalog: Where instance types are looked up.
    """
    found: list[str] = []
    for workload in (environment.workloads or {}).values():
        if not is_scaled(workload) or workload.use_query is not None:
            continue
        pools = [
            environment.pools[name] for name in pools_of(workload) if name in environment.pools
        ]
        asked = [workload.share] if workload.share else [_share(pool, catalog) for pool in pools]
        found += [name for name in asked if name and name != GPU]
    return [name for name in dict.fromkeys(found) if not name.startswith(MIG_PREFIX)]


def _share(pool: Pool, catalog: Catalog) -> str | None:
    """What its pods ask for by default; None where rules refuse the pool."""
    try:
        types = (catalog.find(name) for name in pool.instance_types)
        return next((shares(pool, known, catalog)[0].resource for known in types if known), None)
    except (KeyError, ValueError):  # a layout that does not go
        return None


def with_process_metrics(
    environment: Environment,
    served: Mapping[str, Pool],
    catalog: Catalog,
    *,
    node_monitoring_agent: bool = False,
) -> dict[str, Any]:
    """A stack's values of the operator's chart, and what the exporter needs for process metrics.

    A list in values takes the place of the derived one, so what is derived of its environment is
    repeated. What the stack gives itself stays.

    Args:
        environment: The environment.
        served: The pools that the operator serves.
        catalog: Where instance types are looked up.
        node_monitoring_agent: Whether EKS's node monitoring agent runs on the nodes.
    """
    given, keda = environment.charts.gpu_operator.values, environment.keda
    wanted = keda is not None and keda.prometheus.process_metrics
    env = value_at(given, "dcgmExporter.env", [])
    if not wanted or not has_own_exporter(environment) or not isinstance(env, list):
        return given
    derived = exporter_values(served, catalog) if node_monitoring_agent else {}
    names = ",".join(followed_shares(environment, catalog))
    more = [
        *value_at(derived, "dcgmExporter.env", []),
        {"name": BY_PROCESS, "value": "true"},
        *([{"name": RESOURCES, "value": names}] if names else []),
    ]
    named = {variable.get("name") for variable in env if isinstance(variable, dict)}
    told = {
        "hostPID": value_at(given, "dcgmExporter.hostPID", absent=True),
        "env": [*env, *(variable for variable in more if variable["name"] not in named)],
    }
    return merge_values(given, {"dcgmExporter": told}, keep_null=True)
