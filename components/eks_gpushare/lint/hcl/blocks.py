"""Blocks with their values as plans have them, and what they refer to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.evaluating import value_of
from eks_gpushare.lint.hcl.names import Within, in_turn
from eks_gpushare.lint.hcl.values import HclList, HclObject, OpenObject, is_open, place_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.hcl.names import Names
    from eks_gpushare.lint.hcl.syntax import Body, Expression, HclBlock
    from eks_gpushare.lint.hcl.values import Place

MOST_COPIES: Final = 200
"""Most copies of a resource or a block by `count`, `for_each` or `dynamic`."""
_META: Final = frozenset(("count", "for_each", "provider", "depends_on", "lifecycle"))


META_OF_CALLS: Final = _META | {"providers", "source", "version"}
"""Arguments of a call of a module that are none of its variables."""


@dataclass(frozen=True, slots=True)
class MadeResource:
    """A resource, or a call of a module that is not among the files, with its values."""

    address: str
    kind: str
    """Its type; of a call `module`."""
    values: HclObject
    place: Place
    references: Mapping[str, Any]
    """What its arguments refer to, as a plan tells it."""
    present: Any = True
    """Whether it is there: False where its count is 0, `UNKNOWN` where that is not known."""
    source: str = ""
    """Of a call: what it calls."""


def literal(block: HclBlock, name: str) -> Any:
    """The value of an argument that refers to nothing; None where it is not there."""
    found = block.body.attributes.get(name)
    return None if found is None else value_of(found, NOTHING)


class _Nothing:
    """No names at all."""

    class _NoFiles:
        def read(self, _: str) -> None:
            return None

        def matching(self, _: str, __: str) -> None:
            return None

    files = _NoFiles()

    def named(self, _: str) -> Any:
        return UNKNOWN


NOTHING: Final[Any] = _Nothing()
"""The names where nothing may be referred to."""


def values_of(body: Body, names: Names, above: Sequence[str] = ()) -> HclObject:
    """Arguments and blocks, each kind of block as a list, as plans have them."""
    made = HclObject() if body.is_whole else OpenObject()
    for key, each in body.attributes.items():
        if above or key not in _META:
            made.put(key, value_of(each, names), body.keys[key])
    for block in body.blocks:
        if block.type == "dynamic" and block.labels:
            _dynamic(made, block, names, above)
        elif above or block.type not in _META:
            inner = values_of(block.body, names, (*above, block.type))
            _add(made, block.type, inner, block.place)
    return made


def _add(made: HclObject, kind: str, inner: Any, place: Place) -> None:
    listed = made.get(kind)
    if not isinstance(listed, HclList):
        listed = HclList()
        made.put(kind, listed, place)
    listed.put(inner, place)


def _dynamic(made: HclObject, block: HclBlock, names: Names, above: Sequence[str]) -> None:
    """A block for each of some values; one that is not known where they are not."""
    kind = block.labels[0]
    over = block.body.attributes.get("for_each")
    content = next((each for each in block.body.blocks if each.type == "content"), None)
    given = UNKNOWN if over is None else value_of(over, names)
    iterator = block.body.attributes.get("iterator")
    name = kind
    if iterator is not None and iterator.node is not None and iterator.source is not None:
        name = iterator.source.text(iterator.node)
    if content is None or not isinstance(given, dict | list):
        _add(made, kind, UNKNOWN, block.place)
        return
    pairs = in_turn(given)
    for key, value in pairs[:MOST_COPIES]:
        shown = value if isinstance(given, list) and isinstance(value, str) else key
        own = {name: HclObject({"key": shown, "value": value})}
        inner = values_of(content.body, Within(names, own), (*above, kind))
        # What it is made of tells where to change it, unless all stands in the block itself.
        _add(made, kind, inner, place_in(given, key) or content.place)
    if is_open(given):
        _add(made, kind, UNKNOWN, block.place)  # there may be more
    elif not pairs and kind not in made:
        made.put(kind, HclList(), block.place)


def references(body: Body, meant: Callable[[str], Iterable[str]]) -> dict[str, Any]:
    """What each argument refers to, blocks as lists, as the configuration in a plan tells it.

    Args:
        body: The arguments and blocks.
        meant: What a reference comes to, such as one to a local.
    """
    made: dict[str, Any] = {
        key: {"references": [each for name in names_in(value) for each in meant(name)]}
        for key, value in body.attributes.items()
    }
    for block in body.blocks:
        inner, kind = block.body, block.type
        if kind == "dynamic" and block.labels:
            kind = block.labels[0]
            inner = next((e.body for e in block.body.blocks if e.type == "content"), inner)
        made.setdefault(kind, [])
        if isinstance(made[kind], list):
            made[kind].append(references(inner, meant))
    return made


# A word alone is found too, and left out: to look for the dot of each of its letters takes long.
_WORDS: Final = re.compile(
    r"[A-Za-z_][A-Za-z0-9_-]*(?:\[[^\[\]]*\](?=\.[A-Za-z_]))?"
    r"(?:\.[A-Za-z_][A-Za-z0-9_-]*(?:\[[^\[\]]*\])?)*"
)
_DOT: Final = re.compile(r"^[A-Za-z0-9_-]*(?:\[[^\[\]]*\])?\.")


def names_in(expression: Expression) -> Iterator[str]:
    """References in an expression."""
    said = expression.given
    if expression.node is not None and expression.source is not None:
        said = expression.source.text(expression.node)
    if isinstance(said, str):
        yield from (found for found in _WORDS.findall(said) if _DOT.search(found))
