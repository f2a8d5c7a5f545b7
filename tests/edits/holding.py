"""What `--before` says of an edit, held against what the edit does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import yaml
from tests.edits import truth
from tests.edits.trial import ROOT, asked, report, schema_keys, trials

from eks_gpushare.program.edits import edits, moved
from eks_gpushare.program.edits.refused import check_edit
from eks_gpushare.program.preview import locate, record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.edits.karpenter import Karpenter
    from tests.edits.trial import Trial
    from tests.edits.truth import Fact

    from eks_gpushare.program.edits import Consequence
    from eks_gpushare.program.recording import Recording

ALARMING: Final = truth.PODS_GO - {"request"}
"""Effects that would be a false alarm where nothing goes."""


TABLE: Final = ROOT / "tests/golden/edits_of_every_key.txt"
_PATIENCE: Final = 3
"""Edits of one kind that change nothing, after which no more are tried."""


@dataclass(frozen=True, slots=True)
class Held:
    """One edit: what is said of it, what it does, and where these differ."""

    said: tuple[tuple[str, str], ...]
    """Name and effect."""
    facts: tuple[str, ...]
    silent: tuple[str, ...]
    """What goes and is not told."""
    false: tuple[str, ...]
    """What is told and does not go."""


def hold(trial: Trial, karpenter: Karpenter, *, back: bool) -> Held:
    """An edit or, if `back`, its undoing, from what the program registers."""
    before, after = (trial.after, trial.before) if back else (trial.before, trial.after)
    was, now = (recorded(trial.stack, each) for each in (before, after))
    steps = truth.steps_of(was, now)
    found = truth.facts(steps, karpenter) + truth.version_drifts(steps, now)
    return compare(said_of(trial.stack, before, after), found)


@cache
def doing(key: str) -> tuple[Trial, ...]:
    """The first edits of a key by which the program registers something else, of each kind."""
    found: dict[str, Trial] = {}
    idle: dict[str, int] = {}
    for trial in trials(key):
        if trial.kind in found or idle.get(trial.kind, 0) > _PATIENCE:
            continue
        if _does(trial):
            found[trial.kind] = trial
        else:
            idle[trial.kind] = idle.get(trial.kind, 0) + 1
        if not trial.kind and found:
            break
    return tuple(found.values())


def places() -> dict[str, list[tuple[str, str]]]:
    """Stack and path of the edits in the table of every key, by the key."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:-1]:
        key, where, *_ = line.split(" | ")
        stack, _, path = where.partition(" ")
        if path and not path.endswith(" back"):
            found.setdefault(key, []).append((stack, path))
    return found


def found_before(key: str) -> Iterator[Trial]:
    """The same, where the table of every key has them: nothing is looked for again."""
    for stack, path in places()[key]:
        for trial in trials(key, stack):
            if trial.place == path and _does(trial):
                yield trial
                break


def _does(trial: Trial) -> bool:
    was, now = (recorded(trial.stack, each) for each in (trial.before, trial.after))
    return bool(truth.steps_of(was, now))


def said_of(
    stack: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Consequence] | None:
    """What is said of an edit; None where it is refused before anything is touched."""
    reports = [report(each, stack) for each in (before, after)]
    regions = before.get("aws:region"), after.get("aws:region")
    environments = [each.environment for each in reports]
    assert environments[0] is not None
    assert environments[1] is not None
    if check_edit(environments[0], environments[1], regions):
        return None
    was, now = (recorded(stack, each) for each in (before, after))
    return edits(was, now) if regions[0] == regions[1] else moved(was, now, *regions)


def recorded(stack: str, config: Mapping[str, Any]) -> Recording:
    """What a stack registers."""
    return _recorded(stack, yaml.safe_dump(dict(config), sort_keys=False))


@lru_cache(maxsize=8)
def _recorded(stack: str, text: str) -> Recording:
    project, _ = locate(stack, str(ROOT))
    found = record(project, report(yaml.safe_load(text), stack), stack, known=True)
    assert found.error is None, found.error
    return found


def compare(said: list[Consequence] | None, found: list[Fact]) -> Held:
    """What is told against what goes."""
    facts = tuple(fact.what for fact in found)
    if said is None or any(each.effect == "refused" for each in said):
        return Held((("", "refused"),), facts, (), ())
    silent = [
        fact.what
        for fact in found
        if not any(each.name in fact.names and each.effect in fact.effects for each in said)
    ]
    by = truth.grouped(found)
    false = [
        f"{each.name} {each.effect}"
        for each in said
        if each.effect in ALARMING
        and not any(each.effect in fact.effects for fact in by.get(each.name, ()))
    ]
    pairs = tuple((each.name, each.effect) for each in said)
    return Held(pairs, facts, tuple(silent), tuple(false))


@cache
def held_of(key: str, karpenter: Karpenter) -> tuple[tuple[Trial, Held], ...]:
    """Edits of a key that do something, each followed by its undoing."""
    return tuple(
        (trial, hold(trial, karpenter, back=back)) for trial in doing(key) for back in (False, True)
    )


def rows(key: str, karpenter: Karpenter) -> list[str]:
    """What is said of a key's edits and undoings, and what they do."""
    if reason := asked(key).get("none"):
        return [f"{key} | - | - | {reason}"]
    found = []
    for index, (trial, held) in enumerate(held_of(key, karpenter)):
        said = ", ".join(dict.fromkeys(f"{name} {effect}".strip() for name, effect in held.said))
        where = f"{trial.stack} {trial.place}{' back' if index % 2 else ''}"
        does = "; ".join(held.facts)
        found.append(f"{key} | {where} | {said or 'nothing'} | {does or 'nothing goes'}")
    return found


def table(karpenter: Karpenter) -> str:
    """All of it, and how much of what goes is told nowhere."""
    lines = ["key | place | --before | what providers do and Karpenter says"]
    lines += [row for key in schema_keys() for row in rows(key, karpenter)]
    silent = sum(
        len(held.silent)
        for key in schema_keys()
        if "none" not in asked(key)
        for _, held in held_of(key, karpenter)
    )
    return "\n".join([*lines, f"{silent} silent"]) + "\n"
