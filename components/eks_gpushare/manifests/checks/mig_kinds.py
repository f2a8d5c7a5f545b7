"""MIG devices of several kinds in one container.

Sources: https://github.com/NVIDIA/k8s-device-plugin/issues/728, where each kind sets the same
variable of the container, so that the last alone is seen, and "CUDA Device Enumeration" of
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/, by which a program uses one MIG device;
November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.rules.gpu_programs import SEVERAL_KINDS
from eks_gpushare.sharing.resources import MIG_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


@edge(SEVERAL_KINDS)
def kinds(inventory: Inventory) -> Iterator[Judgement]:
    """Where a container asks for a known amount of each."""
    for cluster in inventory.clusters():
        for workload, requests in gpu_workloads(inventory, cluster):
            asked: dict[tuple[str | int, ...], list[str]] = {}
            for request in requests:
                known = request.amount not in (None, UNKNOWN)
                if request.resource.startswith(MIG_PREFIX) and known:
                    asked.setdefault(request.place[:-3], []).append(request.resource)
            for place, names in asked.items():
                if len(names) > 1:
                    yield Problem(
                        SEVERAL_KINDS,
                        workload.source,
                        (*place, "resources"),
                        f"A container of {workload.source.name} asks for "
                        f"{' and '.join(names)}, and gets to see those of one kind.",
                        "Ask for one kind in each container, or for a larger one.",
                    )
