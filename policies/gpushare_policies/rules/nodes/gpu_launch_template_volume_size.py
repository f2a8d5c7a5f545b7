"""The rule on the volumes of GPU nodes that a launch template describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, PolicyResource, Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from gpushare_policies.gpus import is_gpu_node_group
from gpushare_policies.props import each, given, read, whole
from gpushare_policies.rule import StackRule
from gpushare_policies.rules.nodes.gpu_node_volume_size import MINIMUM_GIB
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator


def _template_of(node_group: PolicyResource) -> PolicyResource | None:
    for resource in node_group.property_dependencies.get("launchTemplate", []):
        if resource.resource_type == LAUNCH_TEMPLATE:
            return resource
    return None


def _has_gpu(node_group: PolicyResource) -> bool:
    try:
        return is_gpu_node_group(node_group.props)
    except UnknownValueError:  # AWS chooses the AMI type or instance types: none with a GPU
        return False


_VOLUME_SIZE = Fix(
    "Raise `pools.<pool>.rootVolumeGiB` in the stack file.",
    "Set `diskSize` of the ManagedNodeGroup, or `nodeRootVolumeSize` of the NodeGroupV2, in GiB.",
    "Set `blockDeviceMappings[].ebs.volumeSize`, in GiB.",
)


def _small_volume(
    template: PolicyResource, node_group: PolicyResource, found: str, least: int
) -> str:
    return (
        f"The launch template {template.name} gives the GPU nodes of {node_group.name} {found}. "
        f"There must be at least {least} GiB, or pulling CUDA images fills it and evicts pods. "
        f"{_VOLUME_SIZE.of(template.urn)}"
    )


def _volumes(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    least = MINIMUM_GIB.of(args)
    for node_group in args.resources:
        if node_group.resource_type != NODE_GROUP or not given(node_group.props, "launchTemplate"):
            continue
        template = _template_of(node_group)
        if template is None or not _has_gpu(node_group):
            continue
        # Bottlerocket has a small volume for itself and a large one for images: the largest counts.
        mappings = each(read(template.props, "blockDeviceMappings"))
        sizes = [whole(read(mapping, "ebs", "volumeSize")) for mapping in mappings]
        largest = max((size for size in sizes if size is not None), default=None)
        if largest is None or largest < least:
            found = "no volume size" if largest is None else f"a largest volume of {largest} GiB"
            yield _small_volume(template, node_group, found, least), template.urn


GPU_LAUNCH_TEMPLATE_VOLUME_SIZE = StackRule(
    "gpu-launch-template-volume-size",
    "Launch templates of GPU nodes must have room for CUDA images.",
    check=_volumes,
    applies_to=(NODE_GROUP, LAUNCH_TEMPLATE),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=_VOLUME_SIZE,
    settings=(MINIMUM_GIB,),
)
