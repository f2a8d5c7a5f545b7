"""The rule on the type of volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import read
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.launches import launch_of, on_launches
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.storage import (
    ATTRIBUTES_CLASS,
    STORAGE_CLASS,
    ebs_parameter,
    on_driver,
    volumes_of_class,
)
from gpushare_policies.rule import ResourcePolicy
from gpushare_policies.tokens import VOLUME
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

# gp3 has 3000 IOPS and 125 MiB/s at any size and costs a fifth less than gp2, which has 3 IOPS for
# each GiB: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html, read 2026-11-22.
# A volume that names no type is gp2 (CreateVolume in the API reference of EC2, read 2026-11-28).
# io2 costs what io1 does and lasts a hundred times longer, as the same page says.
# st1 and sc1 are of today, but no machine starts from one and no image belongs on one.
_OLD = ("gp2", "io1", "standard")
_OLD_OF_NODES = (*_OLD, "sc1", "st1")

_FIX = Fix(
    "Nodes made from a stack file have gp3: remove what changes that, such as a transform.",
    "Set `nodeRootVolumeType: gp3`.",
    "Set `volumeType: gp3`.",
)

_SET_PARAMETER = (
    "Set `parameters.type: gp3` of a StorageClass beside it; a class cannot be changed."
)
_OF_STORAGE = Fix(
    _SET_PARAMETER,
    "Set `storageClasses: gp3` of the cluster, or make a StorageClass with `parameters.type: gp3`.",
    _SET_PARAMETER,
)


def _message(args: ResourceValidationArgs, which: str, kind: object, fix: Fix = _FIX) -> str:
    why = (
        "which is faster at the sizes that CUDA images need and costs less"
        if str(kind).lower() != "io1"
        else "which lasts longer at the price of io1"
    )
    return f"{which} has the type {kind}. It must be gp3 (or io2), {why}. {fix.of(args.urn)}"


def _launched(args: ResourceValidationArgs) -> Iterator[str]:
    for launch in launch_of(args):
        for volume in launch.volumes():
            kind = read(volume.ebs, "volumeType")
            if kind in _OLD_OF_NODES:
                which = f"The volume {volume.name} of the {launch.kind} {launch.name}"
                yield _message(args, which, kind)


def _volume(args: ResourceValidationArgs) -> Iterator[str]:
    kind = read(args.props, "type")
    if kind in _OLD:
        yield _message(args, f"The volume {args.name}", kind)
    elif not kind and list(args.props):
        yield _message(args, f"The volume {args.name}", "gp2, as it names none")


def _class(subject: Subject) -> Iterator[str | Unjudged]:
    kind = ebs_parameter(subject.object, "type")
    if kind is UNKNOWN:
        yield Unjudged("parameters")
    elif str(kind).lower() in _OLD_OF_NODES:
        yield _message(subject.args, f"A volume of {subject.title}", kind, _OF_STORAGE)


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    for found in volumes_of_class(subject, "volumeType"):
        if isinstance(found, Unjudged):
            yield found
        elif found[1] in _OLD_OF_NODES:
            yield _message(subject.args, *found)


VOLUMES_GP3 = ResourcePolicy(
    "volumes-gp3",
    "Volumes must be of a type of today.",
    checks=ObjectChecks(
        {STORAGE_CLASS: _class, ATTRIBUTES_CLASS: _class, NODE_CLASS: _node_class},
        {**on_launches(_launched), **on_driver(_class), VOLUME: _volume},
    ),
    level=EnforcementLevel.ADVISORY,
    unseen="volumes of machines whose type is left to EC2, which takes that of the image or gp2.",
    severity=Severity.LOW,
    fix=_FIX,
)
