"""Stack files with one thing written wrongly, as far as a stack file lets it be said at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from eks_gpushare.program.stack_config import read_stack_config
from eks_gpushare.stack_file.check import check_given
from stack_mutants.mutant import rank
from stack_mutants.operators import NOTHING, OTHER, RENAME, Operator, to
from stack_mutants.paths import Path, changed, written
from stack_mutants.recordings import stack_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OF_TEXT = (OTHER, to(""), to(7))
_OF_NUMBERS = (to(-1), to(0), to(10**9), to("many"), to(1.5))
_OF_SWITCHES = (to("yes"), to(2))
_OF_LISTS = (to("text", "to a text"), to([], "to none"), to([None], "to nothing"))
_OF_MAPPINGS = (to([], "to a list"), to("text", "to a text"))
_FREE = {"labels", "tags", "image", "query", "url", "values", "env"}
"""Below these any text is as good as another."""


@dataclass(frozen=True, slots=True)
class WrongFile:
    """A stack file with one thing wrong."""

    stack: str
    path: Path
    way: Operator

    @property
    def name(self) -> str:
        """`<stack>/stack file/<path>/<operator>`."""
        return f"{self.stack}/stack file/{written(self.path)}/{self.way.name}"

    def environment(self) -> Any:
        """What it says then; None where nothing changes."""
        try:
            return changed(_given(self.stack)[0], self.path, self._change)
        except (LookupError, ValueError, TypeError):
            return None

    def _change(self, holder: Any, key: str | int) -> Any:
        new = self.way.change(holder, key)
        if new is NOTHING:
            raise LookupError(key)
        return new

    def findings(self) -> list[str]:
        """Codes of the errors that `check` has of it."""
        of_shape, of_rules = check_given(self.environment(), (), region=_given(self.stack)[1])
        found = [*of_shape.findings, *of_rules]
        return sorted(
            {each.code for each in found if each.severity != "info"} - _before(self.stack)
        )


@cache
def _given(stack: str) -> tuple[dict[str, Any], str]:
    config = read_stack_config(stack_file(stack)).values
    return json.loads(config["eks-gpushare:environment"]), config["aws:region"]


@cache
def _before(stack: str) -> frozenset[str]:
    environment, region = _given(stack)
    of_shape, of_rules = check_given(environment, (), region=region)
    return frozenset(each.code for each in (*of_shape.findings, *of_rules))


def wrong_files(stack: str) -> Iterator[WrongFile]:
    """Every key misspelt, every value of another kind or out of its range."""
    for path, value in _places(_given(stack)[0]):
        if isinstance(path[-1], str):
            yield WrongFile(stack, path, RENAME)
        for way in _ways(value):
            yield WrongFile(stack, path, way)


def _places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in steps:
        if key in _FREE:
            continue
        yield (*path, key), inner
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, key))


def _ways(value: Any) -> tuple[Operator, ...]:
    if isinstance(value, bool):
        return _OF_SWITCHES
    if isinstance(value, int | float):
        return _OF_NUMBERS
    if isinstance(value, str):
        return _OF_TEXT
    return _OF_LISTS if isinstance(value, list) else _OF_MAPPINGS


def spread_files(files: Iterable[WrongFile], most: int) -> list[WrongFile]:
    """At most so many for each way of breaking each key, whatever the pool is called."""
    taken: dict[tuple[Any, ...], int] = {}
    chosen = []
    for each in sorted(files, key=lambda file: rank(file.name)):
        key = (_generic(each.path), each.way.name)
        if taken.get(key, 0) < most and each.environment() is not None:
            taken[key] = taken.get(key, 0) + 1
            chosen.append(each)
    return sorted(chosen, key=lambda file: file.name)


def _generic(path: Path) -> Path:
    return tuple(
        "*"
        if isinstance(step, int) or path[index - 1 : index] in (("pools",), ("workloads",))
        else step
        for index, step in enumerate(path)
    )
