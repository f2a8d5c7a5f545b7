"""The table of mutants: who catches each, and when."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stack_mutants import by_lint
from stack_mutants.by_policy import heard
from stack_mutants.edges import EDGES
from stack_mutants.mutant import mutants, spread
from stack_mutants.reasons import IN_LAB, reason_of
from stack_mutants.recordings import stacks
from stack_mutants.stack_files import spread_files, wrong_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stack_mutants.mutant import Mutant
    from stack_mutants.stack_files import WrongFile

OF_EACH = 1
"""From how many stacks a way of breaking an edge is tried; by request, from all."""


@dataclass(frozen=True, slots=True)
class Row:
    """One mutant."""

    name: str
    edge: str
    """The place, the same for all stacks."""
    way: str
    stakes: str
    caught: Mapping[str, tuple[str, ...]]
    """`check`, `preview` or `update` (the pack), `lint`, `lab`, with the rules that say it."""
    reason: str = ""
    """Why nothing has to catch it, by class."""

    @property
    def verdict(self) -> str:
        """Who catches it by which rules, in one line."""
        if not self.caught:
            return f"nothing: {self.reason}"
        return "; ".join(f"{who}: {', '.join(rules)}" for who, rules in self.caught.items())


def row_of(mutant: Mutant, in_lab: Mapping[str, list[str]]) -> Row:
    """Who catches a mutant of a stack's registrations.

    Args:
        mutant: The broken stack.
        in_lab: What the lab said of those that nobody else catches, by name.
    """
    edge = " ".join((mutant.edge.kind, *filter(None, (".".join(map(str, mutant.edge.path)),))))
    by = _by_policy(mutant)
    if codes := by_lint.caught_by(mutant):
        by["lint"] = codes
    if not by and (said := in_lab.get(mutant.name)):
        by["lab"] = tuple(said)
    reason = "" if by else reason_of(mutant.name)
    if not by and not reason and mutant.name in in_lab:
        reason = IN_LAB
    return Row(mutant.name, edge, mutant.way.name, mutant.stakes, by, reason)


def _by_policy(mutant: Mutant) -> dict[str, tuple[str, ...]]:
    in_preview = heard(mutant, preview=True)
    if in_preview.policies:
        return {"preview": in_preview.policies}
    # What is known by then differs only for those that could not see enough before.
    in_update = heard(mutant, preview=False, among=in_preview.blind)
    return {"update": in_update.policies} if in_update.policies else {}


def row_of_file(file: WrongFile) -> Row:
    """Whether `check` catches a stack file."""
    codes = tuple(file.findings())
    by = {"check": codes} if codes else {}
    reason = "" if by else reason_of(file.name)
    return Row(file.name, "stack file", file.way.name, "any", by, reason)


def tried(of_each: int | None = OF_EACH) -> list[Mutant]:
    """The mutants of registrations that the table has; None stands for all there are."""
    every = (each for stack in stacks() for each in mutants(stack, EDGES))
    if of_each is None:
        return [each for each in every if each.recording(preview=True) is not None]
    return spread(every, of_each)


def rows(
    of_each: int | None = OF_EACH,
    *,
    in_lab: Mapping[str, list[str]] | None = None,
    every: int = 1,
) -> list[Row]:
    """The table, in the order of the names.

    Args:
        of_each: From how many stacks a way of breaking an edge is tried.
        in_lab: What the lab said of those that nobody else catches, by name.
        every: Of so many mutants of registrations one is tried.
    """
    names = stacks()
    registrations = tried(of_each)[::every]
    files = spread_files((each for stack in names for each in wrong_files(stack)), 1)
    found = [*(row_of(each, in_lab or {}) for each in registrations), *map(row_of_file, files)]
    return sorted(found, key=lambda row: row.name)


def as_text(found: list[Row]) -> str:
    """The table as a golden file holds it: by place and way, a line for each mutant."""
    table: dict[str, dict[str, str]] = {}
    for row in found:
        key = f"{row.edge}: {row.way} ({row.stakes})"
        table.setdefault(key, {})[row.name] = row.verdict
    return json.dumps(dict(sorted(table.items())), indent=1) + "\n"
