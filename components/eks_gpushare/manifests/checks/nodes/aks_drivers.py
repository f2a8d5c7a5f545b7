"""Pools of Azure's without the driver, beside a GPU Operator that is told not to install it.

Sources, November 2026: `gpu_driver` of
https://registry.terraform.io/providers/hashicorp/azurerm/latest/docs/resources/kubernetes_cluster_node_pool
and https://learn.microsoft.com/azure/aks/nvidia-gpu-operator, which has the driver be installed by
one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.inventory.azure_pools import has_nvidia_gpus
from eks_gpushare.inventory.edges.drivers import NOWHERE, installs
from eks_gpushare.inventory.items import AKS_POOL, Pointer, Release, Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_SETTING: Final = "gpu_driver"
_OWN: Final = "NVIDIADriver"


@edge(NOWHERE)
def aks_drivers(inventory: Inventory) -> Iterator[Judgement]:
    """Where each operator that is here leaves the driver to others, and nothing else brings it."""
    for cluster in inventory.clusters():
        pointers = inventory.of(Pointer, cluster)
        operators = [
            each
            for each in inventory.of(Release, cluster)
            if chart_of(each.chart) == OPERATOR_CHART
        ]
        by_operator = any(installs(each, "driver") is not False for each in operators)
        by_others = any("driver" in str(each.name) for each in inventory.of(Workload, cluster))
        by_others = by_others or any(each.kind == _OWN for each in pointers)
        if not operators or by_operator or by_others:
            continue
        for pool in pointers:
            without = at(pool.spec, _SETTING) == "None"
            if pool.kind == AKS_POOL and without and has_nvidia_gpus(pool):
                yield Problem(
                    NOWHERE,
                    pool.source,
                    (_SETTING,),
                    f"Nodes of {pool.source.name} have no NVIDIA driver, by gpu_driver None, and "
                    f"{operators[0].source.name} is told not to install one.",
                    "Set `driver.enabled: true`, and the toolkit likewise, or gpu_driver Install.",
                )
