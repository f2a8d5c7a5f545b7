"""A program judged before it is run and by the state that it leaves: the same verdicts.

The engine, which judges the same programs, is held beside both in `tests/engine`. Two differences
are inherent, and the only ones: what only an update tells is said as not judged before it, and so
judged by the state alone; and a state whose secrets are encrypted leaves open what hangs on them.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from stack_mutants.mutant import of_all_stacks
from stack_mutants.recordings import recorded as of_stack
from stack_mutants.recordings import stacks
from stack_mutants.table import tried
from tests.conftest import sampled
from tests.policies.exported import state_of
from tests.policies.foreign_programs import PROGRAMS, register_all

from eks_gpushare.program.policies.analyzer import run_pack
from eks_gpushare.program.policies.state import read_state
from eks_gpushare.program.run import run_program
from gpushare_policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Run

    from eks_gpushare.program.recording import Recording

Verdict: TypeAlias = tuple[str, str, str, str]

pytestmark = pytest.mark.sdk_internals

RIGHT = [name for name in PROGRAMS if name.startswith("right-")]
_NAMED = re.compile(r"[a-z0-9-]+-config-[0-9a-f]{10}")


def recorded(program: Callable[[], object], *, known: bool) -> Recording:
    recording = run_program(
        program,
        project="theirs",
        stack="prod",
        config={"aws:region": "us-west-2"},
        preview=not known,
    )
    assert recording.error is None, recording.error.traceback
    return recording


@cache
def of_program(name: str, *, known: bool) -> Recording:
    return recorded(partial(PROGRAMS[name], name), known=known)


def verdicts(recording: Recording) -> tuple[set[Verdict], set[str]]:
    """What is wrong, and the rules that could not judge something."""
    violations = run_pack(POLICIES, recording)
    # A preview does not know the names that an update gives ConfigMaps, and calls them otherwise.
    judged = {
        (v.policy, v.level, v.urn, _NAMED.sub("CONFIG", v.message))
        for v in violations
        if not v.not_judged
    }
    return judged, {v.policy for v in violations if v.not_judged}


def exported(recording: Recording, tmp_path: Path, **how: bool) -> Recording:
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state_of(recording, **how), indent=4), encoding="utf-8")
    return read_state(file).recording


def compared(before: Recording, after: Recording, tmp_path: Path) -> set[str]:
    """Hold both ways to the same verdicts; what an update leaves open too, by policy."""
    planned, open_before = verdicts(before)
    made, open_after = verdicts(exported(after, tmp_path))

    assert open_after <= open_before
    assert planned <= made
    # Of several rules that need one value, one says that it is not known.
    assert made == planned or open_before
    return open_after


@pytest.mark.parametrize("name", sampled([*PROGRAMS], 3))
def test_a_state_has_the_verdicts_of_the_program_that_left_it(name: str, tmp_path: Path) -> None:
    before, after = (of_program(name, known=known) for known in (False, True))

    assert compared(before, after, tmp_path) == set()


@pytest.mark.parametrize("stack", sampled(stacks(), 4))
def test_a_state_has_the_verdicts_of_the_stack_that_left_it(stack: str, tmp_path: Path) -> None:
    """With a workload on each of its pools, as the pool says to write it."""
    before, after = (of_stack(stack, preview=preview) for preview in (True, False))

    assert compared(before, after, tmp_path) == set()


def test_a_state_of_a_broken_stack_has_the_verdicts_of_its_preview(tmp_path: Path) -> None:
    """Twenty stacks with one thing broken; of all with EKS_GPUSHARE_TEST_MUTANTS=1."""
    known = tried()
    chosen = known if os.environ.get("EKS_GPUSHARE_TEST_MUTANTS") else of_all_stacks(known, 20)
    assert {each.stack for each in chosen} == set(stacks())

    judged_both = 0
    for mutant in chosen:
        before, after = (mutant.recording(preview=preview) for preview in (True, False))
        if before is None or after is None:  # what is broken is not there before an update
            continue
        try:
            left_open = compared(before[0], after[0], tmp_path)
        except AssertionError as error:
            error.add_note(f"of {mutant.name}")
            raise
        # The price of a type that this package does not know, and what an operator means to it.
        assert left_open <= {"cost-within-budget", "autoscalers-know-shares"}, mutant.name
        judged_both += 1
    assert judged_both > 0.9 * len(chosen)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_has_nothing_wrong(name: str) -> None:
    assert verdicts(of_program(name, known=True)) == (set(), set())


def test_most_of_the_programs_are_wrong() -> None:
    assert len({urn for _, _, urn, _ in verdicts(recorded(register_all, known=True))[0]}) > 30


def test_what_is_encrypted_is_said_as_not_judged(tmp_path: Path) -> None:
    import pulumi_aws as aws
    from pulumi import Output

    encrypted = False

    def program() -> None:
        aws.ebs.Volume(
            "disk",
            availability_zone="us-west-2a",
            encrypted=Output.secret(encrypted),
            size=1,
            type="gp3",
        )

    after = recorded(program, known=True)
    shown, _ = verdicts(exported(after, tmp_path))
    hidden, left_open = verdicts(exported(after, tmp_path, show_secrets=False))

    assert {policy for policy, *_ in shown} == {"volumes-encrypted"}
    assert (hidden, left_open) == (set(), {"volumes-encrypted"})
    assert "encrypted in the file" in exported(after, tmp_path, show_secrets=False).assumptions[0]


VOLUME = {
    "urn": "urn:pulumi:prod::theirs::aws:ebs/volume:Volume::disk",
    "type": "aws:ebs/volume:Volume",
    "custom": True,
    "id": "vol-1",
    "inputs": {"encrypted": False, "size": 1.0},
    "outputs": {"encrypted": False},
}


def state(*resources: Any, version: Any = 3, **more: Any) -> str:
    return json.dumps(
        {"version": version, "deployment": {"resources": list(resources), **more}}, indent=2
    )


@pytest.fixture
def judged(run: Run, tmp_path: Path) -> Callable[..., Any]:
    """`judged(text, *words)` is `policy --state` of a file with this text."""

    def judge(text: str | bytes, *words: str) -> Any:
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "state.json").write_bytes(content)
        return run("policy", "--state", "state.json", *words, cwd=tmp_path)

    return judge


@pytest.mark.parametrize("version", [3, 4])
def test_a_violation_of_a_state_is_at_the_line_of_its_urn(
    version: int, judged: Callable[..., Any]
) -> None:
    ran = judged(state(VOLUME, version=version, features=["taint"]), "--output", "github")

    assert ran.code == 1
    assert ran.out.startswith("::error file=state.json,line=6,title=volumes-encrypted::")


def test_what_is_about_to_be_deleted_or_pending_is_said_and_not_judged(
    judged: Callable[..., Any],
) -> None:
    pending = {"resource": VOLUME, "type": "creating"}
    urn = "urn:pulumi:prod::p::aws:s3/bucket:Bucket::b"
    kept = {"urn": urn, "type": "aws:s3/bucket:Bucket", "custom": True}
    doomed = VOLUME | {
        "delete": True,
        "urn": urn.replace("s3/bucket:Bucket::b", "ebs/volume:Volume::disk"),
    }
    ran = judged(state(doomed, kept, pending_operations=[pending]))

    assert ran.code == 0
    assert "note: 1 operation was interrupted" in ran.out
    assert "creating of disk" in ran.out
    assert "note: 1 resource is about to be deleted, and not judged." in ran.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be used: it is not JSON: Expecting value at line 1, column 1"),
        ("{", "cannot be used: it is not JSON"),
        (b"\xff\xfe{\x00", "cannot be used: it is not UTF-8"),
        ("[" * 100_000, "cannot be used: it is nested too deeply"),
        ("[]", "is no exported state: it holds a list. Write it with `pulumi stack export"),
        ("{}", "is no exported state: the keys version and deployment are missing"),
        ('{"version": 3, "checkpoint": {}}', "is no exported state: it is a file of a backend"),
        (state(version=5), "is no exported state: its version is 5; known are 3 and 4"),
        (state(version=True), "is no exported state: its version is true"),
        (state(version=[3]), "is no exported state: its version is [3]"),
        ('{"version": 3, "deployment": []}', "deployment holds a list"),
        ('{"version": 3, "deployment": {"resources": {}}}', "deployment.resources holds an object"),
        (state(1), "deployment.resources[0] holds a single value"),
        (state({}), "deployment.resources[0].urn is null, which is no URN"),
        (state(VOLUME, VOLUME | {"urn": "vol"}), 'resources[1].urn is "vol", which is no URN'),
        (state(VOLUME | {"type": 1}), "deployment.resources[0].type holds a single value"),
        (state(VOLUME | {"inputs": []}), "deployment.resources[0].inputs holds a list"),
        (state(VOLUME | {"dependencies": [1]}), "resources[0].dependencies is no list of texts"),
        (state(VOLUME | {"parent": {}}), "deployment.resources[0].parent holds an object"),
        (
            state(VOLUME | {"inputs": {"a": {"4dabf18193072939515e22adb298388d": "new"}}}),
            'deployment.resources[0].inputs.a has the signature "new"',
        ),
    ],
)
def test_what_is_no_state_is_one_error(
    text: str | bytes, said: str, judged: Callable[..., Any]
) -> None:
    ran = judged(text)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("eks-gpushare: state.json ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("prod",), "name no STACK beside it"),
        (("--answers", "a.yaml"), "a state asks nothing"),
        (("--program", "absent"), "There is no Pulumi.yaml in absent"),
    ],
)
def test_what_does_not_go_with_a_state(
    words: tuple[str, ...], said: str, judged: Callable[..., Any]
) -> None:
    ran = judged(state(), *words)

    assert ran.code == 2
    assert said in ran.err


def test_a_state_that_is_not_there_is_one_error(run: Run) -> None:
    ran = run("policy", "--state", "absent.json")

    assert (ran.code, ran.err) == (
        2,
        "eks-gpushare: absent.json cannot be used: no such file or directory\n",
    )
