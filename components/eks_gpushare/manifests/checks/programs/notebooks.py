"""Notebooks of JupyterHub on nodes that are not there yet, and how long the hub waits for them.

Source, November 2026: `start_timeout` of https://jupyterhub-kubespawner.readthedocs.io, and
`singleuser.startTimeout` of the values of https://github.com/jupyterhub/zero-to-jupyterhub-k8s,
which is 300.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NOTEBOOK
from eks_gpushare.inventory.landings import grounds
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import Source
from eks_gpushare.inventory.values import at
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.gpu_programs import ENDED_EARLY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.inventory.problem import Judgement

_USUAL: Final = 300
"""What the chart says, of nodes that are there. One with GPUs and a CUDA image takes longer."""


@edge(ENDED_EARLY)
def notebooks(inventory: Inventory) -> Iterator[Judgement]:
    """Of profiles whose nodes may all have to be made first."""
    said: set[tuple[Source, FieldPath]] = set()
    for cluster in inventory.clusters():
        ground = grounds(inventory, cluster)
        for workload, requests in gpu_workloads(inventory, cluster):
            if workload.kind != NOTEBOOK:
                continue
            nodes = [offer.kind.nodes for offer in ground.places(workload, requests).seen]
            source, place, seconds = _timeout(workload)
            short = isinstance(seconds, int) and 0 < seconds < _USUAL
            if not short or not nodes or any(each.least != 0 for each in nodes):
                continue
            if (source, place) not in said:
                said.add((source, place))
                yield Problem(
                    ENDED_EARLY,
                    source,
                    place,
                    f"{at_start(workload.source.name)} is ended if it has not started within "
                    f"{seconds} s, and {nodes[0].source.name} may have no node: one has to be made "
                    "first, and to get the image.",
                    "Let it be 600 or more.",
                )


def _timeout(workload: Workload) -> tuple[Source, FieldPath, Any]:
    """How long the hub waits for a profile's notebooks, and where that is said."""
    value, path = value_of(workload), workload.source.path
    whole = Source(workload.source.name, workload.source.document)
    own = at(value, *path, "start_timeout")
    if own is not None:
        return whole, (*path, "start_timeout"), own
    above = path[: path.index("singleuser") + 1]
    return whole, (*above, "startTimeout"), at(value, *above, "startTimeout")
