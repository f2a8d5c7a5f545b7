"""What lint looks for beside the checks of inventories, which know nothing of charts' templates.

`CHECKS` are all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.registry import edges_in
from eks_gpushare.manifests.checks import (
    admission,
    admitted,
    auto_mode,
    chart_templates,
    chart_values,
    claims_of_pools,
    command_lines,
    counters,
    cpu_images,
    cuda_versions,
    default_queue,
    discovered_groups,
    discovery,
    disk_zones,
    efa,
    exporters,
    fargate,
    gangs,
    gpu_names,
    gpu_programs,
    group_labels,
    hami,
    knative,
    labels_before_nodes,
    max_pods,
    model_disks,
    model_memory,
    moved_pods,
    mpi_slots,
    notebooks,
    number_formats,
    operators_own,
    other_schedulers,
    pods,
    probes,
    processes,
    queues,
    ray,
    reservations,
    reserved_memory,
    room,
    room_of_pools,
    runtimes,
    scaled_groups,
    scaling,
    scraping,
    thin_shares,
    toolkit,
    values_one_level_off,
    variables,
    volcano,
    volumes,
    written_folders,
)

if TYPE_CHECKING:
    from eks_gpushare.inventory.registry import Edge

CHECKS: tuple[Edge, ...] = edges_in(
    *(chart_values, pods, gpu_names, room, thin_shares, reserved_memory, gpu_programs),
    *(processes, cpu_images, counters, efa, ray, toolkit, moved_pods, probes, number_formats),
    *(mpi_slots, written_folders, scraping, gangs, operators_own, claims_of_pools),
    *(values_one_level_off, cuda_versions, default_queue, model_memory),
    *(auto_mode, chart_templates, reservations, scaled_groups),
    *(discovery, disk_zones),
    *(scaling, exporters, room_of_pools, admission, queues, admitted),
    *(other_schedulers, labels_before_nodes, command_lines, variables),
    *(discovered_groups, hami, volcano, volumes, runtimes, notebooks, max_pods),
    *(knative, model_disks, fargate, group_labels),
)
"""Every check."""
