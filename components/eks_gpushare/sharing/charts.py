"""Helm charts: where they come from, how values merge, and the device plugin's own values.

Source: `deployments/helm` of NVIDIA/k8s-device-plugin, at the version in `catalog.versions`. Lists
in Helm values replace the chart's own as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.taints import DEFAULT_TAINT, by_key, tolerating
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.documents.local_paths import expanded
from eks_gpushare.sharing.device_plugin_config import DEFAULT_KEY
from eks_gpushare.sharing.labels import CONFIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.versions import HelmChart
    from eks_gpushare.config.environment import Chart
    from eks_gpushare.config.pools import Pool


def device_plugin_values(pools: Mapping[str, Pool], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the chart, all but the name of the ConfigMap.

    Args:
        pools: The pools it serves, by name.
        given: The user's values, which go over the derived ones.
    """
    nodes = pool_node_affinity(pools)
    tolerated = tolerations(pools)
    derived: dict[str, Any] = {
        "config": {"default": DEFAULT_KEY},
        # Labels nodes with what they share, and lets the MPS daemon find its nodes.
        "gfd": {"enabled": True},
        "affinity": nodes,
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}, *tolerated],
        # The subchart's worker tolerates `nvidia.com/gpu=present` only.
        "nfd": {"worker": {"affinity": nodes, "tolerations": tolerated}},
    }
    return merge_values(derived, given, keep_null=True)


def release_source(chart: Chart, default: HelmChart) -> dict[str, Any]:
    """Where a Release takes its chart from: a repository, an OCI registry, or the disk.

    Args:
        chart: What the user changes about the chart.
        default: The chart that this release of the package is for.
    """
    if chart.path is not None:
        return {"chart": expanded(chart.path)}
    repository = chart.repository or default.repository
    version = chart.version or default.version
    if repository.startswith("oci://"):  # such an address is the chart's own
        return {"chart": repository, "version": version}
    return {"chart": default.name, "version": version, "repository_opts": {"repo": repository}}


def pool_node_affinity(pools: Mapping[str, Pool]) -> dict[str, Any]:
    """Exactly the nodes of the pools, not every node with a GPU in the cluster."""
    chosen = {"key": CONFIG_LABEL, "operator": "In", "values": sorted(pools)}
    terms = [{"matchExpressions": [chosen]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


def tolerations(pools: Mapping[str, Pool]) -> list[dict[str, str]]:
    """Every taint of every pool, whatever its value, and the usual one."""
    taints = (taint for pool in pools.values() for taint in pool.taints)
    return tolerating(sorted((DEFAULT_TAINT, *taints), key=by_key))
