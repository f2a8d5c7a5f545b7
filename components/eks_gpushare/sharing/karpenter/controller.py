"""Karpenter itself: which feature gates the stack uses, and the values of its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.karpenter_releases import has_gate
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.autoscaling import Karpenter
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.sharing.karpenter.node_overlay import needs_overlays, price_overlays
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.sharing.scaling import static_nodes
from eks_gpushare.sharing.system_load import karpenter_memory_mib

if TYPE_CHECKING:
    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.environment import Chart, Environment
    from eks_gpushare.config.pools import Pool

_DEFAULTS = Karpenter()
TERMINATE_FIRST = "terminateFirstDrift"
"""The gate by which a node that drifts ends before its successor starts, where none has room."""


def karpenter_pools(environment: Environment) -> dict[str, Pool]:
    """The pools that Karpenter makes nodes for, by name."""
    return {
        name: pool for name, pool in environment.pools.items() if pool.provisioner == "karpenter"
    }


def uses_karpenter(environment: Environment) -> bool:
    """Whether the stack installs Karpenter: for a pool, or since it says so."""
    return environment.karpenter is not None or bool(karpenter_pools(environment))


def feature_gates(
    environment: Environment, catalog: Catalog | None = None, region: str | None = None
) -> dict[str, bool]:
    """The feature gates by their names in the chart, and whether the stack uses them.

    nodeOverlay: a node has other resources than EC2 says of its type. staticCapacity: a pool has
    `static`. nodeRepair: a pool says `nodeRepair: true` itself, not by the default, which is what
    managed node groups have. terminateFirstDrift: a pool's capacity is there once, and the release
    that is installed has the gate. All are alpha; what no pool uses stays off.

    Args:
        environment: The environment, which the rules have accepted.
        catalog: Where the types are looked up. Default: the environment's own.
        region: AWS region of the stack, for prices.
    """
    known = catalog_of(environment.catalog, region)[0] if catalog is None else catalog
    pools = karpenter_pools(environment)
    plans = [plan_pool(name, pool, known, region) for name, pool in pools.items()]
    overlays = any(needs_overlays(plan, known) for plan in plans)
    gates = {
        "nodeOverlay": overlays or bool(price_overlays(plans, known, region)),
        "staticCapacity": any(pool.is_static for pool in pools.values()),
        "nodeRepair": any(asks_for_repair(pool) for pool in pools.values()),
    }
    # Nobody is told of a gate that the release lacks.
    if any(map(_has_no_more, pools.values())) and has_gate(
        TERMINATE_FIRST, chart_version(environment.charts.karpenter)
    ):
        gates[TERMINATE_FIRST] = True
    return gates


def chart_version(chart: Chart) -> str | None:
    """The release of Karpenter that is installed; None of a chart on disk."""
    return None if chart.path is not None else chart.version or versions.KARPENTER.version


def _has_no_more(pool: Pool) -> bool:
    """Whether a pool may have no room for a new node beside an old one that is to be replaced."""
    limit = ((pool.karpenter and pool.karpenter.limits) or {}).get("nodes")
    full = limit is not None and pool.is_static and int(limit) <= static_nodes(pool)
    return full or {*pool.bought_as} <= {"reserved", "capacityBlock"}


def asks_for_repair(pool: Pool) -> bool:
    """Whether a pool wants broken nodes replaced, and says so."""
    return pool.node_repair and "node_repair" in pool.model_fields_set


def controller_values(
    environment: Environment,
    *,
    cluster_name: Any,
    queue_name: Any = None,
    catalog: Catalog | None = None,
    region: str | None = None,
) -> dict[str, Any]:
    """Values of Karpenter's chart, the user's own on top.

    What is of type Any goes where it belongs as it is, so that it may be known later.

    Args:
        environment: The environment, which the rules have accepted.
        cluster_name: Name of the EKS cluster.
        queue_name: Name of the interruption queue. Default: none, and EC2 tells it of nothing.
        catalog: Where the types are looked up. Default: the environment's own.
        region: AWS region of the stack, for prices.
    """
    block = environment.karpenter or _DEFAULTS
    settings: dict[str, Any] = {
        "clusterName": cluster_name,
        "featureGates": feature_gates(environment, catalog, region),
    }
    if queue_name is not None:
        settings["interruptionQueue"] = queue_name
    derived = {
        "replicas": block.replicas,
        "controller": {"resources": controller_resources(environment)},
        "settings": settings,
    }
    return merge_values(derived, environment.charts.karpenter.values, keep_null=True)


def controller_resources(environment: Environment) -> dict[str, dict[str, str]]:
    """The memory that Karpenter's guide gives it or its nodes take, and half of the guide's CPU.

    For CPU it waits and does not fail: two copies have room on the default system nodes beside
    everything else.

    Args:
        environment: The environment, by whose pools it is how many nodes there may be.
    """
    mib = karpenter_memory_mib(environment)
    memory = f"{mib}Mi" if mib % 1024 else f"{mib // 1024}Gi"
    return {"requests": {"cpu": "500m", "memory": memory}, "limits": {"memory": memory}}
