"""Rules on nodes: images, disks, the metadata service, taints and repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.nodes.desired_size_left_alone import DESIRED_SIZE_LEFT_ALONE
from gpushare_policies.rules.nodes.efa_in_one_zone import EFA_IN_ONE_ZONE
from gpushare_policies.rules.nodes.gpu_ami_type_named import GPU_AMI_TYPE_NAMED
from gpushare_policies.rules.nodes.gpu_launch_template_repair import GPU_LAUNCH_TEMPLATE_REPAIR
from gpushare_policies.rules.nodes.gpu_node_types_alike import GPU_NODE_TYPES_ALIKE
from gpushare_policies.rules.nodes.gpu_taints import GPU_LAUNCH_TEMPLATE_TAINTS, GPU_NODES_TAINTED
from gpushare_policies.rules.nodes.image_pins import AMI_VERSIONS_PINNED, LAUNCH_TEMPLATE_PINNED
from gpushare_policies.rules.nodes.metadata_service import IMDSV2_REQUIRED, NODE_CLASS_IMDSV2
from gpushare_policies.rules.nodes.node_repair_on import NODE_REPAIR_ON
from gpushare_policies.rules.nodes.node_role_rights import NODE_ROLE_RIGHTS
from gpushare_policies.rules.nodes.node_ssh_keys import NODE_SSH_KEYS
from gpushare_policies.rules.nodes.node_updates_in_steps import NODE_UPDATES_IN_STEPS
from gpushare_policies.rules.nodes.spot_not_in_production import SPOT_NOT_IN_PRODUCTION
from gpushare_policies.rules.nodes.volume_encryption import (
    LAUNCH_TEMPLATE_VOLUMES_ENCRYPTED,
    NODE_CLASS_VOLUMES_ENCRYPTED,
    VOLUMES_ENCRYPTED,
)
from gpushare_policies.rules.nodes.volume_sizes import (
    GPU_LAUNCH_TEMPLATE_VOLUME_SIZE,
    GPU_NODE_VOLUME_SIZE,
    NODE_CLASS_VOLUME_SIZE,
)
from gpushare_policies.rules.nodes.volumes_gp3 import VOLUMES_GP3

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
    GPU_LAUNCH_TEMPLATE_TAINTS,
    GPU_LAUNCH_TEMPLATE_REPAIR,
    LAUNCH_TEMPLATE_VOLUMES_ENCRYPTED,
    LAUNCH_TEMPLATE_PINNED,
    NODE_ROLE_RIGHTS,
    NODE_SSH_KEYS,
    NODE_UPDATES_IN_STEPS,
    SPOT_NOT_IN_PRODUCTION,
    VOLUMES_GP3,
    DESIRED_SIZE_LEFT_ALONE,
    EFA_IN_ONE_ZONE,
    NODE_CLASS_IMDSV2,
    NODE_CLASS_VOLUMES_ENCRYPTED,
    NODE_CLASS_VOLUME_SIZE,
    GPU_AMI_TYPE_NAMED,
    GPU_NODE_TYPES_ALIKE,
)
"""The rules of this theme: those that ask the same at several places are in one module."""
