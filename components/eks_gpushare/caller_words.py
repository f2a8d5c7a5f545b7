"""In whose words findings about arguments are told: a Python program's, unless somebody else asks.

A process serves one kind of caller: it runs a Python program, or hosts the components for programs
in other languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from eks_gpushare.python_words import in_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eks_gpushare.findings.finding import Finding

    Words: TypeAlias = "Callable[[Finding], Finding]"


class _Caller:
    """Who gave the arguments that are checked."""

    words: Words = staticmethod(in_python)
    found: tuple[Finding, ...] = ()


def in_callers_words(found: Finding) -> Finding:
    """A finding about arguments, as who gave them has to read it."""
    return _Caller.words(found)


def speak(words: Words) -> None:
    """From now on, tell findings in these words."""
    _Caller.words = staticmethod(words)


def hand_over(found: Iterable[Finding]) -> None:
    """Keep what was found while the arguments of the next component were translated."""
    _Caller.found = tuple(found)


def handed_over() -> tuple[Finding, ...]:
    """What was kept, once."""
    found, _Caller.found = _Caller.found, ()
    return found
