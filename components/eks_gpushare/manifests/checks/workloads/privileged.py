"""Privileged pods with a part of the GPUs of their nodes: they see all of them.

Source: https://github.com/NVIDIA/k8s-device-plugin/issues/336; a privileged container has every
device of the node, and the container runtime gives it what it asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.values import at, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.rules.kubernetes import DEVICES_BY_HAND
from eks_gpushare.sharing.resources import GPU

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


@edge(DEVICES_BY_HAND)
def privileged(inventory: Inventory) -> Iterator[Judgement]:
    """Where all nodes that a pod may be on have more GPUs than it asks for."""
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            places = ground.places(workload, requests)
            counts = [each.kind.type.gpu_count for each in places.seen if each.kind.type]
            if not counts or len(counts) != len(places.offers) or workload.kind == "DaemonSet":
                continue
            for where, container in containers(workload.spec):
                asked = str(text(at(container, "resources", "limits", GPU)))
                setting = ("securityContext", "privileged")
                is_less = asked.isascii() and asked.isdecimal() and 0 < int(asked) < min(counts)
                if is_less and at(container, *setting) is True:
                    yield Problem(
                        DEVICES_BY_HAND,
                        workload.source,
                        (*workload.spec_path, *where, *setting),
                        f"{at_start(workload.source.name)} asks for {asked} of the {min(counts)} "
                        "GPUs of a node in a privileged container, which sees all of them.",
                        "Remove privileged: true; add the capabilities that it needs.",
                    )
