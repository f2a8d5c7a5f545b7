"""The tool that makes the lab's table of DaemonSets, on renderings made here.

With `helm` on PATH and EKS_GPUSHARE_TEST_CHARTS naming a folder that has the charts in
`gpu-operator`, `nvidia-device-plugin`, `aws-efa-k8s-device-plugin` and `dcgm-exporter`, and
`assets` of the operator's repository, the whole table is made again and compared.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from chart_keys import Chart, ChartError
from daemonsets import Wanted, default_values, entry, operands

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
DATA = ROOT / "components" / "eks_gpushare_lab" / "install" / "data"
SCRIPT = ROOT / "tools" / "catalog" / "daemonsets.py"
VALUES = """
full: false
nodeSelector: {zone: a}
tolerations: [{key: t}]
inner: {priorityClassName: own}
"""
CHART = Chart(
    {
        "Chart.yaml": "dependencies: [{name: inner, version: 1.0.0}]",
        "values.yaml": VALUES,
        "charts/inner/values.yaml": "{priorityClassName: '', worker: {priorityClassName: ''}}",
    }
)
WANTED = Wanted(settings={"full": True}, programs=["one"], values=["full", "absent"])


class Templates:
    """In place of helm: a template whose pods take their priority from one value or another."""

    folder = Path("chart")

    def render(self, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What the chart makes of values."""
        if not given.get("full"):
            return []
        inner = {"priorityClassName": "own", **given.get("inner", {})}
        first = inner.get("worker", {}).get("priorityClassName")
        spec = {
            "containers": [{"command": ["beside"]}, {"command": ["one"]}],
            "nodeSelector": {"fixed": "true", "zone": "a", **given.get("nodeSelector", {})},
            "affinity": None,
            "tolerations": given.get("tolerations", [{"key": "t"}]),
            "priorityClassName": first or inner["priorityClassName"],
        }
        metadata = {"name": "release-name-one"}
        made = {"kind": "DaemonSet", "metadata": metadata, "spec": {"template": {"spec": spec}}}
        return [{"kind": "ConfigMap"}, made]


def test_values_of_a_subchart_lie_below_those_of_the_chart() -> None:
    assert default_values(CHART)["inner"] == {
        "priorityClassName": "own",
        "worker": {"priorityClassName": ""},
    }


def test_an_entry_tells_where_pods_go_and_by_which_values() -> None:
    made = entry(WANTED, CHART, Templates())  # type: ignore[arg-type]  # renders as helm does

    assert made == {
        "defaults": {
            "inner": {"priorityClassName": "own", "worker": {"priorityClassName": ""}},
            "full": False,
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "t"}],
        },
        "settings": {"full": True},
        "daemonSets": {
            "one": {
                "name": "{release}-one",
                "nodeSelector": {"fixed": "true", "zone": "a"},
                "tolerations": [{"key": "t"}],
                "priorityClassName": "own",
                "valuesOf": {
                    "nodeSelector": ["nodeSelector"],
                    "tolerations": ["tolerations"],
                    "priorityClassName": [
                        "inner.worker.priorityClassName",
                        "inner.priorityClassName",
                    ],
                },
            }
        },
    }


def test_a_daemon_set_that_is_gone_is_said_so() -> None:
    wanted = Wanted(settings={"full": True}, programs=["one", "two"], values=[])

    with pytest.raises(ChartError, match=r"^chart has no DaemonSet of two$"):
        entry(wanted, CHART, Templates())  # type: ignore[arg-type]  # the same


def assets(tmp_path: Path, *states: str) -> Path:
    """A folder of states with a DaemonSet each."""
    for state in states:
        (tmp_path / state).mkdir()
        pod = {
            "nodeSelector": {"deploy": state},
            "initContainers": [{"name": "toolkit-validation"}],
        }
        made = {
            "kind": "DaemonSet",
            "metadata": {"name": f"of-{state}"},
            "spec": {"template": {"spec": pod}},
        }
        (tmp_path / state / "0500_daemonset.yaml").write_text(json.dumps(made), encoding="utf-8")
        (tmp_path / state / "0100_other.yaml").write_text("kind: ConfigMap\n", encoding="utf-8")
    return tmp_path


KEPT = {"states": {"a": {"enabledBy": "a.enabled", "program": "p"}}, "notDeployed": {"b": "why"}}


def test_operands_come_from_the_manifests_of_the_operator(tmp_path: Path) -> None:
    assert operands(assets(tmp_path, "a", "b"), KEPT) == {
        "of-a": {
            "enabledBy": "a.enabled",
            "program": "p",
            "gated": True,
            "nodeSelector": {"deploy": "a"},
        }
    }


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (("a", "c"), "lab-charts.json has nothing of c: add what turns it on"),
        (("b",), "has no DaemonSet of a"),
    ],
)
def test_a_state_more_or_less_is_said_so(
    states: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ChartError, match=message):
        operands(assets(tmp_path, *states), KEPT)


def run(out: Path, charts: Path, *more: str) -> subprocess.CompletedProcess[str]:
    plugin, operator, efa, exporter = (
        *(versions.DEVICE_PLUGIN, versions.GPU_OPERATOR),
        *(versions.EFA_DEVICE_PLUGIN, versions.DCGM_EXPORTER),
    )
    command = [sys.executable, str(SCRIPT), "--out", str(out)]
    command += ["--device-plugin", f"{plugin.version}={charts / plugin.name}"]
    command += ["--gpu-operator", f"{operator.version}={charts / operator.name}"]
    command += ["--efa-device-plugin", f"{efa.version}={charts / efa.name}"]
    command += ["--dcgm-exporter", f"{exporter.version}={charts / exporter.name}"]
    command += ["--operator-assets", str(charts / "assets"), *more]
    return subprocess.run(command, capture_output=True, check=False, timeout=60, text=True)


def test_a_folder_that_is_no_chart_is_said_so(tmp_path: Path) -> None:
    made = run(tmp_path, tmp_path)

    assert (made.returncode, made.stderr) == (1, "error: there is no values.yaml in it\n")


def test_the_table_is_what_the_tool_makes_of_the_charts(tmp_path: Path) -> None:
    charts = os.environ.get("EKS_GPUSHARE_TEST_CHARTS")
    if not charts or shutil.which("helm") is None or not Path(charts, "assets").is_dir():
        pytest.skip("no helm, or no charts; the top of this file says what is wanted")
    recorded = (DATA / "daemonsets.json").read_text(encoding="utf-8")
    (plugin,) = json.loads(recorded)["nvidia-device-plugin"].values()
    made = run(tmp_path, Path(charts), "--read", plugin["read"])

    assert made.stderr == ""
    assert (tmp_path / "daemonsets.json").read_text(encoding="utf-8") == recorded
