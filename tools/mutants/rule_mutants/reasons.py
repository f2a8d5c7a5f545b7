"""Why some inversions make no difference that a test could notice; all others are to be noticed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rule_mutants.result import Result

FOLDER = Path(__file__).parent / "equivalent"
"""A file for each room: module to inversions, as the command names them, to the reason."""


@cache
def reasons() -> Mapping[str, Mapping[str, str]]:
    """Module to inversion to why nothing can notice it."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted(FOLDER.glob("*.yaml")):
        for module, given in (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).items():
            inversions = found.setdefault(module, {})
            for each in given:
                inversions |= {" ".join(what.split()): each["why"] for what in each["of"]}
    return found


def reason_of(module: str, what: str) -> str | None:
    """Why nothing can notice an inversion; None where something should."""
    return reasons().get(module, {}).get(" ".join(what.split()))


def open_of(module: str, result: Result) -> Iterator[str]:
    """Inversions of a module that no test notices, though one should."""
    for what in (*result.survived, *result.untested):
        if reason_of(module, what) is None:
            yield what
