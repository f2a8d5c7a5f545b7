"""Every key of the schema, edited: what `--before` says against what the engine's preview does.

`tests/edits` says which edits, and what goes by a step. What is before an edit is up once, as a
stack of its own that stays as it is: many edits begin with what another one has begun with. So an
edit costs one preview, and nothing is made or destroyed. Which stack to edit where, the golden
table of every key says. An hour.
"""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.edits import truth
from tests.edits.holding import compare, found_before, places, recorded, said_of
from tests.edits.karpenter import Karpenter, built
from tests.edits.trial import by_hand, stacks
from tests.engine.state_made_up import deployment_of

from eks_gpushare.program.values import UNKNOWN_SENTINEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.edits.holding import Held
    from tests.edits.trial import Trial
    from tests.edits.truth import Step
    from tests.engine.conftest import Project, Result

    Up = Callable[[str, Mapping[str, Any]], str]

ALL = "EKS_GPUSHARE_TEST_EVERY_KEY"
pytestmark = pytest.mark.skipif(not os.environ.get(ALL), reason=f"{ALL}=1 edits every key, an hour")
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
_MOUNTING = (truth.RELEASE, "kubernetes:apps/v1:")
"""What names the ConfigMaps beside it."""
_LIMIT_SECONDS = 600
"""For a whole stack, on a machine that has other work at night."""
_OPS = {
    "create-replacement": "replace",
    "delete-replaced": "replace",
    "replace": "replace",
    "create": "create",
    "delete": "delete",
    "update": "update",
}


@pytest.fixture(scope="module")
def karpenter() -> Karpenter:
    """Karpenter's word: asked where its program may be built, else as it was given before."""
    return Karpenter(built() if os.environ.get("EKS_GPUSHARE_TEST_KARPENTER") else None)


@pytest.fixture(scope="module")
def up(project: Project) -> Iterator[Up]:
    """`up(stack, config)`: the name of a stack of the engine's that is up with this configuration.

    Its state is made up, for an update takes longer than the preview of an edit.
    """
    there: dict[str, str] = {}
    numbers = count()
    # What edits name by a path, as a program of the repository has it.
    (project.directory / "tests").symlink_to(Path(__file__).parents[1], target_is_directory=True)

    def have(stack: str, config: Mapping[str, Any]) -> str:
        told = json.dumps([stack, config], sort_keys=True)
        if told not in there:
            name = f"every-key-{next(numbers)}"
            project.init(name, dict(config))
            run = recorded(stack, config)
            project.set_state(name, deployment_of(run, name, config["aws:region"]))
            there[told] = name
        return there[told]

    with project.engine.providers_kept():
        yield have


@pytest.mark.parametrize("stack", stacks())
def test_nothing_changes_in_a_stack_whose_state_is_made_up(
    stack: str, project: Project, up: Up
) -> None:
    name = up(stack, stacks()[stack])
    words = ("preview", "--stack", name)
    done = project.engine.run(project.directory, *words, limit_seconds=_LIMIT_SECONDS)

    assert done.changes == {}


def steps_of(result: Result) -> list[Step]:
    """What the engine does, each resource once.

    What takes another one's place by an alias is replaced to the engine, under two names: as one
    manager of GPUs that takes over from the other. By its name the one goes, and the other comes.
    """
    found: dict[str, Step] = {}
    parents: dict[str, str] = {}
    events = [
        each["resourcePreEvent"]["metadata"] for each in result.events if "resourcePreEvent" in each
    ]
    renamed: set[str] = set()
    # What is beside them names ConfigMaps by names that no preview knows, and no two are alike.
    anew = {
        each["new"]["parent"]
        for each in events
        if _OPS.get(each["op"]) == "replace" and each["type"] == _CONFIG_MAP and each.get("new")
    }
    for each in events:
        urns = {each[side]["urn"] for side in ("old", "new") if each.get(side)}
        renamed |= urns if len(urns) > 1 else set()
        parents[each["urn"]] = (each.get("new") or each.get("old") or {}).get("parent", "")
    for each in events:
        state = each.get("new") or each.get("old") or {}
        op = _OPS.get(each["op"])
        if op == "replace" and each["urn"] in renamed:
            op = "create" if each.get("new") else "delete"
        if op is None or not state.get("custom") or each["type"].startswith("pulumi:"):
            continue
        was, now = ((each.get(side) or {}).get("inputs", {}) for side in ("old", "new"))
        was = {} if op == "create" else was
        if not each["type"].startswith(_MOUNTING) or state.get("parent") not in anew:
            now = known(now, was)
        within, at = [], state.get("parent", "")
        while at:
            within.append(at.rpartition("::")[2])
            at = parents.get(at, "")
        step = truth.Step(
            each["type"], each["urn"].rpartition("::")[2], op, was, now, tuple(within)
        )
        if each["urn"] not in found or (was and now):
            found[each["urn"]] = step
    return list(found.values())


def known(now: Any, was: Any) -> Any:
    """What a preview does not know is taken for what it was, as it is after an update in place.

    The outputs of whatever is changed are unknown to the engine, the ID of a cluster's security
    group among them. Whether the one they are of is another one, its own step says, and
    `tests/edits` what follows.
    """
    if now is None or now == UNKNOWN_SENTINEL:  # the engine's events have null for it
        return was
    if isinstance(now, dict):
        before = was if isinstance(was, dict) else {}
        return {key: known(value, before.get(key)) for key, value in now.items()}
    if isinstance(now, list):
        same = isinstance(was, list) and len(was) == len(now)
        olds = was if same else [None] * len(now)
        return [known(value, old) for value, old in zip(now, olds, strict=True)]
    return now


@pytest.mark.parametrize("key", places())
def test_what_the_engine_takes_away_is_told(
    key: str, project: Project, up: Up, karpenter: Karpenter
) -> None:
    wrong = {
        trial.place: (held.silent, held.false)
        for trial in found_before(key)
        if (held := by_engine(trial, project, up, karpenter)).silent or held.false
    }

    assert wrong == {}


@pytest.mark.parametrize("name", [name for name, edit in by_hand().items() if not edit.refused])
def test_what_the_engine_takes_away_by_hand_is_told(
    name: str, project: Project, up: Up, karpenter: Karpenter
) -> None:
    """Several keys at once among them, and blocks that come and go."""
    held = by_engine(by_hand()[name].trial, project, up, karpenter)

    assert (held.silent, held.false) == ((), ())


def by_engine(trial: Trial, project: Project, up: Up, karpenter: Karpenter) -> Held:
    """What is said of an edit, and what the engine's preview of it does."""
    stack = up(trial.stack, trial.before)
    project.write(stack, dict(trial.after))
    words = ("preview", "--stack", stack)
    done = project.engine.run(project.directory, *words, limit_seconds=_LIMIT_SECONDS)
    steps = steps_of(done)
    after = recorded(trial.stack, trial.after)
    found = truth.facts(steps, karpenter) + truth.version_drifts(steps, after)
    return compare(said_of(trial.stack, trial.before, trial.after), found)
