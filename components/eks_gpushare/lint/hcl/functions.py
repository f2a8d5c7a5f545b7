"""Functions of Terraform that configurations are written with; others give what is not known.

https://developer.hashicorp.com/terraform/language/functions. What they do was compared with
`terraform console` (`tests/lint/test_hcl_functions.py`).
"""

from __future__ import annotations

import math
import posixpath
import re
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final, Protocol

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.lint.hcl import function_collections as collections
from eks_gpushare.lint.hcl import function_texts as texts
from eks_gpushare.lint.hcl.values import (
    HclList,
    Place,
    Text,
    has_gaps,
    number,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class ReadableFiles(Protocol):
    """The files that functions read."""

    def read(self, path: str) -> tuple[str, str] | None:
        """The name and the text of a file; None if it is not there or cannot be read."""

    def matching(self, folder: str, pattern: str) -> list[str] | None:
        """Files of a folder whose names match a pattern, from there; None if not known."""


def call(name: str, given: Sequence[Any], files: ReadableFiles) -> Any:
    """The value of a function; `UNKNOWN` where it or its result is not known. Never raises.

    Args:
        name: The function's name.
        given: The values of its arguments.
        files: The files that it may read.
    """
    name = name.removeprefix("core::")
    try:
        if name in _OF_FILES:
            return _OF_FILES[name](files, *given)
        if name in _PARTLY:
            return _PARTLY[name](*given)
        if name not in _WHOLE or any(map(_not_known, given)):
            return UNKNOWN
        return _WHOLE[name](*given)
    except (TypeError, ValueError, IndexError, KeyError, ArithmeticError, AttributeError):
        return UNKNOWN  # it is called as it must not be, which Terraform says itself


def _not_known(value: Any) -> bool:
    return value is UNKNOWN or has_gaps(value) or has_unknown(value)


def _same(given: Any) -> Any:
    return given


def _to_number(given: Any) -> Any:
    if given is None:
        return None
    found = number(given)
    return UNKNOWN if found is None else found


def _to_bool(given: Any) -> Any:
    if given is None:
        return None
    found = truth(given)
    return UNKNOWN if found is None else found


def _numbers(given: Sequence[Any]) -> list[Any]:
    return [number(each) for each in given]


def _file(files: ReadableFiles, path: Any) -> Any:
    found = None if path is UNKNOWN or has_gaps(path) else files.read(path)
    return UNKNOWN if found is None else of_file(*found)


def of_file(name: str, text: str) -> Text:
    """The text of a file, whose lines are those of the file."""
    return Text(text, lambda line, column: Place(name, line, column), files=frozenset((name,)))


def _file_exists(files: ReadableFiles, path: Any) -> Any:
    if path is UNKNOWN or has_gaps(path):
        return UNKNOWN
    return True if files.read(path) is not None else UNKNOWN


def _file_set(files: ReadableFiles, folder: Any, pattern: Any) -> Any:
    if _not_known(folder) or _not_known(pattern):
        return UNKNOWN
    found = files.matching(folder, pattern)
    return UNKNOWN if found is None else HclList(sorted(found))


_OF_FILES: Final[Mapping[str, Callable[..., Any]]] = {
    "file": _file,
    "fileexists": _file_exists,
    "fileset": _file_set,
    "filebase64": lambda files, path: texts.base64_of(_file(files, path)),
}
_PARTLY: Final[Mapping[str, Callable[..., Any]]] = {
    "merge": collections.merge,
    "concat": collections.concat,
    "flatten": collections.flatten,
    "compact": collections.compact,
    "toset": collections.set_of,
    "tolist": collections.list_of,
    "tomap": collections.map_of,
    "lookup": collections.lookup,
    "coalesce": collections.coalesce,
    "coalescelist": collections.coalesce_list,
    "length": collections.length_of,
    "keys": collections.keys_of,
    "values": collections.values_of,
    "element": collections.element_of,
    "zipmap": collections.zipped,
    "one": collections.only_one,
    "jsonencode": texts.encode,
    "yamlencode": texts.encode_yaml,
    "jsondecode": texts.decode,
    "yamldecode": texts.decode,
    "base64encode": texts.base64_of,
    "indent": texts.indent,
    "join": texts.joined_by,
    "trimspace": texts.trimmed,
    "chomp": lambda given: texts.like(given, given.rstrip("\r\n")),
    "replace": texts.replaced,
    "tostring": texts.string_of,
    "sensitive": _same,
    "nonsensitive": _same,
    "ephemeralasnull": lambda _: None,
}
_WHOLE: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": lambda given: abs(number(given)),
    "alltrue": lambda given: all(truth(each) for each in given),
    "anytrue": lambda given: any(truth(each) for each in given),
    "base64decode": texts.decoded64,
    "basename": posixpath.basename,
    "ceil": lambda given: math.ceil(number(given)),
    "chunklist": lambda given, size: HclList(
        HclList(given[i : i + size]) for i in range(0, len(given), size)
    ),
    "contains": collections.holds_value,
    "dirname": lambda given: posixpath.dirname(given) or ".",
    "distinct": collections.distinct,
    "endswith": lambda given, end: given.endswith(end),
    "floor": lambda given: math.floor(number(given)),
    "format": texts.formatted,
    "formatlist": texts.format_list,
    "index": lambda given, value: given.index(value),
    "lower": lambda given: given.lower(),
    "max": lambda *given: max(_numbers(given)),
    "min": lambda *given: min(_numbers(given)),
    "parseint": int,
    "pow": lambda base, by: number(number(base) ** number(by)),
    "range": collections.numbers_in,
    "regex": texts.first_match,
    "regexall": lambda pattern, given: HclList(
        HclList(each) if isinstance(each, tuple) else each for each in re.findall(pattern, given)
    ),
    "reverse": lambda given: HclList(given[::-1]),
    "setintersection": lambda first, *more: collections.set_of(
        [e for e in first if all(e in m for m in more)]
    ),
    "setproduct": lambda *given: HclList(map(HclList, product(*given))),
    "setsubtract": lambda one, other: collections.set_of(
        [each for each in one if each not in other]
    ),
    "setunion": lambda *given: collections.set_of(list(chain.from_iterable(given))),
    "signum": lambda given: (number(given) > 0) - (number(given) < 0),
    "slice": collections.sliced,
    "sort": collections.in_order,
    "split": lambda by, given: HclList(given.split(by)),
    "startswith": lambda given, start: given.startswith(start),
    "strcontains": lambda given, part: part in given,
    "strrev": lambda given: given[::-1],
    "substr": texts.part_of,
    "sum": lambda given: sum(_numbers(given)),
    "title": lambda given: re.sub(
        r"(?<![A-Za-z0-9_])[A-Za-z0-9_]", lambda found: found[0].upper(), given
    ),
    "tobool": _to_bool,
    "tonumber": _to_number,
    "transpose": collections.transposed,
    "trim": lambda given, characters: given.strip(characters),
    "trimprefix": lambda given, start: given.removeprefix(start),
    "trimsuffix": lambda given, end: given.removesuffix(end),
    "upper": lambda given: given.upper(),
}

FUNCTIONS: Final = frozenset((*_OF_FILES, *_PARTLY, *_WHOLE, "try", "can", "templatefile"))
"""Those whose values are found."""
