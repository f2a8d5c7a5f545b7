"""Faults of laid stacks, each put there by the API, and the one cause that is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_faults_of_nodes import of_nodes, of_programs, of_shares
from cluster_faults_of_pods import of_custom_resources, of_pods
from cluster_faults_of_tenants import of_tenants

if TYPE_CHECKING:
    from cluster_breaking import ClusterFault


def every() -> tuple[ClusterFault, ...]:
    listed = [*of_nodes(), *of_shares(), *of_programs(), *of_pods(), *of_custom_resources()]
    listed += of_tenants()
    return tuple(sorted(listed, key=lambda each: (each.stack, each.is_of_status)))
