"""Where AWS regions are, to name near ones first.

The city or state that AWS names a region after, or the middle of it, to a degree:
https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html, read 2026-11-22.
Data centres may be elsewhere in it; for an order that is near enough.
"""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EARTH_KM = 6371


class _Place(NamedTuple):
    geography: str
    latitude: float
    longitude: float


def by_distance(region: str, others: Iterable[str]) -> list[str]:
    """Regions, those of the same geography first, and of these the nearest.

    Where it is not known where a region is, it comes last; of equal ones the order is that of
    their names.

    Args:
        region: Seen from where.
        others: Names of regions.
    """
    here = _PLACES.get(region)

    def rank(other: str) -> tuple[int, float, str]:
        there = _PLACES.get(other)
        if here is None or there is None:
            return 2, 0.0, other
        return int(there.geography != here.geography), _kilometres(here, there), other

    return sorted(others, key=rank)


def _kilometres(one: _Place, other: _Place) -> float:
    """Along a great circle, by the haversine formula."""
    up, down = radians(one.latitude), radians(other.latitude)
    half = sin((down - up) / 2) ** 2
    turn = sin(radians(other.longitude - one.longitude) / 2) ** 2
    return 2 * _EARTH_KM * asin(sqrt(half + cos(up) * cos(down) * turn))


_PLACES: Mapping[str, _Place] = MappingProxyType(
    {
        "af-south-1": _Place("Africa", -34, 18),
        "ap-east-1": _Place("Asia Pacific", 22, 114),
        "ap-east-2": _Place("Asia Pacific", 25, 122),
        "ap-northeast-1": _Place("Asia Pacific", 36, 140),
        "ap-northeast-2": _Place("Asia Pacific", 38, 127),
        "ap-northeast-3": _Place("Asia Pacific", 35, 136),
        "ap-south-1": _Place("Asia Pacific", 19, 73),
        "ap-south-2": _Place("Asia Pacific", 17, 78),
        "ap-southeast-1": _Place("Asia Pacific", 1, 104),
        "ap-southeast-2": _Place("Asia Pacific", -34, 151),
        "ap-southeast-3": _Place("Asia Pacific", -6, 107),
        "ap-southeast-4": _Place("Asia Pacific", -38, 145),
        "ap-southeast-5": _Place("Asia Pacific", 3, 102),
        "ap-southeast-6": _Place("Asia Pacific", -37, 175),
        "ap-southeast-7": _Place("Asia Pacific", 14, 100),
        "ca-central-1": _Place("Americas", 45, -74),
        "ca-west-1": _Place("Americas", 51, -114),
        "eu-central-1": _Place("Europe", 50, 9),
        "eu-central-2": _Place("Europe", 47, 9),
        "eu-north-1": _Place("Europe", 59, 18),
        "eu-south-1": _Place("Europe", 45, 9),
        "eu-south-2": _Place("Europe", 42, -1),
        "eu-west-1": _Place("Europe", 53, -6),
        "eu-west-2": _Place("Europe", 52, 0),
        "eu-west-3": _Place("Europe", 49, 2),
        "il-central-1": _Place("Middle East", 32, 35),
        "me-central-1": _Place("Middle East", 24, 54),
        "me-south-1": _Place("Middle East", 26, 51),
        "mx-central-1": _Place("Americas", 21, -100),
        "sa-east-1": _Place("Americas", -24, -47),
        "us-east-1": _Place("Americas", 39, -77),
        "us-east-2": _Place("Americas", 40, -83),
        "us-gov-east-1": _Place("Americas", 40, -83),
        "us-gov-west-1": _Place("Americas", 46, -120),
        "us-west-1": _Place("Americas", 38, -122),
        "us-west-2": _Place("Americas", 46, -120),
    }
)
