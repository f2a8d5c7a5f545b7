"""Tests that run in several processes are reported as if they ran in one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
import sys
from itertools import groupby
from pathlib import Path

import pytest

sys.path.insert(0, {root!r})
from tests.processes import run_forked


def pytest_runtestloop(session):
    groups = groupby(session.items, lambda item: item.nodeid.partition("::")[0])
    run_forked(session, [[*items] for _, items in groups], 2)
    return True


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    yield tmp_path_factory.mktemp("lab")
    with Path("ended").open("a") as file:
        print("ended", file=file)
"""
RIGHT = """
import pytest

@pytest.mark.parametrize("n", range(40))
def test_right(n, lab, tmp_path):
    assert lab.is_dir() and tmp_path.is_dir()
"""
WRONG = """
import pytest

def test_wrong(lab):
    print("said before it")
    assert [1, 2] == [1, 3]

def test_left_out():
    raise pytest.skip.Exception("no reason")
"""
CRASHING = """
import os

def test_before(): pass

def test_crashing(): os._exit(3)

def test_after(): pass
"""


def ran(folder: Path, *files: str, words: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """The exit code, what was printed, and the ends of the fixture of the session."""
    (folder / "conftest.py").write_text(CONFTEST.format(root=str(ROOT)), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for index, text in enumerate(files):
        (folder / f"test_{index}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-rs", *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    ended = folder / "ended"
    return done.returncode, done.stdout, ended.read_text("utf-8") if ended.exists() else ""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, str]:
    return ran(tmp_path_factory.mktemp("tests"), RIGHT, WRONG, RIGHT, CRASHING)


def test_all_are_run_once_whatever_ends_before(whole: tuple[int, str, str]) -> None:
    code, out, _ = whole

    assert code == 1
    assert "2 failed, 81 passed, 1 skipped" in out


def test_a_failure_has_its_difference_and_its_output(whole: tuple[int, str, str]) -> None:
    _, out, _ = whole

    assert "assert [1, 2] == [1, 3]" in out
    assert "At index 1 diff: 2 != 3" in out
    assert "said before it" in out
    assert "SKIPPED [1] test_1.py" in out


def test_a_process_that_ends_leaves_no_test_untold(whole: tuple[int, str, str]) -> None:
    _, out, _ = whole

    assert "test_3.py::test_crashing" in out
    assert "The process ended with the exit code 3." in out
    assert "It was at the first of 2 tests that it did not end." in out


def test_a_fixture_of_the_session_ends_once_in_each_process(tmp_path: Path) -> None:
    """Also when all stop after the first failure."""
    code, out, ended = ran(tmp_path, WRONG, RIGHT, RIGHT, words=("-x",))

    assert code == 1
    assert "stopping after 1 failures" in out
    passed = re.search(r"(\d+) passed", out)
    assert passed is None or int(passed[1]) < 80
    assert ended == "ended\n" * 2
