"""Telling GPU nodes from others, by what a node group says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.catalog.instances import gpu_instance_types
from gpushare_policies.props import each, is_true, read
from gpushare_policies.tokens import MANAGED_NODE_GROUP, NODE_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pulumi_policy import PolicyResource

# EKS spells NVIDIA image types AL2023_x86_64_NVIDIA, BOTTLEROCKET_ARM_64_NVIDIA_FIPS and so on;
# AL2_x86_64_GPU is the older one without that word.
_IMAGE_WORDS = ("_NVIDIA", "AL2_X86_64_GPU")


def has_gpu_image(props: Mapping[str, Any]) -> bool:
    """Whether the node group's AMI type is one with NVIDIA's driver."""
    ami_type = str(read(props, "amiType") or "").upper()
    return any(word in ami_type for word in _IMAGE_WORDS)


def has_gpu_instances(props: Mapping[str, Any]) -> bool:
    """Whether one of the node group's instance types has an NVIDIA GPU."""
    return any(name in gpu_instance_types() for name in each(read(props, "instanceTypes")))


def wants_gpu(props: Mapping[str, Any]) -> bool:
    """Whether an `eks.ManagedNodeGroup` asks for the GPU image by its own switch."""
    return is_true(read(props, "gpu"))


def is_gpu_node_group(props: Mapping[str, Any]) -> bool:
    """Whether the nodes have NVIDIA GPUs.

    Raises `UnknownValueError` if no known value says so and another is not known yet.
    """
    unknown: UnknownValueError | None = None
    for sign in (has_gpu_image, has_gpu_instances, wants_gpu):
        try:
            if sign(props):
                return True
        except UnknownValueError as error:
            unknown = error
    if unknown is not None:
        raise unknown
    return False


def is_gpu_scaling_group(props: Mapping[str, Any]) -> bool:
    """Whether the nodes of an `eks.NodeGroup` or `eks.NodeGroupV2` have NVIDIA GPUs."""
    return (
        has_gpu_image(props)
        or wants_gpu(props)
        or (read(props, "instanceType") in gpu_instance_types())
    )


def node_groups(resources: Sequence[PolicyResource]) -> Iterator[PolicyResource]:
    """The node groups of a stack; a component of `pulumi_eks` only if its own is not there."""
    groups = [found for found in resources if found.resource_type == NODE_GROUP]
    above = {group.parent.urn for group in groups if group.parent is not None}
    for found in resources:
        component = found.resource_type == MANAGED_NODE_GROUP
        if found.resource_type == NODE_GROUP or (component and found.urn not in above):
            yield found
