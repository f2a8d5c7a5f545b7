"""Values of Helm's `--set` and its kin, as helm.sh/helm/v3/pkg/strvals reads them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.placeholders import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_INDEX: Final = 1000
_INT64: Final = 18
_DEEPEST: Final = 30
"""As many levels as Helm itself takes."""


class HelmSetting(NamedTuple):
    """One `KEY=VALUE`."""

    path: tuple[str | int, ...]
    value: Any


def settings(text: str, *, strings: bool = False) -> list[HelmSetting]:
    """The settings of one argument; a key with a gap is left out, such a value is UNKNOWN.

    Args:
        text: The argument: `a.b=1,c[0]={x,y}`.
        strings: Whether every value stays a text, as for `--set-string`.
    """
    found = []
    for key, value in _pairs(text):
        path = _path(key)
        if path is not None:
            found.append(HelmSetting(path, _value(value, strings=strings)))
    return found


def json_setting(text: str) -> list[HelmSetting]:
    """The setting of one `--set-json`, UNKNOWN where it is no JSON."""
    key, joined, value = text.partition("=")
    path = _path(key)
    if path is None or not joined:
        return []
    try:
        return [HelmSetting(path, UNKNOWN if GAP in value else json.loads(value))]
    except ValueError:
        return [HelmSetting(path, UNKNOWN)]


def literal_setting(text: str) -> list[HelmSetting]:
    """The setting of one `--set-literal`: all behind the first `=` is its text."""
    key, joined, value = text.partition("=")
    path = _path(key)
    if path is None or not joined:
        return []
    return [HelmSetting(path, UNKNOWN if GAP in value else value)]


def file_settings(text: str) -> list[HelmSetting]:
    """The settings of one `--set-file`, each with the file's name as its value."""
    return [
        HelmSetting(path, _unescaped(name))
        for key, name in _pairs(text)
        if (path := _path(key)) is not None
    ]


def put(values: dict[str, Any], path: tuple[str | int, ...], value: Any) -> None:
    """Write a value to its place, making what is above it."""
    inner: Any = values
    for step, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            if not isinstance(inner, list):
                return
            inner.extend({} for _ in range(step + 1 - len(inner)))
            if not isinstance(inner[step], dict | list):
                inner[step] = empty
            inner = inner[step]
        elif isinstance(inner, dict):
            if not isinstance(inner.get(step), dict | list):
                inner[step] = empty
            inner = inner[step]
        else:
            return
    last = path[-1]
    if isinstance(last, int) and isinstance(inner, list):
        inner.extend(None for _ in range(last + 1 - len(inner)))
        inner[last] = value
    elif isinstance(last, str) and isinstance(inner, dict):
        inner[last] = value


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Keys and raw values; a comma within braces or behind a backslash parts nothing."""
    begin = depth = 0
    at = 0
    while at <= len(text):
        char = text[at] if at < len(text) else ","
        if char == "\\":
            at += 2
            continue
        depth += (char == "{") - (char == "}")
        if char == "," and (depth <= 0 or at == len(text)):
            key, joined, value = _parted(text[begin:at])
            if joined and key:
                yield key, value
            begin = at + 1
            depth = 0
        at += 1


def _parted(text: str) -> tuple[str, bool, str]:
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == "=":
            return text[:at], True, text[at + 1 :]
        at += 1
    return text, False, ""


def _path(key: str) -> tuple[str | int, ...] | None:
    """The place that a key names; None where it has a gap or is none."""
    steps: list[str | int] = []
    word = ""
    at = 0
    while at < len(key):
        char = key[at]
        if char == GAP:
            return None
        if char == "\\":
            word += key[at + 1 : at + 2]
            at += 2
            continue
        if char == ".":
            if word:
                steps.append(word)
            word = ""
        elif char == "[":
            inner, closed, _ = key[at + 1 :].partition("]")
            is_number = closed and inner.isascii() and inner.isdecimal()
            if not is_number or len(inner) > len(str(_MOST_INDEX)):
                return None
            if word:
                steps.append(word)
            steps.append(min(int(inner), _MOST_INDEX))
            word = ""
            at += len(inner) + 1
        else:
            word += char
        at += 1
    if word:
        steps.append(word)
    usable = 0 < len(steps) <= _DEEPEST and isinstance(steps[0], str)
    return tuple(steps) if usable else None


def _value(raw: str, *, strings: bool) -> Any:
    if raw.startswith("{") and raw.endswith("}"):
        return (
            [_scalar(scalar, strings=strings) for scalar in raw[1:-1].split(",")]
            if raw[1:-1]
            else []
        )
    return _scalar(raw, strings=strings)


def _scalar(raw: str, *, strings: bool) -> Any:
    if GAP in raw:
        return UNKNOWN
    text = _unescaped(raw)
    if strings:
        return text
    known = {"true": True, "false": False, "null": None}
    if text.lower() in known:
        return known[text.lower()]
    # A leading zero keeps it a text.
    number = text.removeprefix("-")
    if text == "0" or (number.isascii() and number.isdecimal() and number[0] != "0"):
        return int(text) if len(number) <= _INT64 else text
    return text


def _unescaped(raw: str) -> str:
    made = ""
    at = 0
    while at < len(raw):
        if raw[at] == "\\":
            at += 1
        made += raw[at : at + 1]
        at += 1
    return made
