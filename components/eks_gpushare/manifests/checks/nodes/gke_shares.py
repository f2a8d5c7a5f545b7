"""Pods that select nodes of GKE by how GPUs are shared, against the pools that Terraform makes.

GKE labels nodes by the settings of their pool, and Kubernetes compares texts. Source, November
2026: https://cloud.google.com/kubernetes-engine/docs/how-to/timesharing-gpus and
https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.edges.amounts import SEVERAL_SHARES, count_of
from eks_gpushare.inventory.items import GKE_POOL, MADE_BY_GCLOUD, Pointer, Workload
from eks_gpushare.inventory.nodes import may_be_others
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

ELSEWHERE = rule_of("GPU1112")
_MODEL: Final = "cloud.google.com/gke-accelerator"
_STRATEGY: Final = "cloud.google.com/gke-gpu-sharing-strategy"
_CLIENTS: Final = "cloud.google.com/gke-max-shared-clients-per-gpu"
_PARTITION: Final = "cloud.google.com/gke-gpu-partition-size"
_CLASS: Final = "cloud.google.com/compute-class"
"""By which GKE makes nodes for pods: "About compute classes" in its documentation."""
_STRATEGIES: Final = {"TIME_SHARING": "time-sharing", "MPS": "mps"}

_PLACES: Final = {
    **dict.fromkeys((_STRATEGY, _CLIENTS), "gpu_sharing_config"),
    _PARTITION: "gpu_partition_size",
}
"""By which settings of a pool its nodes get these labels."""
_SHARED: Final = ("gpu_sharing_strategy", "max_shared_clients_per_gpu")


@edge(ELSEWHERE)
def gke_shares(inventory: Inventory) -> Iterator[Judgement]:
    """Of a model that some pool has, where all pools are known and no others can be made."""
    if may_be_others(inventory) or any(
        each.kind == MADE_BY_GCLOUD for each in inventory.of(Pointer)
    ):
        return
    for cluster in inventory.clusters():
        pools = [each for each in inventory.of(Pointer, cluster) if each.kind == GKE_POOL]
        labels = [(each, _labels(each.spec)) for each in pools]
        if any(each is None for _, each in labels):
            continue
        having = [(pool, each) for pool, each in labels if each]
        for workload in inventory.of(Workload, cluster) if having else ():
            yield from _selected(workload, having)


@edge(SEVERAL_SHARES)
def several_of_gke(inventory: Inventory) -> Iterator[Judgement]:
    """Pods that select nodes of GKE which share GPUs by time, and ask for more than one share.

    Its device plugin refuses them, and those of MPS where a node has several GPUs alone: "GPU
    time-sharing or NVIDIA MPS requests" of
    https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus.
    """
    for cluster in inventory.clusters():
        for workload, requests in gpu_workloads(inventory, cluster):
            if at(workload.spec, "nodeSelector", _STRATEGY) != _STRATEGIES["TIME_SHARING"]:
                continue
            for request in requests:
                count = count_of(request)
                if request.resource == GPU and count is not None and count > 1:
                    yield Problem(
                        SEVERAL_SHARES,
                        workload.source,
                        request.place,
                        f"{at_start(workload.source.name)} asks for {count} of {GPU} in one "
                        "container, and selects nodes on which GKE shares GPUs by time: its "
                        "device plugin refuses more than 1.",
                        f"Ask for 1, or select nodes without {_STRATEGY}.",
                    )


def _selected(
    workload: Workload, having: Sequence[tuple[Pointer, dict[str, str]]]
) -> Iterator[Problem]:
    selector = at(workload.spec, "nodeSelector")
    if at(selector, _CLASS) is not None:
        return
    model = at(selector, _MODEL)
    alike = [(pool, each) for pool, each in having if model in (None, each[_MODEL])]
    for key in (_STRATEGY, _CLIENTS, _PARTITION) if alike else ():
        wanted = at(selector, key)
        given = sorted({each.get(key, "none") for _, each in alike})
        if wanted not in (None, UNKNOWN) and str(text(wanted)) not in given:
            pool, _ = alike[0]
            yield Problem(
                ELSEWHERE,
                workload.source,
                (*workload.spec_path, "nodeSelector", key),
                f"{at_start(workload.source.name)} selects nodes with {key}={text(wanted)}, and "
                f"pools with such GPUs have {', '.join(given)}: it gets no node.",
                f"Select what {pool.source.name} has, or change its {_PLACES[key]}.",
                "warning",
            )


def _labels(pool: Any) -> dict[str, str] | None:
    """Labels by which GKE tells of a pool's GPUs; none without any, None where not all is known."""
    accelerators = [
        one
        for config in _blocks(pool, "node_config")
        for one in _blocks(config, "guest_accelerator")
    ]
    if len(accelerators) != 1:
        return None if accelerators or has_unknown(at(pool, "node_config")) else {}
    sharing = _blocks(accelerators[0], "gpu_sharing_config")
    partition = at(accelerators[0], "gpu_partition_size")
    told = [at(accelerators[0], "type"), partition, *sharing]
    complete = all(at(each, name) for each in sharing for name in _SHARED)
    if has_unknown(told) or not isinstance(told[0], str) or not complete:
        return None
    found = {_MODEL: told[0]}
    if partition:
        found[_PARTITION] = str(partition)
    for each in sharing:
        strategy = str(at(each, "gpu_sharing_strategy"))
        found[_STRATEGY] = _STRATEGIES.get(strategy, strategy)
        found[_CLIENTS] = str(text(at(each, "max_shared_clients_per_gpu")))
    return found


def _blocks(value: Any, key: str) -> list[Any]:
    found = at(value, key)
    return [found] if isinstance(found, dict) else items(found)
