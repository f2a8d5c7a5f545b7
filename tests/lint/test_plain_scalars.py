"""Scalars, places in texts, and values of which anything may be anything."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.catalog import alternatives, gpu_instance_types
from eks_gpushare.catalog.instances import InstanceType
from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests import charts, plain, toml_text
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.retired import retired_words
from eks_gpushare.manifests.scalars import plain_scalar, tagged_scalar
from eks_gpushare.manifests.texts import read_texts
from eks_gpushare.manifests.yaml_text import YamlText

TAG = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("y", True),
        ("N", False),
        ("yEs", "yEs"),
        ("true", True),
        ("4", 4),
        ("2026-11-22", "2026-11-22"),
        ("~", None),
        ("nvidia", "nvidia"),
    ],
)
def test_a_plain_scalar_means_what_it_means_to_kubernetes(text: str, value: Any) -> None:
    found = plain_scalar(text)

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("True", "true"),
        ("no", "false"),
        ("'no'", "no"),
        ("!!bool no", "false"),
        ("!!str yes", "yes"),
        ("&a no", "false"),
        ('&a "<x>"', "<x>"),
        ("{user}", "{user}"),
        ("~", "~"),
        ("0x10", "0x10"),
        ("2026-11-22", "2026-11-22"),
        ("${NAME}", "${NAME}"),
        ("a b", "a b"),
    ],
)
def test_a_key_is_a_text_as_json_has_it(written: str, key: str) -> None:
    (document,) = read_texts(f"data:\n  {written}: 1\n", "map.yaml").documents

    assert list(document.value["data"] or ()) == ([] if "$" in key else [key])


@pytest.mark.parametrize(("indent", "value"), [("  ", None), ("    ", UNKNOWN)])
def test_a_comment_behind_a_key_tells_its_value_where_it_is_indented(
    indent: str, value: object
) -> None:
    (document,) = read_texts(f"\n  a:\n{indent}# the name\n  b: 1\n", "map.yaml").documents

    assert document.value == {"a": value, "b": 1}


def test_a_key_with_an_anchor_stands_for_a_value_too() -> None:
    (document,) = read_texts("data: {&a name: 1, b: *a}\n", "map.yaml").documents

    assert document.value == {"data": {"name": 1, "b": "name"}}


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        (f"{TAG}bool", "yes", True),
        (f"{TAG}bool", "off", False),
        (f"{TAG}bool", "true", True),
        (f"{TAG}bool", "maybe", "maybe"),
        (f"{TAG}str", "yes", "yes"),
        (f"{TAG}str", "5", "5"),
        (f"{TAG}int", "5", 5),
        (f"{TAG}int", "yes", "yes"),
        (f"{TAG}float", "5.5", 5.5),
        ("!custom", "5", "5"),
        ("!custom", "yes", "yes"),
    ],
)
def test_a_tag_decides_what_a_scalar_is(tag: str, text: str, value: Any) -> None:
    found = tagged_scalar(tag, text)

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (1.5, "1.5"),
        (0, "0"),
        ("a", "a"),
        (None, ""),
        ([], ""),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_a_value_as_text(value: Any, text: Any) -> None:
    assert plain.text(value) == text
    assert plain.written(value) == str(text)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        ("5", 5),
        ("007", 7),
        ("123456789", 123456789),
        ("1234567890", None),
        (True, None),
        ("", None),
        ("5.0", None),
        ("-5", None),
        ("\u0665", None),
        (5.0, None),
        (None, None),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_a_whole_number(value: Any, number: Any) -> None:
    assert plain.whole(value) == number
    assert not isinstance(plain.whole(value), bool)


@pytest.mark.parametrize(
    ("given", "taints"),
    [
        (
            [{"key": "a", "value": True, "effect": "NO_EXECUTE"}],
            (NodeTaint("a", "true", "NoExecute"),),
        ),
        ([{"value": "b"}, "text", {"key": "a"}], (NodeTaint("a", "", ""),)),
        ([{"key": "a", "effect": UNKNOWN}], UNKNOWN),
        ([{"key": UNKNOWN}], UNKNOWN),
        ([{"key": "a", "value": UNKNOWN}], UNKNOWN),
        ([UNKNOWN], UNKNOWN),
        (UNKNOWN, UNKNOWN),
        ("text", ()),
        (None, ()),
    ],
)
def test_taints_of_a_list(given: Any, taints: Any) -> None:
    assert plain.taints(given) == taints


@pytest.mark.parametrize(
    ("effect", "meant"),
    [
        ("NoSchedule", "NoSchedule"),
        ("NO_SCHEDULE", "NoSchedule"),
        ("no-execute", "NoExecute"),
        ("prefernoschedule", "PreferNoSchedule"),
        ("Schedule", None),
        ("", None),
    ],
)
def test_an_effect_has_one_spelling(effect: str, meant: str | None) -> None:
    assert plain.kubernetes_effect(effect) == meant


def test_labels_are_texts() -> None:
    assert plain.labels({"a": True, "b": UNKNOWN, "c": "d"}) == {
        "a": "true",
        "b": UNKNOWN,
        "c": "d",
    }
    assert plain.labels(UNKNOWN) is UNKNOWN
    assert plain.labels(["a"]) == {}
    no_strings = plain.no_strings({"a": 1, "b": "c", "d": False, "e": None, "f": 0.5}, ("labels",))
    assert list(no_strings) == [
        (("labels", "a"), 1),
        (("labels", "d"), False),
        (("labels", "f"), 0.5),
    ]


def test_places_of_tables_and_keys() -> None:
    text = (
        'a.b = 1\n  [c.d.e]  # why\nf."g h".i = 2\n[c]\nd2 = 3\n[[c.list]]\nx = 1\n'
        "a.b = 5\nno entry\n"
    )

    assert toml_text.places(text, 3, 2) == {
        ("a",): Position(3, 2),
        ("a", "b"): Position(3, 2),
        ("c",): Position(6, 3),
        ("c", "d"): Position(4, 5),
        ("c", "d", "e"): Position(4, 5),
        ("c", "d", "e", "f"): Position(5, 2),
        ("c", "d", "e", "f", "g h"): Position(5, 2),
        ("c", "d", "e", "f", "g h", "i"): Position(5, 2),
        ("c", "d2"): Position(7, 2),
        ("c", "list"): Position(8, 4),
        ("c", "list", "x"): Position(9, 2),
        ("c", "list", "a"): Position(10, 2),
        ("c", "list", "a", "b"): Position(10, 2),
    }
    # A table that nothing else names stands where it is named first.
    assert toml_text.places("[a.b.c]\n") == {
        ("a",): Position(1, 2),
        ("a", "b"): Position(1, 2),
        ("a", "b", "c"): Position(1, 2),
    }


def test_an_empty_document_is_at_its_beginning() -> None:
    assert YamlText("", None, line=4).line_and_column(("a",)) == (5, 1)
    (document,) = read_texts("a:\n  b: 1\n", "f.yaml").documents
    assert document.position(("a", "b")) == (2, 3)
    assert document.position(("a", "c")) == (1, 1)
    assert document.position(("x",)) == (1, 1)


def test_a_retired_type_has_others_instead() -> None:
    found = next(each for each in gpu_instance_types().values() if len(alternatives(each)) > 3)
    first, second, third, *_ = alternatives(found)
    lonely = InstanceType("p0.large", 2, 1024, "amd64", gpu_count=3)

    assert retired_words(found) == (
        f"EC2 offers {found.name} in no region any more.",
        f"Take one of {first}, {second}, {third}.",
    )
    assert alternatives(lonely) == ()
    assert retired_words(lonely)[1] == "Take another type."


@pytest.mark.parametrize(
    ("given", "chart"),
    [
        ("nvidia-device-plugin", "nvidia-device-plugin"),
        ("nvdp/nvidia-device-plugin", "nvidia-device-plugin"),
        ("https://example.com/charts/nvidia-device-plugin-0.20.0.tgz", "nvidia-device-plugin"),
        ("oci://nvcr.io/nvidia/gpu-operator/", "gpu-operator"),
        ("gpu-operators", None),
        ("my-gpu-operator", None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_a_chart_is_known_by_its_last_name(given: Any, chart: str | None) -> None:
    assert charts.chart_named(given) == chart


def _document(value: Any) -> Document:
    return Document("file.yaml", value, lambda _: Position(1, 1))


@pytest.mark.parametrize(
    ("name", "called"),
    [("gpus", "gpus of keda"), (UNKNOWN, "of keda"), ("", "of keda")],
)
def test_a_release_is_called_by_its_name_and_chart(name: Any, called: str) -> None:
    assert charts.release(_document({}), "keda", {}, name=name).source.name == (
        f"the release {called}"
    )


@pytest.mark.parametrize(
    ("given", "values"), [({"a": 1}, {"a": 1}), (UNKNOWN, UNKNOWN), ("a", {}), (None, {})]
)
def test_values_of_a_release_are_a_mapping_or_not_known(given: Any, values: Any) -> None:
    assert charts.release(_document({}), "keda", given).values == values


def test_configurations_within_values_are_documents() -> None:
    text = (
        "config:\n  map:\n    a: |\n      version: v1\n    b: {version: v2}\n    c: 5\n"
        'devicePlugin: {config: {data: {d: "version: v3"}}}\n'
        "migManager: {config: {data: [version]}}\n"
    )
    (document,) = read_texts(text, "f.yaml").documents
    found = [(each.value, each.position(("version",))) for each in charts.within_values(document)]

    assert found == [
        ({"version": "v1"}, (4, 7)),
        ({"version": "v2"}, (5, 9)),
        ({"version": "v3"}, found[2][1]),
    ]
    # What was made by a program has values, and no text in which they have places.
    (made,) = charts.within_values(_document({"config": {"map": {"a": "version: v1"}}}))
    assert made.value == {"version": "v1"}
