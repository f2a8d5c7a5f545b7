"""Every key of the schema, edited: what `--before` says against what the engine's preview does.

`tests/edits` says which edits, and what goes by a step. A stack of its own for each stack file is
up once; before and after of an edit are then put side by side by its state and a preview. An hour.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.edits import truth
from tests.edits.holding import compare, doing, recorded, said_of
from tests.edits.karpenter import Karpenter, built
from tests.edits.trial import asked, schema_keys

from eks_gpushare.program.values import UNKNOWN_SENTINEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.edits.truth import Step
    from tests.engine.conftest import Project, Result

ALL = "EKS_GPUSHARE_TEST_EVERY_KEY"
KEYS = [key for key in schema_keys() if "none" not in asked(key)]
pytestmark = pytest.mark.skipif(not os.environ.get(ALL), reason=f"{ALL}=1 edits every key, an hour")
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
    """Karpenter's own functions."""
    return Karpenter(built())


STACK = "every-key"


@pytest.fixture(scope="module")
def up(project: Project) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """`up(config)`: the stack is up with this configuration, and so it stays until another one."""
    there: list[Mapping[str, Any]] = []

    def away() -> None:
        there.clear()
        state = project.state(STACK)
        for each in state["deployment"]["resources"]:
            each["protect"] = False
            for part in ("inputs", "outputs"):
                each.get(part, {}).pop("deletionProtection", None)
        project.set_state(STACK, state)
        project.destroy(STACK)
        project.remove(STACK)

    def have(config: Mapping[str, Any]) -> None:
        if there == [config]:
            return
        if there:
            away()
        project.init(STACK, dict(config))
        there.append(config)
        project.up(STACK)

    yield have
    if there:
        away()


def steps_of(result: Result) -> list[Step]:
    """What the engine does, each resource once."""
    found: dict[str, Step] = {}
    parents: dict[str, str] = {}
    events = [
        each["resourcePreEvent"]["metadata"] for each in result.events if "resourcePreEvent" in each
    ]
    for each in events:
        parents[each["urn"]] = (each.get("new") or each.get("old") or {}).get("parent", "")
    for each in events:
        state = each.get("new") or each.get("old") or {}
        op = _OPS.get(each["op"])
        if op is None or not state.get("custom") or each["type"].startswith("pulumi:"):
            continue
        was, now = ((each.get(side) or {}).get("inputs", {}) for side in ("old", "new"))
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


@pytest.mark.parametrize("key", KEYS)
def test_what_the_engine_takes_away_is_told(
    key: str, project: Project, up: Callable[[Mapping[str, Any]], None], karpenter: Karpenter
) -> None:
    wrong: dict[str, Any] = {}
    for trial in doing(key):
        up(trial.before)
        steps = steps_of(project.preview(STACK, dict(trial.after)))
        after = recorded(trial.stack, trial.after)
        found = truth.facts(steps, karpenter) + truth.version_drifts(steps, after)
        held = compare(said_of(trial.stack, trial.before, trial.after), found)
        if held.silent or held.false:
            wrong[trial.place] = (held.silent, held.false)

    assert wrong == {}
