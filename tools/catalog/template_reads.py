"""Which values the templates of a Helm chart read, found by reading them.

Not an interpreter of Go templates: it follows what charts do in practice, a dot that `with` and
`range` move, variables that hold values, and functions that pass a block on as a whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Path = tuple[str, ...]

_ACTION = re.compile(r"\{\{-?\s*(/\*.*?\*/|.*?)\s*-?\}\}", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')
_REFERENCE = re.compile(r"(?<![\w.)\]])(\$\w*)?((?:\.[A-Za-z_]\w*)+|(?<=[\s(])\.(?=[\s)]|$))")
_INDEX = re.compile(r'index\s+(?:\$)?\.Values((?:\s+"[^"]+")+)')
_ASSIGNED = re.compile(r"^\$(\w+)\s*:?=\s*(.*)$", re.DOTALL)
_BLOCKS = ("if", "with", "range", "define", "block")
_WHOLE = re.compile(
    r"\b(toYaml|toJson|toRawJson|tpl|range|deepCopy|merge|fromYaml|concat|append)\b"
)
_VALUES = ("Values",)


class Read(NamedTuple):
    """One place of the values that a template looks at."""

    path: Path
    """Keys from the top of the values."""
    whole: bool
    """Whether it is passed on with whatever is below it."""


def reads(text: str) -> Iterator[Read]:
    """What a template reads, in the order in which it stands there, repeated as it is.

    Args:
        text: The template, `{{` and all.
    """
    dots: list[Path | None] = []
    held: dict[str, Path | None] = {"": ()}
    for matched in _ACTION.finditer(text):
        action = matched[1]
        if action.startswith("/*"):
            continue
        word = action.split(maxsplit=1)[0] if action else ""
        if word == "end":
            if dots:
                dots.pop()
            continue
        rest = action
        if word == "else":
            rest = action.removeprefix("else").strip()
            word = rest.split(maxsplit=1)[0] if rest else ""
            if word in ("", "if"):
                yield from _of_action(rest, _dot(dots), held)
                continue
            dots.pop()  # `else with` moves the dot anew
        found = list(_of_action(rest, _dot(dots), held))
        yield from found
        if word in _BLOCKS:
            dots.append(_moved(word, found, _dot(dots)))
        if assigned := _ASSIGNED.match(rest):
            held[assigned[1]] = found[-1].path if len(found) == 1 else None


def _dot(dots: list[Path | None]) -> Path | None:
    return dots[-1] if dots else ()


def _moved(word: str, found: list[Read], dot: Path | None) -> Path | None:
    """What the dot is inside a block; None where it is no place of the values."""
    if word == "with":
        return (*_VALUES, *found[0].path) if len(found) == 1 else None
    if word == "range":
        return None
    return () if word == "define" else dot


def _of_action(action: str, dot: Path | None, held: dict[str, Path | None]) -> Iterator[Read]:
    whole = bool(_WHOLE.search(action))
    for matched in _INDEX.finditer(action):
        yield Read(tuple(re.findall(r'"([^"]+)"', matched[1])), whole)
    for matched in _REFERENCE.finditer(_STRING.sub('""', action)):
        base = dot if matched[1] is None else held.get(matched[1][1:])
        if matched[1] not in (None, "$") and base is not None:
            base = (*_VALUES, *base)
        if base is None:
            continue
        path = (*base, *(part for part in matched[2].split(".") if part))
        # A helper is often handed a dictionary of its caller's dot: `.root`, `.local`.
        while path[:1] in (("root",), ("local",), ("context",)):
            path = path[1:]
        if path[:1] == _VALUES and len(path) > 1:
            yield Read(path[1:], whole)


def merged(found: Iterable[Read]) -> dict[Path, bool]:
    """Each place once, and whether anything passes it on as a whole."""
    places: dict[Path, bool] = {}
    for each in found:
        places[each.path] = places.get(each.path, False) or each.whole
    return places
