"""Living functions with the code of a changed module."""

from __future__ import annotations

import gc
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Name(NamedTuple):
    file: str
    name: str
    line: int


def living(files: set[str]) -> Mapping[_Name, list[FunctionType]]:
    """The functions that were made of files, whoever holds them."""
    found: dict[_Name, list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            found.setdefault(_name(each.__code__), []).append(each)
    return found


def swap(module: CodeType, functions: Mapping[_Name, list[FunctionType]]) -> bool:
    """Give functions the code that a changed module has for them; whether any got other code."""
    swapped = False
    for code in _codes(module):
        for function in functions.get(_name(code), ()):
            if function.__code__ != code and function.__code__.co_freevars == code.co_freevars:
                function.__code__ = code
                swapped = True
    return swapped


def caches(packages: tuple[str, ...]) -> list[Any]:
    """What functions of packages keep of earlier calls: it may be of the whole code."""
    return [
        each
        for each in gc.get_objects()
        if hasattr(type(each), "cache_clear")
        and str(getattr(each, "__module__", "")).startswith(packages)
    ]


def forget(kept: list[Any]) -> None:
    """Clear caches."""
    for each in kept:
        each.cache_clear()


def _name(code: CodeType) -> _Name:
    return _Name(code.co_filename, code.co_qualname, code.co_firstlineno)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)
