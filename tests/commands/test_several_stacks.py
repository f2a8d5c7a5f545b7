"""Verbs that take several stacks say of each what they say of it alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
STACKS = sorted(file.name.split(".")[1] for file in (ROOT / "stacks").glob("Pulumi.*.yaml"))
UNLIKE = ("karpenter-mig", "serve", "time-slicing")
"""Stacks of different managers, provisioners and ways to share."""


def _files(names: list[str]) -> list[str]:
    return [f"stacks/Pulumi.{name}.yaml" for name in names]


@pytest.mark.parametrize(
    ("verb", "stacks"),
    [
        ("policy", UNLIKE),  # a verdict is of all that a preview registers
        pytest.param("policy", STACKS, marks=pytest.mark.at_length),
        pytest.param("preview", STACKS, marks=pytest.mark.at_length),
    ],
)
def test_each_stack_is_as_alone_whatever_came_before_it(
    run: Run, verb: str, stacks: Sequence[str]
) -> None:
    alone = {name: run(verb, name, "--json").json for name in stacks}

    together = run(verb, *reversed(stacks), "--json").json["stacks"]

    assert [each["stack"] for each in together] == [*reversed(stacks)]
    assert together == [{"stack": name, **alone[name]} for name in reversed(stacks)]


def test_each_file_is_checked_as_alone_whatever_came_before_it(run: Run) -> None:
    alone = {file: run("check", file, "--json").json["files"] for file in _files(STACKS)}

    together = run("check", *reversed(_files(STACKS)), "--json").json["files"]

    assert together == [found for file in reversed(_files(STACKS)) for found in alone[file]]


def _in_a_process(*words: str) -> Any:
    command = [sys.executable, "-m", "eks_gpushare", *words, "--json"]
    return json.loads(subprocess.check_output(command, cwd=ROOT, timeout=120))


@pytest.mark.at_length
@pytest.mark.parametrize("verb", ["preview", "policy"])
def test_each_stack_is_as_in_a_process_of_its_own(verb: str) -> None:
    together = _in_a_process(verb, *UNLIKE)["stacks"]

    assert together == [{"stack": name, **_in_a_process(verb, name)} for name in UNLIKE]


@pytest.mark.parametrize("verb", sampled(["policy", "preview"], 2))
def test_text_is_that_of_each_with_a_line_between(run: Run, verb: str) -> None:
    alone = [run(verb, name).out for name in UNLIKE]

    assert run(verb, *UNLIKE).out == "\n".join(alone)


@pytest.mark.parametrize("verb", ["preview", "policy"])
def test_the_others_are_told_of_where_one_is_not_there(run: Run, verb: str) -> None:
    ran = run(verb, "mps", "nowhere", "time-slicing", "--json")

    assert (ran.code, [each["stack"] for each in ran.json["stacks"]]) == (
        2,
        ["mps", "time-slicing"],
    )
    assert ran.err.startswith("eks-gpushare: ")
    assert "nowhere" in ran.err


@pytest.mark.parametrize("verb", ["preview", "policy"])
def test_one_that_is_refused_refuses_all_and_is_told_as_alone(
    run: Run, verb: str, tmp_path: Path
) -> None:
    text = (ROOT / "stacks/Pulumi.time-slicing.yaml").read_text()
    wrong = tmp_path / "Pulumi.wrong.yaml"
    wrong.write_text(text.replace("replicas: 10", "replicas: -1"))
    words = ("mps", str(wrong), "--program", str(ROOT))
    alone = run(verb, *words[1:], "--json")

    ran = run(verb, *words, "--json")

    assert (alone.code, ran.code, ran.err) == (1, 1, alone.err)
    assert ran.json["stacks"][1] == {"stack": "wrong", **alone.json}


def test_a_refused_stack_is_told_on_standard_error_and_in_each_file(
    run: Run, tmp_path: Path
) -> None:
    text = (ROOT / "stacks/Pulumi.time-slicing.yaml").read_text()
    wrong, told = tmp_path / "Pulumi.wrong.yaml", tmp_path / "told"
    wrong.write_text(text.replace("replicas: 10", "replicas: -1"))
    words = (str(wrong), "mps", "--program", str(ROOT), "--output", f"text={told}.txt")

    ran = run("policy", *words, "--output", "text", "--output", f"sarif={told}.sarif")

    assert ran.err.startswith("wrong: the stack cannot be planned")
    assert ran.out.startswith("mps: ok, ")
    assert (tmp_path / "told.txt").read_text() == f"{ran.err}\n{ran.out}"
    runs = json.loads((tmp_path / "told.sarif").read_text())["runs"]
    assert [bool(each["results"]) for each in runs] == [True, False]


@pytest.mark.parametrize(
    "option", [("--pod", "gpu"), ("--before", "stacks/Pulumi.mps.yaml"), ("--manifests", "there")]
)
def test_what_is_for_one_stack_is_refused_of_several(run: Run, option: tuple[str, str]) -> None:
    ran = run("preview", "mps", "time-slicing", *option)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"eks-gpushare: {option[0]} is for one STACK, and there are 2: call it for each by itself\n"
    )
