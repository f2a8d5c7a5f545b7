"""Rules about what chart values are: a template takes any text for true, the text "false" too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.base import TakesOutput
from eks_gpushare.facts.index import rule_of
from eks_gpushare.rules.chart_values import installed, known_keys, other_charts
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.validation.shape import format_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog.chart_keys import ChartKeys, Place, Type
    from eks_gpushare.catalog.versions import HelmChart
    from eks_gpushare.config.environment import Chart
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

WRONG_VALUE = rule_of("GPU727")

_WORDS: Mapping[Type, str] = {
    "boolean": "true or false",
    "list": "a list",
    "mapping": "a mapping",
    "number": "a number",
    "text": "text",
}
_TEXT_MAPS = re.compile(
    r"(nodeSelector|labels|annotations|[A-Za-z0-9_]+(Annotations|Labels))", re.IGNORECASE
)
"""Mappings of Kubernetes whose values are text: a bare true or 1 is refused."""
_TEXT_LISTS = re.compile(r"(^|[a-z])env$|tolerations$", re.IGNORECASE)
"""Lists of Kubernetes' variables and tolerations, which templates write as they are."""
_TEXT_KEYS = ("name", "value", "key", "effect")
"""What is text in an entry of these."""
_LONGEST_WORD = 8
_VERSIONS = ("tag", "version")
_LEAST_BRANCH = 100
_AMOUNTS = (("limits",), ("requests",))
"""Above amounts of a resource, which are text too: 250m."""
_OR_TEXT = ("expanderPriorities",)
"""A mapping of Cluster Autoscaler's chart that may be written as its text: `kindIs "string"` of
templates/priority-expander-configmap.yaml, read 2026-11-30."""
_LATER = TakesOutput().checked_as
"""What stands for an output of a program, of which nothing is known."""


@check(Scope.CHARTS, WRONG_VALUE)
def value_types(ctx: Context) -> Iterator[Finding]:
    """For the chart that is installed."""
    yield from _of(*installed(ctx))


@check(Scope.CHARTS, WRONG_VALUE)
def other_value_types(ctx: Context) -> Iterator[Finding]:
    """For the charts beside it."""
    for chart in other_charts(ctx.environment):
        yield from _of(*chart)


def _of(key: str, chart: Chart, default: HelmChart) -> Iterator[Finding]:
    keys = known_keys(chart, default) if chart.values else None
    if keys is None:
        return
    for place, wanted, fix in wrong_types(chart.values, keys):
        given = value_as_text(_at(chart.values, place))
        yield WRONG_VALUE.finding(
            ("charts", key, "values", *place),
            f"{'.'.join(map(str, place))} is {wanted}, not {given}.",
            fix,
        )


def value_as_text(value: Any) -> str:
    """What a value of a chart is, without what may be a secret in it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    short = isinstance(value, str) and len(value) <= _LONGEST_WORD
    return format_value(value) if short or not isinstance(value, str) else "a text"


def _at(values: Any, place: FieldPath) -> Any:
    for key in place:
        by_text = {str(k): v for k, v in values.items()} if isinstance(values, dict) else values
        values = by_text[key]
    return values


def wrong_types(
    values: Mapping[str, Any], keys: ChartKeys, above: Place = ()
) -> Iterator[tuple[FieldPath, str, str]]:
    """Places with a value of another kind, what it should be, and how to get there."""
    for key, value in values.items():
        place = (*above, str(key))
        kind = keys.kind(place)
        if value is None or value == _LATER or kind is None:
            continue
        wanted = keys.type(place) if kind != "block" else None
        if wanted is not None and not _fits(place, wanted, value):
            yield place, _WORDS[wanted], _fix(place, wanted, value)
        elif isinstance(value, dict):
            if kind != "block" and _TEXT_MAPS.fullmatch(place[-1]):
                yield from _not_text(value, place)
            else:
                yield from wrong_types(value, keys, place)
        elif isinstance(value, list | tuple) and kind != "block" and _TEXT_LISTS.search(place[-1]):
            yield from _entries_not_text(value, place)


def _entries_not_text(entries: Sequence[Any], above: Place) -> Iterator[tuple[FieldPath, str, str]]:
    for index, entry in enumerate(entries):
        for key in _TEXT_KEYS if isinstance(entry, dict) else ():
            if isinstance(entry.get(key), bool | int | float):
                yield (*above, index, key), "text", "Put it in quotes."


def _not_text(values: Mapping[str, Any], above: Place) -> Iterator[tuple[FieldPath, str, str]]:
    for key, value in values.items():
        if value is not None and not isinstance(value, str):
            yield (*above, str(key)), "text", "Put it in quotes."


def _fits(place: Place, wanted: Type, value: Any) -> bool:
    match wanted:
        case "boolean":
            return isinstance(value, bool)
        case "list":
            return isinstance(value, list | tuple)
        case "mapping":
            is_text = isinstance(value, str) and place[-1:] == _OR_TEXT
            return isinstance(value, dict) or is_text
        case "number":
            numeric = isinstance(value, str) and value.isascii() and value.isdecimal()
            is_amount = isinstance(value, str) and place[-2:-1] in _AMOUNTS
            known = isinstance(value, int | float) and not isinstance(value, bool)
            return numeric or is_amount or known
        case "text":
            # 1.20 reaches the chart as 1.2, and 4.0 as 4; 590 is a branch of the driver.
            is_branch = type(value) is int and value >= _LEAST_BRANCH
            numbers = () if place[-1] in _VERSIONS and not is_branch else (int, float)
            return isinstance(value, (str, *numbers)) and not isinstance(value, bool)


def _fix(place: Place, wanted: Type, value: Any) -> str:
    if wanted == "boolean":
        word = str(value).strip().casefold()
        meant = "true" if word in {"true", "yes", "on", "1", "y"} else "false"
        return (
            f"Write {meant} without quotes." if isinstance(value, str) else "Write true or false."
        )
    if wanted == "list":
        if place[-1] == "env" and isinstance(value, dict):
            return "Write a list of {name: ..., value: ...}."
        return "Write it as a list, in [ ]."
    if wanted == "mapping":
        return "Write keys with values, in { }."
    return "Put it in quotes." if wanted == "text" else "Write a number."
