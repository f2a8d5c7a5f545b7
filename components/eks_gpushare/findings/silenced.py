"""Comments that let a finding be: in the file itself, with a reason, until a day.

    # eks-gpushare: ignore GPU1062 until 2027-01-31 because the nodes are replaced in January

stands at the end of the line that a finding is about, or on a line of its own above it; in Markdown
it may be a comment of HTML. A policy's name stands for a code that says the same, and one code for
another (`eks_gpushare.facts`). It is the same as an exemption of the policy pack: without a reason
and a last day it does nothing, and once that day is over it is a finding itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from eks_gpushare.findings.finding import Finding

_MARK: Final = "eks-gpushare:"
_COMMENT: Final = re.compile(
    r"(?P<begin>(?:^|(?<=\s))(?:\#+|//|;)|<!--)[ \t]*eks-gpushare:[ \t]*"
    r"(?P<verb>[A-Za-z-]+)(?P<rest>[^\n]*)"
)
_VERBS: Final = ("ignore", "ignores", "ignored", "silence", "disable", "suppress", "skip", "allow")
"""What people write; only the first is one."""
_NAME: Final = re.compile(r"GPU[0-9]{3,4}|[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
"""A code, or the name of a policy."""
_WRITTEN: Final = re.compile(
    rf"[ \t]+(?P<names>(?:{_NAME.pattern})(?:(?:[ \t]*,[ \t]*|[ \t]+)(?:{_NAME.pattern}))*)[ \t]+"
    r"until[ \t]+(?P<until>[0-9]{4}-[0-9]{2}-[0-9]{2})[ \t]+because:?[ \t]+(?P<reason>\S[^\n]*)"
)
_CODE: Final = re.compile(r"GPU[0-9]{3,4}")
_NOTHING: Final = re.compile(r"[ \t]*(?:$|\#|//|<!--|---|[`~]{3})")
_SILENCED = "https://github.com/eks-gpushare/eks-gpushare/blob/main/docs/lint.md#let-a-finding-be"
FAULTY_SILENCE = Rule(
    "GPU1011",
    "warning",
    "A comment that lets a finding be names it, a last day and a reason.",
    "It does nothing: the finding counts.",
    _SILENCED,
)
OVER = Rule(
    "GPU1012",
    "warning",
    "A comment that lets a finding be is not past its last day.",
    "The finding counts again, if it is still there.",
    _SILENCED,
)
FOR_NOTHING = Rule(
    "GPU1013",
    "info",
    "A comment that lets a finding be is for one that is there.",
    "It would let a new one be that nobody has looked at.",
    _SILENCED,
)
SHAPE: Final = "eks-gpushare: ignore GPU1234 until 2027-01-31 because REASON"
"""How one is written."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A comment as it is written."""

    place: Position
    names: tuple[str, ...]
    """Of what it lets be: codes, and names of policies."""
    line: int
    """The line whose findings it lets be."""
    until: date
    reason: str

    def holds(self, today: date) -> bool:
        """Whether its last day is not over."""
        return today <= self.until

    def __str__(self) -> str:
        return f"until {self.until}: {self.reason}"


class Faulty(NamedTuple):
    """A comment that does nothing, since it does not say all that it has to."""

    place: Position
    lacks: str


class Comments(NamedTuple):
    """Those of a text."""

    silences: tuple[Silence, ...] = ()
    faulty: tuple[Faulty, ...] = ()


def today() -> date:
    """Today's date in UTC, which last days are compared with."""
    return datetime.now(tz=UTC).date()


def comments(text: str) -> Comments:
    """The comments of a text that let findings be, and those that were meant to."""
    if _MARK not in text:
        return Comments()
    lines = text.splitlines()
    silences: list[Silence] = []
    faulty: list[Faulty] = []
    for number, line in enumerate(lines, 1):
        found = _COMMENT.search(line) if _MARK in line else None
        if found is None or found["verb"].lower() not in _VERBS:
            continue
        place = Position(number, found.start() + 1)
        alone = not line[: found.start()].strip()
        read = _read(found, place, _next(lines, number) if alone else number)
        if isinstance(read, Faulty):
            faulty.append(read)
        else:
            silences.append(read)
    return Comments(tuple(silences), tuple(faulty))


def _read(found: re.Match[str], place: Position, line: int) -> Silence | Faulty:
    rest = found["rest"]
    if found["begin"] == "<!--":
        rest = rest.partition("-->")[0].rstrip()
    if found["verb"] != "ignore":
        return Faulty(place, f"the word ignore, and not {found['verb']}")
    written = _WRITTEN.fullmatch(rest.rstrip())
    if written is None:
        return Faulty(place, _lacking(rest))
    try:
        until = date.fromisoformat(written["until"])
    except ValueError:
        return Faulty(place, f"a last day that the calendar has; {written['until']} is none")
    names = tuple(_NAME.findall(written["names"]))
    return Silence(place, names, line, until, written["reason"].strip())


def _lacking(rest: str) -> str:
    if _CODE.search(rest) is None and _NAME.match(rest.lstrip()) is None:
        return "the codes of the findings, such as GPU1062"
    if re.search(r"\buntil[ \t]+[0-9]{4}-[0-9]{2}-[0-9]{2}", rest) is None:
        return "the last day on which it holds: until 2027-01-31"
    if re.search(r"\bbecause:?[ \t]+\S", rest) is None:
        return "a reason: because ..."
    return "its parts in their order"


def _next(lines: list[str], number: int) -> int:
    """The first line behind one that is neither empty nor a comment."""
    for later in range(number, len(lines)):
        if not _NOTHING.match(lines[later]):
            return later + 1
    return number


def unused(silences: Iterable[Silence], used: Iterable[Silence]) -> Iterator[Silence]:
    """Those that let nothing be."""
    known = set(used)
    return (silence for silence in silences if silence not in known)


def about_comments(
    given: Comments, used: Iterable[Silence], today: date, others: Collection[Silence] = ()
) -> Iterator[tuple[Finding, Position]]:
    """What is to be said of comments that are past their day, for nothing, or say too little.

    Args:
        given: The comments of a text.
        used: Those that a finding is for.
        today: What last days are compared with.
        others: Those of what is not looked for here, so that nobody knows whether they are needed.
    """
    idle = set(unused(given.silences, used)).difference(others)
    for silence in given.silences:
        codes = ", ".join(silence.names)
        if not silence.holds(today):
            then = (
                "nothing needs it any more" if silence in idle else "what it was for counts again"
            )
            message = f"The comment that lets {codes} be ended with {silence.until}: {then}."
            fix = "Remove it, or give it a later day and a reason for it."
            yield OVER.finding((), message, fix), silence.place
        elif silence in idle:
            message = (
                f"No finding {codes} is on line {silence.line}, so the comment is for nothing."
            )
            fix = "Remove it, or write it on the line that the finding names or above that."
            yield FOR_NOTHING.finding((), message, fix), silence.place
    for fault in given.faulty:
        message = f"The comment lets nothing be: it lacks {fault.lacks}."
        yield FAULTY_SILENCE.finding((), message, f"Write {SHAPE}"), fault.place
