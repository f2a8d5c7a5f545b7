"""What a command stands within: choices and their arms, loops, groups; and what these leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.manifests.placeholders import GAP

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from eks_gpushare.findings.finding import Position

BEFORE_COMMAND: Final = frozenset(
    ("$", "if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "sudo", "exec")
)
"""Words that a command may follow without a sign between."""
_CHOICES: Final = ("if", "case")
_LOOPS: Final = ("for", "while", "until", "select")
_BEGINS: Final = frozenset((*_CHOICES, *_LOOPS))
_ENDS: Final = {"fi": ("if",), "esac": ("case",), "done": _LOOPS}
"""Words that end a choice or a loop, with those that begin it."""


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
    before: dict[str, str]
    """Variables as they were where it began."""
    given: dict[str, set[str]] = field(default_factory=dict)
    """What each variable that it sets has where an arm ends."""


class Blocks:
    """The choices, loops and groups that are open at a place of a text."""

    def __init__(self, variables: MutableMapping[str, str]) -> None:
        self._variables = variables
        self._open: list[_Open] = []
        self._groups = 0
        self._may_begin = True

    @property
    def is_outside(self) -> bool:
        """Whether a command here runs whenever the text does."""
        return not self._open and not self._groups

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Those that are open, from the outermost.

        In a loop all arms of a choice may be taken, one after the other.
        """
        outer = takewhile(lambda each: each.word in _CHOICES, self._open)
        return tuple(each.arm for each in outer)

    def pass_word(self, word: str, position: Position) -> None:
        """Go by a word of a command if it begins or ends something."""
        if word == "{":
            self._groups += 1
        elif not self._may_begin:
            return
        elif word in _BEGINS:
            self._open.append(_Open(word, Arm(position, 0), dict(self._variables)))
        elif self._open and self._open[-1].word in _ENDS.get(word, ()):
            self._close()
        elif word in {"elif", "else"}:
            self.next_arm("if")
        elif word == "}":
            self._groups -= bool(self._groups)
        self._may_begin &= word in BEFORE_COMMAND

    def end_command(self) -> None:
        """Note that the next word begins another command."""
        self._may_begin = True

    def next_arm(self, of: str) -> None:
        """Begin another arm of the innermost choice, which knows nothing of the one before."""
        if not self._open or self._open[-1].word != of:
            return
        choice = self._open[-1]
        choice.arm = choice.arm._replace(number=choice.arm.number + 1)
        self._end_arm(choice)
        for name in choice.given:
            if name in choice.before:
                self._variables[name] = choice.before[name]
            else:
                self._variables.pop(name, None)

    def give(self, name: str, value: str) -> None:
        """Note what a variable is given here."""
        self._variables[name] = value
        for each in self._open:
            each.given.setdefault(name, set())

    def _end_arm(self, choice: _Open) -> None:
        for name, values in choice.given.items():
            if name in self._variables:
                values.add(self._variables[name])

    def _close(self) -> None:
        """Leave a choice or a loop: what it gave a variable is known if it can be nothing else.

        A variable that had no value is one that a text has a default for.
        """
        ended = self._open.pop()
        self._end_arm(ended)
        for name, values in ended.given.items():
            if name in ended.before:
                values.add(ended.before[name])
            self._variables[name] = values.pop() if len(values) == 1 else GAP
