"""The rule on the volumes of GPU nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.gpus import is_gpu_node_group
from gpushare_policies.props import format_value, given, read, whole
from gpushare_policies.rule import ResourcePolicy, number
from gpushare_policies.tokens import NODE_GROUP, OUR_POOL
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_KARPENTER = "karpenter"

MINIMUM_GIB = number(
    "minimumGiB", 100, "Smallest volume of a GPU node, in GiB; CUDA images are large.", minimum=20
)


_DISK = Fix(
    "Raise `pools.<pool>.rootVolumeGiB` in the stack file.",
    "Set `diskSize`, in GiB.",
    "Set `diskSize`, in GiB.",
)


def _disk_message(args: ResourceValidationArgs, found: str) -> str:
    return (
        f"The GPU nodes of {args.name} have {found}. There must be at least "
        f"{MINIMUM_GIB.of(args)} GiB, or pulling CUDA images fills it and evicts pods. "
        f"{_DISK.of(args.urn)}"
    )


def _node_group_disk(args: ResourceValidationArgs) -> Iterator[str]:
    # With a launch template the volume is there: gpu-launch-template-volume-size reads it.
    if given(args.props, "launchTemplate") or not is_gpu_node_group(args.props):
        return
    if not given(args.props, "diskSize"):
        yield _disk_message(args, "no disk size, and the EKS default is 20 GiB")
    elif (size := whole(read(args.props, "diskSize"))) is None or size < MINIMUM_GIB.of(args):
        yield _disk_message(args, f"a disk of {format_value(read(args.props, 'diskSize'))} GiB")


def _pool_disk(args: ResourceValidationArgs) -> Iterator[str]:
    if read(args.props, "provisioner") != _KARPENTER:  # a launch template has the volume
        return
    size = whole(read(args.props, "rootVolumeGiB"))
    if size is not None and size < MINIMUM_GIB.of(args):
        yield _disk_message(args, f"a root volume of {size} GiB")


GPU_NODE_VOLUME_SIZE = ResourcePolicy(
    "gpu-node-volume-size",
    "GPU nodes must have room for CUDA images.",
    checks={
        NODE_GROUP: _node_group_disk,
        OUR_POOL: _pool_disk,
    },
    severity=Severity.LOW,
    fix=_DISK,
    settings=(MINIMUM_GIB,),
)
