"""Values that commands name are read where they lie, for the chart that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.items import Release
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import GivenFile, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from eks_gpushare.lint.report import FileReport

MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: sharing, namespace: gpu}
data:
  any: |-
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
INSTALL = "helm upgrade -i nvdp nvdp/nvidia-device-plugin -n gpu"


def linted(*names: str) -> dict[str, FileReport]:
    return judged(map(read_file, names))


def judged(files: Iterable[GivenFile]) -> dict[str, FileReport]:
    reading = read_files(files)
    reading.judge((*EDGES, *CHECKS))
    return {each.file: each for each in reading.reports()}


def codes(report: FileReport) -> list[str]:
    return [each.code for each in report.findings]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours").mkdir()
    (tmp_path / "map.yaml").write_text(MAP)
    return tmp_path


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("install.sh", f"{INSTALL} -f ours/odd.yaml\n"),
        ("install.sh", f"{INSTALL} \\\n  --values=ours/odd.yaml\n"),
        ("install.sh", f"FILE=ours/odd.yaml\n{INSTALL} --values $FILE\n"),
        ("ours/install.sh", f"{INSTALL} -f odd.yaml\n"),
        ("ours/install.sh", f"{INSTALL} -f ours/odd.yaml\n"),
        ("README.md", f"```bash\n$ {INSTALL} -f ours/odd.yaml\n```\n"),
    ],
)
def test_a_file_that_nobody_gave_is_read(folder: Path, script: str, text: str) -> None:
    """Its keys alone would not tell which chart it is for."""
    (folder / "ours/odd.yaml").write_text("gfd: {enable: true}\n")
    (folder / script).write_text(text)

    found = linted(script, "map.yaml")

    assert codes(found["ours/odd.yaml"]) == ["GPU1034"]
    assert found["ours/odd.yaml"].found[0].position == (1, 7)
    # What lies in another folder and is not named there may be another cluster's.
    assert codes(found["map.yaml"]) == ([] if script.startswith("ours/") else ["GPU1121"])


@pytest.mark.parametrize(
    ("script", "named", "file"),
    [
        ("repo/scripts/install.sh", "addons/odd.yaml", "repo/addons/odd.yaml"),
        ("repo/scripts/install.sh", "addons/odd.yaml", "repo/scripts/addons/odd.yaml"),
        ("repo/scripts/install.sh", "$ROOT/addons/odd.yaml", "repo/addons/odd.yaml"),
        ("repo/scripts/install.sh", "../gpu/addons/odd.yaml", "repo/deploy/gpu/addons/odd.yaml"),
        ("repo/scripts/install.sh", "$DIR/../addons/odd.yaml", "repo/addons/odd.yaml"),
    ],
)
def test_a_file_is_named_from_a_folder_above(script: str, named: str, file: str) -> None:
    files = [
        (script, f"{INSTALL} -f {named}\n"),
        (file, "gfd: {enable: true}\n"),
        ("repo/other/addons/a.yaml", "{}"),
    ]

    assert codes(judged(GivenFile(*each) for each in files)[file]) == ["GPU1034"]


@pytest.mark.parametrize(
    ("named", "others"),
    [
        ("$ROOT/addons/odd.yaml", ["a/addons/odd.yaml", "b/addons/odd.yaml"]),
        ("$ROOT/../odd.yaml", ["scripts/odd.yaml"]),
        ("$ROOT/odd.yaml", ["addons/odd.yaml"]),  # of whichever folder, perhaps of another chart
        ("odd.yaml", ["addons/odd.yaml"]),
        ("addons/$KIND.yaml", ["addons/odd.yaml"]),
        ("/opt/addons/odd.yaml", ["addons/odd.yaml"]),
    ],
)
def test_of_several_that_a_name_may_mean_none_is_read(named: str, others: list[str]) -> None:
    files = [("scripts/install.sh", f"{INSTALL} -f {named}\n")]
    files += [(each, "gfd: {enable: true}\n") for each in others]

    found = judged(GivenFile(*each) for each in files)
    assert not any("GPU1034" in codes(found[each]) for each in others)


def test_what_is_set_beside_goes_over_it(folder: Path) -> None:
    (folder / "ours/odd.yaml").write_text("config: {name: another, default: any}\n")
    (folder / "install.sh").write_text(f"{INSTALL} -f ours/odd.yaml --set config.name=sharing\n")

    found = linted("install.sh", "map.yaml")

    assert {name: codes(each) for name, each in found.items()} == {
        "install.sh": [],
        "map.yaml": [],
        "ours/odd.yaml": [],
    }


@pytest.mark.parametrize(
    "text",
    [
        "helm install other example/other -f ours/odd.yaml\n",
        "cat > odd.txt <<'EOF'\nhelm install\nEOF\n",
        f"{INSTALL} -f /etc/hostname.yaml\n",
        f"{INSTALL} -f ours/none.yaml\n",
        f"{INSTALL} -f https://example.com/values.yaml\n",
        f"{INSTALL} -f $VALUES\n",
        f"{INSTALL} -f FOLDER/ours/odd.yaml\n",
        f"{INSTALL} -f ours/odd.txt\n",
        f"<<EOF\n{INSTALL}\nEOF\n",
        f"# helm\n{INSTALL} -f ours/odd.yaml\n".replace("helm upgrade", "echo upgrade"),
        f"cat > ours/odd.yaml <<'END'\ngfd: {{}}\nEND\n{INSTALL} -f ours/odd.yaml\n",
    ],
)  # fmt: skip
def test_other_files_are_not(folder: Path, text: str) -> None:
    (folder / "ours/odd.yaml").write_text("gfd: {enable: true}\n")
    (folder / "ours/odd.txt").write_text("gfd: {enable: true}\n")
    (folder / "install.sh").write_text(text.replace("FOLDER", str(folder)))

    assert set(linted("install.sh")) == {"install.sh"}


def test_standard_input_names_nothing(folder: Path) -> None:
    (folder / "ours/odd.yaml").write_text("gfd: {enable: true}\n")
    reading = read_files([GivenFile("-", f"#!/bin/sh\n{INSTALL} -f ours/odd.yaml\n")])

    assert [each.file for each in reading.reports()] == ["-"]


MIXED = {"mig": {"strategy": "mixed"}}
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu}
spec:
  destination: {namespace: gpu-operator}
  source:
    chart: gpu-operator
    targetRevision: v26.7.0
    helm:
%s
      parameters:
        - {name: driver.enabled, value: "false"}
        - {name: toolkit.enabled, value: "no", forceString: true}
        - {name: "devicePlugin.env[0].name", value: A}
"""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("      valuesObject: {driver: {enabled: true}, mig: {strategy: mixed}}", MIXED),
        ("      values: |\n        driver: {enabled: true}\n        mig: {strategy: mixed}", MIXED),
        ("      releaseName: gpu", {}),
    ],
)  # fmt: skip
def test_parameters_of_argo_cd_go_over_values(values: str, expected: dict[str, object]) -> None:
    reading = read_files([GivenFile("app.yaml", APPLICATION % values)])

    (release,) = [each for each in reading.items if isinstance(each, Release)]
    assert release.values == {
        **expected,
        "driver": {"enabled": False},
        "toolkit": {"enabled": "no"},
        "devicePlugin": {"env": [{"name": "A"}]},
    }


def test_a_parameter_that_the_chart_has_not_is_told_at_its_line() -> None:
    text = APPLICATION.replace("toolkit.enabled", "toolkit.enable") % "      valuesObject: {}"
    reading = read_files([GivenFile("app.yaml", text)])
    reading.judge(CHECKS)

    (report,) = reading.reports()
    (found,) = [each for each in report.found if each.finding.code == "GPU1034"]
    assert found.position is not None
    assert found.position.line == 13
