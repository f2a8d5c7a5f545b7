"""Comments let findings be: with a reason, until a day, at their line."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.cli import main
from eks_gpushare.findings.silenced import comments
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

    from eks_gpushare.lint.report import FileReport

TODAY = date(2026, 11, 22)
WHY = "they are replaced then"
UNTIL = f"until 2027-01-31 because {WHY}"


def linted(name: str, text: str, day: date = TODAY) -> FileReport:
    reading = read_files([GivenFile(name, text)])
    reading.judge((*EDGES, *CHECKS))
    (report,) = reading.reports(day)
    return report


def codes(report: FileReport) -> list[str]:
    return [each.code for each in report.findings]


LABEL = "kubectl label node a b=gpu"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: a
      image: a
      resources: {limits: {nvidia.com/gpus: 1}}%s
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", f"{LABEL}  # eks-gpushare: ignore GPU1062 {UNTIL}\n"),
        ("a.sh", f"# eks-gpushare: ignore GPU1062 {UNTIL}\n{LABEL}\n"),
        ("a.sh", f"  #eks-gpushare:ignore GPU1062 {UNTIL}\n\n# what it does:\n{LABEL}\n"),
        ("a.sh", f"# eks-gpushare: ignore GPU1009, GPU1062 {UNTIL}\n{LABEL}\n"),
        ("a.sh", f"# eks-gpushare: ignore GPU1009 GPU1062 {UNTIL}\n{LABEL}\n"),
        ("a.sh", f"# eks-gpushare: ignore GPU1062 until 2027-01-31 because: {WHY}\n{LABEL}\n"),
        ("a.md", f"```bash\n{LABEL}  # eks-gpushare: ignore GPU1062 {UNTIL}\n```\n"),
        ("a.md", f"<!-- eks-gpushare: ignore GPU1062 {UNTIL} -->\n```bash\n{LABEL}\n```\n"),
        ("a.yaml", POD % f"  # eks-gpushare: ignore GPU1204 {UNTIL}"),
        (
            "a.toml",
            (
                "[settings.kubelet-device-plugins.nvidia]\n"
                f"device-sharing-strategy = 'mine' # eks-gpushare: ignore GPU1082 {UNTIL}\n"
            ),
        ),
    ],
)  # fmt: skip
def test_what_a_comment_names_is_let_be(name: str, text: str) -> None:
    report = linted(name, text)

    assert [code for code in codes(report) if code != "GPU1013"] == []
    assert report.ok
    (away,) = report.silenced
    assert away.silence.reason == "they are replaced then"
    assert away.as_json()["until"] == "2027-01-31"
    assert linted(name, text.replace("eks-gpushare:", "")).found


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        # Past its day, another code, another line.
        ("eks-gpushare: ignore GPU1062 until 2026-11-21 because x", ["GPU1062", "GPU1012"]),
        ("eks-gpushare: ignore GPU1009 until 2027-01-31 because x", ["GPU1062", "GPU1013"]),
        # Without what it has to say.
        ("eks-gpushare: ignore GPU1062", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: ignore", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: ignore GPU1062 until 2027-01-31", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: ignore GPU1062 until 2027-01-31 because", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: ignore GPU1062 because x", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: ignore GPU1062 until 2027-02-30 because x", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: ignore GPU1062 until 31.01.2027 because x", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: ignore all until 2027-01-31 because x", ["GPU1062", "GPU1011"]),
        ("eks-gpushare: disable GPU1062 until 2027-01-31 because x", ["GPU1062", "GPU1011"]),
        # Other words.
        ("eks-gpushare: see GPU1062", ["GPU1062"]),
        ("ignore GPU1062 until 2027-01-31 because x", ["GPU1062"]),
        ("x-eks-gpushare: ignore GPU1062 until 2027-01-31 because x", ["GPU1062"]),
    ],
)  # fmt: skip
def test_any_other_comment_lets_nothing_be(comment: str, found: list[str]) -> None:
    report = linted("a.sh", f"{LABEL}  # {comment}\n")

    assert codes(report) == found
    assert report.silenced == ()


def test_the_last_day_is_one_of_its_days() -> None:
    text = f"{LABEL}  # eks-gpushare: ignore GPU1062 until 2026-11-22 because x\n"

    assert codes(linted("a.sh", text)) == []
    assert codes(linted("a.sh", text, date(2026, 11, 23))) == ["GPU1062", "GPU1012"]


def test_what_is_said_of_comments_and_of_reading_is_not_let_be() -> None:
    text = f"# eks-gpushare: ignore GPU1000, GPU1013 {UNTIL}\na: [\n"

    report = linted("a.yaml", text)
    assert codes(report) == ["GPU1013", "GPU1000"]
    assert not report.readable


def test_messages_say_what_lacks() -> None:
    (fault,) = comments("# eks-gpushare: ignore GPU1062 until 2027-01-31\n").faulty
    assert fault.lacks == "a reason: because ..."
    assert (fault.place.line, fault.place.column) == (1, 1)


def test_they_are_counted_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    far = UNTIL.replace("2027", "9000")
    (tmp_path / "a.yaml").write_text(POD % f"  # eks-gpushare: ignore GPU1204 {far}")
    (tmp_path / "b.sh").write_text(f"{LABEL}\n")

    assert main(["lint", "a.yaml", "b.sh", "--output", "text", "--output", "sarif=out.sarif"]) == 0
    out = capsys.readouterr().out
    assert "a.yaml: ok, 1 silenced\n" in out
    assert "b.sh: ok, 1 warning\n" in out
    (run,) = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    by_rule = {each["ruleId"]: each for each in run["results"]}
    assert by_rule["GPU1204"]["suppressions"] == [
        {
            "kind": "inSource",
            "status": "accepted",
            "justification": "until 9000-01-31: they are replaced then",
        }
    ]
    assert "suppressions" not in by_rule["GPU1062"]

    assert main(["lint", "a.yaml", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["files"]
    assert told["findings"] == []
    assert [(each["code"], each["line"]) for each in told["silenced"]] == [("GPU1204", 8)]


def test_what_is_let_be_is_not_corrected(tmp_path: Path) -> None:
    far = UNTIL.replace("2027", "9000")
    text = POD % f"  # eks-gpushare: ignore GPU1204 {far}"
    (tmp_path / "a.yaml").write_text(text)

    assert main(["lint", "--fix", str(tmp_path / "a.yaml")]) == 0
    assert (tmp_path / "a.yaml").read_text() == text


def test_what_is_about_a_whole_file_is_let_be_on_its_first_line() -> None:
    text = f"foo: bar  # eks-gpushare: ignore GPU1001 {UNTIL}\n"

    assert codes(linted("a.yaml", text)) == []
    assert codes(linted("a.yaml", f"x: y\n{text}")) == ["GPU1001", "GPU1013"]


@pytest.mark.parametrize(
    ("line", "then"),
    [(LABEL, "what it was for counts again."), ("date", "nothing needs it any more.")],
)
def test_a_comment_past_its_day_says_whether_anything_needs_it(line: str, then: str) -> None:
    text = f"{line}  # eks-gpushare: ignore GPU1062 until 2026-11-21 because x\n"
    (told,) = [each for each in linted("a.sh", text).findings if each.code == "GPU1012"]

    assert told.message.endswith(then)
