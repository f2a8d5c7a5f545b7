"""In whose words findings about arguments are told: Python's, unless they come from elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from eks_gpushare.inputs.python_words import in_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eks_gpushare.findings.finding import Finding

    Words: TypeAlias = "Callable[[Finding], Finding]"

_WORDS: ContextVar[Words] = ContextVar("eks_gpushare_words", default=in_python)
_FOUND: ContextVar[tuple[Finding, ...]] = ContextVar("eks_gpushare_found", default=())


@contextmanager
def translated(words: Words, found: Iterable[Finding]) -> Iterator[None]:
    """Tell findings in other words meanwhile, and later of values that are known later.

    Args:
        words: Makes a finding one about what the caller wrote.
        found: What was found while the arguments of the component were translated, to be told with
            what its checks find.
    """
    spoken, kept = _WORDS.set(words), _FOUND.set(tuple(found))
    try:
        yield
    finally:
        _WORDS.reset(spoken)
        _FOUND.reset(kept)


def in_callers_words(found: Finding) -> Finding:
    """A finding about arguments, as who gave them has to read it."""
    return _WORDS.get()(found)


def handed_over() -> tuple[Finding, ...]:
    """What translating the arguments found, once: components within this one have their own."""
    found = _FOUND.get()
    _FOUND.set(())
    return found
