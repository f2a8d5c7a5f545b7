"""A command of shell text: its words, what it is fed with, and what it stands within."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.placeholders import GAP

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Position
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.shell.blocks import Arm


class Word(NamedTuple):
    """A word as the command gets it."""

    text: str
    position: Position

    @property
    def value(self) -> Maybe[str]:
        """Its text, UNKNOWN if any of it is."""
        return known(self.text)


class Heredoc(NamedTuple):
    """What follows a command until a line with its delimiter."""

    text: str
    line: int
    """Line of its first line."""
    literal: bool
    """Whether the shell leaves `$` in it alone."""


@dataclass(slots=True)
class Command:
    """One simple command."""

    words: list[Word] = field(default_factory=list)
    heredoc: Heredoc | None = None
    writes: str = ""
    """File that its output goes to."""
    goes_on: bool = False
    """Whether the text adds to that file, whose name it may not tell, afterwards."""
    is_piped: bool = False
    """Whether its output goes to the command after it."""
    arms: tuple[Arm, ...] = ()
    """Those that it is within, from the outermost."""
    ends: bool = False
    """Whether the text ends with it, whatever follows."""
    function: str = ""
    """The function that it stands in."""
    kubeconfig: str = ""
    """What KUBECONFIG has there, be it set for this command alone."""


def known(text: str) -> Maybe[str]:
    """A text, UNKNOWN if any of it is a gap."""
    return UNKNOWN if GAP in text else text
