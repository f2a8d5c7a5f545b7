"""The table of chart values, and the tool that makes it, on a small chart made here.

With EKS_GPUSHARE_TEST_CHARTS naming a folder that has the charts in `gpu-operator`,
`nvidia-device-plugin`, `aws-efa-k8s-device-plugin`, `dcgm-exporter`, `cluster-autoscaler`, `keda`
and `kueue`, the whole table is made again and compared.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from chart_keys import Chart, ChartError, keys, read_chart, render_keys, tree
from template_reads import Read, reads

from eks_gpushare.catalog import versions
from eks_gpushare.catalog.chart_keys import chart_keys

ROOT = Path(__file__).parents[2]
DATA = ROOT / "components" / "eks_gpushare" / "catalog" / "data"
SCRIPT = ROOT / "tools" / "catalog" / "chart_keys.py"
CHARTS = {
    "gpu-operator": versions.GPU_OPERATOR,
    "device-plugin": versions.DEVICE_PLUGIN,
    "efa-device-plugin": versions.EFA_DEVICE_PLUGIN,
    "dcgm-exporter": versions.DCGM_EXPORTER,
    "cluster-autoscaler": versions.CLUSTER_AUTOSCALER,
    "keda": versions.KEDA,
    "kueue": versions.KUEUE,
    "prometheus": versions.PROMETHEUS,
}
"""The charts by the option of the tool that names them."""
HINTS: dict[str, Any] = {"byParts": {}, "unused": {}, "hints": {}}


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{{ .Values.a.b }}", [("a.b", False)]),
        ("{{- .Values.a | quote -}}", [("a", False)]),
        ("{{ toYaml .Values.a.b | nindent 4 }}", [("a.b", True)]),
        ("{{ $.Values.a }}", [("a", False)]),
        ("{{ if and .Values.a (not .Values.b) }}{{ end }}", [("a", False), ("b", False)]),
        (
            "{{ with .Values.a }}{{ .b }}{{ toYaml . }}{{ end }}{{ .Values.c }}",
            [("a", False), ("a.b", False), ("a", True), ("c", False)],
        ),
        ("{{ with .Values.a }}{{ $.Values.b }}{{ end }}", [("a", False), ("b", False)]),
        ("{{ range .Values.a }}{{ .name }}{{ end }}", [("a", True)]),
        ("{{ $x := .Values.a }}{{ $x.b }}", [("a", False), ("a.b", False)]),
        ('{{ index .Values "a-b" "c" }}', [("a-b.c", False)]),
        ("{{/* .Values.a */}}", []),
        ('{{ fail "set .Values.a" }}', []),
        ('{{ define "x" }}{{ .root.Values.a }}{{ end }}', [("a", False)]),
        (
            "{{ with .Values.a }}{{ .b }}{{ else with .Values.c }}{{ .d }}{{ end }}",
            [("a", False), ("a.b", False), ("c", False), ("c.d", False)],
        ),
        (
            "{{ if .Values.a }}{{ else if .Values.b }}{{ end }}{{ .Values.c }}",
            [("a", False), ("b", False), ("c", False)],
        ),
        ("{{ .Release.Name }}{{ .Chart.Version }}", []),
    ],
)
def test_what_a_template_reads(template: str, found: list[tuple[str, bool]]) -> None:
    assert list(reads(template)) == [Read(tuple(p.split(".")), whole) for p, whole in found]


FILES = {
    "Chart.yaml": "dependencies: [{name: inner, alias: in, version: 1.0.0, condition: in.on}]\n",
    "values.yaml": "a: {b: 1, c: {d: 2}}\nidle: {x: {}}\nin: {on: true, e: 1}\n",
    "templates/a.yaml": "{{ .Values.a.b }}{{ toYaml .Values.a.c }}{{ .Values.more }}",
}


def small(**hints: Any) -> dict[str, Any]:
    return keys("gpu-operator", "1.0.0", Chart(FILES), {**HINTS, **hints})


def test_values_are_told_apart_by_what_templates_do_with_them() -> None:
    made = small()

    assert {key: made[key] for key in ("read", "whole", "idle")} == {
        "read": ["a.b", "in.on", "more"],
        "whole": ["a.c"],
        "idle": ["idle.x"],
    }


def test_a_value_that_is_read_only_to_refuse_it_is_left_out() -> None:
    assert small(unused={"more": "refused"})["read"] == ["a.b", "in.on"]


def test_a_block_that_is_passed_on_where_nobody_looks_is_known_by_its_parts() -> None:
    made = small(byParts={"a.c": "only to a custom resource that is not installed"})

    assert (made["read"], made["whole"]) == (["a.b", "a.c.d", "in.on", "more"], [])


def test_a_place_is_written_once_with_what_becomes_of_it_and_what_it_is() -> None:
    """A value that is passed on has types below it, and one that is read may have others below."""
    said = {
        **small(),
        "types": {"boolean": ["in.on"], "mapping": ["a", "a.c"], "number": ["a.c.d"]},
    }

    assert tree(said) == {
        "a": {"": "m", "b": "R", "c": {"": "Wm", "d": "n"}},
        "idle": {"x": "I"},
        "in": {"on": "Rb"},
        "more": "R",
    }
    assert json.loads(render_keys({"_about": "it", "c": {**said, "subcharts": {}}})) == {
        "_about": "it",
        "c": {
            **{key: said[key] for key in ("version", "source", "hints")},
            "subcharts": {},
            "values": tree(said),
        },
    }


def test_a_chart_without_templates_is_no_chart() -> None:
    with pytest.raises(ChartError, match="gpu-operator has no templates"):
        keys("gpu-operator", "1.0.0", Chart({}), HINTS)


def test_a_packed_subchart_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "charts").mkdir()
    text = b"{{ .Values.a }}"
    with tarfile.open(tmp_path / "charts" / "inner-1.0.0.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("inner/templates/a.yaml")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))

    inner = read_chart(tmp_path).below("charts/inner")
    assert inner.files == {"templates/a.yaml": text.decode()}


def test_a_folder_that_is_no_chart_is_said_so(tmp_path: Path) -> None:
    given = [f"--{name}=1.0.0={tmp_path}" for name in CHARTS]
    made = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path), *given],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
    )

    assert (made.returncode, made.stderr) == (1, "error: there is no Chart.yaml in it\n")


def test_the_table_is_what_the_tool_makes_of_the_charts(tmp_path: Path) -> None:
    charts = os.environ.get("EKS_GPUSHARE_TEST_CHARTS")
    if not charts:
        pytest.skip("EKS_GPUSHARE_TEST_CHARTS is not set; the top of this file says what it names")
    arguments = [
        f"--{name}={chart.version}={Path(charts) / chart.name}" for name, chart in CHARTS.items()
    ]
    subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path), *arguments], check=True, timeout=60
    )

    made = (tmp_path / "chart-keys.json").read_text(encoding="utf-8")
    assert made == (DATA / "chart-keys.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "chart",
    [*CHARTS.values(), versions.NODE_FEATURE_DISCOVERY],
    ids=lambda chart: chart.name,
)
def test_the_table_is_for_the_versions_that_are_installed(chart: versions.HelmChart) -> None:
    known = chart_keys(chart.name)

    assert known is not None
    assert known.version == chart.version, (
        "run tools/catalog/chart_keys.py for the chart versions of eks_gpushare.catalog.versions"
    )


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("driver.enabled", "read"),
        ("driver", "block"),
        ("driver.env", "whole"),
        ("driver.env.x.y", "whole"),
        ("devicePlugin.mps.root", "idle"),
        ("devicePlugin.mps.root.x", "idle"),
        ("devicePlugin.mps", "block"),
        ("driver.enabled.x", None),
        ("node-feature-discovery", "block"),
        ("node-feature-discovery.worker.tolerations", "whole"),
        ("node-feature-discovery.madeUp", None),
        ("global.imagePullSecrets", "whole"),
        ("global.madeUp", None),
        ("nfd.enabled", "read"),
        ("nfd.worker", None),
    ],
)
def test_what_the_operator_does_with_a_value(place: str, kind: str | None) -> None:
    known = chart_keys("gpu-operator")

    assert known is not None
    assert known.kind(tuple(place.split("."))) == kind


def test_another_chart_is_not_known() -> None:
    assert chart_keys("karpenter") is None
