"""Places within properties, also within documents that stand in them as text.

A pattern is written `labels > nvidia.com/gpu.present`. `*` is every key or item. A step in
parentheses opens a text: `(yaml)`, `(json)`, `(base64)`; further steps lead into what it holds.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Path: TypeAlias = tuple[str | int, ...]
"""Keys, indexes and openings."""


class _Opening(NamedTuple):
    read: Callable[[str], Any]
    write: Callable[[Any], str]


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_OPENINGS = {
    "(yaml)": _Opening(
        lambda text: yaml.load(text, Loader=_LOADER),  # noqa: S506  (a safe loader, in C)
        lambda value: yaml.dump(value, Dumper=_DUMPER, sort_keys=False),
    ),
    "(json)": _Opening(json.loads, json.dumps),
    "(base64)": _Opening(
        lambda text: base64.b64decode(text).decode(),
        lambda value: base64.b64encode(value.encode()).decode(),
    ),
}


class Dropped:
    """What a place holds when it is to be taken away."""


def parse(pattern: str) -> Path:
    """The steps of a pattern; no step at all for an empty one."""
    return tuple(step.strip() for step in pattern.split(" > ")) if pattern else ()


def found(value: Any, pattern: Path, before: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place that a pattern means, with the value there."""
    if not pattern:
        yield before, value
        return
    step, rest = pattern[0], pattern[1:]
    for key, inner in _steps(value, step):
        yield from found(inner, rest, (*before, key))


def _steps(value: Any, step: str | int) -> Iterator[tuple[str | int, Any]]:
    if step in _OPENINGS:
        if isinstance(value, str):
            yield step, _OPENINGS[str(step)].read(value)
    elif isinstance(value, dict):
        keys = list(value) if step == "*" else [step] if step in value else []
        yield from ((key, value[key]) for key in keys)
    elif isinstance(value, list):
        numbers = range(len(value)) if step == "*" else [int(step)] if str(step).isdigit() else []
        yield from ((number, value[number]) for number in numbers if number < len(value))


def changed(value: Any, path: Path, change: Callable[[Any, str | int], Any]) -> Any:
    """A copy with one place changed; what is not on the way there is shared.

    `change` gets what holds the place, with the place's key or index, and returns its copy.

    Raises:
        LookupError: If there is no such place; a TypeError or ValueError where nothing like it is.
    """
    step = path[0]
    if len(path) == 1:
        return change(value, step)
    if step in _OPENINGS:
        opening = _OPENINGS[str(step)]
        return opening.write(changed(opening.read(value), path[1:], change))
    copy = value.copy()
    copy[step] = changed(value[step], path[1:], change)
    return copy


def written(path: Path) -> str:
    """A path as names of mutants have it: `data.gpu.(yaml).sharing`."""
    return ".".join(str(step) for step in path)
