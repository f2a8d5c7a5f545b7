"""Room for images on the volumes of GPU nodes, wherever their size stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, ResourceValidationArgs, Severity, StackValidationArgs

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.launches import ROOMY_GIB
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies.checks import Unjudged
from gpushare_policies.gpus import is_gpu_node_group, is_gpu_type
from gpushare_policies.props import format_value, given, read, whole
from gpushare_policies.reading import kinds
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.karpenter import (
    CLASS_OF_AUTO_MODE,
    NODE_CLASS,
    NODE_POOL,
    gives_gpus,
)
from gpushare_policies.reading.launches import Launch, launch_of
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.plain import at_top, mappings
from gpushare_policies.reading.program_objects import PlacedObject, objects_in
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import ResourcePolicy, StackPolicy, number
from gpushare_policies.tokens import (
    INSTANCE,
    LAUNCH_CONFIGURATION,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    OUR_POOL,
    SCALING_GROUP,
)
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

_KARPENTER = "karpenter"

_MINIMUM = number(
    "minimumGiB",
    ROOMY_GIB,
    "Smallest volume of a GPU node, in GiB; CUDA images are large.",
    minimum=20,
)
_STACK_FILE = "Raise `pools.<pool>.rootVolumeGiB` in the stack file."
_OF_GROUPS = Fix(_STACK_FILE, "Set `diskSize`, in GiB.", "Set `diskSize`, in GiB.")
_OF_TEMPLATES = Fix(
    _STACK_FILE,
    "Set `diskSize` of the ManagedNodeGroup, or `nodeRootVolumeSize` of the NodeGroupV2, in GiB.",
    "Set `blockDeviceMappings[].ebs.volumeSize`, in GiB.",
)
_SET_ROOT = "Set `rootBlockDevice.volumeSize`, in GiB."
_OF_MACHINES = Fix(_STACK_FILE, _SET_ROOT, _SET_ROOT)
_SET_CLASS = "Set `spec.blockDeviceMappings[].ebs.volumeSize` of the EC2NodeClass, such as 200Gi."
_OF_CLASSES = Fix(_STACK_FILE, _SET_CLASS, _SET_CLASS)
_SET_EPHEMERAL = "Set `spec.ephemeralStorage.size` of the NodeClass, such as 200Gi."
_OF_AUTO_MODE = Fix(_STACK_FILE, _SET_EPHEMERAL, _SET_EPHEMERAL)


def _small(found: str, least: int, fix: Fix, urn: str) -> str:
    return (
        f"{found}. There must be at least {least} GiB, or pulling CUDA images fills it and evicts "
        f"pods. {fix.of(urn)}"
    )


def _node_group(args: ResourceValidationArgs) -> Iterator[str]:
    # With a launch template the volume is there.
    if given(args.props, "launchTemplate") or not is_gpu_node_group(args.props):
        return
    size = read(args.props, "diskSize")
    if size is None:
        yield _own(args, "no disk size, and the EKS default is 20 GiB")
    elif (gibibytes := whole(size)) is None or gibibytes < _MINIMUM.of(args):
        yield _own(args, f"a disk of {format_value(size)} GiB")


def _pool(args: ResourceValidationArgs) -> Iterator[str]:
    if read(args.props, "provisioner") != _KARPENTER:  # a launch template has the volume
        return
    size = whole(read(args.props, "rootVolumeGiB"))
    if size is not None and size < _MINIMUM.of(args):
        yield _own(args, f"a root volume of {size} GiB")


def _instance(args: ResourceValidationArgs) -> Iterator[str]:
    """A machine that joins by itself; what gives no size has that of its image."""
    for launch in launch_of(args):
        sizes = [read(volume.ebs, "volumeSize") for volume in launch.volumes()]
        if not is_gpu_type(read(args.props, "instanceType")) or not launch.is_of_nodes:
            continue
        known = [size for given in sizes if (size := whole(given)) is not None]
        if known and len(known) == len(sizes) and max(known) < _MINIMUM.of(args):
            subject = f"The GPU node {args.name} has a largest volume of {max(known)} GiB"
            yield _small(subject, _MINIMUM.of(args), _OF_MACHINES, args.urn)


def _own(args: ResourceValidationArgs, found: str) -> str:
    subject = f"The GPU nodes of {args.name} have {found}"
    return _small(subject, _MINIMUM.of(args), _OF_GROUPS, args.urn)


def _gpu_launch(found: NodeGroup | PolicyResource) -> Iterator[tuple[PolicyResource, str]]:
    """What GPU nodes are started from, with the group that does; its own name where none does."""
    if isinstance(found, NodeGroup):
        if found.start is not None and found.has_gpu():
            yield found.start, found.group.name
    # Of NodeGroup of pulumi_eks, the group stands in a stack of CloudFormation.
    elif is_gpu_type(settled(found, "instanceType")):
        yield found, found.name


def _launches(args: StackValidationArgs) -> Iterator[NodeGroup | PolicyResource]:
    groups = list(nodes_of(args.resources))
    started = {nodes.start.urn for nodes in groups if nodes.start is not None}
    yield from groups
    for resource in args.resources:
        kind = resource.resource_type
        if kind in (LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION) and resource.urn not in started:
            yield resource


def _templates(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    least = _MINIMUM.of(args)

    def judge(found: NodeGroup | PolicyResource) -> Iterator[tuple[str, str]]:
        for start, group in _gpu_launch(found):
            for launch in launch_of(start):
                device = _device_of_images(found, launch) if isinstance(found, NodeGroup) else ""
                sizes = [
                    whole(read(volume.ebs, "volumeSize"))
                    for volume in launch.volumes()
                    if volume.name.endswith(device)
                ]
                if (size := _too_small(sizes, least, _BY_IMAGE if device else "")) is not None:
                    subject = f"{launch.called} gives the GPU nodes of {group} {size}"
                    yield _small(subject, least, _OF_TEMPLATES, start.urn), start.urn

    yield from over_each(_launches(args), judge)


def _too_small(sizes: list[Any], least: int, default: str = "") -> str | None:
    """What is too small of volumes; None where the largest is not.

    An image of one's own may have a small volume for itself and a large one for images.
    """
    largest = max((size for size in sizes if size is not None), default=None)
    if largest is None:
        return f"no volume size{default}"
    return None if largest >= least else f"a largest volume of {float(largest):g} GiB"


_OF_BOTTLEROCKET, _OF_AL2023 = "xvdb", "xvda"
"""The volume that has container images, whatever size another one has."""
_BY_IMAGE = " for images, and the default of their image is 20 GiB"
_MOVING = re.compile(r"containerd|mount|mkfs|localStorage", re.IGNORECASE)
"""What user data says that has images on another volume."""


def _device_of_images(nodes: NodeGroup, launch: Launch) -> str:
    told = decoded(at_top(launch.props, "userData"))
    return _device_of([settled(nodes.group, "amiType")], told)


def _device_of(systems: Sequence[Any], user_data: Any) -> str:
    """The end of its name, as EKS's images have it; empty where they may be on any."""
    named = [str(system).lower() for system in systems]
    if any(system.startswith("bottlerocket") for system in named):
        return _OF_BOTTLEROCKET
    moved = user_data is UNKNOWN or _MOVING.search(str(user_data or ""))
    is_known = any(system.startswith("al2023") for system in named)
    return _OF_AL2023 if is_known and not moved else ""


_OF_KARPENTER = ", and Karpenter's default is 20 GiB"
"""Of the volume that it gives nodes without a mapping:
https://karpenter.sh/docs/concepts/nodeclasses/#specblockdevicemappings (2026-11-22)"""


def _node_classes(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    found = [*objects_in(args.resources, (NODE_POOL, *_CLASSES))]
    used: dict[tuple[str, Any, Any], bool | None] = {}
    for pool in found:
        if pool.object.kind == NODE_POOL:
            ref = at(pool.object.body, "spec", "template", "spec", "nodeClassRef")
            key = (pool.cluster, at(ref, "kind") or NODE_CLASS.kind, at(ref, "name"))
            has_gpus = gives_gpus(pool.object.body)
            if has_gpus is not False and used.get(key) is not True:
                used[key] = has_gpus
    for node_class in found:
        if node_class.object.kind not in _CLASSES or node_class.object.patch:
            continue
        key = (node_class.cluster, node_class.object.kind.kind, node_class.object.name)
        judge = _node_class if node_class.object.kind == NODE_CLASS else _of_auto_mode
        if (has_gpus := used.get(key, False)) is not False:
            yield from judge(node_class, _MINIMUM.of(args), is_known=has_gpus is not None)


_CLASSES = (NODE_CLASS, CLASS_OF_AUTO_MODE)


def _of_auto_mode(
    placed: PlacedObject, least: int, *, is_known: bool
) -> Iterator[tuple[str, str] | Unjudged]:
    """What a class of Auto Mode says itself; its default is 80 GiB.

    https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html, read 2026-11-28.
    """
    given = at(placed.object.body, "spec", "ephemeralStorage", "size")
    size = None if given is UNKNOWN else _gib(given)
    if given is UNKNOWN or (size is not None and size < least and not is_known):
        yield Unjudged(f"the volumes of the NodeClass {name_of(placed.urn)}")
    elif size is not None and size < least:
        subject = f"The NodeClass {placed.object.name} gives GPU nodes a volume of {given}"
        yield _small(subject, least, _OF_AUTO_MODE, placed.urn), placed.urn


def _node_class(
    placed: PlacedObject, least: int, *, is_known: bool
) -> Iterator[tuple[str, str] | Unjudged]:
    body, urn = placed.object.body, placed.urn
    given = at(body, "spec", "blockDeviceMappings")
    if has_unknown(given):
        yield Unjudged(f"the volumes of the EC2NodeClass {name_of(urn)}")
        return
    terms = [at(body, "spec", "amiFamily")]
    terms += [at(term, "alias") for _, term in mappings(at(body, "spec", "amiSelectorTerms"))]
    device = _device_of(terms, at(body, "spec", "userData"))
    sizes = [
        _gib(at(mapping, "ebs", "volumeSize"))
        for _, mapping in mappings(given)
        if str(mapping.get("deviceName")).endswith(device)
    ]
    # A snapshot has a size of its own, which is not known here.
    if None in sizes and any(at(mapping, "ebs", "snapshotID") for _, mapping in mappings(given)):
        return
    size = _too_small(sizes, least, _OF_KARPENTER)
    if size is None:
        return
    if is_known:
        subject = f"The EC2NodeClass {placed.object.name} gives GPU nodes {size}"
        yield _small(subject, least, _OF_CLASSES, urn), urn
    else:
        yield Unjudged(f"the requirements of a NodePool of the EC2NodeClass {name_of(urn)}")


def _gib(given: Any) -> Fraction | None:
    """A quantity of Kubernetes, whose bare number is of bytes."""
    found = None if given is None else quantity(str(given))
    return None if found is None else found / 2**30


GPU_NODE_VOLUME_SIZE = ResourcePolicy(
    "gpu-node-volume-size",
    "GPU nodes must have room for CUDA images.",
    checks={NODE_GROUP: _node_group, OUR_POOL: _pool, INSTANCE: _instance},
    severity=Severity.LOW,
    fix=_OF_GROUPS,
    settings=(_MINIMUM,),
)

GPU_LAUNCH_TEMPLATE_VOLUME_SIZE = StackPolicy(
    "gpu-launch-template-volume-size",
    "Launch templates of GPU nodes must have room for CUDA images.",
    check=_templates,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION),
    unseen="launch templates of other stacks.",
    severity=Severity.LOW,
    fix=_OF_TEMPLATES,
    settings=(_MINIMUM,),
)

NODE_CLASS_VOLUME_SIZE = StackPolicy(
    "node-class-volume-size",
    "GPU nodes that Karpenter makes must have room for CUDA images.",
    check=_node_classes,
    applies_to=(kinds.KARPENTER[2], kinds.KARPENTER[0]),
    severity=Severity.LOW,
    fix=_OF_CLASSES,
    settings=(_MINIMUM,),
)
