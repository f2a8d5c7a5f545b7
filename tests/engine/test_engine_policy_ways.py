"""The pack by the engine, in-process, and both of them over a state: the same verdicts.

Sixty programs of others are one program here, so one preview holds them all. Of the stacks one is
previewed always, and each of them with EKS_GPUSHARE_TEST_ENGINE_ALL=1, which also breaks each of
them in many places at once and judges the state. What differs by its nature:

* The engine judges a state's encrypted values as the text `[secret]`; here they are not judged. So
  the states of this test show their secrets, but for the test of just that.
* Of objects in a cluster that is yet to be made the engine tells nothing in a preview, not even
  their names: it asks no provider whose configuration is not known, and takes no property for
  known. Here they are. So it leaves more unjudged. Told to take the inputs for the outputs of what
  such a provider makes, as it once did, it says the same to the last word, once our previews too
  leave the names of immutable ConfigMaps to the update.
* The engine registers what does not wait for each other in any order, so a rule on a whole stack
  that tells of the first of several like resources, as `gpu-stack-tolerates-taints` of the releases
  of a chart, may tell of another one. It is off where sixty programs are one; stacks hold it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from stack_mutants.mutant import broken_at_once
from stack_mutants.recordings import recorded as of_stack
from stack_mutants.recordings import stacks
from stack_mutants.table import tried
from tests.policies.exported import state_of

from eks_gpushare.program.fakes import fakes
from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.policies.packs import load_pack
from eks_gpushare.program.policies.state import read_state
from eks_gpushare.program.preview import record
from eks_gpushare.stack_file.check import check_file
from eks_gpushare.stack_file.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.engine.conftest import Engine, Project, StackFile

    from eks_gpushare.program.recording import Recording

Verdict: TypeAlias = tuple[str, str, str, str]

ROOT = Path(__file__).parents[2]
PACK = ROOT / "policies"
PROGRAMS = ROOT / "tests" / "policies" / "foreign_programs.py"
THEIR_PACK = ROOT / "tests" / "policies" / "their_pack.py"
CONFIG = {"aws:region": "us-west-2"}
ADVISORY = {"all": "advisory"}
OF_SIXTY: dict[str, Any] = {"all": "advisory", "gpu-stack-tolerates-taints": "disabled"}
WITH_INPUTS = {"PULUMI_LEGACY_PROVIDER_PREVIEW": "true"}
"""Of the engine: `sdk/go/common/resource/plugin/provider_plugin.go`, Create, of Pulumi 3.260."""
MANDATORY = {"volumes-encrypted": "mandatory"}
ALL = bool(os.environ.get("EKS_GPUSHARE_TEST_ENGINE_ALL"))
STACKS = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))


def with_pack(project: Project) -> Project:
    if not (project.directory / "policies").exists():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACK, project.directory / "policies", ignore=ignored)
    return project


@pytest.fixture(scope="module")
def foreign(engine: Engine) -> Project:
    """The sixty programs as one, with the pack beside it."""
    project = with_pack(engine.project("theirs", PROGRAMS.read_text(encoding="utf-8")))
    project.init("prod", CONFIG)
    return project


def ours(project: Project, recording: Recording, levels: StackFile) -> set[Verdict]:
    pack = load_pack(project.directory / "policies")
    violations = run_pack(pack.policies, recording, config=dict(levels), pack=pack.name)
    return told(
        (v.policy, v.level, v.urn, v.message if v.not_judged else f"{v.description}\n{v.message}")
        for v in violations
    )


def told(verdicts: Iterable[Verdict]) -> set[Verdict]:
    """Verdicts without the ends of names that a provider makes up, as each one does by itself."""
    made_up = re.compile(r"-[0-9a-f]{10}\b")
    return {(*others, made_up.sub("", text)) for *others, text in verdicts}  # type: ignore[misc]


def recorded(project: Project, stack: str, *, known: bool) -> Recording:
    found = find_project(project.directory)
    recording = record(found, check_file(found.stack_file(stack)), stack, known=known)
    assert recording.error is None, recording.error
    return recording


def levels_of(project: Project, levels: StackFile) -> tuple[str, str]:
    file = project.directory / "levels.json"
    file.write_text(json.dumps(levels), encoding="utf-8")
    return ("--policy-pack-config", str(file))


def previewed(
    project: Project, stack: str, levels: StackFile, environment: dict[str, str] | None = None
) -> set[Verdict]:
    words = ("--policy-pack", "policies", *levels_of(project, levels))
    return told(project.preview(stack, None, *words, told=environment).violations)


def analyzed(
    project: Project, file: Path, levels: StackFile, *, fails: bool = False
) -> set[Verdict]:
    """What `pulumi policy analyze` says of a state, by the events that it prints."""
    words = ("--file", str(file), "--policy-pack", "policies", "--json")
    result = project.engine.run(
        project.directory, "policy", "analyze", *words, *levels_of(project, levels), fails=fails
    )
    events = [json.loads(line) for line in result.text.splitlines() if line.startswith("{")]
    return told(
        (v["policyName"], v["enforcementLevel"], v["resourceUrn"], v["message"].strip())
        for v in (event["policyEvent"] for event in events if "policyEvent" in event)
    )


def exported(project: Project, recording: Recording, **how: bool) -> Path:
    file = project.directory / "state.json"
    file.write_text(json.dumps(state_of(recording, **how)), encoding="utf-8")
    return file


def test_sixty_programs_of_others_have_one_verdict(foreign: Project) -> None:
    in_process = ours(foreign, recorded(foreign, "prod", known=False), OF_SIXTY)

    assert len({policy for policy, *_ in in_process}) > 10
    assert previewed(foreign, "prod", OF_SIXTY) == in_process


def test_the_state_of_sixty_programs_has_one_verdict(foreign: Project) -> None:
    file = exported(foreign, recorded(foreign, "prod", known=True))

    in_process = ours(foreign, read_state(file).recording, OF_SIXTY)

    assert len({policy for policy, *_ in in_process}) > 10
    assert analyzed(foreign, file, OF_SIXTY) == in_process


def test_a_mandatory_violation_of_a_state_fails_both(foreign: Project) -> None:
    file = exported(foreign, recorded(foreign, "prod", known=True))
    levels = OF_SIXTY | MANDATORY

    in_process = ours(foreign, read_state(file).recording, levels)

    assert "mandatory" in {level for _, level, *_ in in_process}
    assert analyzed(foreign, file, levels, fails=True) == in_process


@pytest.mark.parametrize("stack", STACKS if ALL else STACKS[-2:-1], ids=lambda file: str(file.stem))
def test_a_stack_has_one_verdict_in_every_way(
    project: Project, stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pack(project)
    name = f"ways-{stack.stem.removeprefix('Pulumi.')}"
    project.init(name, stack.read_text(encoding="utf-8"))
    file = exported(project, recorded(project, name, known=True))

    planned = ours(project, recorded(project, name, known=False), ADVISORY)
    made = ours(project, read_state(file).recording, ADVISORY)

    previews = previewed(project, name, ADVISORY)
    whole = previewed(project, name, ADVISORY, WITH_INPUTS)

    unseen = ours(project, without_objects(recorded(project, name, known=False)), ADVISORY)
    monkeypatch.setattr(fakes, "_settle_name", lambda _: None)
    nameless = ours(project, recorded(project, name, known=False), ADVISORY)
    assert whole == nameless
    assert judged(nameless) == judged(planned)
    assert judged(previews) == judged(planned)
    assert previews - judged(previews) >= (planned - judged(planned)) & (unseen - judged(unseen))
    assert analyzed(project, file, ADVISORY) == made


@pytest.mark.skipif(not ALL, reason="EKS_GPUSHARE_TEST_ENGINE_ALL=1 breaks every stack")
@pytest.mark.parametrize("stack", stacks())
def test_a_broken_stack_has_one_verdict_in_every_way(project: Project, stack: str) -> None:
    """As much of it broken at once as does not stand in one resource."""
    with_pack(project)
    project.init(f"broken-{stack}", CONFIG)
    whole = of_stack(stack, preview=False)
    broken = broken_at_once([each for each in tried() if each.stack == stack], preview=False)

    right = ours(project, read_state(exported(project, whole)).recording, ADVISORY)
    file = exported(project, broken)
    wrong = ours(project, read_state(file).recording, ADVISORY)

    assert len(wrong) > len(right)
    assert analyzed(project, file, ADVISORY) == wrong


def without_objects(recording: Recording) -> Recording:
    """What the engine is shown: of objects no property, so that rules on them do not apply."""
    shown = [
        replace(each, inputs={}, outputs={}) if each.type.startswith("kubernetes:") else each
        for each in recording.resources
    ]
    return replace(recording, resources=shown)


def judged(verdicts: set[Verdict]) -> set[Verdict]:
    """Without what could not be judged."""
    return {each for each in verdicts if not each[3].startswith("can't run policy")}


EXEMPTIONS: dict[str, Any] = {
    **OF_SIXTY,
    "volumes-encrypted": {
        "enforcementLevel": "mandatory",
        "exemptions": [
            {"resource": "*", "reason": "Scratch data only.", "until": "2199-12-31"},
        ],
    },
    "deletion-protection": {
        "exemptions": [
            {"resource": "unprotected-cluster", "reason": "It goes.", "until": "2020-01-31"},
            {"resource": "no-such", "reason": "It went.", "until": "2199-12-31"},
        ],
    },
}


def test_exemptions_are_the_same_in_every_way(foreign: Project) -> None:
    recording = recorded(foreign, "prod", known=False)
    planned = ours(foreign, recording, EXEMPTIONS)
    file = exported(foreign, recorded(foreign, "prod", known=True))

    assert "mandatory" not in {level for _, level, *_ in planned}
    assert sum(policy == "exemptions-in-force" for policy, *_ in planned) > 3
    assert previewed(foreign, "prod", EXEMPTIONS) == planned
    assert analyzed(foreign, file, EXEMPTIONS) == ours(
        foreign, read_state(file).recording, EXEMPTIONS
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource": "a", "reason": "b"},
        {"resource": "a", "reason": " ", "until": "2199-12-31"},
        {"resource": "a", "reason": "b", "until": "tomorrow"},
        {"resource": "a", "reason": "b", "until": "2199-12-31", "by": "me"},
    ],
)
def test_an_exemption_that_lacks_something_is_refused_by_both(
    foreign: Project, wrong: dict[str, str]
) -> None:
    from eks_gpushare.program.policies.config import PolicyConfigError

    levels = {"volumes-encrypted": {"exemptions": [wrong]}}
    file = exported(foreign, recorded(foreign, "prod", known=True))

    with pytest.raises(PolicyConfigError, match="volumes-encrypted: exemptions: "):
        ours(foreign, read_state(file).recording, levels)
    assert analyzed(foreign, file, levels, fails=True) == set()


BUCKETS = """\
import pulumi_aws as aws
import pulumi_kubernetes as k8s

aws.s3.Bucket("a", acl="public-read", force_destroy=True, tags={"x": "1", "y": "2"})
aws.s3.Bucket("b", bucket_prefix="b")
k8s.core.v1.Service("c", spec={"type": "LoadBalancer"})
"""


def test_a_pack_of_others_says_the_same_in_every_way(engine: Engine) -> None:
    """But for repairs, which the engine tells of in events of their own."""
    project = engine.project("buckets", BUCKETS)
    pack = project.directory / "policies"
    pack.mkdir()
    shutil.copy(THEIR_PACK, pack / "__main__.py")
    options = {"toolchain": "pip", "virtualenv": "../.venv"}
    settings = {"runtime": {"name": "python", "options": options}}
    (pack / "PulumiPolicy.yaml").write_text(json.dumps(settings), encoding="utf-8")
    project.init("dev", CONFIG)
    loaded = load_pack(pack)

    def in_process(recording: Recording) -> set[Verdict]:
        found = run_pack(
            loaded.policies,
            recording,
            config={"few": "advisory"},
            initial_config=loaded.initial_config,
            pack=loaded.name,
            level=loaded.level,
        )
        return {
            (v.policy, v.level, v.urn, f"{v.description}\n{v.message}")
            for v in found
            if v.level != "remediate"
        }

    planned = in_process(recorded(project, "dev", known=False))
    file = exported(project, recorded(project, "dev", known=True))

    assert len(planned) > 5
    assert previewed(project, "dev", {"few": "advisory"}) == planned
    assert analyzed(project, file, {"few": "advisory"}) == in_process(read_state(file).recording)


def test_what_is_repaired_is_the_same_in_every_way(foreign: Project) -> None:
    pack = load_pack(foreign.directory / "policies")
    repairing = [rule.name for rule in pack.policies if getattr(rule, "repairs", ())]
    levels: dict[str, Any] = OF_SIXTY | dict.fromkeys(repairing, "remediate")
    words = ("--policy-pack", "policies", *levels_of(foreign, levels))
    result = foreign.preview("prod", None, *words, fails=True)
    by_engine = {
        (
            event["policyRemediationEvent"]["policyName"],
            event["policyRemediationEvent"]["resourceUrn"],
        )
        for event in result.events
        if "policyRemediationEvent" in event
    }

    found = run_pack(
        pack.policies,
        recorded(foreign, "prod", known=False),
        config=levels,
        pack=pack.name,
    )

    repaired = {(v.policy, v.urn) for v in found if v.level == "remediate"}
    assert len({policy for policy, _ in repaired}) > 1
    assert repaired == by_engine
    left = {(v.policy, v.urn) for v in found if v.policy in repairing and v.level == "mandatory"}
    engines = {(name, urn) for name, level, urn, _ in result.violations if level == "mandatory"}
    assert left == engines
