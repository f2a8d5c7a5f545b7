"""The formats for other programs, read by readers that nobody here wrote."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import Failure, JUnitXml, Skipped
from sarif_pydantic import Sarif  # type: ignore[import-untyped]  # no stubs

from eks_gpushare.cli import main
from eks_gpushare.reports import formats
from eks_gpushare.reports.formats import FORMATS
from eks_gpushare.reports.report import Report, ReportedRule, Result

SCHEMA = os.environ.get("EKS_GPUSHARE_TEST_SARIF_SCHEMA", "")
"""The schema of SARIF 2.1.0 on this disk: `sarif-2.1/schema` of oasis-tcs/sarif-spec."""

URN = "urn:pulumi:prod::demo::aws:eks/cluster:Cluster::main"
RULES = (
    ReportedRule(
        id="private-endpoint-on",
        level="error",
        title="The private API endpoint must be on.",
        help="Set it.",
        url="https://example.com/private-endpoint-on",
        tags=("CIS",),
        security="high",
    ),
    ReportedRule(id="node-repair-on", level="warning", title="Nodes must be repaired."),
    ReportedRule(id="GPU801", level="info", title="Quotas cover the pools."),
)
NASTY = "100%, a:b\r\nline \x1b[31m\x00 <&\"'> ]]> ::error::x \ud800 \U0001f600 ünï"


def formatted(of: Report, name: str) -> str:
    return formats.formatted([of], name, "1.2.3")


def result(**more: Any) -> Result:
    given: dict[str, Any] = {
        "rule": "private-endpoint-on",
        "level": "error",
        "message": "It is off.",
        "fix": "Set it on.",
        "file": "__main__.py",
        "line": 12,
        "urn": URN,
    }
    return Result(**given | more)


def report(*results: Result, **more: Any) -> Report:
    given: dict[str, Any] = {"verb": "policy", "subjects": ("prod",), "rules": RULES}
    return Report(**given | {"results": results, "category": "prod", "all_rules": True} | more)


CASES = {
    "nothing": report(),
    "one": report(result()),
    "of all kinds": report(
        result(),
        result(urn=f"{URN}2"),
        result(rule="node-repair-on", level="warning", column=3, place="pools.gpu"),
        result(rule="GPU801", level="info", state="unjudged", message="The type is not known."),
        result(state="exempted", reason="moving until 2027-01-01", line=0),
        notes=("subnets are made up",),
    ),
    "nasty": report(result(message=NASTY, fix=NASTY, urn=NASTY, place=NASTY), notes=(NASTY,)),
    "outside": report(result(file="/elsewhere/my program#1.py", line=0, urn="")),
    "without a file": report(result(file="", line=0)),
    "stopped": report(ended=False),
    "files": report(
        result(subject="a.yaml", file="a.yaml", urn="", place="pools"),
        subjects=("a.yaml", "b.yaml"),
        verb="check",
        category="",
        all_rules=False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sarif_says_nothing_that_a_model_of_the_format_does_not_know(name: str) -> None:
    document = json.loads(formatted(CASES[name], "sarif"))

    read = Sarif.model_validate(document)

    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == document


@pytest.mark.skipif(not SCHEMA, reason="EKS_GPUSHARE_TEST_SARIF_SCHEMA names no schema")
@pytest.mark.parametrize("name", CASES)
def test_sarif_is_valid_by_its_schema(name: str) -> None:
    schema = json.loads(Path(SCHEMA).read_text(encoding="utf-8"))
    document = json.loads(formatted(CASES[name], "sarif"))

    jsonschema.Draft4Validator(schema).validate(document)

    assert document["$schema"] == schema["id"]


def test_sarif_places_a_result_at_its_line_and_resource() -> None:
    (run,) = json.loads(formatted(CASES["of all kinds"], "sarif"))["runs"]

    first = run["results"][0]

    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "__main__.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 12},
            },
            "logicalLocations": [{"fullyQualifiedName": URN, "kind": "resource"}],
        }
    ]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == "private-endpoint-on"
    assert run["automationDetails"] == {"id": "eks-gpushare/policy/prod/"}


def test_what_is_exempted_is_suppressed_with_its_reason() -> None:
    (run,) = json.loads(formatted(CASES["of all kinds"], "sarif"))["runs"]

    assert [each.get("suppressions") for each in run["results"]] == [
        None,
        None,
        None,
        None,
        [
            {
                "kind": "external",
                "status": "accepted",
                "justification": "moving until 2027-01-01",
            }
        ],
    ]


def fingerprints(of: Report) -> list[str]:
    (run,) = json.loads(formatted(of, "sarif"))["runs"]
    return [each["partialFingerprints"]["primaryLocationLineHash"] for each in run["results"]]


def test_a_fingerprint_stays_when_lines_move_and_words_change() -> None:
    before = fingerprints(report(result(), result(rule="node-repair-on")))
    after = fingerprints(report(result(line=40, message="Off."), result(rule="node-repair-on")))

    assert before == after


def test_results_of_one_line_have_fingerprints_of_their_own() -> None:
    same = fingerprints(
        report(result(), result(), result(urn=f"{URN}2"), result(rule="node-repair-on"))
    )

    assert len(set(same)) == 4


def test_a_file_outside_of_the_repository_is_named_in_full() -> None:
    (run,) = json.loads(formatted(CASES["outside"], "sarif"))["runs"]
    (location,) = run["results"][0]["locations"]

    assert location["physicalLocation"]["artifactLocation"] == {
        "uri": "file:///elsewhere/my%20program%231.py"
    }


def test_paths_start_at_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere", encoding="utf-8")
    inner = tmp_path / "infra" / "program"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)

    text = formatted(report(result(file="__main__.py"), result(file="../a.yaml")), "github")

    assert re.findall("file=([^,]*)", text) == ["infra/program/__main__.py", "infra/a.yaml"]


@pytest.mark.parametrize("name", CASES)
def test_junit_is_read_with_the_counts_that_it_gives(name: str) -> None:
    read: Any = JUnitXml.fromstring(formatted(CASES[name], "junit").encode())

    given = (read.tests, read.failures, read.errors, read.skipped)
    read.update_statistics()
    for suite in read:
        suite.update_statistics()

    assert given == (read.tests, read.failures, read.errors, read.skipped)


def test_junit_has_a_case_for_each_result_and_each_rule_that_passed() -> None:
    read = JUnitXml.fromstring(formatted(CASES["one"], "junit").encode())
    (suite,) = read

    assert [(case.name, [type(each) for each in case.result]) for case in suite] == [
        ("node-repair-on", []),
        ("GPU801", []),
        (f"private-endpoint-on at {URN}", [Failure]),
    ]


def test_junit_fails_at_errors_alone() -> None:
    read = JUnitXml.fromstring(formatted(CASES["of all kinds"], "junit").encode())

    kinds = [type(case.result[0]) if case.result else None for suite in read for case in suite]

    assert kinds == [Failure, Failure, None, Skipped, Skipped]


def test_junit_tells_files_without_findings_too() -> None:
    read = JUnitXml.fromstring(formatted(CASES["files"], "junit").encode())

    assert [(suite.name, suite.tests, suite.failures) for suite in read] == [
        ("eks-gpushare check a.yaml", 1, 1),
        ("eks-gpushare check b.yaml", 1, 0),
    ]


def test_an_annotation_holds_one_line_whatever_the_text() -> None:
    text = formatted(CASES["nasty"], "github")
    annotation, summary, rest = text.split("\n")

    assert rest == ""
    assert annotation.startswith("::error file=__main__.py,line=12,title=private-endpoint-on::")
    # What the runner undoes, in its order (actions/runner, ActionCommand.cs).
    undone = annotation.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    assert NASTY in undone
    assert summary == "eks-gpushare policy prod: 1 errors, 0 warnings, 0 notices"


def test_properties_of_an_annotation_are_escaped() -> None:
    text = formatted(report(result(file="a,b:c%.py")), "github")

    assert text.startswith("::error file=a%2Cb%3Ac%25.py,line=12,")


def test_errors_are_annotated_first_and_exempted_ones_not() -> None:
    text = formatted(CASES["of all kinds"], "github")

    assert re.findall("^::(.*?) ", text, re.MULTILINE) == ["error", "error", "warning", "notice"]
    assert text.endswith("2 errors, 1 warnings, 1 notices, 1 exempted\n")


BAD = """\
config:
  aws:region: us-west-2
  eks-gpushare:environment:
    cluster:
      version: "1.35"
    pools:
      gpu:
        instanceTypes: [g5.xlarge]
        sharing: {mode: timeSlicing, replicas: 0}
"""


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "Pulumi.bad.yaml").write_text(BAD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "Pulumi.bad.yaml"


def test_check_marks_the_line_of_a_finding(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--output", "github", bad]) == 1

    assert "::error file=Pulumi.bad.yaml,line=9,title=GPU201::" in capsys.readouterr().out


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_cannot_be_read_is_a_result_of_each_format(
    name: str, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--output", name, bad, "absent.yaml"]) == 2

    assert "absent.yaml" in capsys.readouterr().out


def test_several_outputs_of_one_run(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--output", "SARIF=out/check.sarif", "--output", "junit=check.xml", "--json"]

    assert main(["check", *words, bad]) == 1

    assert json.loads(capsys.readouterr().out)["files"][0]["ok"] is False
    assert json.loads(Path("out/check.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert JUnitXml.fromfile("check.xml").failures > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--output", "xml"], "'xml' is none of text, json, sarif, junit, github"),
        (["--output", "sarif="], "'sarif=' names no file"),
        (["--output", "sarif", "--json"], "sarif and json cannot both go to standard output"),
        (["--output", "sarif=x", "--output", "junit=x"], "sarif and junit cannot both go to x"),
        (["--output", "sarif=."], ". cannot be written to: Is a directory"),
    ],
)
def test_outputs_that_cannot_be(
    words: list[str], said: str, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *words, bad]) == 2

    assert said in capsys.readouterr().err


def test_reports_of_several_stacks_stand_beside_each_other() -> None:
    one = report(result(rule="node-repair-on", level="warning"))
    other = report(result(), subjects=("dev",), category="dev")

    def told(name: str) -> str:
        return formats.formatted([one, other], name, "1.2.3")

    runs = json.loads(told("sarif"))["runs"]
    assert [each["automationDetails"]["id"] for each in runs] == [
        "eks-gpushare/policy/prod/",
        "eks-gpushare/policy/dev/",
    ]
    assert runs == [json.loads(formatted(each, "sarif"))["runs"][0] for each in (one, other)]
    read: Any = JUnitXml.fromstring(told("junit").encode())
    assert [suite.name for suite in read] == [
        "eks-gpushare policy prod",
        "eks-gpushare policy dev",
    ]
    assert [line.partition(" ")[0] for line in told("github").splitlines()] == [
        "::error",
        "::warning",
        "eks-gpushare",
        "eks-gpushare",
    ]
