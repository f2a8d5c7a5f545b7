"""Commands that `&&` and `||` join, and tests that a variable has a value.

Of `a && b || c` one of the last two runs, and of what is done where `$MODE` is one thing and what
is done where it is another a run does one at most.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.shell.blocks import Arm, Blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.manifests.shell.command import Word

LEAVING: Final = ("exit", "return")
"""Commands behind which nothing of a function, or of the text, runs."""
_TESTS: Final = ("[", "[[", "test")
_EQUAL: Final = re.compile(
    r"[ \t]*(?:(?:then|else|do)[ \t]+)?(?:\[\[?|test)[ \t]+"
    r"[\"']?\$\{?(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9])"
    r"(?::?-[^}\"'\n]*)?\}?[\"']?[ \t]+={1,2}[ \t]+[\"']?(?P<value>[A-Za-z0-9_.-]+)"
    r"[\"']?(?=[ \t\n;&\]]|$)"
)
_OR: Final = re.compile(r"\|\||[ \t]-o[ \t]")


class _Link(NamedTuple):
    """Where a command stands in a chain."""

    has_begun: bool = False
    """Whether something is joined before it."""
    arm: Arm | None = None
    """0 of what runs where all before did well, 1 of what runs where not; None of neither."""
    holds: Arm | None = None
    """What a test before it asks for."""

    @property
    def otherwise(self) -> Arm | None:
        """The arm of what runs where this does not; None where nothing is told of that."""
        return None if self.arm is None else self.arm._replace(number=1 - self.arm.number)


class Chains:
    """The chain that a place of a text stands in, and the variables that its tests ask for."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._link = _Link()
        self._outer: list[_Link] = []
        self._values: dict[str, list[str]] = {}

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Those of the command here."""
        return tuple(arm for arm in (self._link.arm, self._link.holds) if arm is not None)

    def join(self, sign: str, first: Word, written: str) -> None:
        """Go by a sign that joins the next command to the one before it.

        Args:
            sign: The sign.
            first: The first word of the command before.
            written: How that is written.
        """
        has_begun, arm, holds = self._link
        if not has_begun:
            arm = Arm(first.position, int(sign == "||"))
        elif sign == "||":
            arm = arm if arm is None or arm.number else self._link.otherwise
        elif arm is not None and arm.number:
            arm = None
        holds = None if sign == "||" else holds
        if sign == "&&" and first.text in _TESTS and arm is not None and not arm.number:
            holds = self.asked(written) or holds
        self._link = _Link(has_begun=True, arm=arm, holds=holds)

    def end(self, words: Sequence[Word]) -> None:
        """End a chain with its last command.

        Args:
            words: Those of the command.
        """
        if words[0].text in LEAVING and self._link.otherwise is not None:
            self._blocks.mark(self._link.otherwise)
        self._link = _Link()

    def enter(self) -> None:
        """Begin a group, all of which runs as a command here would."""
        self._blocks.guard(self.arms, self._link.otherwise)
        self._outer.append(self._link)
        self._link = _Link()

    def leave(self) -> None:
        """End a group."""
        if self._outer:
            self._link = self._outer.pop()

    def asked(self, written: str) -> Arm | None:
        """What a test asks a variable to be, as an arm of the choice of its values.

        Args:
            written: How the test, and what is asked beside it, is written.
        """
        found = None if _OR.search(written) else _EQUAL.match(written)
        if found is None:
            return None
        values = self._values.setdefault(found["name"], [])
        if found["value"] not in values:
            values.append(found["value"])
        choice = Position(-1 - list(self._values).index(found["name"]), 0)
        return Arm(choice, values.index(found["value"]))
