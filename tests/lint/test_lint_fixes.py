"""`--fix` over the whole corpus, and as a command: what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import stat
from collections import Counter
from typing import TYPE_CHECKING

import lint_corpus
import pytest

from eks_gpushare.cli import main
from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.fixes import fixed_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

WRONG = """\
version: v1
sharing:
  timeSlicing:
    renamebydefault: true  # why
    resources: [{name: nvidia.com/gpu, replicas: 4}]
"""
RIGHT = WRONG.replace("renamebydefault", "renameByDefault")


def test_corrections_of_the_corpus_bring_nothing_new_and_are_made_once() -> None:
    corrected = 0
    for case in lint_corpus.cases():
        given = [GivenFile(*each) for each in case.files.items()]
        fixed, before, after, _ = fixed_files(given, declared=Declared(together=True))
        if not fixed:
            continue
        corrected += 1
        texts = {each.file: each.after for each in fixed}
        given = [GivenFile(name, texts.get(name, text)) for name, text in case.files.items()]
        again = fixed_files(given, declared=Declared(together=True))
        assert again.fixed == (), case.name
        counts = [
            Counter(found.code for report in reports for found in report.findings)
            for reports in (before, after)
        ]
        assert counts[1] < counts[0], case.name
        for each in fixed:
            kept = [line for line in each.before.splitlines() if line.lstrip().startswith("#")]
            assert set(kept) <= set(each.after.splitlines())
    assert corrected > 15


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(WRONG)
    return tmp_path / "a.yaml"


def test_the_difference_is_shown_and_written(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.chmod(0o640)

    assert main(["lint", "--diff", "a.yaml"]) == 1
    assert file.read_text() == WRONG
    shown = capsys.readouterr().out
    assert "-    renamebydefault: true  # why\n+    renameByDefault: true  # why\n" in shown
    assert main(["lint", "--fix", "a.yaml"]) == 0
    assert capsys.readouterr().out.startswith("--- a.yaml\n+++ a.yaml\n")
    assert file.read_text() == RIGHT
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert main(["lint", "--fix", "a.yaml"]) == 0
    assert capsys.readouterr().out == "a.yaml: ok\n"
    assert [each.name for each in file.parent.iterdir()] == ["a.yaml"]


def test_the_difference_is_in_the_document(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--json", "--fix", file.name]) == 0
    (report,) = json.loads(capsys.readouterr().out)["files"]

    assert report["fixes"] == 1
    assert report["diff"].startswith("--- a.yaml")
    assert report["findings"] == []


def test_line_ends_and_the_mark_of_utf8_stay(file: Path) -> None:
    content = WRONG.replace("version: v1\n", "").replace("\n", "\r\n").encode()
    file.write_bytes(b"\xef\xbb\xbf" + content)

    assert main(["lint", "--fix", "a.yaml"]) == 0
    assert file.read_bytes() == b"\xef\xbb\xbf" + b"version: v1\r\n" + content.replace(
        b"renamebydefault", b"renameByDefault"
    )


def test_a_link_stays_one(file: Path) -> None:
    (file.parent / "b.yaml").symlink_to("a.yaml")

    assert main(["lint", "--fix", "b.yaml"]) == 0
    assert (file.parent / "b.yaml").is_symlink()
    assert file.read_text() == RIGHT


def test_standard_input_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--fix", "-"]) == 2
    assert (
        capsys.readouterr().err == "eks-gpushare: --fix writes files, and - is none; use --diff\n"
    )


@pytest.mark.parametrize("other", ["a: [1\n", "a: {b: 1, b: 2}\n", "a: {{ .x }}\n{{- if }}\n"])
def test_a_file_that_leaves_doubt_is_not_touched(file: Path, other: str) -> None:
    file.write_text(f"{WRONG}---\n{other}")

    main(["lint", "--fix", "a.yaml"])
    assert file.read_text() == f"{WRONG}---\n{other}"


def test_what_could_not_be_read_is_told_of_after_corrections_too() -> None:
    given = [
        GivenFile("a.yaml", WRONG),
        GivenFile("b.yaml", problem="it is UTF-16"),
        GivenFile("c", note="nothing is below it"),
    ]
    fixed, before, after, _ = fixed_files(given)

    assert [each.file for each in fixed] == ["a.yaml"]
    assert [each.file for each in after] == ["a.yaml", "b.yaml", "c"]
    assert [each.findings for each in after[1:]] == [each.findings for each in before[1:]]
    assert all(each.findings for each in after[1:])


def test_corrections_are_the_same_in_whichever_order_files_are_given() -> None:
    given = [GivenFile("a.yaml", WRONG), GivenFile("b.yaml", WRONG)]
    one = {each.file: each.after for each in fixed_files(given)[0]}
    other = {each.file: each.after for each in fixed_files(reversed(given))[0]}

    assert one == other == {"a.yaml": RIGHT, "b.yaml": RIGHT}
    assert [each.ok for each in lint_files(given)] == [False, False]
