"""Comments of a stack file let warnings and notes of `check` be, with a reason, until a day."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.cli import main
from eks_gpushare.stack_file.check import check_stack_file
from eks_gpushare.stack_file.file import stack_file_of
from eks_gpushare.stack_file.silencing import silenced

if TYPE_CHECKING:
    from pathlib import Path

    from eks_gpushare.stack_file.silencing import SilencedReport

TODAY = date(2026, 11, 22)
UNTIL = "until 2027-01-31 because the team knows it"
STACK = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster:
      name: demo
      version: "1.35"
      admins: [arn:aws:iam::111122223333:role/Platform]
    pools:
      gpu:
        instanceTypes: [g5.xlarge]
        sharing: {mode: timeSlicing, replicas: 4}%s
"""
NOTE = "GPU206"


def of(text: str, day: date = TODAY) -> SilencedReport:
    return silenced(check_stack_file(stack_file_of(text, "Pulumi.dev.yaml"), today=day), day)


def stack(comment: str = "") -> str:
    return STACK % (f"  # eks-gpushare: ignore {comment}" if comment else "")


def codes(found: SilencedReport) -> list[str]:
    return [each.code for each in found.report.findings]


def test_a_note_is_let_be_at_its_line() -> None:
    found = of(stack(f"{NOTE} {UNTIL}"))

    assert NOTE in codes(of(stack()))
    assert NOTE not in codes(found)
    assert [(each.finding.code, each.line) for each in found.away] == [(NOTE, 11)]
    assert found.away[0].silence.reason == "the team knows it"


def test_a_comment_stands_above_as_well() -> None:
    above = f"        # eks-gpushare: ignore {NOTE} {UNTIL}\n        sharing"
    found = of(stack().replace("        sharing", above))

    assert NOTE not in codes(found)
    assert [each.line for each in found.away] == [12]


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        (NOTE, "GPU1011"),
        (f"{NOTE} until 2027-01-31", "GPU1011"),
        (f"{NOTE} because it is so", "GPU1011"),
        (f"{NOTE} until 2026-11-21 because it was so", "GPU1012"),
        (f"GPU435 {UNTIL}", "GPU1013"),
    ],
)
def test_a_comment_that_lacks_a_part_or_is_over_does_nothing(comment: str, code: str) -> None:
    found = of(stack(comment))
    said = [each for each in found.report.findings if each.code == code]

    assert NOTE in codes(found)
    assert found.away == ()
    assert [each.path for each in said] == ["line 11, column 52"]
    assert [found.report.line_of(each) for each in said] == [11]


def test_an_error_is_not_let_be() -> None:
    """The program refuses the stack for it."""
    broken = stack().replace("replicas: 4", "replicas: 0")
    code = next(each.code for each in of(broken).report.findings if each.severity == "error")
    found = of(broken.replace("0}", f"0}}  # eks-gpushare: ignore {code} {UNTIL}"))
    errors = [each for each in found.report.findings if each.severity == "error"]
    (said,) = [each for each in found.report.findings if each.code == "GPU1011"]

    assert errors
    assert not found.report.ok
    assert errors[0].code in said.message
    assert said.message.endswith("for which the program refuses the stack.")


def test_nothing_changes_without_a_comment() -> None:
    report = check_stack_file(stack_file_of(stack(), "Pulumi.dev.yaml"), today=TODAY)

    assert silenced(report, TODAY).report is report
    assert silenced(report, TODAY).as_json() == report.as_json()


def test_the_command_counts_them_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(stack(f"{NOTE} until 2099-01-31 because we know"), encoding="utf-8")

    assert main(["check", str(file)]) == 0
    assert ", 1 silenced\n" in capsys.readouterr().out
    assert main(["check", "--json", str(file)]) == 0
    (told,) = json.loads(capsys.readouterr().out)["files"]
    assert [(each["code"], each["until"], each["reason"]) for each in told["silenced"]] == [
        (NOTE, "2099-01-31", "we know")
    ]
    assert NOTE not in [each["code"] for each in told["findings"]]
    assert main(["check", "--output", "sarif", str(file)]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    away = [each for each in run["results"] if each.get("suppressions")]
    assert [each["ruleId"] for each in away] == [NOTE]
    assert away[0]["suppressions"][0]["kind"] == "inSource"
