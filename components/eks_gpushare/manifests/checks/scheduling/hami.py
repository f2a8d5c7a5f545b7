"""Parts of GPUs that containers ask HAMi for.

Source: `pkg/device/nvidia/device.go` of https://github.com/Project-HAMi/HAMi at 4707fb0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import HAMI_CHART
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.items import Release, Workload
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.other_schedulers import NOT_OF_HAMI
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_CORES, _PERCENT = "nvidia.com/gpucores", "nvidia.com/gpumem-percentage"
_MIB: Final = "nvidia.com/gpumem"
OF_HAMI: Final = (_CORES, _PERCENT, _MIB)
"""Resources by which containers ask for a part of a GPU."""
_ALL: Final = 100
_MOST_MIB: Final = 2**31 - 1


@edge(NOT_OF_HAMI)
def asked_of_hami(inventory: Inventory) -> Iterator[Judgement]:
    """By resources of containers."""
    for cluster in inventory.clusters():
        for workload in inventory.of(Workload, cluster):
            named = at(workload.spec, "nodeName")
            if isinstance(named, str) and named and asks_for_parts(workload):
                yield Problem(
                    NOT_OF_HAMI,
                    workload.source,
                    (*workload.spec_path, "nodeName"),
                    f"{at_start(workload.source.name)} names its node, so that no scheduler sees "
                    "it, and HAMi's counts nothing for it: kubelet refuses the pod.",
                    "Write `nodeSelector: {kubernetes.io/hostname: NODE}` in place of nodeName.",
                )
            for where, container in containers(workload.spec):
                yield from _more_than_there_are(inventory, workload, where, container)
                for part in ("limits", "requests"):
                    for key, amount in pairs(at(container, "resources", part)):
                        found = None if key not in OF_HAMI else quantity(str(text(amount)))
                        said = found and _too_much(inventory, workload, key, int(found))
                        if said:
                            yield Problem(
                                NOT_OF_HAMI,
                                workload.source,
                                (*workload.spec_path, *where, "resources", part, key),
                                f"{at_start(workload.source.name)} asks for {text(amount)} of "
                                f"{key}, {said[0]}.",
                                said[1],
                                "warning" if key == _CORES else None,
                            )


def _too_much(
    inventory: Inventory, workload: Workload, key: str, amount: int
) -> tuple[str, str] | None:
    if key != _MIB:
        what = "takes it for 100" if key == _CORES else "refuses the pod"
        fix = f"Write 100 at most, or ask for more of {GPU}: it is so much of each."
        return (f"percents of a GPU: HAMi {what}", fix) if amount > _ALL else None
    if amount > _MOST_MIB:
        return "which is MiB: no GPU has so many", "Write MiB as a number without a unit."
    most = _memory(inventory, workload)
    if most is None or amount <= most:
        return None
    return f"and a GPU of the nodes has {most} MiB", "Ask for less, or take other nodes."


def _more_than_there_are(
    inventory: Inventory, workload: Workload, where: FieldPath, container: Any
) -> Iterator[Problem]:
    """Parts of more GPUs than a node has: HAMi gives a container one of each.

    `calcScore` in pkg/scheduler/score.go: "request devices nums cannot exceed the total number of
    devices on the node".
    """
    limits = dict(pairs(at(container, "resources", "limits")))
    wanted = quantity(str(text(limits.get(GPU, ""))))
    if (
        wanted is None
        or not any(key in OF_HAMI for key in limits)
        or not _charts(inventory, workload)
    ):
        return
    types = _types(inventory, workload)
    known = [each.gpu_count for each in types if each is not None]
    if not known or len(known) < len(types):
        return
    most = max(known)
    if wanted > most > 0:
        yield Problem(
            NOT_OF_HAMI,
            workload.source,
            (*workload.spec_path, *where, "resources", "limits", GPU),
            f"{at_start(workload.source.name)} asks for parts of {wanted} GPUs in a container, and "
            f"a node has {most} at most: HAMi gives a container one part of each.",
            f"Ask for {most} at most, and for more of each.",
            "warning",
        )


def _charts(inventory: Inventory, workload: Workload) -> list[Release]:
    releases = inventory.of(Release, workload.cluster)
    return [each for each in releases if each.chart.rpartition("/")[2] == HAMI_CHART]


def _types(inventory: Inventory, workload: Workload) -> list[InstanceType | None]:
    """Of nodes that pods may be on."""
    offers = grounds(inventory, workload.cluster).places(workload).offers
    return [each.kind.type for each in offers]


def _memory(inventory: Inventory, workload: Workload) -> int | None:
    """MiB of the largest GPU of nodes that pods may be on; None where that is not known.

    HAMi's chart may say that a GPU has more than it has.
    """
    charts = _charts(inventory, workload)
    scaling = ("devicePlugin", "deviceMemoryScaling")
    if not charts or any(at(each.values, *scaling) not in (None, 1, "1") for each in charts):
        return None
    gpus = [None if each is None else each.gpu for each in _types(inventory, workload)]
    sizes = [gpu.memory_mib for gpu in gpus if gpu is not None and gpu.memory_mib is not None]
    return max(sizes) if sizes and len(sizes) == len(gpus) else None


def asks_for_parts(workload: Workload) -> bool:
    """Whether containers ask for parts of GPUs, of which HAMi gives each its own."""
    return any(
        key in OF_HAMI
        for _, container in containers(workload.spec)
        for part in ("limits", "requests")
        for key, _ in pairs(at(container, "resources", part))
    )
