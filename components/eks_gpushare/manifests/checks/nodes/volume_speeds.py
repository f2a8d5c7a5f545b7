"""Throughput of gp3 volumes against their IOPS: of node classes, templates, groups and storage.

Source: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html, November 2026, and
what EC2 answers: "Throughput (MiBps) to iops ratio is too high; maximum is 0.250000".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeLaunch, NodeSet, Pointer
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs, text
from eks_gpushare.inventory.wording import at_start
from eks_gpushare.manifests.document import value_of
from eks_gpushare.manifests.rules.two_numbers import REFUSED_VOLUME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

_WHOLE: Final = re.compile(r"[0-9]+")
_LEAST: Final = 3000
"""IOPS of a volume of which nobody says."""
_FOR_EACH: Final = 4
"""IOPS for each MiB/s."""
_BY_SIZE: Final = "iopspergb"
"""By which a volume gets more, the larger a claim is; keys of the driver are of any case:
https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md."""
_DRIVER: Final = "ebs.csi.aws.com"


@edge(REFUSED_VOLUME)
def speeds(inventory: Inventory) -> Iterator[Judgement]:
    """As all formats name it: of volumes that nodes start with, and of the EBS driver."""
    for source, place, given in _volumes(inventory):
        kind, iops, throughput = (_told(given, name) for name in ("type", "iops", "throughput"))
        by_size = any(str(key).lower() == _BY_SIZE for key, _ in pairs(given))
        if kind != "gp3" or by_size or not all(map(_WHOLE.fullmatch, (throughput, iops or "0"))):
            continue
        needed = int(throughput) * _FOR_EACH
        if needed > max(int(iops or _LEAST), _LEAST):
            yield Problem(
                REFUSED_VOLUME,
                source,
                place,
                f"{at_start(source.name)} has a gp3 volume of {throughput} MiB/s, which needs "
                f"{needed} IOPS, and it has {iops or _LEAST}.",
                f"Write {needed} IOPS or more, or less throughput.",
            )


def _volumes(inventory: Inventory) -> Iterator[tuple[Source, FieldPath, Any]]:
    seen: set[tuple[int, FieldPath]] = set()
    launches = [each.launch for each in inventory.of(NodeSet)]
    for launch in (*inventory.of(NodeLaunch), *launches):
        if not isinstance(launch, NodeLaunch) or launch.volumes is UNKNOWN:
            continue
        for volume in launch.volumes:
            path = (*launch.source.path, *volume.path)
            key = (id(launch.source.document), path)
            if key not in seen:
                seen.add(key)
                yield launch.source, volume.path, at(value_of(launch), *path)
    for pointer in inventory.of(Pointer):
        if pointer.kind == "StorageClass" and at(pointer.spec, "provisioner") == _DRIVER:
            yield pointer.source, ("parameters",), at(pointer.spec, "parameters")


def _told(given: Any, name: str) -> str:
    """What a volume is told, however its format joins the words."""
    for key, value in given.items() if isinstance(given, dict) else ():
        bare = str(key).replace("_", "").lower()
        if bare in (name, f"volume{name}"):
            shown = text(value)
            return "?" if shown is UNKNOWN else str(shown)
    return ""
