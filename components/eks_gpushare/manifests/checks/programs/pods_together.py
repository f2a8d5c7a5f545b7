"""Servers that run over the pods of a group, against the GPUs that these have together.

Source: https://docs.vllm.ai/en/stable/serving/parallelism_scaling/: tensors times stages is how
many GPUs one copy of a model takes; https://lws.sigs.k8s.io/docs/, whose size counts the leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.checks.programs.gpu_containers import gpu_containers
from eks_gpushare.manifests.checks.programs.gpu_programs import server_of, split_over
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.gpu_programs import SPLIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_GROUP: Final = ("spec", "leaderWorkerTemplate")
_LEADER, _WORKER = "leaderTemplate", "workerTemplate"


@edge(SPLIT)
def groups(inventory: Inventory) -> Iterator[Judgement]:
    """Of LeaderWorkerSets that are written out."""
    by_group: dict[int, dict[str, Workload]] = {}
    for workload in inventory.of(Workload):
        if workload.kind == "LeaderWorkerSet":
            part = str(workload.spec_path[2])
            by_group.setdefault(id(workload.source.document), {})[part] = workload
    for parts in by_group.values():
        worker = parts.get(_WORKER)
        if worker is None:
            continue
        leader = parts.get(_LEADER, worker)
        size: Any = at(value_of(worker), *_GROUP, "size")
        if not isinstance(size, int):
            continue
        counts = [*_gpus(leader), *(_gpus(worker) * (size - 1))]
        for container in gpu_containers(leader):
            server = server_of(container)
            wanted = split_over(container, server) if server is not None else None
            known = [each for each in counts if each is not None]
            total = sum(known)
            if wanted is not None and len(known) == len(counts) and wanted > total:
                yield Problem(
                    SPLIT,
                    leader.source,
                    container.place,
                    f"{at_start(leader.source.name)} splits a model over {wanted} GPUs, and its "
                    f"{size} pods have {total} together.",
                    "Let the sizes, multiplied, be how many the pods of a group have.",
                )


def _gpus(workload: Workload) -> list[int | None]:
    """How many each of its containers has; None where that is not known."""
    return [each.gpus for each in gpu_containers(workload)]
