"""The suites of the night: each test that waits for a variable is in one, and none passes unrun."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import run_suites
import yaml
from suites import SUITES, Suite
from tests.conftest import sampled

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
NOT_FOR_THE_NIGHT = {
    "EKS_GPUSHARE_TEST_KUBECONFIG",  # a cluster of somebody's own
    "EKS_GPUSHARE_TEST_SEED",  # other numbers of pods than those that are tried
}


def test_every_variable_that_a_test_waits_for_is_set_by_a_suite() -> None:
    named = {
        name
        for file in TESTS.rglob("*.py")
        for name in re.findall(r"EKS_GPUSHARE_TEST_[A-Z_]+", file.read_text(encoding="utf-8"))
        if file != Path(__file__)
    }
    given = {each.partition("=")[0] for suite in SUITES for each in suite.switches}
    given |= {name for suite in SUITES for name in suite.places}

    assert named - NOT_FOR_THE_NIGHT - given == set()
    assert given - named == set(), "no test reads it"


def test_every_file_that_waits_for_a_variable_is_run_by_a_suite_that_sets_it() -> None:
    unrun = [
        (file.relative_to(ROOT).as_posix(), name)
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r'"(EKS_GPUSHARE_TEST_[A-Z_]+)"', file.read_text(encoding="utf-8"))
        if name not in NOT_FOR_THE_NIGHT
        and not any(_sets(suite, name) and _runs(suite, file) for suite in SUITES)
    ]

    assert unrun == []


# Why no suite has to run it: the reason is nothing that a machine of the night could have.
SKIPS_ANYWHERE = {
    "tests/lint/test_lint_text.py": "the platform",
    "tests/lint/test_not_damaged.py": "the superuser",
    "tests/lint/test_parts.py": "the platform",
    "tests/unit/test_house_rules.py": "no git",
    "tests/unit/test_local_files.py": "the superuser",
    "tests/unit/test_nightly.py": "an example",
    "tests/unit/test_partitions.py": "what requirements bring",
    "tests/unit/test_rules_cluster_aws.py": "what requirements bring",
    "tests/unit/test_rules_workloads.py": "what requirements bring",
    "tests/unit/test_stack_file.py": "the superuser",
}


def test_every_file_that_may_skip_for_want_of_a_tool_is_run_where_that_fails() -> None:
    skipping = re.compile(r"pytest\.(skip|importorskip)\(|mark\.skip(if)?\(")
    may = {
        file.relative_to(ROOT).as_posix()
        for file in TESTS.rglob("test_*.py")
        if skipping.search(file.read_text(encoding="utf-8"))
    }
    unrun = {file for file in may if not any(_runs(suite, ROOT / file) for suite in SUITES)}

    assert unrun == {*SKIPS_ANYWHERE}


def test_what_is_tried_at_length_is_run_by_the_suite_of_that_name() -> None:
    (suite,) = (each for each in SUITES if each.name == "at-length")
    marks = ("mark." + suite.name.replace("-", "_"), f" {sampled.__name__}(")
    texts = {file: file.read_text("utf-8") for file in TESTS.rglob("test_*.py")}
    files = [file for file, text in texts.items() if any(mark in text for mark in marks)]

    assert len(files) > 1
    assert [file for file in files if not _runs(suite, file)] == []
    assert [each for each in suite.switches if each.endswith("_AT_LENGTH=1")]


def _sets(suite: Suite, name: str) -> bool:
    return name in suite.places or any(each.startswith(f"{name}=") for each in suite.switches)


def _runs(suite: Suite, file: Path) -> bool:
    return any(file.is_relative_to(ROOT / path) for path in suite.paths)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_suite_runs_what_is_there(suite: Suite) -> None:
    paths = [path for path in suite.paths if path.startswith(("tests", "benchmarks"))]

    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_workflow_runs_every_suite() -> None:
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    used = set(re.findall(r"contains\(matrix\.needs, '([^']+)'\)", text))

    assert jobs["suite"]["strategy"]["matrix"] == "${{ fromJSON(needs.suites.outputs.matrix) }}"
    assert used <= {need for suite in SUITES for need in (*suite.programs, *suite.places)}


def test_the_matrix_has_every_suite_with_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_suites.main(["--matrix"]) == 0

    rows = json.loads(capsys.readouterr().out)["include"]
    assert [row["name"] for row in rows] == [suite.name for suite in SUITES]
    assert all(
        row["needs"] == [*suite.programs, *suite.places]
        for row, suite in zip(rows, SUITES, strict=True)
    )


def test_a_suite_that_lacks_something_fails_and_says_what(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("A_PLACE", str(tmp_path / "gone"))
    monkeypatch.delenv("ANOTHER", raising=False)
    suite = Suite("x", "nothing", ("tests",), (), ("no-such-program",), ("A_PLACE", "ANOTHER"))

    assert run_suites.run(suite) == 1

    assert capsys.readouterr().err == (
        "=== x: FAILED, not run: no `no-such-program` on PATH; "
        f"A_PLACE names {tmp_path / 'gone'}, which is not there; ANOTHER is not set\n"
    )


def test_no_suite_of_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_suites.main(["keda", "kedas"])

    assert ended.value.code == 2
    assert "no suite kedas; there are mutants, edges, " in capsys.readouterr().err


SKIPPING = """\
import pytest

def test_that_runs(): pass

def test_that_lacks_a_tool(): pytest.skip("no helm on PATH")

@pytest.mark.skipif(True, reason="not on this platform")
def test_of_another_platform(): pass

@pytest.mark.xfail(reason="known")
def test_that_is_known_to_fail(): assert False
"""


@pytest.mark.parametrize(
    ("words", "came"),
    [
        ((), "1 passed, 2 skipped, 1 xfailed"),
        (("--none-skipped",), "1 failed, 1 passed, 1 xfailed, 1 error"),
        (("--none-skipped", "--may-skip", "platform"), "1 failed, 1 passed, 1 skipped, 1 xfailed"),
    ],
)
def test_a_test_that_skips_itself_fails_where_none_may(
    words: tuple[str, ...], came: str, tmp_path: Path
) -> None:
    (tmp_path / "test_some.py").write_text(SKIPPING, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.conftest",
    ]

    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "--import-mode=importlib", *words, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert came in done.stdout.splitlines()[-1], done.stdout + done.stderr
