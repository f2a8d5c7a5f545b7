"""The rule on the volumes of GPU nodes that a launch template describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from gpushare_policies.props import read, whole
from gpushare_policies.reading.node_groups import Nodes, nodes_of
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackRule
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


def _volumes(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    least = MINIMUM_GIB.of(args)

    def judge(nodes: Nodes) -> Iterator[tuple[str, str]]:
        launch = nodes.launch()
        if launch is None or nodes.start is None or not nodes.has_gpu():
            return
        # Bottlerocket has a small volume for itself and a large one for images: the largest counts.
        sizes = [whole(read(volume.ebs, "volumeSize")) for volume in launch.volumes()]
        largest = max((size for size in sizes if size is not None), default=None)
        if largest is None or largest < least:
            found = "no volume size" if largest is None else f"a largest volume of {largest} GiB"
            message = (
                f"{launch.called} gives the GPU nodes of {nodes.group.name} {found}. There must be "
                f"at least {least} GiB, or pulling CUDA images fills it and evicts pods. "
                f"{_VOLUME_SIZE.of(nodes.start.urn)}"
            )
            yield message, nodes.start.urn

    yield from over_each(nodes_of(args.resources), judge)


GPU_LAUNCH_TEMPLATE_VOLUME_SIZE = StackRule(
    "gpu-launch-template-volume-size",
    "Launch templates of GPU nodes must have room for CUDA images.",
    check=_volumes,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=_VOLUME_SIZE,
    settings=(MINIMUM_GIB,),
)
