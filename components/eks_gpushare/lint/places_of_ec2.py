"""Subnets and reserved capacity in templates of CloudFormation: their zones and their tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import RESERVATION, SUBNET, Pointer
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.source import Source

_KINDS: Final = {"AWS::EC2::Subnet": SUBNET, "AWS::EC2::CapacityReservation": RESERVATION}
_TAGGED: Final = "capacity-reservation"


def places(source: Source, kind: Any, name: str, given: Any) -> Iterator[Pointer]:
    """A resource as a subnet or reserved capacity; nothing of others.

    Args:
        source: Where its properties stand.
        kind: Its type.
        name: What the template calls it.
        given: Its properties.
    """
    if kind in _KINDS:
        listed = at(given, "Tags")
        if _KINDS[kind] == RESERVATION:
            specified = at(given, "TagSpecifications")
            listed = (
                UNKNOWN
                if has_unknown(specified)
                else [
                    tag
                    for each in items(specified)
                    if at(each, "ResourceType") == _TAGGED
                    for tag in items(at(each, "Tags"))
                ]
            )
        tags: Any = UNKNOWN
        if not has_unknown(listed):
            tags = {str(at(tag, "Key")): str(at(tag, "Value")) for tag in items(listed)}
        zone = at(given, "AvailabilityZone")
        spec = {"zone": zone if isinstance(zone, str) else UNKNOWN, "tags": tags}
        yield Pointer(source=source, kind=_KINDS[kind], name=name, namespace="", spec=spec)
