"""Which values the charts of this release read.

Helm takes any value without a word, also one that no template looks at. The table is made from the
templates by `tools/catalog/chart_keys.py`, for one version of each chart.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eks_gpushare.catalog._data import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind = Literal["read", "whole", "block", "idle"]
"""read: one value. whole: passed on with whatever is below it. block: has values below it, and is
none itself. idle: stands in values.yaml, and no template reads it."""
Type = Literal["boolean", "list", "mapping", "number", "text"]
"""What a value is: its default tells, or a template has it as a condition."""
Place = tuple[str, ...]

_KINDS: dict[str, Kind] = {"R": "read", "W": "whole", "I": "idle"}
_TYPES: dict[str, Type] = {
    "b": "boolean",
    "l": "list",
    "m": "mapping",
    "n": "number",
    "t": "text",
}
"""Letters of the table, of which a value has one of each, or one."""


class ChartKeys(NamedTuple):
    """The values of one version of a chart, subcharts included.

    Attributes:
        chart: name of the chart.
        version: the version that the keys are those of.
        source: where the chart's templates stand.
        places: what is known of each place, by its keys from the top; blocks are not among them.
        blocks: the places that have others below them.
        subcharts: the charts that this one brings along, by their key in the values.
        hints: what to write instead of a value that is often tried, by place.
        types: what the value at a place is, as far as that is known.

    """

    chart: str
    version: str
    source: str
    places: Mapping[Place, Kind]
    blocks: frozenset[Place]
    subcharts: Mapping[str, ChartKeys]
    hints: Mapping[Place, str]
    types: Mapping[Place, Type]

    def kind(self, place: Place) -> Kind | None:
        """What the chart does with the value at a place; None if nothing."""
        if (own := self._own(place)) is not None or not place:
            return own
        if place[0] == "global":  # which Helm hands to every subchart
            found = (subchart.kind(place) for subchart in self.subcharts.values())
            return next((kind for kind in found if kind is not None), None)
        inner = self.subcharts.get(place[0])
        return inner.kind(place[1:]) if inner is not None else None

    def hint(self, place: Place) -> str | None:
        """What to write instead, where that is known."""
        if place in self.hints:
            return self.hints[place]
        inner = self.subcharts.get(place[0]) if place else None
        return inner.hint(place[1:]) if inner is not None else None

    def type(self, place: Place) -> Type | None:
        """What the value at a place is; None if that is not known."""
        if place in self.types or not place:
            return self.types.get(place)
        if place[0] == "global":
            found = (subchart.type(place) for subchart in self.subcharts.values())
            return next((kind for kind in found if kind is not None), None)
        inner = self.subcharts.get(place[0])
        return inner.type(place[1:]) if inner is not None else None

    def below(self, block: Place) -> tuple[str, ...]:
        """The keys right below a block, sorted."""
        depth = len(block)
        found = {path[depth] for path in self.all() if len(path) > depth and path[:depth] == block}
        return tuple(sorted(found))

    def all(self) -> Iterator[Place]:
        """Every place that has a value which some template reads."""
        for place, kind in self.places.items():
            if kind != "idle":
                yield place
        for key, inner in self.subcharts.items():
            yield from ((key, *place) for place in inner.all())

    def _own(self, place: Place) -> Kind | None:
        exact = self.places.get(place)
        if exact is not None:
            return exact
        for length in range(1, len(place)):
            if (above := self.places.get(place[:length])) in {"whole", "idle"}:
                return above
        return "block" if place in self.blocks or not place else None


@cache
def chart_keys(chart: str) -> ChartKeys | None:
    """The values that a chart such as "gpu-operator" reads; None if they are not known."""
    table = load("chart-keys.json").get(chart)
    if table is None:
        return None
    told = dict(_told(table["values"], ()))
    places = {place: _KINDS[code[0]] for place, code in told.items() if code[0] in _KINDS}
    inner = {key: chart_keys(name) for key, name in table["subcharts"].items()}
    return ChartKeys(
        chart=chart,
        version=table["version"],
        source=table["source"],
        places=MappingProxyType(places),
        blocks=frozenset(place[:n] for place in places for n in range(1, len(place))),
        subcharts={key: keys for key, keys in inner.items() if keys is not None},
        hints={_place(text): hint for text, hint in table["hints"].items()},
        types={place: _TYPES[code[-1]] for place, code in told.items() if code[-1] in _TYPES},
    )


@cache
def top_keys(chart: str) -> tuple[str, ...] | None:
    """The keys at the top of a chart's values, sorted; None if they are not known.

    They are asked of every document that may be values, and there are thousands below some.
    """
    keys = chart_keys(chart)
    return None if keys is None else keys.below(())


def _told(values: Mapping[str, Any], above: Place) -> Iterator[tuple[Place, str]]:
    """What the table says of each place; of one that has others below it, under an empty key."""
    for key, value in values.items():
        place = (*above, key) if key else above
        if isinstance(value, str):
            yield place, value
        else:
            yield from _told(value, place)


def _place(dotted: str) -> Place:
    return tuple(dotted.split("."))
