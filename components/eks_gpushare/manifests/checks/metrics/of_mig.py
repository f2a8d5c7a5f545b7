"""Metrics that MIG devices do not have, where autoscalers and alerts go by them.

Source, November 2026: "Profiling Metrics" of
https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/feature-overview.html. That pools of Azure
have such devices is said by `gpu_instance` of
https://registry.terraform.io/providers/hashicorp/azurerm/latest/docs/resources/kubernetes_cluster_node_pool
or by the label that MIG manager goes by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.inventory.advertised import offers
from eks_gpushare.inventory.azure_pools import has_nvidia_gpus
from eks_gpushare.inventory.items import AKS_POOL, GKE_POOL, MADE_BY_GCLOUD, Pointer, Release
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.mig_states import MIG_CONFIG_LABEL
from eks_gpushare.inventory.nodes import gpu_nodes, may_be_others, unseen_nodes
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.inventory.written_labels import values_written
from eks_gpushare.manifests.checks.metrics.queries import rules_of
from eks_gpushare.manifests.rules.scaling import NOT_OF_MIG
from eks_gpushare.sharing.resources import MIG_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.requests import Request
    from eks_gpushare.inventory.source import Source

QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A text in a query."""
_UTILISATION: Final = re.compile(r"DCGM_FI_DEV_(?:GPU|MEM_COPY|ENC|DEC)_UTIL")
_OTHERWISE: Final = re.compile(r"\bor\b", re.IGNORECASE)
"""Of queries that have another value where one is not there."""
_IF_ABSENT: Final = re.compile(r"\b(?:or|unless|absent|absent_over_time)\b|GPU_I_", re.IGNORECASE)
"""Of alerts that fire without the metric, or that tell MIG devices from whole GPUs."""
_LABELS: Final = "node_labels"
_INSTANCE: Final = re.compile(r"MIG[0-9]g")
_LAYOUT: Final = re.compile(r"all-(?:[0-9]+g\.[0-9]+gb|balanced)")
"""Layouts of MIG manager's own that leave no GPU whole."""
_FIX: Final = "Use DCGM_FI_PROF_GR_ENGINE_ACTIVE, a part of 1."


def are_on_mig(inventory: Inventory, workload: Workload, requests: Sequence[Request]) -> bool:
    """Whether what pods ask for is MIG devices, by its name or on all nodes that they may be on."""
    if all(each.resource.startswith(MIG_PREFIX) for each in requests):
        return True
    found = grounds(inventory, workload.cluster).places(workload, requests).offers
    if not found:
        return _of_mig_alone(inventory, workload.cluster) is not None
    return all(each.mig.instances and not each.mig.whole for each in found)


def not_of_mig(pointer: Pointer, adapted: Mapping[str, str]) -> Iterator[Problem]:
    """Queries for what MIG devices do not have, its own and those of the adapter's rules."""
    asked: list[tuple[FieldPath, str, Any]] = [
        (
            ("spec", "triggers", index, "metadata", "query"),
            f"The query of trigger {index} of {pointer.source.name}",
            at(trigger, "metadata", "query"),
        )
        for index, trigger in enumerate(items(at(pointer.spec, "triggers")))
    ]
    for index, metric in enumerate(items(at(pointer.spec, "metrics"))):
        for key in ("pods", "external"):
            name = at(metric, key, "metric", "name")
            if isinstance(name, str):
                named: FieldPath = ("spec", "metrics", index, key, "metric", "name")
                of_metric = f"Metric {index} of {pointer.source.name}"
                asked.append((named, of_metric, adapted.get(name, name)))
    for place, called, query in asked:
        bare = QUOTED.sub("", query) if isinstance(query, str) else ""
        found = _UTILISATION.search(bare)
        if found and not _OTHERWISE.search(bare):
            message = f"{called} is for {found[0]}, and the pods have MIG devices."
            yield Problem(NOT_OF_MIG, pointer.source, place, message, _FIX)


@edge(NOT_OF_MIG)
def alerts_beside_mig(inventory: Inventory) -> Iterator[Judgement]:
    """Alerts by what none of the nodes can have."""
    for cluster in inventory.clusters():
        nodes = _of_mig_alone(inventory, cluster)
        for item, place, query, alert in rules_of(inventory, cluster) if nodes else ():
            bare = QUOTED.sub("", query)
            found = _UTILISATION.search(bare)
            if alert and found and nodes and not _IF_ABSENT.search(bare):
                yield Problem(
                    NOT_OF_MIG,
                    item.source,
                    place,
                    f"{at_start(alert)} of {item.source.name} is for {found[0]}, and all nodes "
                    f"with GPUs have MIG devices, as those of {nodes.name}: it never fires.",
                    _FIX,
                    against=(nodes, ()),
                )


def _of_mig_alone(inventory: Inventory, cluster: str) -> Source | None:
    """The first nodes with GPUs of a cluster, where all of them have MIG devices and no whole GPUs.

    None too where there may be nodes that are not told of.
    """
    pointers = inventory.of(Pointer, cluster)
    if may_be_others(inventory) or unseen_nodes(inventory, cluster):
        return None
    if any(each.kind in (GKE_POOL, MADE_BY_GCLOUD) for each in pointers):
        return None
    nodes, pools = gpu_nodes(inventory, cluster), _pools(inventory, cluster)
    if any(kind.is_partial for kind in nodes) or pools is None:
        return None
    every = offers(inventory, cluster).every
    if not all(each.mig.instances and not each.mig.whole for each in every):
        return None
    labels = [kind.nodes.labels for kind in nodes] + [at(pool.spec, _LABELS) for pool in pools]
    layouts = {text(at(each, MIG_CONFIG_LABEL)) for each in labels}
    if not layouts.issuperset(map(text, values_written(inventory, MIG_CONFIG_LABEL))):
        return None  # some text makes it something else
    return next((each.source for each in (*(kind.nodes for kind in nodes), *pools)), None)


def _pools(inventory: Inventory, cluster: str) -> list[Pointer] | None:
    """Pools of Azure's with GPUs; None where some are not of MIG devices, or not known to be."""
    found = []
    operated = any(
        chart_of(each.chart) == OPERATOR_CHART for each in inventory.of(Release, cluster)
    )
    for pool in inventory.of(Pointer, cluster):
        if pool.kind != AKS_POOL:
            continue
        has_gpus = has_nvidia_gpus(pool)
        layout = str(text(at(pool.spec, _LABELS, MIG_CONFIG_LABEL)))
        by_label = operated and _LAYOUT.fullmatch(layout)
        if has_gpus and (_INSTANCE.match(str(at(pool.spec, "gpu_instance"))) or by_label):
            found.append(pool)
        elif has_gpus is not False:
            return None
    return found
