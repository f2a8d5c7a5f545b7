"""What a configuration lets be, until when, and how that is told."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pulumi_aws as aws
import pytest
from pulumi_policy import EnforcementLevel, Severity

from eks_gpushare.program.policies.analyzer import judge
from eks_gpushare.program.policies.config import PolicyConfigError
from eks_gpushare.program.run import run_program
from gpushare_policies import POLICIES, exemptions
from gpushare_policies.checks import Unjudged
from gpushare_policies.rule import ResourcePolicy, StackPolicy
from gpushare_policies.rules.in_force import EXEMPTIONS_IN_FORCE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pulumi_policy import ResourceValidationArgs, StackValidationArgs
    from tests.conftest import Run

    from eks_gpushare.program.policies.violations import Judged

pytestmark = pytest.mark.sdk_internals

DAY = date(2026, 11, 22)
RULE = "volumes-encrypted"
TOKEN = "aws:ebs/volume:Volume"  # noqa: S105  (a type's name)
NAME = "exemptions-in-force"


@pytest.fixture(autouse=True)
def _a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exemptions, "today", lambda: DAY)


def disks() -> None:
    for name in ("old", "older", "a[b]?"):
        aws.ebs.Volume(name, availability_zone="us-west-2a", size=1)


def exemption(resource: str = "old", until: str = "2026-12-31", **more: str) -> dict[str, str]:
    return {"resource": resource, "reason": "It holds nothing.", "until": until} | more


def judged(*given: Mapping[str, Any], level: str = "mandatory", rules: Any = POLICIES) -> Judged:
    recording = run_program(disks, project="demo", stack="dev", config={"aws:region": "us-west-2"})
    settings = {"enforcementLevel": level, "exemptions": list(given)}
    return judge(rules, recording, config={RULE: settings})


def broken(found: Judged) -> list[str]:
    return [v.urn.rpartition("::")[2] for v in found.violations if v.policy == RULE]


def told(found: Judged) -> list[tuple[str, str]]:
    return [(v.urn.rpartition("::")[2], v.message) for v in found.violations if v.policy == NAME]


def test_without_exemptions_every_disk_counts() -> None:
    assert (broken(judged()), told(judged())) == (["old", "older", "a[b]?"], [])


def test_what_is_exempted_is_told_with_its_reason_and_last_day() -> None:
    found = judged(exemption())

    assert broken(found) == ["older", "a[b]?"]
    ((name, message),) = told(found)
    assert name == "old"
    assert message.startswith(
        "volumes-encrypted (also GPU1212, launch-template-volumes-encrypted, "
        "node-class-volumes-encrypted) is let be at old until 2026-12-31: It holds nothing. It "
        "would say: "
    )


def test_what_is_exempted_is_no_violation_of_the_rule_at_any_level() -> None:
    for level in ("advisory", "mandatory", "remediate"):
        assert broken(judged(exemption("*"), level=level)) == []


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("old", ["older", "a[b]?"]),
        ("old*", ["a[b]?"]),
        ("*", []),
        ("OLD", ["old", "older", "a[b]?"]),
        ("ol", ["old", "older", "a[b]?"]),
        ("a[b]?", ["old", "older"]),
        ("a*?", ["old", "older"]),
        ("o?d", ["old", "older", "a[b]?"]),
        ("urn:pulumi:dev::demo::aws:ebs/volume:Volume::old", ["older", "a[b]?"]),
        ("urn:pulumi:dev::*", []),
        ("urn:pulumi:prod::*", ["old", "older", "a[b]?"]),
        ("*:Volume::old", ["older", "a[b]?"]),
    ],
)
def test_a_resource_is_meant_by_name_urn_or_pattern(pattern: str, left: list[str]) -> None:
    assert broken(judged(exemption(pattern))) == left


@pytest.mark.parametrize(
    ("until", "holds"),
    [
        ("2026-11-22", True),
        ("2026-11-23", True),
        ("2026-11-21", False),
        ("0001-01-01", False),
        ("2026-12-32", False),
        ("2027-02-29", False),
    ],
)
def test_it_holds_through_its_last_day(until: str, *, holds: bool) -> None:
    found = judged(exemption("*", until))

    assert broken(found) == ([] if holds else ["old", "older", "a[b]?"])
    assert bool(found.exempted) is holds


def test_one_that_ended_is_told_while_its_violation_counts_again() -> None:
    assert told(judged(exemption("old", "2026-11-21"))) == [
        (
            "demo-dev",
            (
                "The exemption of volumes-encrypted at old ended with 2026-11-21: what it was for "
                "counts again. Remove it from the configuration, or give it a later day and a "
                "reason for it."
            ),
        )
    ]


def test_one_that_nothing_needs_is_told() -> None:
    (used, unused) = told(judged(exemption(), exemption("gone")))

    assert used[0] == "old"
    assert unused == (
        "demo-dev",
        (
            "The exemption of volumes-encrypted at gone is for nothing: no resource of that name "
            "violates the rule. Remove it from the configuration."
        ),
    )


def test_one_whose_rule_could_not_judge_may_be_needed() -> None:
    def late() -> None:
        key = aws.kms.Key("key", enable_key_rotation=True)
        encrypted = key.arn.apply(lambda _: False)
        aws.ebs.Volume("old", availability_zone="us-west-2a", size=1, encrypted=encrypted)

    recording = run_program(late, project="demo", stack="dev", config={"aws:region": "us-west-2"})
    found = judge(POLICIES, recording, config={RULE: {"exemptions": [exemption()]}})

    told = [(v.policy, bool(v.not_judged)) for v in found.violations if v.policy in {RULE, NAME}]
    assert told == [(RULE, True)]


def test_of_two_that_fit_the_one_that_holds_counts() -> None:
    found = judged(exemption("old", "2026-01-01"), exemption("ol*"))

    assert broken(found) == ["a[b]?"]
    assert [each.until for each in found.exempted] == ["2026-12-31", "2026-12-31"]


def test_runs_do_not_see_the_exemptions_of_each_other() -> None:
    judged(exemption("gone"), exemption())

    assert told(judged()) == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"resource": "a", "until": "2026-12-31"}, "reason is required"),
        ({"resource": "a", "reason": "b"}, "until is required"),
        ({"reason": "b", "until": "2026-12-31"}, "resource is required"),
        (exemption(reason=""), "reason: '' does not match"),
        (exemption(" "), "resource: ' ' does not match"),
        (exemption(until="31.12.2026"), "until: '31.12.2026' does not match"),
        (exemption(until="2026-12-31T00:00"), "until: '2026-12-31T00:00' does not match"),
        (exemption(by="me"), "'by' is none of "),
        ({"resource": 1, "reason": "b", "until": "2026-12-31"}, "resource: 1 is not of type"),
        ("old", "'old' is not of type object"),
    ],
)
def test_one_that_lacks_something_is_refused(wrong: Any, why: str) -> None:
    with pytest.raises(PolicyConfigError, match=f"^{RULE}: exemptions: ") as refused:
        judged(wrong)

    assert why in str(refused.value)


def test_a_stack_rule_can_be_let_be_too() -> None:
    def check(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
        for each in args.resources:
            if each.resource_type == TOKEN:
                yield f"{each.name} is there", each.urn

    words = Fix("Remove it.", "Remove it.", "Remove it.")
    rule = StackPolicy(
        RULE, "None must be.", check=check, applies_to=(TOKEN,), severity=Severity.LOW, fix=words
    )

    found = judged(exemption(), rules=[rule, EXEMPTIONS_IN_FORCE])

    assert broken(found) == ["older", "a[b]?"]
    assert [name for name, _ in told(found)] == ["old"]


def test_what_is_exempted_is_not_repaired() -> None:
    repaired: list[str] = []

    def repair(args: ResourceValidationArgs) -> Mapping[str, Any]:
        repaired.append(args.name)
        return {**dict(args.props), "encrypted": True}

    def check(args: ResourceValidationArgs) -> Iterator[str | Unjudged]:
        if not args.props.get("encrypted"):
            yield "It is plain."

    rule = ResourcePolicy(
        RULE,
        "It must be.",
        checks={TOKEN: check},
        remediate={TOKEN: repair},
        severity=Severity.LOW,
        fix=Fix("Set it.", "Set it.", "Set it."),
        level=EnforcementLevel.ADVISORY,
    )

    found = judged(exemption(), level="remediate", rules=[rule, EXEMPTIONS_IN_FORCE])

    assert repaired == ["older", "a[b]?"]
    assert [(v.level, v.urn.rpartition("::")[2]) for v in found.violations] == [
        ("remediate", "older"),
        ("remediate", "a[b]?"),
        ("advisory", "old"),
    ]
    assert [each.urn.rpartition("::")[2] for each in found.exempted] == ["old"]


def test_what_could_not_be_judged_is_told_beside_what_is_wrong() -> None:
    def check(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
        for each in args.resources:
            if each.resource_type == TOKEN:
                yield Unjudged(f"the key of {each.name}")
                yield f"{each.name} is there", each.urn

    rule = StackPolicy(
        RULE,
        "None must be.",
        check=check,
        applies_to=(TOKEN,),
        severity=Severity.LOW,
        fix=Fix("Remove it.", "Remove it.", "Remove it."),
    )

    found = judged(rules=[rule])

    assert [(v.level, v.message, v.not_judged) for v in found.violations][:3] == [
        ("mandatory", f"{name} is there", "") for name in ("old", "older", "a[b]?")
    ]
    last = found.violations[-1]
    assert last.level == "advisory"
    assert last.not_judged == (
        "could not be judged: the key of a[b]?; the key of old; the key of older"
    )


PROGRAM = """\
import pulumi_aws as aws

for name in ("old", "new"):
    aws.ebs.Volume(name, availability_zone="us-west-2a", size=1, type="gp3")
"""


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A program with two disks, the first of which may stay as it is."""
    (tmp_path / "__main__.py").write_text(PROGRAM)
    settings = {"name": "disks", "runtime": {"name": "python"}}
    (tmp_path / "Pulumi.yaml").write_text(json.dumps(settings))
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {aws:region: us-west-2}\n")
    given = {RULE: {"exemptions": [exemption()]}}
    (tmp_path / "policies.json").write_text(json.dumps(given))
    return tmp_path


def test_the_command_tells_of_exemptions_in_every_format(run: Run, theirs: Path) -> None:
    words = ("policy", "dev", "--config", "policies.json")

    text = run(*words, cwd=theirs)
    assert text.code == 1
    assert "mandatory volumes-encrypted (CIS" in text.out or "mandatory volumes-en" in text.out
    assert "advisory exemptions-in-force at old, __main__.py:4" in text.out

    document = run(*words, "--json", cwd=theirs).json
    assert [(e["policy"], e["reason"], e["until"]) for e in document["exempted"]] == [
        (RULE, "It holds nothing.", "2026-12-31")
    ]
    assert [(v["file"], v["line"]) for v in document["violations"]] == [("__main__.py", 4)] * 2

    (sarif,) = json.loads(run(*words, "--output", "sarif", cwd=theirs).out)["runs"]
    assert [(r["ruleId"], "suppressions" in r) for r in sarif["results"]] == [
        (RULE, False),
        (RULE, True),
    ]

    github = run(*words, "--output", "github", cwd=theirs).out
    assert github.startswith("::error file=__main__.py,line=4,title=volumes-encrypted::")
    assert github.endswith("1 errors, 0 warnings, 0 notices, 1 exempted\n")


def test_only_mandatory_violations_fail_whatever_the_format(run: Run, theirs: Path) -> None:
    (theirs / "policies.json").write_text(json.dumps({"all": "advisory"}))
    words = ("policy", "dev", "--config", "policies.json")

    codes = {name: run(*words, "--output", name, cwd=theirs).code for name in ("sarif", "junit")}

    assert codes == {"sarif": 0, "junit": 0}


def test_a_program_that_fails_is_a_result_at_its_line(run: Run, theirs: Path) -> None:
    (theirs / "__main__.py").write_text("import json\n\njson.loads('{')\n")

    ran = run("policy", "dev", "--output", "github", cwd=theirs)

    assert ran.code == 1
    assert ran.out.startswith("::error file=__main__.py,line=3,title=program-stopped::JSONDecode")
