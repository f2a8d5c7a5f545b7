"""Functions of Terraform that configurations are written with; others give what is not known.

https://developer.hashicorp.com/terraform/language/functions. What they do was compared with
`terraform console` (`tests/lint/test_hcl_functions.py`).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import posixpath
import re
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final, Protocol

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import has_unknown
from eks_gpushare.lint.hcl.values import (
    GAP,
    HclList,
    HclObject,
    OpenObject,
    Place,
    Text,
    files_in,
    has_gaps,
    is_open,
    number,
    place_in,
    truth,
    written,
)
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.manifests.document import Document

_MOST: Final = 2_000
"""Most items that a function makes."""


class Files(Protocol):
    """The files that functions read."""

    def read(self, path: str) -> tuple[str, str] | None:
        """The name and the text of a file; None if it is not there or cannot be read."""

    def matching(self, folder: str, pattern: str) -> list[str] | None:
        """Files of a folder whose names match a pattern, from there; None if not known."""


def call(name: str, given: Sequence[Any], files: Files) -> Any:
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


# --- those of which a part is known where an argument is not ---------------------------------


def _merge(*given: Any) -> Any:
    made = HclObject()
    for each in given:
        if each is None:
            continue
        if each is UNKNOWN:
            # It may have any key, and each goes over what stands there.
            made = OpenObject(dict.fromkeys(made, UNKNOWN), made.places)
            continue
        if not isinstance(each, dict):
            return UNKNOWN
        if is_open(each):
            made = OpenObject(dict.fromkeys(made, UNKNOWN), made.places)
        for key, value in each.items():
            made.put(key, value, place_in(each, key))
    return made


def _concat(*given: Any) -> Any:
    made = HclList()
    for each in given:
        if each is UNKNOWN:
            made.put(UNKNOWN, None)
        for index, value in enumerate(each if isinstance(each, list) else ()):
            made.put(value, place_in(each, index))
    return made


def _flatten(given: Any) -> Any:
    made = HclList()
    for index, each in enumerate(given):
        if isinstance(each, list):
            inner = _flatten(each)
            for number_, value in enumerate(inner):
                made.put(value, place_in(inner, number_))
        else:
            made.put(each, place_in(given, index))
    return made


def _compact(given: Any) -> Any:
    kept = [(each, place_in(given, i)) for i, each in enumerate(given) if each not in ("", None)]
    return HclList((each for each, _ in kept), [place for _, place in kept])


def _set(given: Any) -> Any:
    if given is UNKNOWN:
        return UNKNOWN
    made: list[Any] = []
    for each in _list(given):
        if each not in made:
            made.append(each)
    if all(isinstance(each, str) for each in made):
        made.sort()
    return HclList(made)


def _list(given: Any) -> Any:
    """Of one type: numbers beside texts become texts."""
    if not isinstance(given, list):
        return UNKNOWN
    scalars = all(isinstance(each, str | bool | int | float) for each in given)
    if not scalars or len({isinstance(each, str) for each in given}) == 1:
        return given
    return HclList((written(each) for each in given), getattr(given, "places", ()))


def _map(given: Any) -> Any:
    return given if isinstance(given, dict) else UNKNOWN


def _lookup(given: Any, key: Any, *default: Any) -> Any:
    if given is UNKNOWN or key is UNKNOWN:
        return UNKNOWN
    if key in given:
        return given[key]
    return UNKNOWN if is_open(given) or not default else default[0]


def _coalesce(*given: Any) -> Any:
    for each in given:
        if each is UNKNOWN:
            return UNKNOWN
        if each not in (None, ""):
            return each
    return UNKNOWN


def _coalesce_list(*given: Any) -> Any:
    return next((each for each in given if each is UNKNOWN or each), UNKNOWN)


def _length(given: Any) -> Any:
    if given is UNKNOWN or is_open(given) or has_gaps(given):
        return UNKNOWN
    if isinstance(given, list) and UNKNOWN in given:
        return UNKNOWN  # it may stand for several
    return len(given)


def _keys(given: Any) -> Any:
    return UNKNOWN if is_open(given) else HclList(sorted(given))


def _values(given: Any) -> Any:
    if is_open(given):
        return UNKNOWN
    return HclList(
        (given[key] for key in sorted(given)), [place_in(given, k) for k in sorted(given)]
    )


def _element(given: Any, index: Any) -> Any:
    if given is UNKNOWN or index is UNKNOWN or UNKNOWN in given:
        return UNKNOWN
    return given[number(index) % len(given)]


def _zip(keys: Any, values: Any) -> Any:
    if UNKNOWN in (keys, values) or UNKNOWN in keys:
        return UNKNOWN
    return HclObject(zip(keys, values, strict=True))


def _one(given: Any) -> Any:
    if not given:
        return None
    return given[0] if len(given) == 1 else UNKNOWN


def _to_json(value: Any) -> Any:
    if value is UNKNOWN:
        return GAP
    if isinstance(value, dict):
        return {str(key): _to_json(each) for key, each in sorted(value.items())}
    if isinstance(value, list):
        return [_to_json(each) for each in value]
    return str(value) if isinstance(value, str) else value


def _encode(given: Any) -> Any:
    """YAML is told as JSON, which it holds; readers do not see the difference."""
    if given is UNKNOWN or is_open(given):
        return UNKNOWN
    gaps = has_unknown(given)
    text = json.dumps(_to_json(given), separators=(",", ":"), ensure_ascii=False)
    for plain, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(plain, escaped)
    return Text(text, None, gaps=gaps, encoded=given)


def _decode(given: Any) -> Any:
    if given is UNKNOWN:
        return UNKNOWN
    if isinstance(given, Text) and given.encoded is not None:
        return given.encoded
    texts = read_texts(given, "")
    if texts.problems or len(texts.documents) != 1:
        return UNKNOWN
    (document,) = texts.documents

    return _placed(document, document.value, (), given)


def _placed(document: Document, value: Any, path: FieldPath, given: str) -> Any:
    """A value of a text of YAML, with the places where the text is written."""

    def place(step: str | int) -> Place | None:
        if not isinstance(given, Text) or given.at is None:
            return None
        return given.at(*document.position((*path, step)))

    if isinstance(value, dict):
        made = HclObject()
        for key, each in value.items():
            made.put(key, _placed(document, each, (*path, key), given), place(key))
        return made
    if isinstance(value, list):
        listed = HclList()
        for index, each in enumerate(value):
            listed.put(_placed(document, each, (*path, index), given), place(index))
        return listed
    return value


def _base64(given: Any) -> Any:
    """Readers of user data take what is no base64 as it stands, so that its lines are known."""
    if given is UNKNOWN or has_gaps(given):
        return given
    return Text(
        base64.b64encode(given.encode()).decode(), getattr(given, "at", None), encoded=given
    )


def _indent(spaces: Any, given: Any) -> Any:
    if spaces is UNKNOWN or given is UNKNOWN:
        return UNKNOWN
    return _like(given, given.replace("\n", "\n" + " " * spaces))


def _like(given: Any, text: str) -> Text:
    return given.like(text) if isinstance(given, Text) else Text(text)


def _trimmed(given: Any) -> Any:
    return UNKNOWN if given is UNKNOWN else _like(given, given.strip())


def _join(by: Any, *lists: Any) -> Any:
    listed = list(chain.from_iterable(lists))
    if by is UNKNOWN or UNKNOWN in lists:
        return UNKNOWN
    texts = [written(each) for each in listed]
    gaps = any(each is UNKNOWN or has_gaps(each) for each in texts)
    first = next((each.at for each in listed if isinstance(each, Text) and each.at), None)
    whole = by.join(GAP if each is UNKNOWN else each for each in texts)
    return Text(whole, first, gaps=gaps, files=files_in(HclList(listed)))


def _replace(given: Any, old: str, new: str) -> Any:
    if UNKNOWN in (given, old, new):
        return UNKNOWN
    if len(old) > 1 and old.startswith("/") and old.endswith("/"):
        return _like(given, re.sub(old[1:-1], re.sub(r"\$\{?(\w+)\}?", r"\\g<\1>", new), given))
    return _like(given, given.replace(old, new))


def _same(given: Any) -> Any:
    return given


def _string(given: Any) -> Any:
    return given if given is None or isinstance(given, str) else written(given)


# --- those that need to know all of their arguments ------------------------------------------

_VERB: Final = re.compile(r"%(?:\[(\d+)\])?([-+# 0]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def _format(pattern: str, *given: Any) -> Any:
    left = list(given)

    def one(found: re.Match[str]) -> str:
        index, flags, width, precision, verb = found.groups()
        if verb == "%":
            return "%"
        value = given[int(index) - 1] if index else left.pop(0)
        text = _formatted(verb, value, "+" if "+" in flags else "", precision or "6")
        if width and "-" in flags:
            return text.ljust(int(width))
        if width and "0" in flags:
            return text.zfill(int(width))
        return text.rjust(int(width or 0))

    return _VERB.sub(one, pattern)


def _formatted(verb: str, value: Any, sign: str, precision: str) -> str:
    """A value by one of the verbs that Terraform shares with C."""
    if verb in "vs" and isinstance(value, bool | int | float | str):
        return str(written(value))
    if verb in "vq":
        return str(_encode(value))
    if verb in "dxXob":
        return format(int(number(value)), f"{sign}{verb}")
    if verb in "fFeEgG":
        return str(f"%{sign}.{precision}{verb}" % number(value))
    if verb == "t":
        return str(written(truth(value)))
    raise ValueError(verb)


def _format_list(pattern: str, *given: Any) -> Any:
    count = max((len(each) for each in given if isinstance(each, list)), default=1)
    return HclList(
        _format(pattern, *(each[i] if isinstance(each, list) else each for each in given))
        for i in range(count)
    )


def _range(*given: Any) -> Any:
    start, end, *step = (
        [number(each) for each in given] if len(given) > 1 else [0, number(given[0])]
    )
    by = step[0] if step else (1 if end >= start else -1)
    made = HclList()
    while (start < end if by > 0 else start > end) and len(made) < _MOST:
        made.append(start)
        start += by
    return made


def _sub(given: str, start: int, length: int) -> str:
    start = start if start >= 0 else len(given) + start
    return given[start:] if length < 0 else given[start : start + length]


def _contains(given: Any, value: Any) -> bool:
    return any(type(each) is type(value) and each == value for each in given) or value in given


def _regex(pattern: str, given: str) -> Any:
    found = re.search(pattern, given)
    if found is None:
        raise ValueError(pattern)
    if found.re.groupindex:
        return HclObject(found.groupdict())
    return HclList(found.groups()) if found.groups() else found[0]


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


def _transposed(given: Mapping[str, Any]) -> Any:
    made: dict[str, list[str]] = {}
    for key, values in given.items():
        for each in values:
            made.setdefault(each, []).append(key)
    return HclObject({key: HclList(sorted(made[key])) for key in sorted(made)})


def _distinct(given: Any) -> Any:
    made = HclList()
    for index, each in enumerate(given):
        if each not in made:
            made.put(each, place_in(given, index))
    return made


def _sliced(given: Any, start: int, end: int) -> Any:
    return HclList(given[start:end], [place_in(given, i) for i in range(start, end)])


def _sorted(given: Any) -> Any:
    return HclList(sorted(str(written(each)) for each in given))


def _numbers(given: Sequence[Any]) -> list[Any]:
    return [number(each) for each in given]


def _decoded64(given: str) -> str:
    try:
        return base64.b64decode(given).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(given) from error


def _file(files: Files, path: Any) -> Any:
    found = None if path is UNKNOWN or has_gaps(path) else files.read(path)
    return UNKNOWN if found is None else of_file(*found)


def of_file(name: str, text: str) -> Text:
    """The text of a file, whose lines are those of the file."""
    return Text(text, lambda line, column: Place(name, line, column), files=frozenset((name,)))


def _file_exists(files: Files, path: Any) -> Any:
    if path is UNKNOWN or has_gaps(path):
        return UNKNOWN
    return True if files.read(path) is not None else UNKNOWN


def _file_set(files: Files, folder: Any, pattern: Any) -> Any:
    if _not_known(folder) or _not_known(pattern):
        return UNKNOWN
    found = files.matching(folder, pattern)
    return UNKNOWN if found is None else HclList(sorted(found))


_OF_FILES: Final[Mapping[str, Callable[..., Any]]] = {
    "file": _file,
    "fileexists": _file_exists,
    "fileset": _file_set,
    "filebase64": lambda files, path: _base64(_file(files, path)),
}
_PARTLY: Final[Mapping[str, Callable[..., Any]]] = {
    "merge": _merge,
    "concat": _concat,
    "flatten": _flatten,
    "compact": _compact,
    "toset": _set,
    "tolist": _list,
    "tomap": _map,
    "lookup": _lookup,
    "coalesce": _coalesce,
    "coalescelist": _coalesce_list,
    "length": _length,
    "keys": _keys,
    "values": _values,
    "element": _element,
    "zipmap": _zip,
    "one": _one,
    "jsonencode": _encode,
    "yamlencode": _encode,
    "jsondecode": _decode,
    "yamldecode": _decode,
    "base64encode": _base64,
    "indent": _indent,
    "join": _join,
    "trimspace": _trimmed,
    "chomp": lambda given: UNKNOWN if given is UNKNOWN else _like(given, given.rstrip("\r\n")),
    "replace": _replace,
    "tostring": _string,
    "sensitive": _same,
    "nonsensitive": _same,
    "ephemeralasnull": lambda _: None,
}
_WHOLE: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": lambda given: abs(number(given)),
    "alltrue": lambda given: all(truth(each) for each in given),
    "anytrue": lambda given: any(truth(each) for each in given),
    "base64decode": _decoded64,
    "basename": posixpath.basename,
    "ceil": lambda given: math.ceil(number(given)),
    "chunklist": lambda given, size: HclList(
        HclList(given[i : i + size]) for i in range(0, len(given), size)
    ),
    "contains": _contains,
    "dirname": lambda given: posixpath.dirname(given) or ".",
    "distinct": _distinct,
    "endswith": lambda given, end: given.endswith(end),
    "floor": lambda given: math.floor(number(given)),
    "format": _format,
    "formatlist": _format_list,
    "index": lambda given, value: given.index(value),
    "lower": lambda given: given.lower(),
    "max": lambda *given: max(_numbers(given)),
    "min": lambda *given: min(_numbers(given)),
    "parseint": lambda given, base: int(given, base),
    "pow": lambda base, by: number(number(base) ** number(by)),
    "range": _range,
    "regex": _regex,
    "regexall": lambda pattern, given: HclList(
        HclList(each) if isinstance(each, tuple) else each for each in re.findall(pattern, given)
    ),
    "reverse": lambda given: HclList(reversed(given)),
    "setintersection": lambda first, *more: _set([e for e in first if all(e in m for m in more)]),
    "setproduct": lambda *given: HclList(map(HclList, product(*given))),
    "setsubtract": lambda one, other: _set([each for each in one if each not in other]),
    "setunion": lambda *given: _set(list(chain.from_iterable(given))),
    "signum": lambda given: (number(given) > 0) - (number(given) < 0),
    "slice": _sliced,
    "sort": _sorted,
    "split": lambda by, given: HclList(given.split(by)),
    "startswith": lambda given, start: given.startswith(start),
    "strcontains": lambda given, part: part in given,
    "strrev": lambda given: given[::-1],
    "substr": _sub,
    "sum": lambda given: sum(_numbers(given)),
    "title": lambda given: re.sub(r"(?<!\w)\w", lambda found: found[0].upper(), given),
    "tobool": _to_bool,
    "tonumber": _to_number,
    "transpose": _transposed,
    "trim": lambda given, characters: given.strip(characters),
    "trimprefix": lambda given, start: given.removeprefix(start),
    "trimsuffix": lambda given, end: given.removesuffix(end),
    "upper": lambda given: given.upper(),
}

FUNCTIONS: Final = frozenset((*_OF_FILES, *_PARTLY, *_WHOLE, "try", "can", "templatefile"))
"""Those whose values are found."""
