"""What every managed node group has: a role, a launch template, and the group itself.

Decisions are made by the planners; functions here only register.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi_aws.ec2 import (
    LaunchTemplate,
    LaunchTemplateBlockDeviceMappingArgsDict,
    LaunchTemplateBlockDeviceMappingEbsArgsDict,
)
from pulumi_aws.eks import NodeGroup, NodeGroupTaintArgsDict, NodeGroupUpdateConfigArgsDict
from pulumi_aws.iam import RolePolicyAttachment

from eks_gpushare.aws.policy_documents import trusted_by
from eks_gpushare.aws.roles import Roles
from eks_gpushare.sharing.nodes import Sizes

NODE_POLICIES = {
    "worker": "AmazonEKSWorkerNodePolicy",
    "cni": "AmazonEKS_CNI_Policy",
    "images": "AmazonEC2ContainerRegistryPullOnly",
    "ssm": "AmazonSSMManagedInstanceCore",
}
"""AWS policies of a node: join, network, pull images, and Session Manager instead of SSH."""

_ENCRYPTED: LaunchTemplateBlockDeviceMappingEbsArgsDict = {
    "volume_type": "gp3",
    "encrypted": "true",
    "delete_on_termination": "true",
}


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A node group as it is to be registered."""

    name: str
    """Logical name of the group, which those of role and launch template start with."""
    cluster_name: pulumi.Input[str]
    """EKS cluster."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Subnets of the nodes."""
    instance_types: Sequence[str]
    """Instance types, in any order."""
    sizes: Sizes
    """Sizes of the group."""
    disk_device: str
    """Device that holds container images."""
    disk_gib: int
    """Its size."""
    ami_type: str | None
    """EKS AMI type; None with an image of the user's own."""
    os_device: str | None = None
    """Device of the operating system, where container images are on another one."""
    capacity_type: str = "ON_DEMAND"
    """ON_DEMAND, SPOT or CAPACITY_BLOCK."""
    version: str | None = None
    """Kubernetes version; None to follow the cluster at creation."""
    release_version: str | None = None
    """AMI release; None for the newest at creation."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Node labels."""
    taints: Sequence[Mapping[str, str]] = ()
    """Taints, in the spelling of the EKS API."""
    hop_limit: int = 1
    """How far IMDSv2 answers travel."""
    node_repair: bool = True
    """Whether EKS replaces broken nodes."""
    keep_desired: bool = False
    """Whether updates leave the desired size alone, since something else decides it."""
    node_role: pulumi.Input[str] | None = None
    """IAM role of the nodes by ARN; None to make one."""
    max_unavailable: int | str | None = None
    """How many nodes are exchanged at a time, or how many in a hundred, such as 33%."""
    delete_first: bool = False
    """Whether new nodes wait until old ones are gone, for capacity that is there only once."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the launch template."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags of role, launch template and group; not of instances."""
    group_tags: Mapping[str, str] = field(default_factory=dict)
    """Further tags of the group alone."""
    roles: Roles = field(default_factory=Roles)
    """What the role has in common with all others of the stack."""


def register_group(spec: GroupSpec, parent: pulumi.Resource) -> NodeGroup:
    """Register role, launch template and node group under a component."""
    child = pulumi.ResourceOptions(parent=parent)
    tags = {**spec.tags, **spec.group_tags} or None
    role_arn, attachments = _role(spec, child)
    template = _launch_template(spec, child)
    in_template = "instance_type" in spec.template
    return NodeGroup(
        spec.name,
        cluster_name=spec.cluster_name,
        node_role_arn=role_arn,
        subnet_ids=spec.subnet_ids,
        ami_type=spec.ami_type,
        capacity_type=spec.capacity_type,
        # A reordered list would replace the group, so it has one order.
        instance_types=None if in_template else sorted(spec.instance_types),
        version=None if spec.ami_type is None else spec.version,
        release_version=spec.release_version,
        launch_template={
            "id": template.id,
            "version": template.latest_version.apply(str),
        },
        scaling_config={
            "min_size": spec.sizes.min,
            "desired_size": spec.sizes.desired,
            "max_size": spec.sizes.max,
        },
        update_config=_exchanged(spec),
        # Written out: leaving it away would not turn off what an earlier update turned on.
        node_repair_config={"enabled": spec.node_repair},
        labels=dict(spec.labels) or None,
        taints=[_taint(taint) for taint in spec.taints] or None,
        tags=tags,
        opts=pulumi.ResourceOptions(
            parent=parent,
            # Nodes cannot join before these, nor be removed cleanly after them.
            depends_on=attachments,
            ignore_changes=["scalingConfig.desiredSize"] if spec.keep_desired else None,
            delete_before_replace=spec.delete_first or None,
        ),
    )


def _role(
    spec: GroupSpec, child: pulumi.ResourceOptions
) -> tuple[pulumi.Input[str], list[RolePolicyAttachment]]:
    """The nodes' role, and what has to be attached to it before nodes join.

    EKS makes the access entry of a managed node group's role itself, whoever made the role.
    """
    if spec.node_role is not None:
        return spec.node_role, []
    partition, tags = spec.roles.partition, dict(spec.tags) or None
    role = spec.roles.role(f"{spec.name}-role", trusted_by(partition.ec2_principal), tags, child)
    return role.arn, [
        RolePolicyAttachment(
            f"{spec.name}-{title}",
            role=role.name,
            policy_arn=partition.policy(policy),
            opts=child,
        )
        for title, policy in NODE_POLICIES.items()
    ]


def _exchanged(spec: GroupSpec) -> NodeGroupUpdateConfigArgsDict:
    """How nodes are exchanged: so many at a time, and old ones first where capacity is fixed.

    MINIMAL ends nodes before it starts others; without it EKS starts with new ones
    (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html).
    """
    given = spec.max_unavailable
    first: NodeGroupUpdateConfigArgsDict = (
        {"update_strategy": "MINIMAL"} if spec.delete_first else {}
    )
    if isinstance(given, str):
        return {"max_unavailable_percentage": int(given.removesuffix("%")), **first}
    return {"max_unavailable": given or 1, **first}


def _taint(taint: Mapping[str, str]) -> NodeGroupTaintArgsDict:
    return {"key": taint["key"], "value": taint["value"], "effect": taint["effect"]}


def _launch_template(spec: GroupSpec, child: pulumi.ResourceOptions) -> LaunchTemplate:
    return LaunchTemplate(
        f"{spec.name}-template",
        block_device_mappings=_volumes(spec),
        metadata_options={
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": spec.hop_limit,
        },
        update_default_version=True,
        # A name of its own, by which a deployer is kept to it: see docs/iam.md.
        tags={**spec.tags, "Name": f"{spec.name}-template"},
        opts=child,
        **spec.template,
    )


def _volumes(spec: GroupSpec) -> list[LaunchTemplateBlockDeviceMappingArgsDict]:
    """The node's volumes, encrypted whatever the account's default is.

    The operating system's keeps the size of the image's snapshot, as eksctl does it: 4 GiB in
    Bottlerocket's NVIDIA variants, 2 GiB in others (os-image-size-gib in variants/*/Cargo.toml of
    bottlerocket-os/bottlerocket). Nothing but the system is ever written to it.
    """
    volumes: list[LaunchTemplateBlockDeviceMappingArgsDict] = [
        {
            "device_name": spec.disk_device,
            "ebs": {"volume_size": spec.disk_gib, **_ENCRYPTED},
        }
    ]
    if spec.os_device is not None:
        volumes.append({"device_name": spec.os_device, "ebs": _ENCRYPTED})
    return volumes
