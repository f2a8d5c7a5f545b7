"""What a chart says of those that it brings along."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.readers.subcharts import (
    Subchart,
    SubchartValuesReader,
    charts_of_ones_own,
    subcharts,
)


def listed(more: str = "", name: str = "name: gpu-operator") -> list[Subchart]:
    text = f"dependencies: [{{{name}{more}}}]\n"
    found = subcharts([GivenFile("c/Chart.yaml", text), GivenFile("d/values.yaml", text)])
    assert not found.keys() - {"c"}
    return list(found.get("c", ()))


@pytest.mark.parametrize(
    "name", ["name: redis", "alias: gpus", "name: 3", "name: gpu-operator-crds"]
)
def test_charts_that_say_nothing_of_gpus_are_passed_over(name: str) -> None:
    assert listed(name=name) == []


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("", "gpu-operator"),
        (", alias: gpus", "gpus"),
        (", alias: ''", "gpu-operator"),
        (", alias: 3", "gpu-operator"),
    ],
)
def test_values_stand_under_the_alias(more: str, key: str) -> None:
    assert [each.key for each in listed(more)] == [key]


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("25.3.0", "25.3.0"),
        ("v25.3.0", "v25.3.0"),
        ("'25.3'", UNKNOWN),
        ("25.3", UNKNOWN),
        ("25.3.x", UNKNOWN),
        ("~25.3.0", UNKNOWN),
        ("'>=25.3.0'", UNKNOWN),
    ],
)
def test_a_version_is_known_where_it_is_no_range(written: str, version: Any) -> None:
    assert [each.version for each in listed(f", version: {written}")] == [version]


@pytest.mark.parametrize(
    ("tags", "is_on"),
    [
        ({}, True),
        ({"gpu": True}, True),
        ({"gpu": False}, False),
        ({"gpu": False, "ml": True}, True),
        ({"gpu": "no"}, True),
        ({"gpu": UNKNOWN, "ml": True}, None),
    ],
)
def test_any_of_its_tags_installs_it(tags: Any, is_on: bool | None) -> None:
    (chart,) = listed(", tags: [gpu, 3, ml]")

    assert chart.tags == ("gpu", "ml")
    assert chart.is_on({"tags": tags}) is is_on


def test_the_switch_that_helm_reads_is_no_value_of_its_own() -> None:
    (chart,) = listed(", condition: 'gpu-operator.enabled, gpus.enabled'")

    assert chart.own({"enabled": True, "mig": {}}) == {"mig": {}}


@pytest.mark.parametrize(
    ("value", "so"),
    [
        ({"gpu-operator": {}}, True),
        ({"gpu-operator": 3}, False),
        ({"apiVersion": "v1", "gpu-operator": {}}, False),
        (["gpu-operator"], False),
    ],
)
def test_values_have_some_for_one_of_them(value: Any, so: bool) -> None:
    document = Document("c/values.yaml", value, lambda _: Position(1, 1))

    assert SubchartValuesReader(listed()).matches(document) == so


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("gpu-operator", False),
        ("gpu-metrics", True),
        ("kai-scheduler", False),  # of whose values nothing is known
    ],
)
def test_a_chart_that_names_nvidias_sources_is_theirs_by_its_name(name: str, is_own: bool) -> None:
    chart = f"name: {name}\nsources: [https://github.com/NVIDIA/{name}]\n"
    template = "a: {{ .Values.driver.enabled }}\n"
    files = [GivenFile("c/Chart.yaml", chart), GivenFile("c/templates/a.yaml", template)]

    assert charts_of_ones_own(files) == ({"c"} if is_own else set())
