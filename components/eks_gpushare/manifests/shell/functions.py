"""The functions of a text: which commands stand in one, and in which ways each of them is called.

Somebody calls `./up.sh operator` or `./up.sh plugin`, and the text calls one function or the
other: what the two install is not there at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.shell.blocks import BEFORE_COMMAND, Arm, Blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.manifests.shell.command import Command, Word

DEFINES: Final = re.compile(
    r"^[ \t]*(?:function[ \t]+[A-Za-z0-9_.:-]+|[A-Za-z0-9_.:-]+[ \t]*\([ \t]*\))", re.MULTILINE
)
"""What a text has that defines a function."""
_SAYING: Final = frozenset(
    (
        *("echo", "printf", "[", "[[", "test", "helm", "kubectl", "oc", "eksctl", "aws", "gcloud"),
        *("az", "docker", "git", "terraform", "kind", "curl", "cd", "export", "local", "source"),
    )
)
"""Commands whose words are none that they call."""
_DEEPEST: Final = 100
"""Most functions that are called through each other."""


class Functions:
    """The functions that are open at a place of a text."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._named = ""
        self._open: list[tuple[str, int]] = []

    @property
    def current(self) -> str:
        """The name of the innermost; empty outside of all."""
        return self._open[-1][0] if self._open else ""

    def define(self, words: Sequence[Word]) -> bool:
        """Take the words before `()`; whether they define a function."""
        names = words[_is_word(words) :]
        self._named = names[0].text if len(names) == 1 and "=" not in names[0].text else ""
        return bool(self._named)

    def pass_word(self, words: Sequence[Word]) -> bool:
        """Go by the last word of a command; whether a function begins with it."""
        name = words[1].text if _is_word(words) and len(words) > 2 else self._named  # noqa: PLR2004
        begins = words[-1].text == "{" and bool(name)
        if begins:
            self._open.append((name, self._blocks.groups))
        elif self._open and self._blocks.groups < self._open[-1][1]:
            self._open.pop()
        self._named = ""
        return begins


def _is_word(words: Sequence[Word]) -> bool:
    """Whether the first of some words is the one that a function may begin with."""
    return bool(words) and words[0].text == "function"


def ways_of(found: Iterable[Command], line: int) -> dict[str, tuple[Arm, ...]]:
    """The arms within which each function of a text is called, of all choices that all calls have.

    Functions that the text does not call by their names are arms of one choice: by a variable, or
    from elsewhere, one of them is.

    Args:
        found: The commands of the text.
        line: The line at which that begins, by which its functions are told from others'.
    """
    calls: dict[str, list[Command]] = {each.function: [] for each in found if each.function}
    for command in found:
        words = [w for w in (word.text for word in command.words) if w not in BEFORE_COMMAND]
        if words and words[0] in _SAYING:
            words = []
        for name in calls.keys() & words:
            calls[name].append(command)
    ways = _Ways(calls, line)
    return {name: ways.of(name) for name in calls}


class _Ways:
    """The arms within which functions are called, through whatever others."""

    def __init__(self, calls: Mapping[str, Sequence[Command]], line: int) -> None:
        self._calls = calls
        self._alone = {name: Arm(Position(line, 0), index) for index, name in enumerate(calls)}
        self._known: dict[str, tuple[Arm, ...]] = {}
        self._depth = 0

    def of(self, name: str) -> tuple[Arm, ...]:
        """Those of a function; none of one that is called through itself."""
        if name not in self._known:
            self._known[name] = ()
            self._depth += 1
            if self._depth < _DEEPEST:
                self._known[name] = self._found(self._calls[name], name)
            self._depth -= 1
        return self._known[name]

    def _found(self, calls: Sequence[Command], name: str) -> tuple[Arm, ...]:
        if not calls:
            return (self._alone[name],)
        ways = [each.arms + (self.of(each.function) if each.function else ()) for each in calls]
        every = dict.fromkeys(arm for way in ways for arm in way)
        # A choice that a call does not stand in says nothing of that one.
        common = set.intersection(*({arm.choice for arm in way} for way in ways))
        return tuple(arm for arm in every if arm.choice in common)
