"""What lint says of values of charts, and of words and numbers as somebody wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    chart,
    operator,
    plugin,
    said,
)

from eks_gpushare.catalog.chart_keys import chart_keys
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.checks.charts import chart_values
from eks_gpushare.manifests.readers import values
from eks_gpushare.manifests.readers.words import close_to, shown
from eks_gpushare.manifests.rules.chart_values import IDLE_VALUE

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item


def looked(edge: Any, *given: Item) -> list[Problem]:
    found = list(edge.look(Inventory(given, complete=True)))
    assert all(isinstance(each, Problem) for each in found)
    return [each for each in found if isinstance(each, Problem)]


KEYS = chart_keys("nvidia-device-plugin")
assert KEYS is not None
NEWEST = KEYS.version


@pytest.mark.parametrize(
    ("values", "version", "severity"),
    [
        ({"configs": {"name": "a"}}, NEWEST, None),
        ({"configs": {"name": "a"}}, f"v{NEWEST.removeprefix('v')}", None),
        ({"configs": {"name": "a"}}, "0.14.0", None),
        ({"configs": {"name": "a"}}, "", None),  # something else was meant
        ({"unheardOf": 1}, NEWEST, None),
        ({"unheardOf": 1}, "v0.14.0", None),
        ({"unheardOf": 1}, "", "warning"),
        ({"mps": {"root": "/run"}}, "0.14.5", None),  # it came later
    ],
)
def test_of_another_version_the_chart_may_have_had_the_value(
    values: Any, version: Any, severity: str | None
) -> None:
    (found,) = looked(chart_values.values_are_read, plugin(values, version=version))

    assert found.severity == severity


@pytest.mark.parametrize(
    "release",
    [
        plugin({"global": {"a": 1}}),
        plugin(UNKNOWN),
        plugin({"image": {"tag": UNKNOWN}}),
        plugin({"tolerations": [UNKNOWN, {"key": "a"}]}),
        chart("somebody-elses", {"a": 1}),
        operator({"operator": {"defaultRuntime": "docker"}}, version="v1.9.0"),
        operator({"psp": {"enabled": False}}, version="v1.9.0"),
        operator({"psp": {"enabled": False}}),
        plugin({"unheardOf": 1}, version="0.1.0"),
        plugin({"unheardOf": 1}, version=UNKNOWN),
        plugin({"unheardOf": 1}, version="~0.17"),
        plugin({"nfd": {"enableNodeFeatureApi": True}}, version="0.14.0"),
        plugin({"nfd": {"enableNodeFeatureApi": True}}),
        plugin({"legacyDaemonsetAPI": True}, version="0.14.5"),
        plugin({"mps": {"root": "/run"}}, version="0.15.0"),
        operator({"cdi": {"default": True}}, version="v24.9.0"),
    ],
)
def test_values_that_are_read_or_not_known(release: Item) -> None:
    assert said(chart_values.values_are_read, release) == []


def test_what_earlier_versions_read_is_not_read_by_the_newest() -> None:
    keys = chart_keys("gpu-operator")
    assert keys is not None
    release = operator({"psp": {"enabled": False}}, version=keys.version)

    assert [code for code, _ in said(chart_values.values_are_read, release)]


@pytest.mark.parametrize(
    ("values", "edits"),
    [
        ({"configs": {"name": "a"}}, [("rename", ("configs",), "config")]),
        ({"configs": {"name": "a"}, "config": {}}, []),
        ({"config": {"maps": {}}}, [("rename", ("config", "maps"), "map")]),
        ({"gfd": {"enabled": "true"}}, [("set", ("gfd", "enabled"), True)]),
        ({"gfd": {"enabled": "false"}}, [("set", ("gfd", "enabled"), False)]),
        ({"unheardOf": 1}, []),
    ],
)
def test_what_is_certain_is_written(values: Any, edits: list[Any]) -> None:
    (found,) = looked(chart_values.values_are_read, plugin(values, version=NEWEST))

    assert [(each.kind, each.path, each.value) for each in found.edits] == edits


@pytest.mark.parametrize(
    ("paths", "path"),
    [
        ({}, ("config", "maps")),
        ({("config",): ("spec", "config")}, ("spec", "config", "maps")),
        ({("config", "maps"): ("set", 0), ("config",): ("b",)}, ("set", 0)),
        ({("config", "name"): ("set", 0)}, ("config", "maps")),
        ({(): ("values",)}, ("values", "config", "maps")),
    ],
)
def test_a_value_is_told_of_where_it_stands(paths: Any, path: Any) -> None:
    (found,) = looked(
        chart_values.values_are_read, plugin({"config": {"maps": {}}}, paths=paths, version=NEWEST)
    )

    assert found.path == path


@pytest.mark.parametrize("name", ["gpu-operator", "kueue"])
def test_an_idle_value_is_told_of_unless_it_is_the_charts_own_file(name: str) -> None:
    """Of the one six tenths are no whole number of keys, and of the other they are."""
    keys = chart_keys(name)
    assert keys is not None
    idle = next(place for place, kind in keys.places.items() if kind == "idle")
    value: Any = "x"
    for key in reversed(idle):
        value = {key: value}
    known = sorted({place[0] for place in (*keys.places, *keys.blocks)} - {idle[0]})
    most = len(known) + 1
    enough = -(-most * 6 // 10) - 1  # beside the idle value's own
    few, own = ({**dict.fromkeys(known[:count]), **value} for count in (enough - 1, enough))

    def told(given: Any) -> list[tuple[str, ...]]:
        found = looked(chart_values.values_are_read, chart(name, given))
        return [each.path for each in found if each.rule is IDLE_VALUE]  # type: ignore[misc]

    assert told(few) == [idle]
    assert told(own) == []


def test_what_is_not_known_in_a_list_is_no_value_of_a_wrong_type() -> None:
    release = plugin(
        {"tolerations": [UNKNOWN], "nodeSelector": UNKNOWN, "affinity": {"a": UNKNOWN}}
    )

    assert looked(chart_values.values_are_read, release) == []


@pytest.mark.parametrize(
    ("version", "codes"), [("", ["GPU1036"]), (NEWEST, ["GPU1036"]), ("0.15.0", [])]
)
def test_the_type_of_a_value_is_that_of_the_newest_version(version: str, codes: list[str]) -> None:
    """An earlier one may have read another; which did is known of what came or changed later."""
    release = plugin({"gfd": {"enabled": "true"}}, version=version)

    assert [code for code, _ in said(chart_values.values_are_read, release)] == codes


@pytest.mark.parametrize(
    ("values", "fix", "edits"),
    [
        ({"migStrategy": "singel"}, "Write single.", ["single"]),
        ({"migStrategy": "quantum"}, "Write one of these.", []),
        ({"migStrategy": "none,mixed"}, "Write one of these.", []),
        ({"deviceListStrategy": "envvars"}, "Write envvar.", ["envvar"]),
        ({"deviceListStrategy": "envvar,volume-mount"}, "Write one of these.", []),
    ],
)
def test_a_word_that_no_choice_is_gets_the_one_that_was_meant(
    values: dict[str, str], fix: str, edits: list[str]
) -> None:
    (found,) = looked(chart_values.choices_are_known, plugin(values))

    assert found.fix == fix
    assert [(each.kind, each.path, each.value) for each in found.edits] == [
        ("set", tuple(values), word) for word in edits
    ]


@pytest.mark.parametrize(
    "values",
    [{"migStrategy": "mixed"}, {"deviceListStrategy": "envvar, volume-mounts"}, {"migStrategy": 5}],
)
def test_words_that_are_choices(values: dict[str, Any]) -> None:
    assert looked(chart_values.choices_are_known, plugin(values)) == []


# Words and numbers as somebody wrote them.


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("5", 5),
        (5, 5),
        ("9" * 18, int("9" * 18)),
        ("9" * 5000, None),
        (True, None),
        ("", None),
        ("-5", None),
        ("\u0665", None),
        (None, None),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_a_whole_number_also_in_quotes(value: Any, number: Any) -> None:
    assert values.whole(value) == number
    assert values.whole([], 7) == 7


def test_values_whose_shape_nobody_has_checked() -> None:
    assert values.mapping({"a": 1}) == {"a": 1}
    assert values.mapping(UNKNOWN) is UNKNOWN
    assert values.mapping("a") == {}
    assert values.text("a", "b") == "a"
    assert values.text(UNKNOWN, "b") is UNKNOWN
    assert values.text(5, "b") == "b"
    assert list(values.mappings([1, {"a": 1}, "b", {}])) == [(1, {"a": 1}), (3, {})]
    assert list(values.mappings({"a": 1})) == []
    assert list(values.walk({"a": [{"b": 1}, 5]})) == [
        ((), {"a": [{"b": 1}, 5]}),
        (("a", 0), {"b": 1}),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (UNKNOWN, "not known"),
        ({}, "a mapping"),
        ([], "a list"),
        (True, "true"),
        (False, "false"),
        (None, "empty"),
        (5, "5"),
        ("5", '"5"'),
        ("a" * 80, f'"{"a" * 80}"'),
        ("a" * 81, f'"{"a" * 80}..."'),
        (10**90, f"1{'0' * 79}..."),
    ],
)
def test_a_value_as_messages_show_it(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("node_selector", "nodeSelector"),
        ("NodeSelector", "nodeSelector"),
        ("nodeSelectr", "nodeSelector"),
        ("labels", None),
        ("", None),
    ],
)
def test_the_word_that_is_meant_for_certain(word: str, meant: str | None) -> None:
    assert close_to(word, ["nodeSelector", "nodeName"]) == meant


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"affinity": {}}, True),
        ({"affinity": None}, False),
        ({"affinity": {}, "gfd": {"enabled": True}}, False),
        ({"affinity": {"nodeAffinity": {}}}, False),
    ],
)
def test_an_empty_affinity_leaves_that_of_the_chart(values: dict[str, Any], wrong: bool) -> None:
    """Helm merges maps; only null takes a default away."""
    release = plugin(values=values, version="0.17.1")

    found = looked(chart_values.values_are_read, release)

    assert (IDLE_VALUE in {each.rule for each in found}) == wrong
    assert looked(chart_values.values_are_read, plugin(values=values, version="0.12.3")) == []
