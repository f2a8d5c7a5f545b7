"""Quoted templates, heredocs and files of templates, with what in them is known."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.values import GAP, Place, Text, files_in, truth, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Node

    from eks_gpushare.lint.hcl.syntax import HclText

_PARTS: Final = frozenset(("template_interpolation", "template_directive"))
_MARKS: Final = ("_intro", "_start", "_end")
"""How kinds of nodes end that open, part and close what a directive spans."""


class Evaluates(Protocol):
    """Computes the expressions that stand in a template."""

    def value(self, node: Node) -> Any:
        """The value of an expression; `UNKNOWN` where it is not known."""

    def rounds(self, intro: Node) -> Iterator[Evaluates] | None:
        """An evaluation for each round of a `for`; None where they are not known."""


class Piece(NamedTuple):
    """A part of a template: text as it is written, or the value of an expression."""

    text: str
    place: Place | None
    """Where it begins; None of a value."""
    value: Any = None
    is_value: bool = False


_UNKNOWN: Final = Piece("", None, UNKNOWN, is_value=True)


def pieces_of(node: Node, source: HclText, evaluation: Evaluates) -> list[Piece]:
    """The parts of a template, with those of its directives."""
    children = list(node.children)
    if node.type == "quoted_template":
        start, end = children[0].end_byte, children[-1].start_byte
        literals = _Literals(children, source, start, end, flush=False)
        return list(_between(children, start, end, literals, evaluation))
    named = [child for child in children if child.type == "heredoc_identifier"]
    if len(named) != 2:  # noqa: PLR2004  (the one that opens and the one that closes)
        return [_UNKNOWN]
    start = source.content.find(b"\n", named[0].end_byte) + 1
    last = source.content.rfind(b"\n", start - 1, named[1].start_byte)
    end = max(start, last if source.is_template else last + 1)
    flush = source.text(children[0]).strip() == "<<-"
    literals = _Literals(children, source, start, end, flush=flush)
    return list(_between(children, start, end, literals, evaluation))


class _Token(NamedTuple):
    """A line of literal text, or what of it stands between two marks."""

    start: int
    text: str
    away: int = 0
    """Characters at its beginning that are not part of it any more."""


class _Literals:
    """The literal text of a template, as HCL takes it apart: line by line.

    A mark with `~` takes away white space of the line next to it only, and `<<-` takes as many
    spaces from each line as the one with the fewest has, whatever directives do with it later.
    https://github.com/hashicorp/hcl/blob/main/hclsyntax/parser_template.go
    """

    def __init__(
        self, nodes: Sequence[Node], source: HclText, start: int, end: int, *, flush: bool
    ) -> None:
        self._source = source
        marks = list(_marks(nodes))
        bounds = [
            start,
            *(each for mark in marks for each in (mark.start_byte, mark.end_byte)),
            end,
        ]
        rows: list[list[_Token]] = []
        for number in range(len(marks) + 1):
            begin, close = bounds[2 * number], bounds[2 * number + 1]
            tokens = _lines(source, begin, close)
            if number and tokens and _trims(marks[number - 1])[1]:
                first = tokens[0]
                less = first.text.lstrip()
                tokens[0] = first._replace(text=less, away=len(first.text) - len(less))
            if number < len(marks) and tokens and _trims(marks[number])[0]:
                tokens[-1] = tokens[-1]._replace(text=tokens[-1].text.rstrip())
            rows.append(tokens)
        self._tokens = _flushed(rows) if flush else [each for row in rows for each in row]
        self._starts = [token.start for token in self._tokens]

    def between(self, start: int, end: int) -> Iterator[Piece]:
        """The text from one byte to another."""
        first, behind = (bisect_left(self._starts, each) for each in (start, end))
        for token in self._tokens[first:behind]:
            if token.text:
                yield _piece(self._source, token.start, token.text, token.away)


def _marks(nodes: Iterable[Node]) -> Iterator[Node]:
    """What interrupts literal text, in its order."""
    for node in nodes:
        if node.type == "template_interpolation":
            yield node
        elif node.type == "template_directive":
            for inner in node.children:
                for each in inner.children:
                    if each.type.endswith(_MARKS):
                        yield each
                    else:
                        yield from _marks((each,))


def _lines(source: HclText, start: int, end: int) -> list[_Token]:
    found = []
    for line in source.content[start:end].splitlines(keepends=True):
        found.append(_Token(start, line.decode(errors="replace")))
        start += len(line)
    return found


def _flushed(rows: Sequence[Sequence[_Token]]) -> list[_Token]:
    """Without the spaces that all lines begin with."""
    least: int | None = None
    begins: set[tuple[int, int]] = set()
    new_line = True
    for number, row in enumerate(rows):
        for index, token in enumerate(row):
            if new_line:
                spaces = len(token.text) - len(token.text.lstrip())
                if token.text.strip() or not token.text.endswith("\n"):
                    least = spaces if least is None else min(least, spaces)
                    begins.add((number, index))
            new_line = token.text.endswith("\n")
        if number < len(rows) - 1:  # a mark follows
            least = 0 if new_line else least
            new_line = False
    cut = least or 0
    return [
        token._replace(text=token.text[cut:], away=token.away + cut)
        if (number, index) in begins
        else token
        for number, row in enumerate(rows)
        for index, token in enumerate(row)
    ]


def _piece(source: HclText, start: int, text: str, away: int = 0) -> Piece:
    if source.fixed is not None:
        return Piece(text, source.fixed)
    lines = _line_starts(source.content)
    number = bisect_right(lines, start)
    column = len(source.content[lines[number - 1] : start].decode(errors="replace")) + 1
    return Piece(text, Place(source.file, number - source.lines_before, column + away))


@lru_cache(maxsize=8)
def _line_starts(content: bytes) -> list[int]:
    """Where the lines of a file begin, which a template has a part for each of."""
    return [0, *(found.end() for found in re.finditer(rb"\n", content))]


def _between(
    nodes: Sequence[Node], start: int, end: int, literals: _Literals, evaluation: Evaluates
) -> Iterator[Piece]:
    """The text from one place to another, with what interrupts it."""
    at = start
    for node in nodes:
        if node.type not in _PARTS or not start <= node.start_byte < end:
            continue
        yield from literals.between(at, node.start_byte)
        yield from _part(node, literals, evaluation)
        at = node.end_byte
    yield from literals.between(at, end)


def _part(node: Node, literals: _Literals, evaluation: Evaluates) -> Iterator[Piece]:
    if node.type == "template_interpolation":
        inner = next((child for child in node.children if child.type == "expression"), None)
        value = UNKNOWN if inner is None else evaluation.value(inner)
        yield Piece("", None, value, is_value=True)
        return
    for each in _directed(node.children[0], literals, evaluation):
        # Only what stands in a text alone is more than text.
        yield each._replace(value=written(each.value)) if each.is_value else each


def _directed(directive: Node, literals: _Literals, evaluation: Evaluates) -> Iterator[Piece]:
    marks = [child for child in directive.children if child.type.endswith(_MARKS)]
    sections = list(pairwise(marks))
    if not sections:
        yield _UNKNOWN
    elif directive.type == "template_if":
        yield from _if(directive, sections, literals, evaluation)
    else:
        rounds = evaluation.rounds(marks[0])
        if rounds is None:
            yield _UNKNOWN
            return
        start, end = marks[0].end_byte, marks[-1].start_byte
        for each in rounds:
            yield from _between(directive.children, start, end, literals, each)


def _if(
    node: Node, sections: Sequence[tuple[Node, Node]], literals: _Literals, evaluation: Evaluates
) -> Iterator[Piece]:
    asked = next((e for e in sections[0][0].children if e.type == "expression"), None)
    decided = truth(UNKNOWN if asked is None else evaluation.value(asked))
    if decided is None:
        yield _UNKNOWN
    for number, (mark, following) in enumerate(sections):
        if decided is (number == 0):
            start, end = mark.end_byte, following.start_byte
            yield from _between(node.children, start, end, literals, evaluation)


def _trims(node: Node) -> tuple[bool, bool]:
    """Whether a mark takes away white space before it and behind it."""
    markers = [child for child in node.children if child.type == "strip_marker"]
    return (
        any(marker.start_byte == node.start_byte + 2 for marker in markers),
        any(marker.end_byte == node.end_byte - 1 for marker in markers),
    )


def text_of(node: Node, source: HclText, evaluation: Evaluates) -> Any:
    """The text that a template makes; of a single value that value."""
    pieces = pieces_of(node, source, evaluation)
    escapes = _ESCAPED if node.type == "quoted_template" else _ESCAPED_IN_HEREDOC
    if len(pieces) == 1 and pieces[0].is_value:
        return pieces[0].value
    if not pieces:
        return ""
    parts: list[str] = []
    starts: list[int] = []
    places: list[Place | None] = []
    gaps = False
    length = 0
    place: Place | None = None
    for piece in pieces:
        if piece.is_value:
            text = piece.value if isinstance(piece.value, str) else written(piece.value)
            gaps = gaps or text is UNKNOWN or bool(getattr(text, "gaps", False))
            text = GAP if text is UNKNOWN else text
            before = place
        else:
            text = escapes.sub(_meant, piece.text)
            before = place = piece.place
        starts.append(length)
        places.append(before)
        parts.append(str(text))
        length += len(text)
    whole = "".join(parts)
    line_starts = [0]
    for index, character in enumerate(whole):
        if character == "\n":
            line_starts.append(index + 1)
    fallback = source.fixed or next((each for each in places if each is not None), None)
    files = frozenset[str]().union(*(files_in(piece.value) for piece in pieces))
    if fallback is None:
        return Text(whole, gaps=gaps, files=files)

    def at(line: int, column: int) -> Place:
        offset = line_starts[min(line, len(line_starts)) - 1] + column - 1
        number = bisect_right(starts, offset) - 1
        found = places[number] or fallback
        if pieces[number].is_value or source.fixed is not None:
            return found
        away = _written_away(pieces[number].text, escapes, offset - starts[number])
        return found._replace(column=found.column + away)

    return Text(whole, at, gaps=gaps, files=files)


def _written_away(text: str, escapes: re.Pattern[str], away: int) -> int:
    """How far from its beginning it is written what stands so far from it in what it means."""
    for found in escapes.finditer(text):
        if found.start() >= away:
            break
        away += len(found[0]) - len(_meant(found))
    return away


_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


_ESCAPED_IN_HEREDOC: Final = re.compile(r"()()()(?:\$\$\{|%%\{)")
_ESCAPED: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([nrt"\\]))|\$\$\{|%%\{')


def unescaped(text: str) -> str:
    """Literal text of a quoted template as it is meant."""
    return _ESCAPED.sub(_meant, text)


def _meant(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code:
        return chr(int(code, 16))
    return _ESCAPES[found[3]] if found[3] else found[0][1:]
