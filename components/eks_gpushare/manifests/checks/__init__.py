"""What lint looks for beside the checks of inventories, which know nothing of charts' templates.

`CHECKS` are all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.registry import edges_in
from eks_gpushare.manifests.checks import (
    admission,
    admitted,
    chart_values,
    counters,
    cpu_images,
    efa,
    exporters,
    gpu_names,
    gpu_programs,
    group_labels,
    labels_before_nodes,
    moved_pods,
    number_formats,
    other_schedulers,
    pods,
    probes,
    processes,
    queues,
    ray,
    reserved_memory,
    room,
    room_of_pools,
    scaling,
    thin_shares,
    toolkit,
)

if TYPE_CHECKING:
    from eks_gpushare.inventory.registry import Edge

CHECKS: tuple[Edge, ...] = edges_in(
    *(chart_values, pods, gpu_names, room, thin_shares, reserved_memory, gpu_programs),
    *(processes, cpu_images, counters, efa, ray, toolkit, moved_pods, probes, number_formats),
    *(scaling, exporters, room_of_pools, admission, queues, admitted),
    *(other_schedulers, labels_before_nodes, group_labels),
)
"""Every check."""
