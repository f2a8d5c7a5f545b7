"""Values that a chart does not read, or makes nothing of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.places import value_place
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.readers.device_plugin import CHOICES
from eks_gpushare.manifests.readers.words import close_to, shown
from eks_gpushare.manifests.rules.chart_values import IDLE_VALUE, UNKNOWN_VALUE, WRONG_TYPE
from eks_gpushare.rules.chart_types import wrong_types
from eks_gpushare.rules.chart_values import what_is_wrong, wrong_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog.chart_keys import ChartKeys, Place
    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.problem import Judgement

_HINTS: Final[Mapping[Place, str]] = {
    ("namespace",): "Give the namespace to Helm: --namespace NAME.",
}
"""Instead of those that speak of a stack file."""
_ONCE: Final = frozenset((("operator", "defaultRuntime"), ("psp",), ("psp", "enabled")))
"""Values that earlier versions read and that are of no harm to later ones."""
_MEANT: Final = "Did you mean "
_NEARLY_ALL: Final = 0.8
_CHOSEN: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    PLUGIN_CHART: (("migStrategy",), ("deviceListStrategy",), ("deviceIDStrategy",)),
    OPERATOR_CHART: (("mig", "strategy"),),
}
"""Where they stand. The charts' templates make variables and an object of the operator of them."""
_OF_OPERATOR: Final = "migStrategy"


@edge(UNKNOWN_VALUE, IDLE_VALUE, WRONG_TYPE)
def values_are_read(inventory: Inventory) -> Iterator[Judgement]:
    """Of the charts whose templates are known."""
    for release in inventory.of(Release):
        keys = chart_keys(release.chart)
        if keys is None or release.values is UNKNOWN or _is_no_chart(release):
            continue
        values = _known(release.values if release.own is None else release.own)
        yield from _unread(release, values, keys)
        for place, wanted, fix in wrong_types(values, keys):
            given = _at(values, place)
            message = f"{'.'.join(place)} is {wanted}, not {shown(given)}."
            path = _path(release, place)
            yield Problem(WRONG_TYPE, release.source, path, message, fix, None, _set(path, fix))


def _unread(release: Release, values: dict[str, Any], keys: ChartKeys) -> Iterator[Judgement]:
    version = "" if release.version is UNKNOWN else release.version.removeprefix("v")
    for place, kind in wrong_values(values, keys):
        if place[0] == "global":
            continue  # a chart above may read them
        _, message, fix = what_is_wrong(keys, place, kind)
        path = _path(release, place)
        if kind == "idle":
            if _is_its_own(values, keys):
                continue
            yield Problem(IDLE_VALUE, release.source, path, message, fix)
            continue
        fix = _HINTS.get(place, fix)
        known = version == keys.version.removeprefix("v")
        if not known and place in _ONCE:
            continue
        # Of another version the chart may have had the value, unless something else was meant.
        sure = known or fix != "Remove it."
        severity: Severity | None = None if sure else "warning"
        edits = _renamed(path, fix, values, place)
        yield Problem(UNKNOWN_VALUE, release.source, path, message, fix, severity, edits)


def _is_its_own(values: Mapping[str, Any], keys: ChartKeys) -> bool:
    """Whether they are the chart's own values.yaml, idle values among them, or a copy of it."""
    known = {place[0] for place in (*keys.places, *keys.blocks)}
    return len(known & values.keys()) >= _NEARLY_ALL * len(known)


def _is_no_chart(release: Release) -> bool:
    """Whether it is the operator's own object, whose keys are others in places."""
    value = getattr(release.source.document, "value", None)
    return isinstance(value, dict) and value.get("kind") == "ClusterPolicy"


def _path(release: Release, place: Place) -> FieldPath:
    for length in range(len(place), -1, -1):
        if place[:length] in release.paths:
            return (*release.paths[place[:length]], *place[length:])
    return place


def _renamed(
    path: FieldPath, fix: str, values: Mapping[str, Any], place: Place
) -> tuple[Edit, ...]:
    """What was meant beside it, where nothing else has that name."""
    if not fix.startswith(_MEANT):
        return ()
    *above, name = fix.removeprefix(_MEANT).rstrip("?").split(".")
    beside = _at(values, tuple(above))
    taken = not isinstance(beside, dict) or name in beside
    return () if taken or tuple(above) != place[:-1] else (Edit("rename", path, name),)


def _set(path: FieldPath, fix: str) -> tuple[Edit, ...]:
    meant = {"Write true without quotes.": True, "Write false without quotes.": False}.get(fix)
    return () if meant is None else (Edit("set", path, meant),)


def _at(values: Any, place: Place) -> Any:
    for key in place:
        values = values[key]
    return values


def _known(values: Any) -> Any:
    """The values without what is not known."""
    if isinstance(values, dict):
        return {str(key): _known(item) for key, item in values.items() if item is not UNKNOWN}
    if isinstance(values, list):
        return [_known(value) for value in values if value is not UNKNOWN]
    return values


@edge(WRONG_TYPE)
def choices_are_known(inventory: Inventory) -> Iterator[Judgement]:
    """Of the device plugin, which stops at another word, and of the operator's object."""
    for release in inventory.of(Release):
        for place in _CHOSEN.get(chart_of(release.chart) or "", ()):
            given = at(release.values if release.own is None else release.own, *place)
            known = CHOICES.get(place[-1], CHOICES[_OF_OPERATOR])
            # A list of ways stands in one text, with commas; what is no text is told elsewhere.
            several = place[-1] == "deviceListStrategy"
            if not isinstance(given, str) or not given:
                continue
            words = [word.strip() for word in given.split(",")] if several else [given]
            if all(word in known for word in words):
                continue
            path = value_place(release, place)
            message = f"{'.'.join(place)} is {shown(given)}, not one of {', '.join(known)}."
            close = close_to(given, known) if len(words) == 1 else None
            fix = f"Write {close}." if close else "Write one of these."
            edits = (Edit("set", path, close),) if close else ()
            yield Problem(WRONG_TYPE, release.source, path, message, fix, None, edits)


def values_of_files(values: Sequence[Release]) -> Iterator[Judgement]:
    """What is wrong with values alone, which are a part of those of a release.

    Args:
        values: Those of each file.
    """
    for check in (values_are_read, choices_are_known):
        yield from check.look(Inventory(tuple(values)))
