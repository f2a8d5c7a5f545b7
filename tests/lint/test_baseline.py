"""Findings that are known: a gate that is green at once, and says what is new and what is gone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.cli import main
from eks_gpushare.findings.finding import Finding
from eks_gpushare.lint.baseline import Baseline, BaselineError, Looked, read_baseline
from eks_gpushare.lint.finding_files import BASELINE
from eks_gpushare.lint.report import FileReport, Placed

if TYPE_CHECKING:
    from pathlib import Path

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers:
    - name: main
      resources: {limits: {nvidia.com/gpu: 0.5}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a").mkdir()
    for name in ("a/x.yaml", "a/y.yaml", "z.yaml"):
        (tmp_path / name).write_text(POD % name[-6])
    (tmp_path / "broken.yaml").write_text("apiVersion: [")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_command_makes_the_gate_green(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["lint", "."]) == 2
    capsys.readouterr()

    assert main(["lint", "--write-baseline", "."]) == 0
    told = capsys.readouterr()
    assert told.err == f"eks-gpushare: {BASELINE}: 4 findings of 4 files\n"
    assert told.out == "4 files: ok, 4 known by the baseline\n"
    assert main(["lint", "-q", "."]) == 0
    assert capsys.readouterr() == ("", "")
    # So it is of a part of the files, as a hook gives them, and from a folder below.
    assert main(["lint", "-q", "a/x.yaml"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["lint", "-q", "--no-config", "a/x.yaml"]) == 1
    monkeypatch.chdir(folder / "a")
    assert main(["lint", "-q", "x.yaml"]) == 0


def test_a_baseline_of_another_name_is_no_finding_itself(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["lint", "--fail-on", "info", "--baseline", "known.json", "."]
    assert main([*options, "--write-baseline"]) == 0
    assert main(options) == 0

    assert folder.joinpath("known.json").is_file()
    assert "of no kind that is read" not in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_one_finding_of_one_file_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--baseline", "one.json", "--write-baseline", "a/x.yaml"])

    assert capsys.readouterr().err == "eks-gpushare: one.json: 1 finding of 1 file\n"


def test_what_is_new_is_found_and_what_is_mended_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lint", "--write-baseline", "."])
    (folder / "a" / "new.yaml").write_text(POD % "new")
    (folder / "z.yaml").write_text((POD % "z").replace("0.5", "1"))
    capsys.readouterr()

    assert main(["lint", "."]) == 1
    told = capsys.readouterr()
    assert told.out.startswith("a/new.yaml: refused, 1 error\n  error GPU1114 at line 7")
    assert told.out.endswith("5 files: refused, 1 error, 3 known by the baseline\n")
    assert told.err == (
        f"eks-gpushare: {BASELINE}: 1 finding is gone; --write-baseline drops them\n"
        "eks-gpushare:   z.yaml: GPU1114 Pod z spec.containers[main].resources.limits["
        "nvidia.com/gpu]\n"
    )
    (folder / "a" / "new.yaml").unlink()
    assert main(["lint", "--write-baseline", "."]) == 0
    assert "z.yaml" not in (folder / BASELINE).read_text()
    assert capsys.readouterr().err.endswith("3 findings of 3 files; 1 gone is dropped\n")


def test_lines_that_move_and_containers_that_come_change_nothing(folder: Path) -> None:
    main(["lint", "--write-baseline", "."])
    moved = (POD % "x").replace("x", "x.yaml")
    sidecar = "  containers:\n    - {name: before, image: a}\n"
    text = (folder / "a" / "x.yaml").read_text()
    assert moved
    (folder / "a" / "x.yaml").write_text(
        "# A comment\n\n" + text.replace("  containers:\n", sidecar)
    )

    assert main(["lint", "."]) == 0


def test_the_same_once_more_is_new(folder: Path) -> None:
    main(["lint", "--write-baseline", "."])
    text = (folder / "z.yaml").read_text()
    (folder / "z.yaml").write_text(f"{text}---\n{text}")

    assert main(["lint", "."]) == 1


def test_a_script_is_known_by_its_lines(folder: Path) -> None:
    line = "kubectl label node n1 gpu=shared\n"
    (folder / "z.yaml").unlink()
    (folder / "s.sh").write_text(f"#!/bin/sh\n{line}")
    assert main(["lint", "--fail-on", "warning", "s.sh"]) == 1
    main(["lint", "--fail-on", "warning", "--write-baseline", "s.sh"])
    (folder / "s.sh").write_text(f"#!/bin/sh\necho begin\n\n  {line}")

    assert main(["lint", "--fail-on", "warning", "s.sh"]) == 0


def test_a_part_of_the_files_drops_nothing(folder: Path) -> None:
    main(["lint", "--write-baseline", "."])
    before = (folder / BASELINE).read_text()
    (folder / "z.yaml").write_text((POD % "z").replace("0.5", "1"))

    assert main(["lint", "--write-baseline", "a", "z.yaml"]) == 0
    assert (folder / BASELINE).read_text() == before
    assert main(["lint", "--write-baseline", "--ignore", "GPU1114", "."]) == 0
    assert (folder / BASELINE).read_text() == before
    (folder / "z.yaml").unlink()
    assert main(["lint", "--write-baseline", "."]) == 0
    assert "z.yaml" not in (folder / BASELINE).read_text()


def test_it_is_sorted_with_an_entry_a_line(folder: Path) -> None:
    main(["lint", "--write-baseline", "z.yaml", "a", "broken.yaml"])
    text = (folder / BASELINE).read_text()

    document: dict[str, Any] = json.loads(text)
    files = document["findings"]
    assert text.startswith('{\n "version": 1,\n "findings": {\n  "a/x.yaml": {\n   "GPU1114 ')
    assert list(files) == ["a/x.yaml", "a/y.yaml", "broken.yaml", "z.yaml"]
    assert text.count("\n") == 5 + 3 * len(files)
    main(["lint", "--write-baseline", "."])
    assert (folder / BASELINE).read_text() == text


def test_sarif_says_what_is_new(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--write-baseline", "."])
    (folder / "new.yaml").write_text(POD % "new")
    capsys.readouterr()

    assert main(["lint", "--output", "sarif", "."]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    states = [
        (each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], each["baselineState"])
        for each in run["results"]
    ]
    assert sorted(states) == [
        ("a/x.yaml", "unchanged"),
        ("a/y.yaml", "unchanged"),
        ("broken.yaml", "unchanged"),
        ("new.yaml", "new"),
        ("z.yaml", "unchanged"),
    ]
    assert all(
        ("suppressions" in each) is (each["baselineState"] == "unchanged")
        for each in run["results"]
    )


def test_json_has_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["lint", "--baseline", "b.json", "--write-baseline", "."])
    (folder / "z.yaml").unlink()
    capsys.readouterr()

    assert main(["lint", "--baseline", "b.json", "--json", "."]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["baseline"]["known"] == 3
    assert [each["file"] for each in told["baseline"]["gone"]] == ["z.yaml"]
    known = {each["file"]: each.get("known", []) for each in told["files"]}
    assert [each["code"] for each in known["broken.yaml"]] == ["GPU1000"]


def test_notes_are_no_part_of_it_unless_they_fail(folder: Path) -> None:
    (folder / "note.yaml").write_text("a: b\n")
    main(["lint", "--write-baseline", "."])
    assert "note.yaml" not in (folder / BASELINE).read_text()
    assert main(["lint", "--fail-on", "info", "."]) == 1
    main(["lint", "--fail-on", "info", "--write-baseline", "."])
    assert main(["lint", "--fail-on", "info", "."]) == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "it is no baseline, which has version and findings; --write-baseline makes one"),
        ('{"version": 9, "findings": {}}', "version is 9, and this eks-gpushare knows 1; make it"),
        ("{", ":1: not valid JSON; --write-baseline makes it anew"),
        ("{\n<<<<<<< HEAD\n", ":2: a merge has left a conflict; take either side, and run"),
        (
            '{"version": 1, "findings": {"a": {"GPU1114": 0}}}',
            "a: 'GPU1114' is not a code with its place, and how often",
        ),
        ('{"version": 1, "findings": {"a": "GPU1114"}}', "is not a code with its place"),
    ],
)
def test_one_that_cannot_be_used(
    text: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.json").write_text(text)

    with pytest.raises(BaselineError) as error:
        read_baseline(folder / "b.json")
    assert says in str(error.value)
    assert main(["lint", "--baseline", "b.json", "z.yaml"]) == 2
    assert says in capsys.readouterr().err


def test_what_is_wrong_with_one_is_told_ten_times_at_most(folder: Path) -> None:
    entries = {f"{number}": 1 for number in range(11)}
    (folder / "b.json").write_text(json.dumps({"version": 1, "findings": {"a": entries}}))

    with pytest.raises(BaselineError) as error:
        read_baseline(folder / "b.json")
    assert str(error.value).count("is not a code") == 10


@pytest.mark.parametrize(
    ("codes", "readable"),
    [
        (["GPU1000"], True),
        (["GPU1000", "GPU1114"], True),
        (["GPU1000", "GPU1000"], False),
        (["GPU1114"], False),
    ],
)
def test_a_file_that_cannot_be_read_is_let_be_where_that_is_known(
    codes: list[str], readable: bool
) -> None:
    found = tuple(Placed(Finding(each, "error", "", "", "", ""), None) for each in codes)
    known = Baseline("", {"a.yaml": {"GPU1000": 1}})
    report = FileReport("a.yaml", found=found, readable=False)

    held = known.held([report], Looked(lambda _: True, lambda _: False))
    assert [each.readable for each in held.reports] == [readable]


def test_one_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--baseline", "gone.json", "z.yaml"]) == 2
    told = "gone.json: no such file or directory; --write-baseline makes one\n"
    assert capsys.readouterr().err == f"eks-gpushare: {told}"
    (folder / "gone.json").mkdir()
    assert main(["lint", "--baseline", "gone.json", "--write-baseline", "z.yaml"]) == 2
