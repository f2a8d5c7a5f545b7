"""Telling GPU nodes from others, by what a node group says about itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.catalog.instances import gpu_instance_types, other_instance_type
from gpushare_policies.props import each, is_true, read, whole
from gpushare_policies.tokens import MANAGED_NODE_GROUP, NODE_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pulumi_policy import PolicyResource

# EKS spells NVIDIA image types AL2023_x86_64_NVIDIA, BOTTLEROCKET_ARM_64_NVIDIA_FIPS and so on;
# AL2_x86_64_GPU is the older one without that word.
_IMAGE_WORDS = ("_NVIDIA", "AL2_X86_64_GPU")

# Families that begin like this have NVIDIA GPUs, those that are newer than the catalog too; g4ad
# alone has AMD's. Source: https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html, read
# 2026-11-22.
_GPU_FAMILY = re.compile(r"(?:u-)?(?:p|gr?)[1-9][0-9]*(?!ad)[a-z]*(?:-[a-z0-9]+)?")
_GPU_PATTERN = re.compile(r"(?!g4ad)(?:p|gr?)[0-9*].*")
_OTHER_MAKERS = ("amd", "amazon-web-services", "habana", "xilinx")
_OTHER_ACCELERATORS = ("inferentia", "radeon-pro-v520", "vu9p", "u30")


def is_gpu_type(name: Any) -> bool:
    """Whether an instance type has an NVIDIA GPU, by the catalog or else by its family."""
    text = str(name)
    if text in gpu_instance_types():
        return True
    family, dot, _ = text.partition(".")
    known = other_instance_type(text) is not None
    return bool(dot and not known and _GPU_FAMILY.fullmatch(family))


def wants_gpu_attributes(requirements: Any) -> bool:
    """Whether `instanceRequirements` ask for, or only allow, types with an NVIDIA GPU.

    Source: InstanceRequirements in the API of EC2,
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirements.html, read
    2026-11-22: without a least count, accelerators are not asked for.
    """
    allowed = [str(name) for name in each(read(requirements, "allowedInstanceTypes"))]
    if any(is_gpu_type(name) or _GPU_PATTERN.fullmatch(name) for name in allowed):
        return True
    makers = [str(name) for name in each(read(requirements, "acceleratorManufacturers"))]
    names = [str(name) for name in each(read(requirements, "acceleratorNames"))]
    kinds = [str(name) for name in each(read(requirements, "acceleratorTypes"))]
    if any(name not in _OTHER_ACCELERATORS for name in names):
        return True
    least = whole(read(requirements, "acceleratorCount", "min")) or 0
    other = bool(makers) and all(name in _OTHER_MAKERS for name in makers)
    if other or whole(read(requirements, "acceleratorCount", "max")) == 0:
        return False
    return "gpu" in kinds or "nvidia" in makers or (least > 0 and not (kinds or names))


def has_gpu_image(props: Mapping[str, Any]) -> bool:
    """Whether the node group's AMI type is one with NVIDIA's driver."""
    ami_type = str(read(props, "amiType") or "").upper()
    return any(word in ami_type for word in _IMAGE_WORDS)


def has_gpu_instances(props: Mapping[str, Any]) -> bool:
    """Whether one of the node group's instance types has an NVIDIA GPU."""
    return any(is_gpu_type(name) for name in each(read(props, "instanceTypes")))


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


def node_groups(resources: Sequence[PolicyResource]) -> Iterator[PolicyResource]:
    """The node groups of a stack; a component of `pulumi_eks` only if its own is not there."""
    groups = [found for found in resources if found.resource_type == NODE_GROUP]
    above = {group.parent.urn for group in groups if group.parent is not None}
    for found in resources:
        component = found.resource_type == MANAGED_NODE_GROUP
        if found.resource_type == NODE_GROUP or (component and found.urn not in above):
            yield found
