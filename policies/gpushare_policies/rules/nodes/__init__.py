"""Rules on nodes: images, disks, the metadata service, taints and repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.nodes.ami_versions_pinned import AMI_VERSIONS_PINNED
from gpushare_policies.rules.nodes.gpu_launch_template_volume_size import (
    GPU_LAUNCH_TEMPLATE_VOLUME_SIZE,
)
from gpushare_policies.rules.nodes.gpu_node_volume_size import GPU_NODE_VOLUME_SIZE
from gpushare_policies.rules.nodes.gpu_nodes_tainted import GPU_NODES_TAINTED
from gpushare_policies.rules.nodes.imdsv2_required import IMDSV2_REQUIRED
from gpushare_policies.rules.nodes.node_repair_on import NODE_REPAIR_ON
from gpushare_policies.rules.nodes.volumes_encrypted import VOLUMES_ENCRYPTED

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    GPU_NODES_TAINTED,
    GPU_NODE_VOLUME_SIZE,
    GPU_LAUNCH_TEMPLATE_VOLUME_SIZE,
    AMI_VERSIONS_PINNED,
    NODE_REPAIR_ON,
    IMDSV2_REQUIRED,
    VOLUMES_ENCRYPTED,
)
"""The rules of this theme, a module each."""
