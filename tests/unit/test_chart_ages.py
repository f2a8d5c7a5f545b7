"""Which releases of charts read a value: the table agrees with others, and is read as it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chart_ages import FILE, as_text

from eks_gpushare import catalog
from eks_gpushare.catalog.chart_ages import Age, ChartAges, chart_ages
from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.catalog.chart_releases import chart_history, parse_version

CHARTS = ("nvidia-device-plugin", "gpu-operator")


@pytest.mark.parametrize("chart", CHARTS)
def test_the_newest_release_is_the_one_of_which_all_values_are_known(chart: str) -> None:
    ages, keys, history = chart_ages(chart), chart_keys(chart), chart_history(chart)
    assert ages is not None
    assert keys is not None
    assert history is not None

    assert ages.releases <= {*history.releases}
    assert keys.version.removeprefix("v") == history.newest
    assert history.newest in ages.releases
    for place, age in ages.places.items():
        first, last = parse_version(age.first), parse_version(age.last)
        assert first is not None, place
        assert last is not None, place
        assert first <= last, place


@pytest.mark.parametrize("chart", CHARTS)
def test_what_the_newest_reads_was_not_said_to_be_gone(chart: str) -> None:
    ages, keys = chart_ages(chart), chart_keys(chart)
    assert ages is not None
    assert keys is not None
    newest = keys.version.removeprefix("v")

    gone = [
        place
        for place in keys.all()
        if (found := ages.of(place)) and all(age.last != newest for age in found)
    ]

    assert gone == []


SOME = ChartAges(
    frozenset(("0.1.0", "0.2.0", "0.3.0", "0.4.0")),
    {("a", "b"): Age("0.2.0", "0.3.0"), ("c",): Age("0.3.0", "0.4.0")},
)


@pytest.mark.parametrize(
    ("place", "version", "was_read", "came"),
    [
        (("a", "b"), "0.1.0", False, "0.2.0"),
        (("a", "b"), "0.2.0", True, None),
        (("a", "b"), "0.4.0", False, None),
        (("a",), "0.2.0", True, None),
        (("a", "b", "x"), "0.3.0", True, None),
        (("c", "x"), "0.2.0", False, "0.3.0"),
        (("d",), "0.2.0", False, None),  # as far as the table goes
        (("a", "b"), "any", False, None),
    ],
)
def test_a_value_was_read_from_its_first_release_to_its_last(
    place: tuple[str, ...], version: str, was_read: bool, came: str | None
) -> None:
    assert SOME.was_read(place, version) is was_read
    assert SOME.came_after(place, version) == came


def test_what_was_read_itself_is_told_from_what_it_was_in() -> None:
    assert SOME.had(("a",))
    assert SOME.had(("a", "b"))
    assert not SOME.had(("c", "x"))


def test_the_history_of_a_chart_of_others_is_not_known() -> None:
    assert chart_ages("somebody-elses") is None


def test_the_file_is_as_its_tool_writes_it() -> None:
    made = (Path(catalog.__file__).parent / "data" / FILE).read_text(encoding="utf-8")

    assert as_text(json.loads(made)) == made
