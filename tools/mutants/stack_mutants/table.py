"""The table of mutants: who catches each, and when."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stack_mutants.by_policy import heard
from stack_mutants.edges import EDGES
from stack_mutants.mutant import mutants, spread
from stack_mutants.reasons import reason_of
from stack_mutants.recordings import stacks
from stack_mutants.stack_files import spread_files, wrong_files

if TYPE_CHECKING:
    from stack_mutants.mutant import Mutant
    from stack_mutants.stack_files import WrongFile

OF_EACH = 2
"""From how many stacks a way of breaking an edge is tried; by request, from all."""


@dataclass(frozen=True, slots=True)
class Row:
    """One mutant."""

    name: str
    edge: str
    """The place, the same for all stacks."""
    way: str
    stakes: str
    caught: str
    """`check`, `preview` or `update` (the pack), `lint`, `lab`; no text if nothing caught it."""
    by: tuple[str, ...]
    """Rules."""
    reason: str = ""
    """Why nothing has to catch it, by class."""


def row_of(mutant: Mutant) -> Row:
    """Who catches a mutant of a stack's registrations first."""
    caught, by = _caught(mutant)
    edge = " ".join((mutant.edge.kind, *filter(None, (".".join(map(str, mutant.edge.path)),))))
    reason = "" if caught else reason_of(mutant.name)
    return Row(mutant.name, edge, mutant.way.name, mutant.stakes, caught, by, reason)


def _caught(mutant: Mutant) -> tuple[str, tuple[str, ...]]:
    in_preview = heard(mutant, preview=True)
    if in_preview.policies:
        return "preview", in_preview.policies
    # What is known by then differs only for those that could not see enough before.
    in_update = heard(mutant, preview=False, among=in_preview.blind)
    if in_update.policies:
        return "update", in_update.policies
    return "", ()


def row_of_file(file: WrongFile) -> Row:
    """Whether `check` catches a stack file."""
    by = tuple(file.findings())
    reason = "" if by else reason_of(file.name)
    caught = "check" if by else ""
    return Row(file.name, "stack file", file.way.name, "any", caught, by, reason)


def rows(of_each: int = OF_EACH) -> list[Row]:
    """The table, in the order of the names."""
    names = stacks()
    registrations = spread((each for stack in names for each in mutants(stack, EDGES)), of_each)
    files = spread_files((each for stack in names for each in wrong_files(stack)), 1)
    found = [*map(row_of, registrations), *map(row_of_file, files)]
    return sorted(found, key=lambda row: row.name)


def as_text(found: list[Row]) -> str:
    """The table as a golden file holds it: by place and way, a line for each mutant."""
    table: dict[str, dict[str, str]] = {}
    for row in found:
        key = f"{row.edge}: {row.way} ({row.stakes})"
        verdict = f"{row.caught}: {', '.join(row.by)}" if row.caught else f"nothing: {row.reason}"
        table.setdefault(key, {})[row.name] = verdict
    return json.dumps(dict(sorted(table.items())), indent=1) + "\n"
