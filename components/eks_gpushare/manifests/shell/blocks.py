"""What a command stands within: choices and their arms, loops, groups; and what these leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.manifests.placeholders import GAP

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping, Sequence

    from eks_gpushare.findings.finding import Position

BEFORE_COMMAND: Final = frozenset(
    ("$", "if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "sudo", "exec")
)
"""Words that a command may follow without a sign between."""
_CHOICES: Final = ("if", "case")
_LOOPS: Final = ("for", "while", "until", "select")
_REPEATING: Final = ("for", "while", "until")
"""Loops that nobody is asked in."""
_BEGINS: Final = frozenset((*_CHOICES, *_LOOPS))
_ENDS: Final = {"fi": ("if",), "esac": ("case",), "done": _LOOPS}
"""Words that end a choice or a loop, with those that begin it."""
_LONGEST: Final = 10_000
"""Longest value of a variable that is kept."""
_MOST_OPEN: Final = 50
"""Choices and loops within each other; of more nobody knows where they end."""


class Arm(NamedTuple):
    """One of the ways that an `if` or a `case` has."""

    choice: Position
    """Where that begins."""
    number: int


@dataclass(slots=True)
class _Open:
    """A choice or a loop whose end is yet to come."""

    word: str
    arm: Arm
    before: dict[str, str | None] = field(default_factory=dict)
    """What each variable that it sets had where it began; None where it had nothing."""
    left: dict[str, set[str]] = field(default_factory=dict)
    """What each of them has where an arm ends that sets it."""
    times: dict[str, int] = field(default_factory=dict)
    """How many arms set it."""
    in_arm: set[str] = field(default_factory=set)
    """What the arm that is open has set."""
    arms: int = 0
    """How many arms have ended."""
    is_empty: bool = True
    """Whether nothing stands in the arm that is open."""
    is_whole: bool = False
    """Whether one of its arms is taken in any case."""
    left_by: set[int] = field(default_factory=set)
    """The arms that end what they stand in, so that nothing behind the choice runs."""
    holds: Arm | None = None
    """What the condition of the arm that is open asks a variable to be."""


class _Behind(NamedTuple):
    """A choice that is behind a place, which only one of its arms comes to."""

    arm: Arm
    depth: tuple[int, int, int]
    """How many choices, groups and brackets it stands in."""


@dataclass(slots=True)
class _Guard:
    """A group, which may run on a condition."""

    depth: tuple[int, int, int]
    behind: Arm | None
    """The arm of what runs where it does not."""
    is_left: bool = False
    """Whether nothing runs behind the group once it has run."""


class Blocks:
    """The choices, loops and groups that are open at a place of a text."""

    def __init__(self, variables: MutableMapping[str, str]) -> None:
        self._variables = variables
        self._open: list[_Open] = []
        self._beyond = 0
        self._groups = 0
        self._brackets = 0
        self._behind: list[_Behind] = []
        self._guards: list[_Guard] = []
        self._may_begin = True

    @property
    def is_outside(self) -> bool:
        """Whether a command here runs whenever the text does."""
        return not (self._open or self._groups or self._brackets)

    @property
    def groups(self) -> int:
        """How many groups are open."""
        return self._groups

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Those that are open, from the outermost, and those without which this is not come to.

        In a loop all arms of a choice may be taken, one after the other, if nobody is asked which.
        """
        outer = list(takewhile(lambda each: each.word not in _REPEATING, self._open))
        held = (each.holds for each in outer if each.holds is not None)
        arms = (each.arm for each in outer if each.word in _CHOICES)
        return (*(each.arm for each in self._behind), *arms, *held)

    @property
    def _depth(self) -> tuple[int, int, int]:
        return len(self._open), self._groups, self._brackets

    def hold(self, asked: Arm | None) -> None:
        """Note what the condition of the arm that has begun asks a variable to be."""
        if self._open and self._open[-1].word == "if":
            self._open[-1].holds = asked

    def ask(self) -> None:
        """Note that somebody is asked in the loops that are open, as by a menu."""
        for each in self._open:
            each.word = "select" if each.word in _REPEATING else each.word

    def guard(self, arms: Iterable[Arm], behind: Arm | None) -> None:
        """Note that the group that has begun runs within some arms.

        Args:
            arms: These.
            behind: The arm of what runs where the group does not.
        """
        self._behind += [_Behind(arm, self._depth) for arm in arms]
        self._guards.append(_Guard(self._depth, behind))

    def mark(self, arm: Arm) -> None:
        """Note that what is behind, as far as the block goes, is come to by one arm alone."""
        self._behind.append(_Behind(arm, self._depth))

    def leave(self) -> None:
        """Note that nothing runs behind this, in the arm that is open."""
        if self._guards and self._guards[-1].depth == self._depth:
            self._guards[-1].is_left = True
        elif self._open and not self._beyond and all(each.word in _CHOICES for each in self._open):
            self._open[-1].left_by.add(self._open[-1].arm.number)

    def pass_word(self, word: str, position: Position) -> None:
        """Go by a word of a command if it begins or ends something."""
        if word == "{":
            self._groups += 1
        elif self._may_begin:
            self._go_by(word, position)
        if self._open and word not in _ENDS:
            self._open[-1].is_empty = False
        self._may_begin &= word in BEFORE_COMMAND

    def _go_by(self, word: str, position: Position) -> None:
        if word in _BEGINS:
            self._begin(word, position)
        elif word in _ENDS:
            self._end(word)
        elif word in {"elif", "else"}:
            self.next_arm("if", is_last=word == "else")
        elif word == "}":
            self._groups -= bool(self._groups)
            self._forget()
            ended = self._guards.pop() if self._guards else None
            if ended is not None and ended.is_left and ended.behind is not None:
                self.mark(ended.behind)

    def end_command(self) -> None:
        """Note that the next word begins another command."""
        self._may_begin = True

    def next_arm(self, of: str, *, is_last: bool = False) -> None:
        """Begin another arm of the innermost choice, which knows nothing of the one before.

        Args:
            of: What the choice has to be.
            is_last: Whether the arm is taken where no other is.
        """
        if not self._open or self._open[-1].word != of:
            return
        choice = self._open[-1]
        choice.arm = choice.arm._replace(number=choice.arm.number + 1)
        choice.is_whole |= is_last
        choice.holds = None
        self._forget(within=1)
        self._end_arm(choice)

    def pass_bracket(self, sign: str, behind: Sequence[str]) -> None:
        """Go by a sign if it is a bracket: of a subshell, a function, or a pattern of a `case`.

        Args:
            sign: The sign.
            behind: The word that it stands behind, if any.
        """
        if sign == "(":
            self._brackets += 1
        elif sign == ")":
            self._brackets -= bool(self._brackets)
            self._forget()
            if behind == ["*"] and self._open and self._open[-1].word == "case":
                self._open[-1].is_whole = True  # for whatever no other arm is for

    def give(self, name: str, value: str) -> None:
        """Note what a variable is given here."""
        for each in self._open:
            each.before.setdefault(name, self._variables.get(name))
            each.in_arm.add(name)
        self._variables[name] = value if len(value) <= _LONGEST else GAP

    def _begin(self, word: str, position: Position) -> None:
        if len(self._open) < _MOST_OPEN:
            self._open.append(_Open(word, Arm(position, 0)))
        else:
            self._beyond += 1

    def _end(self, word: str) -> None:
        if self._beyond:
            self._beyond -= 1
        elif self._open and self._open[-1].word in _ENDS[word]:
            self._close()

    def _end_arm(self, choice: _Open) -> None:
        """Keep what an arm leaves, and put back what there was before it."""
        choice.arms += not choice.is_empty
        choice.is_empty = True
        for name in choice.in_arm:
            choice.left.setdefault(name, set()).add(self._variables[name])
            choice.times[name] = choice.times.get(name, 0) + 1
            if (before := choice.before[name]) is not None:
                self._variables[name] = before
            else:
                del self._variables[name]
        choice.in_arm = set()

    def _forget(self, within: int = 0) -> None:
        """Leave out what is behind in choices, groups and brackets that have ended.

        Args:
            within: How many of the choices that are open are begun anew, as by another arm.
        """
        depth, groups, brackets = self._depth
        now = depth - within, groups, brackets
        self._behind = [
            each
            for each in self._behind
            if all(there <= here for there, here in zip(each.depth, now, strict=True))
        ]

    def _close(self) -> None:
        """Leave a choice or a loop: what it gave a variable is known if it can be nothing else.

        A variable that had no value is one that a text has a default for.
        """
        ended = self._open.pop()
        self._forget()
        last = ended.arm.number - ended.is_empty
        numbers = {*range(last + 1 + (not ended.is_whole))} - ended.left_by
        if len(numbers) == 1:
            self.mark(ended.arm._replace(number=numbers.pop()))
        self._end_arm(ended)
        for name, values in ended.left.items():
            before = ended.before[name]
            is_certain = ended.is_whole and ended.times[name] == ended.arms
            if before is not None and not is_certain:
                values.add(before)
            self._variables[name] = values.pop() if len(values) == 1 else GAP
