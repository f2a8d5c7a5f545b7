"""Lines of templates that decide whether others are there: `{{- if .x }}` to `{{- end }}`.

Which of them hold is not known before a program renders the text, and it may be none. So what they
enclose is one thing that is not known: a key that may bring others, or an item of a list. Where
they enclose all of a document it is read, and it may not be there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.manifests.placeholders import GAP, LONGEST, indent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COMMENT: Final = re.compile(r"(?P<go>\{\{[-~]?[ ]?/\*)|\{\{!--|\{#")
_TAG: Final = re.compile(
    r"\{\{[-~]?(?P<go>[^\n{}]{0,300}?)[-~]?\}\}|\{%[-+~]?(?P<jinja>[^\n]{0,300}?)[-+~]?%\}"
    r"|%\{~?(?P<terraform>[^\n{}]{0,300}?)~?\}|<%-?(?P<erb>[^\n]{0,300}?)-?%>"
)
_OPENS: Final = {
    "go": re.compile(r"(?:if|with|range|block|define)\b|#"),
    "jinja": re.compile(
        r"(?:if|for|macro|call|filter|with|block|raw|autoescape|unless|case)\b|set [^=]*$"
    ),
    "terraform": re.compile(r"(?:if|for)\b"),
    "erb": re.compile(r"(?:if|unless|case|while)\b|.*\bdo(?: *\|.*\|)?$"),
}
_CLOSES: Final = {
    "go": re.compile(r"end$|/[a-z]"),
    "jinja": re.compile(r"end[a-z]+$"),
    "terraform": re.compile(r"end(?:if|for)$"),
    "erb": re.compile(r"end$"),
}
_TURNS: Final = re.compile(r"(?:else|elif|elsif|elseif|when)\b|\^$")
_SAYS_NOTHING: Final = re.compile(
    r"!|\$[A-Za-z0-9_]*[ ]*:?=|fail\b|break$|continue$|(?:set|assign) .*="
)
_COMMENTED: Final = re.compile(
    r"#[ \t]*(?:\{\{[^\n{}]{0,300}\}\}|\{%[^\n]{0,300}?%\})[ \t\r]*$", re.MULTILINE
)
"""A comment that is a tag."""
_MARK: Final = re.compile(r"^[ \t]*#[ \t]*([A-Z][A-Z0-9_]*)_(START|END)[ \t]*\r?$", re.MULTILINE)
_ITEM: Final = re.compile(r"-(?:[ ]|$)")
_KEY: Final = re.compile(r"[^\s#{\[-][^\n]*?:(?:[ ]|$)|\"[^\"\n]*\":")
_INDENTS: Final = re.compile(r"\bn?indent[ (]+([0-9]+)")
_LEAST: Final = 2
"""Characters of what stands for a key; an item has one more."""


class Uncontrolled(NamedTuple):
    """A text without such lines."""

    text: str
    """As many characters and lines as before."""
    is_all_enclosed: bool
    """Whether all of it is there only if something holds."""


class _Line(NamedTuple):
    text: str
    steps: tuple[str, ...]
    """What its tags do, in their order: open, close, turn."""
    is_control: bool
    """Whether it has nothing else."""


def has_tags_in_comments(text: str) -> bool:
    """Whether some of its comments are tags, which a program that renders it goes by too."""
    return "#" in text and len(text) <= LONGEST and _COMMENTED.search(text) is not None


def has_marked_parts(text: str) -> bool:
    """Whether comments mark parts, of which a script leaves some out: `# X_START` to `# X_END`.

    Templates for Red Hat's Developer Hub have such, as rosa-hcp-dedicated-vpc/helm-repository.
    """
    marks = set(_MARK.findall(text)) if "_START" in text else set()
    return any(step == "START" and (name, "END") in marks for name, step in marks)


def without_control_lines(text: str) -> Uncontrolled | None:
    """The same text with what is not known in place of what such lines enclose.

    Args:
        text: The text of one document.

    Returns:
        None where the lines do not enclose whole keys or items.
    """
    if len(text) > LONGEST:
        return Uncontrolled(text, is_all_enclosed=False)
    plain = _without_comments(text)
    # Programs that render a text go by tags in comments too, as `#{{ if .x }}`; guides show some.
    shown = _without(text, plain, in_comments=True) if has_tags_in_comments(plain) else None
    return shown or _without(text, plain, in_comments=False)


def _without(text: str, plain: str, *, in_comments: bool) -> Uncontrolled | None:
    lines = [_line(each, in_comments=in_comments) for each in plain.split("\n")]
    if not any(line.steps for line in lines) and plain == text:
        return Uncontrolled(text, is_all_enclosed=False)
    first, last = _ends(lines)
    enclosed = _enclosing(lines, first, last)
    for number in enclosed:
        lines[number] = _blank(lines[number])
    made = _hidden(lines)
    return None if made is None else Uncontrolled("\n".join(made), bool(enclosed))


def _without_comments(text: str) -> str:
    kept: list[str] = []
    begin = 0
    while (found := _COMMENT.search(text, begin)) is not None:
        closes = "}}" if found[0].startswith("{{") else "#}"
        inner = text.find("*/" if found["go"] else closes, found.end())
        end = text.find(closes, inner)
        if end < 0:
            break
        kept.append(text[begin : found.start()])
        begin = end + len(closes)
        kept.append(re.sub(r"[^\r\n]", " ", text[found.start() : begin]))
    return "".join((*kept, text[begin:]))


def _line(text: str, *, in_comments: bool) -> _Line:
    bare = text.strip()
    if bare.startswith("#"):
        bare = bare.lstrip("# \t")
        if not (in_comments and _COMMENTED.match(f"#{bare}")):
            return _Line(text, (), is_control=False)
    steps = tuple(step for found in _TAG.finditer(text) if (step := _step(found)))
    is_control = bool(steps) and not _TAG.sub(_kept, bare).strip()
    decides = is_control or any(step != "nothing" for step in steps)
    return _Line(text, steps if decides else (), is_control)


def _step(found: re.Match[str]) -> str:
    language = found.lastgroup or ""
    said = found[language].strip(" \t")
    if _CLOSES[language].match(said):
        return "close"
    if _TURNS.match(said):
        return "turn"
    if _OPENS[language].match(said):
        return "open"
    return "nothing" if _SAYS_NOTHING.match(said) else ""


def _kept(found: re.Match[str]) -> str:
    """Of what says whether others are there, nothing; of a value, the value."""
    return "" if _step(found) else found[0]


def _blank(line: _Line) -> _Line:
    return _Line(re.sub(r"[^\r]", " ", line.text), (), is_control=False)


def _ends(lines: Sequence[_Line]) -> tuple[int, int]:
    """The first and the last line that hold something of the document itself."""
    holding = [
        number
        for number, line in enumerate(lines)
        if not line.is_control and line.text.strip() and not _is_aside(line.text)
    ]
    return (holding[0], holding[-1]) if holding else (len(lines), -1)


def _is_aside(text: str) -> bool:
    return text.lstrip().startswith("#") or text.startswith(("---", "..."))


def _enclosing(lines: Sequence[_Line], first: int, last: int) -> list[int]:
    """Lines before and after all that a document holds, which decide whether it is there.

    A condition may enclose several documents, so that one has its beginning alone, or its end.
    """
    opened: list[int] = []
    closed: list[int] = []
    depth = 0
    for number, line in enumerate(lines):
        for step in line.steps:
            if step == "open":
                opened.append(number)
            elif step == "close" and opened:
                begun = opened.pop()
                if begun < first and number > last:
                    closed += (begun, number)
            elif (step == "close" and number > last) or (
                step == "turn" and (number > last or number < first) and not depth
            ):
                closed.append(number)
    found = {*closed, *(number for number in opened if number < first)}
    defines = any("define" in lines[number].text for number in found)
    return [] if defines else sorted(found)


def _hidden(lines: Sequence[_Line]) -> list[str] | None:
    made = [line.text for line in lines]
    blocks = _blocks(lines)
    if blocks is None or not all(_hide(made, begin, end) for begin, end in blocks):
        return None
    return made


def _blocks(lines: Sequence[_Line]) -> list[tuple[int, int]] | None:
    """Where the outermost begin and end; None where they do not do so between lines."""
    found: list[tuple[int, int]] = []
    begun = depth = 0
    for number, line in enumerate(lines):
        if not line.steps:
            continue
        if depth == 0:
            begun = number
            if line.steps[0] == "turn":
                return None
        for step in line.steps:
            depth += {"open": 1, "close": -1}.get(step, 0)
            if depth < 0:
                return None
        if depth == 0 and (begun < number or line.is_control or _TAG.match(line.text.strip())):
            found.append((begun, number + 1))
        elif depth and begun == number and not line.is_control:
            return None
    return None if depth else found


def _hide(made: list[str], begin: int, end: int) -> bool:
    """Put one line in place of some, if they are keys of one mapping or items of one list."""
    inner = [_TAG.sub(_kept, line) for line in made[begin:end]]
    said = list(_said(inner))
    own = [line for line in said if not _TAG.match(line.strip())]
    shape = _shape(own) if own else (_indent_to(said[0]), "") if said else None
    if own and shape is None:
        return False
    for number in range(begin, end):
        room = len(made[number].rstrip("\r"))
        ending = made[number][room:]
        made_of = " " * room
        if shape is not None and room >= shape[0] + _LEAST + bool(shape[1]):
            indent, sign = shape
            gap = GAP * (room - indent - len(sign))
            is_value = not own and _is_value(made, begin, end, indent)
            made_of = " " * indent + sign + (gap if sign or is_value else f"{gap[1:]}:")
            shape = None
        made[number] = made_of + ending
    return shape is None


def _shape(lines: Sequence[str]) -> tuple[int, str] | None:
    """How far keys or items are indented, and what they begin with; None of what is neither."""
    indent = indent_of(lines[0])
    if any(indent_of(line) < indent for line in lines):
        return None
    level = [line.strip() for line in lines if indent_of(line) == indent]
    if all(map(_ITEM.match, level)):
        return indent, "- "
    return (indent, "") if all(map(_KEY.match, level)) else None


def _indent_to(line: str) -> int:
    found = _INDENTS.search(line)
    return int(found[1]) if found else indent_of(line)


def _is_value(made: Sequence[str], begin: int, end: int, indent: int) -> bool:
    """Whether lines that a program brings are all that a key above them has."""
    above = next((line for line in reversed(made[:begin]) if line.strip()), "")
    below = next(_said(made[end:]), "")
    return above.rstrip().endswith(":") and (not below or indent_of(below) < indent)


def _said(lines: Sequence[str]) -> Iterator[str]:
    return (line for line in lines if line.strip() and not line.lstrip().startswith("#"))
