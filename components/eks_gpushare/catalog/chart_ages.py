"""Which releases of NVIDIA's charts read a value: others take it without a word.

The table is made from every tag of the charts' repositories by `tools/catalog/chart_ages.py`.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.catalog._data import load
from eks_gpushare.catalog.chart_releases import parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog.chart_keys import Place
    from eks_gpushare.catalog.chart_releases import Version


class Age(NamedTuple):
    """The first and the last release that read a value."""

    first: str
    last: str

    def covers(self, version: Version) -> bool:
        """Whether a version is neither before nor behind."""
        first, last = parse_version(self.first), parse_version(self.last)
        return first is not None and last is not None and first <= version <= last


class ChartAges(NamedTuple):
    """The values that came or went in the history of a chart, those of subcharts included."""

    releases: frozenset[str]
    """Those whose templates were looked at, without a leading v."""
    places: Mapping[Place, Age]
    """What not all of them read."""

    def of(self, place: Place) -> list[Age]:
        """The ages of a place, of what it is in, and of what is in it."""
        return [age for other, age in self.places.items() if _are_related(place, other)]

    def had(self, place: Place) -> bool:
        """Whether some release read that very value, not only all of what it is in."""
        return any(other[: len(place)] == place for other in self.places)

    def was_read(self, place: Place, version: str) -> bool:
        """Whether a release read a value that the newest does not."""
        exact = parse_version(version)
        return exact is not None and any(age.covers(exact) for age in self.of(place))

    def came_after(self, place: Place, version: str) -> str | None:
        """The release that a value of the newest came with, if that is behind another."""
        exact = parse_version(version)
        found = self.of(place)
        if exact is None or not found or any(age.covers(exact) for age in found):
            return None
        later = [age.first for age in found if (parse_version(age.first) or exact) > exact]
        return later[0] if len(later) == len(found) else None


@cache
def chart_ages(chart: str) -> ChartAges | None:
    """The history of the values of a chart such as "gpu-operator"; None if it is not known."""
    table = load("chart-ages.json").get(chart)
    if table is None:
        return None
    places = {
        tuple(text.split(".")): Age(*age.split())
        for age, together in table["places"].items()
        for text in together.split()
    }
    return ChartAges(frozenset(table["releases"]), MappingProxyType(places))


def _are_related(one: Place, other: Place) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]
