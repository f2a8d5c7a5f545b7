"""What `lint` tells people: by file, what is of one cause once, and all of it counted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.cli import main

if TYPE_CHECKING:
    from pathlib import Path

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 0.5}}}]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in "abcde":
        (tmp_path / f"{name}.yaml").write_text(POD % f"pod-{name}")
    (tmp_path / "right.yaml").write_text((POD % "right").replace("0.5", "1"))
    (tmp_path / "note.yaml").write_text("a: b\n")
    return tmp_path


def test_one_cause_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "-q", "."]) == 1
    where = 'spec.containers[0].resources.limits["nvidia.com/gpu"]'
    told = "asks for 0.5 of nvidia.com/gpu, no whole number.\n"
    assert capsys.readouterr().out == (
        "error GPU1114 in 5 places of 5 files\n"
        f"    a.yaml:4:55, {where}\n      The Pod pod-a {told}"
        f"    b.yaml:4:55, {where}\n      The Pod pod-b {told}"
        f"    c.yaml:4:55, {where}\n      The Pod pod-c {told}"
        "    and 2 more\n"
        "    -> Ask for 1: the nodes decide of how large a part of a GPU one is.\n"
        "7 files: refused, 5 errors, 1 note\n"
    )


def test_few_of_one_cause_are_told_by_file_and_clean_files_not_at_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lint", "-q", "a.yaml", "right.yaml"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("a.yaml: refused, 1 error\n  error GPU1114 at line 4, column 55, ")
    assert "right.yaml" not in out


def test_the_number_of_findings_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--max", "0", "."])
    assert capsys.readouterr().out.count("error GPU1114 at") == 5
    main(["lint", "--max", "1", "."])
    out = capsys.readouterr().out
    assert "error GPU1114 in 5 places" in out
    assert "GPU1001" not in out
    assert "and 1 more findings; --max 0 shows all\n" in out
    assert main(["lint", "--max", "-1", "."]) == 2
    assert "'-1'" in capsys.readouterr().err


def test_what_is_clean_is_silent_when_asked_and_one_line_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lint", "-q", "right.yaml", "note.yaml"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["lint", "right.yaml"]) == 0
    assert capsys.readouterr().out == "right.yaml: ok\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_leaves_nothing_half_written(folder: Path) -> None:
    for number in range(300):
        (folder / f"{number}.yaml").write_text(POD % number)
    before = {file.name for file in folder.iterdir()}
    words = ["lint", "--write-baseline", "--output", "sarif=out.sarif", "."]
    with subprocess.Popen(
        [sys.executable, "-m", "eks_gpushare", *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        time.sleep(0.9)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    left = {file.name for file in folder.iterdir()} - before

    assert process.returncode in {130, 0, -signal.SIGINT}
    assert left <= {".gpushare-lint-baseline.json", "out.sarif"}
    for name in left:
        json.loads((folder / name).read_text())
