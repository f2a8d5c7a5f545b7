"""Capacity reservations of a stack: those that its program makes, and those that it only names.

EC2 says of what type a reservation is, and in which zone. Of one that was there before the stack
that is not known, so it is of the type and in the zone of the pool that draws on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.program.values import plain
from eks_gpushare_lab.cloud.account import CapacityReservation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.program.recording import Recording
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.cloud.account import Subnet

_MADE = "aws:ec2/capacityReservation:CapacityReservation"
_POOL = "eks-gpushare:index:KarpenterPool"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_ZONE = "topology.kubernetes.io/zone"


def reservations_of(
    recording: Recording, objects: Sequence[Object], subnets: Iterable[Subnet]
) -> list[CapacityReservation]:
    """Every reservation that a program makes, or that a node class of its pools names by its id.

    Args:
        recording: of the program, without unknown values.
        objects: those that it applies, and those applied besides.
        subnets: of the account.
    """
    found = {reservation.id: reservation for reservation in _made(recording)}
    blocks = set(_blocks(recording))
    zones = {subnet.id: subnet.zone for subnet in subnets}
    pools = [obj for obj in objects if obj.get("kind") == "NodePool"]
    for given in (obj for obj in objects if obj.get("kind") == "EC2NodeClass"):
        spec = given["spec"]
        pool = next((pool for pool in pools if _class_of(pool) == given["metadata"]["name"]), {})
        kind = _first(pool, _INSTANCE_TYPE)
        zone = _first(pool, _ZONE) or _zone_of(spec, zones)
        for term in spec.get("capacityReservationSelectorTerms") or ():
            named = str(term.get("id") or "")
            if named and kind and zone:
                made = CapacityReservation(named, kind, zone, is_block=named in blocks)
                found.setdefault(named, made)
    return list(found.values())


def _made(recording: Recording) -> Iterator[CapacityReservation]:
    for resource in recording.of_type(_MADE):
        given = plain(resource.inputs)
        tags = {str(key): str(value) for key, value in (given.get("tags") or {}).items()}
        kind, zone = given.get("instanceType"), given.get("availabilityZone")
        if kind and zone:
            count = int(given.get("instanceCount") or 1)
            yield CapacityReservation(str(resource.id), str(kind), str(zone), count, tags=tags)


def _blocks(recording: Recording) -> Iterator[str]:
    """Ids of what pools call a Capacity Block: NodePools call both reserved."""
    for resource in recording.of_type(_POOL):
        given = plain(resource.inputs)
        own = (given.get("karpenter") or {}).get("capacityTypes") or ()
        if "capacityBlock" in (given.get("capacityType"), *own):
            yield str((given.get("reservation") or {}).get("id") or "")


def _class_of(pool: Object) -> str:
    found: str = pool["spec"]["template"]["spec"]["nodeClassRef"]["name"]
    return found


def _first(pool: Object, key: str) -> str:
    """The first value of a requirement of a NodePool; `""` without one."""
    given = pool.get("spec", {}).get("template", {}).get("spec", {}).get("requirements") or ()
    values = (
        value for filter_ in given if filter_["key"] == key for value in filter_.get("values") or ()
    )
    return str(next(values, ""))


def _zone_of(spec: Mapping[str, Any], zones: Mapping[str, str]) -> str:
    """The zone of the first subnet that a node class names by its id, or of the first there is."""
    named = (zones.get(term.get("id", "")) for term in spec.get("subnetSelectorTerms") or ())
    return next(filter(None, named), "") or next(iter(zones.values()), "")
