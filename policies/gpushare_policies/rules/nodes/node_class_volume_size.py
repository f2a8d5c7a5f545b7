"""Nodes with GPUs that Karpenter makes have room for images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown
from gpushare_policies.reading import kinds
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.karpenter import gives_gpus
from gpushare_policies.reading.objects import Kind
from gpushare_policies.reading.plain import mappings
from gpushare_policies.reading.program_objects import PlacedObject, objects_in
from gpushare_policies.rule import StackPolicy, Unjudged
from gpushare_policies.rules.autoscaling.node_class_ami_pinned import NODE_CLASS
from gpushare_policies.rules.nodes.gpu_node_volume_size import MINIMUM_GIB
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

_NODE_POOL = Kind("karpenter.sh", "NodePool")
_GIB = 2**30
_DEFAULT = 20
"""GiB of the volume that Karpenter gives nodes without a mapping.

https://karpenter.sh/docs/concepts/nodeclasses/#specblockdevicemappings (2026-11-22)
"""
_SET = "Set `spec.blockDeviceMappings[].ebs.volumeSize` of the EC2NodeClass, such as 200Gi."
_ROOM = Fix("Raise `pools.<pool>.rootVolumeGiB` in the stack file.", _SET, _SET)


def _volumes(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    least = MINIMUM_GIB.of(args)
    found = [*objects_in(args.resources, (_NODE_POOL, NODE_CLASS))]
    used: dict[tuple[str, Any], bool | None] = {}
    for pool in found:
        if pool.object.kind == _NODE_POOL:
            name = at(pool.object.body, "spec", "template", "spec", "nodeClassRef", "name")
            has_gpus = gives_gpus(pool.object.body)
            if has_gpus is not False and used.get((pool.cluster, name)) is not True:
                used[pool.cluster, name] = has_gpus
    for each in found:
        if each.object.kind != NODE_CLASS or each.object.patch:
            continue
        verdict = used.get((each.cluster, each.object.name), False)
        if verdict is not False:
            yield from _judged(each, least, is_known=verdict is not None)


def _judged(
    placed: PlacedObject, least: int, *, is_known: bool
) -> Iterator[tuple[str, str] | Unjudged]:
    body, urn = placed.object.body, placed.urn
    given = at(body, "spec", "blockDeviceMappings")
    if has_unknown(given):
        yield Unjudged(f"the volumes of the EC2NodeClass {name_of(urn)}")
        return
    sizes = [_gib(at(each, "ebs", "volumeSize")) for _, each in mappings(given)]
    # A snapshot has a size of its own, which is not known here.
    if any(at(each, "ebs", "snapshotID") for _, each in mappings(given)) and None in sizes:
        return
    # Bottlerocket has a small volume for itself and a large one for images: the largest counts.
    largest = max((size for size in sizes if size is not None), default=None)
    if largest is not None and largest >= least:
        return
    if not is_known:
        yield Unjudged(f"the requirements of a NodePool of the EC2NodeClass {name_of(urn)}")
        return
    size = (
        f"no volume size, and Karpenter's default is {_DEFAULT} GiB"
        if largest is None
        else f"a largest volume of {float(largest):g} GiB"
    )
    yield (
        (
            f"The EC2NodeClass {placed.object.name} gives GPU nodes {size}. There must be at least "
            f"{least} GiB, or pulling CUDA images fills it and evicts pods. {_ROOM.of(urn)}"
        ),
        urn,
    )


def _gib(given: Any) -> Fraction | None:
    found = None if given in (None, UNKNOWN) else quantity(str(given))
    return None if found is None else found / _GIB


NODE_CLASS_VOLUME_SIZE = StackPolicy(
    "node-class-volume-size",
    "GPU nodes that Karpenter makes must have room for CUDA images.",
    check=_volumes,
    applies_to=(kinds.KARPENTER[2], kinds.KARPENTER[0]),
    severity=Severity.LOW,
    fix=_ROOM,
    settings=(MINIMUM_GIB,),
)
