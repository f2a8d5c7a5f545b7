"""`eks-gpushare lab run` as a command, on a control plane that it starts and stops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.run import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from eks_gpushare_lab.binaries.build import Programs
    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.control_plane.state import Lab

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CIFAR10 = str(ROOT / "examples" / "lab" / "exclusive" / "cifar10.yaml")
CODE = """
import sys
from argparse import Namespace
from eks_gpushare_lab.run import run
sys.exit(run(Namespace(program=None, until_steady=None, json=True, engine=False, stack=sys.argv[1],
    apply=[sys.argv[2]], scale=["tensorflow-cifar10-deployment=20"],
    expect=[("gpu-demo/tensorflow-cifar10-deployment", int(sys.argv[3]))])))
"""


def lab_run(home: Path, stack: str, expected: int) -> tuple[int, dict[str, Any]]:
    answer = subprocess.run(
        [sys.executable, "-c", CODE, stack, CIFAR10, str(expected)],
        cwd=ROOT,
        env={
            **os.environ,
            "XDG_STATE_HOME": str(home),
            "PYTHONPATH": str(ROOT / "components"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert answer.stdout, answer.stderr
    return answer.returncode, json.loads(answer.stdout)


@pytest.mark.at_length
def test_a_run_that_comes_out_as_expected_ends_with_0(programs: Programs, lab_home: Path) -> None:
    assert programs.paths
    code, report = lab_run(lab_home, "time-slicing", 20)

    assert code == 0
    assert report["pools"]["gpu"]["advertised"] == {"nvidia.com/gpu": 40}
    assert report["workloads"]["gpu-demo/tensorflow-cifar10-deployment"]["running"] == 20
    assert report["findings"] == []


def given(**options: Any) -> Namespace:
    common: dict[str, Any] = {
        "program": None,
        "apply": [],
        "scale": [],
        "expect": [],
        "until_steady": None,
        "engine": False,
    }
    return Namespace(**{**common, "json": False, **options})


def test_a_run_that_does_not_ends_with_1(
    empty_lab: Lab,
    client: Client,
    emptied: Callable[[Client], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("eks_gpushare_lab.run.control_plane", lambda: nullcontext(empty_lab))
    deployment = "tensorflow-cifar10-deployment"
    twenty = {"scale": [f"{deployment}=20"], "expect": [f"gpu-demo/{deployment}=20"]}
    with emptied(client):
        code = run(given(stack="exclusive", apply=[CIFAR10], json=True, **twenty))
    report = json.loads(capsys.readouterr().out)

    assert code == 1
    assert [each["code"] for each in report["findings"]] == ["GPU931"]


def test_a_manifest_that_is_not_there_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    stack = str(ROOT / "stacks" / "Pulumi.exclusive.yaml")

    assert run(given(stack=stack, apply=["nowhere.yaml"])) == 2
    assert capsys.readouterr().err == (
        "eks-gpushare: nowhere.yaml cannot be read: No such file or directory\n"
    )


def test_two_numbers_of_one_workload_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(given(stack="exclusive", expect=[("app", 1), ("app", 1), ("app", 2)])) == 2
    assert capsys.readouterr().err == "eks-gpushare: --expect says two numbers of app\n"
