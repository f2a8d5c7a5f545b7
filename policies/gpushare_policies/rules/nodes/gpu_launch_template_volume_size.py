"""The rule on the volumes of GPU nodes that a launch template describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.gpus import is_gpu_type
from gpushare_policies.props import read, whole
from gpushare_policies.reading.launches import launch_of
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy
from gpushare_policies.rules.nodes.gpu_node_volume_size import MINIMUM_GIB
from gpushare_policies.tokens import (
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCALING_GROUP,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_VOLUME_SIZE = Fix(
    "Raise `pools.<pool>.rootVolumeGiB` in the stack file.",
    "Set `diskSize` of the ManagedNodeGroup, or `nodeRootVolumeSize` of the NodeGroupV2, in GiB.",
    "Set `blockDeviceMappings[].ebs.volumeSize`, in GiB.",
)


def _gpu_launch(found: NodeGroup | PolicyResource) -> Iterator[tuple[PolicyResource, str]]:
    """What GPU nodes are started from, with the group that does; its own name where none does."""
    if isinstance(found, NodeGroup):
        if found.start is not None and found.has_gpu():
            yield found.start, found.group.name
    # Of NodeGroup of pulumi_eks, the group stands in a stack of CloudFormation.
    elif is_gpu_type(settled(found, "instanceType")):
        yield found, found.name


def _all(args: StackValidationArgs) -> Iterator[NodeGroup | PolicyResource]:
    groups = list(nodes_of(args.resources))
    started = {nodes.start.urn for nodes in groups if nodes.start is not None}
    yield from groups
    for resource in args.resources:
        kind = resource.resource_type
        if kind in (LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION) and resource.urn not in started:
            yield resource


def _volumes(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    least = MINIMUM_GIB.of(args)

    def judge(found: NodeGroup | PolicyResource) -> Iterator[tuple[str, str]]:
        for start, group in _gpu_launch(found):
            yield from _judged(start, group, least)

    yield from over_each(_all(args), judge)


def _judged(start: PolicyResource, group: str, least: int) -> Iterator[tuple[str, str]]:
    for launch in launch_of(start):
        # Bottlerocket has a small volume for itself and a large one for images: the largest counts.
        sizes = [whole(read(volume.ebs, "volumeSize")) for volume in launch.volumes()]
        largest = max((size for size in sizes if size is not None), default=None)
        if largest is None or largest < least:
            size = "no volume size" if largest is None else f"a largest volume of {largest} GiB"
            message = (
                f"{launch.called} gives the GPU nodes of {group} {size}. There must be at least "
                f"{least} GiB, or pulling CUDA images fills it and evicts pods. "
                f"{_VOLUME_SIZE.of(start.urn)}"
            )
            yield message, start.urn


GPU_LAUNCH_TEMPLATE_VOLUME_SIZE = StackPolicy(
    "gpu-launch-template-volume-size",
    "Launch templates of GPU nodes must have room for CUDA images.",
    check=_volumes,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION),
    unseen="launch templates of other stacks.",
    severity=Severity.LOW,
    fix=_VOLUME_SIZE,
    settings=(MINIMUM_GIB,),
)
