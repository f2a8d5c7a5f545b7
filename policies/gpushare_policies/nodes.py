"""Rules on node groups: taints, disks, images and repair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity
from pulumi_policy.proxy import UnknownValueError

from gpushare_policies.gpus import is_gpu_node_group
from gpushare_policies.props import each, format_value, given, is_true, peek, read, stack_of, whole
from gpushare_policies.rule import Rule, is_among, number, stacks
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP, OUR_POOL
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

# AWS spells effects NO_SCHEDULE, Kubernetes NoSchedule.
_KEEPS_PODS_OUT = {"noschedule", "noexecute"}
_MIG_CONFIG = "nvidia.com/mig.config"
_KARPENTER = "karpenter"


def _keeps_pods_out(args: ResourceValidationArgs) -> bool:
    unknown: UnknownValueError | None = None
    for taint in each(read(args.props, "taints")):
        try:
            effect = str(read(taint, "effect") or "")
        except UnknownValueError as error:
            unknown = error
            continue
        if effect.replace("_", "").lower() in _KEEPS_PODS_OUT:
            return True
    if unknown is not None:
        raise unknown
    return False


_SET_TAINT = 'Set `taints: [{key: nvidia.com/gpu, value: "true", effect: NO_SCHEDULE}]`.'
_TAINT = Fix(
    'Set `pools.<pool>.taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]` in the '
    "stack file, or leave the key out for this default.",
    _SET_TAINT,
    _SET_TAINT,
)


def _untainted(args: ResourceValidationArgs) -> str:
    effects = format_value([peek(taint, "effect") for taint in each(read(args.props, "taints"))])
    return (
        f"The GPU nodes of {args.name} have no taint that keeps other pods out (effects given: "
        f"{effects}). There must be one with the effect NoSchedule or NoExecute, or pods "
        f"that need no GPU fill the expensive nodes. {_TAINT.of(args.urn)}"
    )


def _node_group_tainted(args: ResourceValidationArgs) -> Iterator[str]:
    if is_gpu_node_group(args.props) and not _keeps_pods_out(args):
        yield _untainted(args)


def _pool_tainted(args: ResourceValidationArgs) -> Iterator[str]:
    # A pool of managed nodes is judged at its node group; those of others are not ours to taint.
    if (
        read(args.props, "provisioner") == _KARPENTER
        and given(args.props, "taints")
        and not _keeps_pods_out(args)
    ):
        yield _untainted(args)


GPU_NODES_TAINTED = Rule(
    "gpu-nodes-tainted",
    "GPU nodes must have a taint that keeps pods without a GPU request away.",
    checks={
        NODE_GROUP: _node_group_tainted,
        OUR_POOL: _pool_tainted,
    },
    severity=Severity.MEDIUM,
    fix=_TAINT,
)

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


GPU_NODE_VOLUME_SIZE = Rule(
    "gpu-node-volume-size",
    "GPU nodes must have room for CUDA images.",
    checks={
        NODE_GROUP: _node_group_disk,
        OUR_POOL: _pool_disk,
    },
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=_DISK,
    settings=(MINIMUM_GIB,),
)

PINNED_STACKS = stacks(
    "Stacks whose AMI versions must be pinned, as patterns of stack names (`*` matches anything)."
)


_SET_RELEASE = (
    "Set `releaseVersion` to an EKS AMI release version, for example `1.35.8-20260930`, or name a "
    "custom AMI by its ID."
)
_RELEASE_FIX = Fix(
    "Set `pools.<pool>.amiVersion` (or `system.amiVersion`) in the stack file, for example to "
    "`1.35.8-20260930`, or name a custom AMI by its ID.",
    _SET_RELEASE,
    _SET_RELEASE,
)
_IMAGE_FIX = replace(_RELEASE_FIX, raw="Set `imageId` to the ID of an AMI.")


def _unpinned(args: ResourceValidationArgs, found: str, fix: Fix) -> str:
    return (
        f"The nodes of {args.name} {found}, so the same program gives other nodes tomorrow. In "
        f"the stack {stack_of(args.urn)} the AMI version must be pinned. {fix.of(args.urn)}"
    )


def _node_group_image(args: ResourceValidationArgs) -> Iterator[str]:
    props = args.props
    if not is_among(PINNED_STACKS.of(args), args.urn):
        return
    if given(props, "releaseVersion") or given(props, "amiId"):
        return
    ami_type = read(props, "amiType")
    # A launch template with an image of its own forbids amiType, or reads CUSTOM after creation.
    if ami_type == "CUSTOM" or (ami_type is None and given(props, "launchTemplate")):
        return
    found = "have no AMI release version and get the newest at creation"
    yield _unpinned(args, found, _RELEASE_FIX)


def _template_image(args: ResourceValidationArgs) -> Iterator[str]:
    image = str(read(args.props, "imageId") or "")
    if not image.startswith("resolve:ssm:") or not is_among(PINNED_STACKS.of(args), args.urn):
        return
    # resolve:ssm:<parameter>:<version> is one value for ever, resolve:ssm:<parameter> is not.
    version = image.removeprefix("resolve:ssm:").rpartition(":")[2]
    if not (version.isascii() and version.isdecimal()):
        yield _unpinned(args, f"get whatever image {image} means at the time", _IMAGE_FIX)


AMI_VERSIONS_PINNED = Rule(
    "ami-versions-pinned",
    "Nodes of production stacks must run a pinned AMI version.",
    checks={
        NODE_GROUP: _node_group_image,
        LAUNCH_TEMPLATE: _template_image,
    },
    severity=Severity.MEDIUM,
    fix=_RELEASE_FIX,
    settings=(PINNED_STACKS,),
)


def _cut_by_mig_manager(args: ResourceValidationArgs) -> bool:
    # It reboots nodes, which repair takes for a broken GPU: there the stack file's own rules advise
    # against repair.
    return any(key == _MIG_CONFIG for key in read(args.props, "labels") or ())


_SET_REPAIR = "Set `nodeRepairConfig: {enabled: true}`."
_REPAIR = Fix(
    "Set `pools.<pool>.nodeRepair: true` in the stack file, or leave the key out.",
    _SET_REPAIR,
    _SET_REPAIR,
)


def _repaired(args: ResourceValidationArgs) -> Iterator[str]:
    if not is_gpu_node_group(args.props):
        return
    enabled = read(args.props, "nodeRepairConfig", "enabled")
    if not is_true(enabled) and not _cut_by_mig_manager(args):
        yield (
            f"Node repair of the GPU nodes of {args.name} is {format_value(enabled)}. It must be "
            f"on, so that EKS replaces a node whose GPU has failed. {_REPAIR.of(args.urn)}"
        )


NODE_REPAIR_ON = Rule(
    "node-repair-on",
    "EKS must repair GPU nodes whose GPU has failed.",
    checks={NODE_GROUP: _repaired},
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=_REPAIR,
)

NODE_RULES = (GPU_NODES_TAINTED, GPU_NODE_VOLUME_SIZE, AMI_VERSIONS_PINNED, NODE_REPAIR_ON)
"""The rules on node groups."""
