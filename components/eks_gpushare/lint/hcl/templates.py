"""Quoted templates, heredocs and files of templates, with what in them is known."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.hcl.values import GAP, Place, Text, truth, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tree_sitter import Node

    from eks_gpushare.lint.hcl.evaluating import Evaluation
    from eks_gpushare.lint.hcl.syntax import Source

_PARTS: Final = frozenset(("template_interpolation", "template_directive"))


class Piece(NamedTuple):
    """A part of a template: text as it is written, or the value of an expression."""

    text: str
    place: Place | None
    """Where it begins; None of a value."""
    value: Any = None
    is_value: bool = False
    trims: tuple[bool, bool] = (False, False)
    """Whether it takes away the white space before it and behind it."""


def pieces_of(node: Node, source: Source, evaluation: Evaluation) -> list[Piece]:
    """The parts of a template, with those of its directives."""
    children = list(node.children)
    if node.type == "quoted_template":
        start, end = children[0].end_byte, children[-1].start_byte
        inner = children[1:-1]
        return list(_between(inner, start, end, source, evaluation))
    named = [each for each in children if each.type == "heredoc_identifier"]
    if len(named) != 2:  # noqa: PLR2004  (the one that opens and the one that closes)
        return [Piece("", None, UNKNOWN, is_value=True)]
    start = source.content.find(b"\n", named[0].end_byte) + 1
    end = source.content.rfind(b"\n", 0, named[1].start_byte) + 1
    inner = [each for each in children if named[0].end_byte <= each.start_byte < named[1].start_byte]
    found = list(_between(inner, start, max(start, end), source, evaluation, whole_lines=True))
    opens = children[0]
    return _flushed(found) if source.text(opens).strip() == "<<-" else found


def _between(
    nodes: Sequence[Node],
    start: int,
    end: int,
    source: Source,
    evaluation: Evaluation,
    *,
    whole_lines: bool = False,
) -> Iterator[Piece]:
    """The text from one place to another, with what interrupts it."""
    at = start
    for node in nodes:
        if node.type not in _PARTS:
            continue
        if node.start_byte > at:
            yield _literal(source, at, node.start_byte)
        yield from _part(node, source, evaluation)
        at = node.end_byte
    if end > at:
        yield _literal(source, at, end)
    del whole_lines


def _literal(source: Source, start: int, end: int) -> Piece:
    text = source.content[start:end].decode(errors="replace")
    if source.fixed is not None:
        return Piece(text, source.fixed)
    line = source.content.count(b"\n", 0, start) + 1 - source.lines_before
    begin = source.content.rfind(b"\n", 0, start) + 1
    column = len(source.content[begin:start].decode(errors="replace")) + 1
    return Piece(text, Place(source.file, line, column))


def _part(node: Node, source: Source, evaluation: Evaluation) -> Iterator[Piece]:
    if node.type == "template_interpolation":
        inner = next((each for each in node.children if each.type == "expression"), None)
        value = UNKNOWN if inner is None else evaluation.value(inner)
        yield Piece("", None, value, is_value=True, trims=_trims(node))
        return
    directive = node.children[0]
    if directive.type == "template_if":
        yield from _if(directive, source, evaluation)
    elif directive.type == "template_for":
        yield from _for(directive, source, evaluation)
    else:
        yield Piece("", None, UNKNOWN, is_value=True)


def _sections(node: Node) -> list[tuple[Node, int, int, list[Node]]]:
    """The marks of a directive, each with what stands between it and the next."""
    marks = [each for each in node.children if each.type.endswith(("_intro", "_end"))]
    return [
        (
            one,
            one.end_byte,
            other.start_byte,
            [e for e in node.children if one.end_byte <= e.start_byte < other.start_byte],
        )
        for one, other in zip(marks, marks[1:], strict=False)
    ]


def _mark(node: Node) -> Piece:
    return Piece("", None, "", is_value=True, trims=_trims(node))


def _trims(node: Node) -> tuple[bool, bool]:
    kinds = [each for each in node.children if each.type.endswith(("_start", "_end", "strip_marker"))]
    first = bool(kinds) and (kinds[0].text or b"").endswith(b"~")
    last = bool(kinds) and (kinds[-1].text or b"").startswith(b"~")
    markers = [each for each in node.children if each.type == "strip_marker"]
    if markers:
        first = first or markers[0].start_byte <= node.start_byte + 2
        last = last or markers[-1].end_byte >= node.end_byte - 1
    return first, last


def _if(node: Node, source: Source, evaluation: Evaluation) -> Iterator[Piece]:
    sections = _sections(node)
    if not sections:
        yield Piece("", None, UNKNOWN, is_value=True)
        return
    intro = sections[0][0]
    asked = next((each for each in intro.children if each.type == "expression"), None)
    decided = truth(UNKNOWN if asked is None else evaluation.value(asked))
    for number, (mark, start, end, inner) in enumerate(sections):
        yield _mark(mark)
        if decided is None:
            if number == 0:
                yield Piece("", None, UNKNOWN, is_value=True)
        elif decided is (number == 0):
            yield from _between(inner, start, end, source, evaluation)
    yield _mark(next(e for e in reversed(node.children) if e.type.endswith("_end")))


def _for(node: Node, source: Source, evaluation: Evaluation) -> Iterator[Piece]:
    sections = _sections(node)
    intro = sections[0][0] if sections else None
    rounds = None if intro is None else evaluation.rounds(intro)
    if intro is None or rounds is None:
        yield Piece("", None, UNKNOWN, is_value=True)
        return
    _, start, end, inner = sections[0]
    closing = next(each for each in reversed(node.children) if each.type.endswith("_end"))
    for each in rounds:
        yield _mark(intro)
        yield from _between(inner, start, end, source, each)
        yield _mark(closing)


def _flushed(pieces: Sequence[Piece]) -> list[Piece]:
    """Without the spaces that all lines begin with, as `<<-` has it."""
    least: int | None = None
    begins = True
    for piece in pieces:
        if piece.is_value:
            least = 0 if begins else least
            begins = False
            continue
        for number, line in enumerate(piece.text.split("\n")):
            last = number == piece.text.count("\n")
            starts = begins if number == 0 else True
            if starts and not (last and not line and piece is pieces[-1]):
                spaces = len(line) - len(line.lstrip(" "))
                if line.strip() or last:
                    least = spaces if least is None else min(least, spaces)
        begins = piece.text.endswith("\n") if piece.text else begins
        if piece.text and not piece.text.endswith("\n"):
            begins = False
    cut = least or 0
    return pieces_without(pieces, cut) if cut else list(pieces)


def pieces_without(pieces: Sequence[Piece], cut: int) -> list[Piece]:
    """Pieces with some spaces less at the beginning of each line."""
    made: list[Piece] = []
    begins = True
    for piece in pieces:
        if piece.is_value or not piece.text:
            made.append(piece)
            begins = begins and not piece.is_value
            continue
        for number, line in enumerate(piece.text.splitlines(keepends=True)):
            away = min(cut, len(line) - len(line.lstrip(" "))) if (number or begins) else 0
            place = piece.place
            if place is not None:
                first = place.column if number == 0 else 1
                place = Place(place.file, place.line + number, first + away)
            made.append(piece._replace(text=line[away:], place=place))
        begins = piece.text.endswith("\n")
    return made


def joined(pieces: Sequence[Piece], unescape: Callable[[str], str]) -> Any:
    """The text that pieces make; a single value is that value.

    Args:
        pieces: The pieces.
        unescape: Takes away what escapes characters in literal text.
    """
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
    for number, piece in enumerate(pieces):
        if piece.is_value:
            text = piece.value if isinstance(piece.value, str) else written(piece.value)
            gaps = gaps or text is UNKNOWN or bool(getattr(text, "gaps", False))
            text = GAP if text is UNKNOWN else text
            before = place
        else:
            text = unescape(piece.text)
            before = place = piece.place
        if number and pieces[number - 1].is_value and pieces[number - 1].trims[1]:
            text = text.lstrip() if not piece.is_value else text
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        if following is not None and following.is_value and following.trims[0]:
            text = text.rstrip() if not piece.is_value else text
        starts.append(length)
        places.append(before)
        parts.append(str(text))
        length += len(text)
    whole = "".join(parts)
    line_starts = [0]
    for index, character in enumerate(whole):
        if character == "\n":
            line_starts.append(index + 1)
    fallback = next((each for each in places if each is not None), None)

    def at(line: int, column: int) -> Place:
        offset = line_starts[min(line, len(line_starts)) - 1] + column - 1
        number = max(0, bisect_right(starts, offset) - 1)
        found = places[number] or fallback
        if found is None:
            return Place("", 1, 1)
        if pieces[number].is_value:
            return found
        below = parts[number][: max(0, offset - starts[number])]
        lines = below.count("\n")
        first = found.column if not lines else 1
        return Place(found.file, found.line + lines, first + len(below) - below.rfind("\n") - 1)

    return Text(whole, at if fallback is not None else None, gaps=gaps)
