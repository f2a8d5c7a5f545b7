"""What a DCGM exporter is told, the GPU Operator's or its own chart's, so that it measures pods.

It finds the processes of pods by hostPID and a variable, and knows pods of renamed shares by
another: NVIDIA/dcgm-exporter, internal/pkg/transformation/kubernetes.go, read 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.base import known_fields
from eks_gpushare.documents.helm import merge_values, value_at
from eks_gpushare.sharing.charts import pool_node_affinity, tolerations
from eks_gpushare.sharing.node_monitoring import (
    ENGINE_ADDRESS,
    REMOTE_ENGINE,
    exporter_values,
    has_agent_engine,
)
from eks_gpushare.sharing.resources import GPU, MIG_PREFIX, replicas, shares
from eks_gpushare.sharing.workloads import is_scaled, pools_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool

BY_PROCESS = "KUBERNETES_VIRTUAL_GPUS"
"""Variable that makes it look for the processes of pods."""
RESOURCES = "NVIDIA_RESOURCE_NAMES"
"""Variable with the resources whose pods it sees, in addition to GPUs and MIG devices."""
_PORT = "9400"
"""Where it answers, as its chart has it."""


def has_own_exporter(environment: Environment) -> bool:
    """Whether a stack runs the exporter whose metrics its workloads follow."""
    keda, operator = environment.keda, environment.charts.gpu_operator
    if keda is not None and keda.prometheus.exporter is not None:
        return False
    if environment.gpu_stack.manager == "devicePlugin":
        return bool(environment.gpu_stack.dcgm_exporter)
    return value_at(operator.values, "dcgmExporter.enabled") is not False


def measures_processes(environment: Environment) -> bool:
    """Whether the exporter is said to tell pods apart that take turns on a GPU."""
    keda, stack = environment.keda, known_fields(environment).get("gpu_stack")
    if keda is not None and (keda.prometheus.process_metrics or keda.prometheus.exporter):
        return keda.prometheus.process_metrics
    return stack is not None and stack.manager == "devicePlugin" and bool(stack.dcgm_exporter)


def exporter_chart_values(
    pools: Mapping[str, Pool],
    catalog: Catalog,
    given: Mapping[str, Any],
    *,
    node_monitoring_agent: bool = False,
) -> dict[str, Any]:
    """Values of the exporter's own chart, for the nodes of the pools.

    A variable that the user gives goes over the derived one of its name, and leaves the others.

    Args:
        pools: The pools that the device plugin serves.
        catalog: Where instance types are looked up.
        given: The user's values, which go over the derived ones.
        node_monitoring_agent: Whether EKS's node monitoring agent runs on the nodes.
    """
    derived: dict[str, Any] = {
        "affinity": pool_node_affinity(pools),
        "tolerations": tolerations(pools),
        # Its kind comes with Prometheus' operator; others look for the annotations.
        "serviceMonitor": {"enabled": False},
        "podAnnotations": {"prometheus.io/scrape": "true", "prometheus.io/port": _PORT},
    }
    env: list[dict[str, Any]] = []
    if node_monitoring_agent and any(has_agent_engine(pool, catalog) for pool in pools.values()):
        derived["hostNetwork"] = True
        env.append({"name": REMOTE_ENGINE, "value": ENGINE_ADDRESS})
    if any(replicas(pool) > 1 for pool in pools.values()):
        derived["hostPID"] = True
        env.append({"name": BY_PROCESS, "value": "true"})
    names = _named(share for pool in pools.values() for share in _all_shares(pool, catalog))
    if names:
        env.append({"name": RESOURCES, "value": ",".join(names)})
    own = given.get("extraEnv")
    if isinstance(own, list):
        named = {variable.get("name") for variable in own if isinstance(variable, dict)}
        env = [*own, *(variable for variable in env if variable["name"] not in named)]
        given = {**given, "extraEnv": env}
    return merge_values({**derived, **({"extraEnv": env} if env else {})}, given, keep_null=True)


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
        found += filter(None, asked)
    return _named(found)


def _named(found: Iterable[str]) -> list[str]:
    """Those resources that an exporter has to be told of, each once."""
    own = {name: None for name in found if name != GPU and not name.startswith(MIG_PREFIX)}
    return list(own)


def _share(pool: Pool, catalog: Catalog) -> str | None:
    """What its pods ask for by default; None where rules refuse the pool."""
    return next(iter(_all_shares(pool, catalog)), None)


def _all_shares(pool: Pool, catalog: Catalog) -> list[str]:
    """What its nodes advertise; nothing where rules refuse the pool."""
    try:
        types = (catalog.find(name) for name in pool.instance_types)
        return [
            share.resource for known in types if known for share in shares(pool, known, catalog)
        ]
    except (KeyError, ValueError):  # a layout that does not go
        return []


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
