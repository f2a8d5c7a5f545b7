"""What lint looks for beside the checks of inventories, which know nothing of charts' templates.

`CHECKS` are all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.registry import edges_in
from eks_gpushare.manifests.checks.charts import (
    chart_templates,
    chart_values,
    claim_charts,
    claim_gates,
    discovery,
    hashed_names,
    operators_drivers,
    operators_own,
    values_one_level_off,
)
from eks_gpushare.manifests.checks.metrics import (
    adapter,
    counters,
    exporters,
    let_in,
    of_mig,
    scaling,
    scraped,
    scraping,
    servers,
)
from eks_gpushare.manifests.checks.nodes import (
    aks_drivers,
    apart,
    auto_mode,
    autoscaler_words,
    bare_labels,
    claims_of_pools,
    cut_short,
    discovered_groups,
    fargate,
    gke_shares,
    group_labels,
    groups_of_eks,
    idle_sharing,
    interfaces,
    joined_clusters,
    labels_before_nodes,
    limits_of_pools,
    max_pods,
    moved_pods,
    old_images,
    overlay_gate,
    reservations,
    room,
    room_of_pools,
    scaled_groups,
    selected_subnets,
    served_claims,
    thin_shares,
    toolkit,
    volume_speeds,
)
from eks_gpushare.manifests.checks.programs import (
    command_lines,
    cpu_images,
    cuda_versions,
    efa,
    gpu_programs,
    model_disks,
    model_memory,
    model_names,
    mpi_slots,
    notebooks,
    number_formats,
    plugin_words,
    pods_together,
    probes,
    processes,
    ray,
    reserved_memory,
    runtimes,
    triton_models,
    variables,
    written_folders,
)
from eks_gpushare.manifests.checks.scheduling import (
    admission,
    admitted,
    default_queue,
    gangs,
    hami,
    named_profiles,
    other_schedulers,
    queues,
    volcano,
)
from eks_gpushare.manifests.checks.workloads import (
    affinities,
    disk_zones,
    disks_for_many,
    gpu_names,
    knative,
    kserve_runtimes,
    kserve_zero,
    named_volumes,
    pod_identities,
    pods,
    privileged,
    put_back,
    spare_gpus,
    trusted_accounts,
    volumes,
)

if TYPE_CHECKING:
    from eks_gpushare.inventory.registry import Edge

CHECKS: tuple[Edge, ...] = edges_in(
    *(chart_templates, chart_values, claim_charts, claim_gates, discovery, hashed_names),
    *(operators_drivers, operators_own, values_one_level_off),
    *(affinities, disk_zones, disks_for_many, gpu_names, knative, kserve_zero, pods, privileged),
    *(
        kserve_runtimes,
        named_volumes,
        pod_identities,
        put_back,
        spare_gpus,
        trusted_accounts,
        volumes,
    ),
    *(command_lines, cpu_images, cuda_versions, efa, gpu_programs, model_disks, model_memory),
    *(mpi_slots, notebooks, number_formats, probes, processes, ray, reserved_memory, runtimes),
    *(model_names, plugin_words, pods_together, triton_models, variables, written_folders),
    *(admission, admitted, default_queue, gangs, hami, other_schedulers, queues, volcano),
    *(adapter, counters, exporters, let_in, of_mig, scaling, scraped, scraping, servers),
    *(
        aks_drivers,
        auto_mode,
        claims_of_pools,
        discovered_groups,
        fargate,
        group_labels,
        idle_sharing,
        joined_clusters,
    ),
    *(bare_labels, gke_shares, labels_before_nodes, named_profiles),
    *(
        max_pods,
        moved_pods,
        old_images,
        overlay_gate,
        reservations,
        room,
        room_of_pools,
        scaled_groups,
        selected_subnets,
        thin_shares,
    ),
    *(apart, autoscaler_words, cut_short, groups_of_eks, interfaces, served_claims, toolkit),
    *(limits_of_pools, volume_speeds),
)
"""Every check."""
