"""JSON, and JSON with comments, as files that others wrote have them."""

from __future__ import annotations

import json
import re
from typing import Any, Final, Literal, NoReturn, TypeAlias

from eks_gpushare.findings.finding import Position
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.nodes import MAX_ITEMS
from eks_gpushare.manifests.placeholders import is_key_to_come, is_placeholder
from eks_gpushare.stack_file.composer import MAX_DEPTH
from eks_gpushare.stack_file.yaml_problems import YamlProblem

Syntax: TypeAlias = Literal["yaml", "json", "jsonc"]
"""What a file is written in; `jsonc` is JSON with comments and commas behind the last item."""

_ENDINGS: Final = (".json", ".jsonc")
_TOKEN: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"|(?P<comment>//[^\r\n]*+|/\*.*?\*/)|(?P<comma>,)|(?P<close>[\]}])|[^\s]',
    re.DOTALL,
)
_NO_ITEM: Final = (None, "[", "{", ",", ":")
_VISIBLE: Final = re.compile(r"[^\r\n]")


def is_json_file(name: str) -> bool:
    """Whether a file has to be JSON, by its name."""
    return name.lower().endswith(_ENDINGS)


def syntax_of(name: str, text: str) -> Syntax | None:
    """What a file is written in; None of one that is named as JSON and is none.

    Args:
        name: Its name.
        text: Its text, without a mark of its encoding.
    """
    if not is_json_file(name):
        return "yaml"
    if json_problem(text) is None:
        return "json"
    return None if json_problem(without_comments(text)) else "jsonc"


def without_comments(text: str) -> str:
    """The same text with blanks for comments and for commas behind the last item.

    Every other character keeps its place.
    """
    blank: list[tuple[int, int]] = []
    before = comma = None
    for token in _TOKEN.finditer(text):
        if token["comment"]:
            blank.append(token.span())
            continue
        if token["close"] and comma is not None:
            blank.append(comma)
        comma = token.span() if token["comma"] and before not in _NO_ITEM else None
        before = token[0]
    parts: list[str] = []
    last = 0
    for start, end in sorted(blank):
        parts += (text[last:start], _VISIBLE.sub(" ", text[start:end]))
        last = end
    return "".join((*parts, text[last:]))


def comments_of(text: str) -> list[str]:
    """The comments of a text of JSON with comments."""
    return [token["comment"] for token in _TOKEN.finditer(text) if token["comment"]]


def strict_json(text: str) -> Any:
    """The value of a text of JSON.

    Raises:
        ValueError: If it is none, has a key twice, or a number that JSON has not.
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def json_problem(text: str) -> YamlProblem | None:
    """Why a text is no JSON, None if it is. A key twice is a finding of its own."""
    try:
        json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        return YamlProblem(what, error.lineno, error.colno, fix="write it as JSON")
    except (ValueError, RecursionError) as error:
        return YamlProblem(f"not valid JSON: {error}", 1, 1, fix="write it as JSON")
    return None


def plain_json(text: str, file: str) -> Document | None:
    """A file of JSON by its values alone, which is ten times faster; None of any other.

    It has no places: it tells whether some reader is for it, and most JSON of repositories is data
    that none is for. A file with signs that stand for something else, or beyond what is read, is
    none such.
    """
    if not is_json_file(file):
        return None
    try:
        value = strict_json(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return Document(file, value, lambda _: Position(1, 1)) if _is_as_written(value) else None


def _is_as_written(value: Any) -> bool:
    """Whether a reader of YAML has the same value, and has it whole."""
    left, items = [(value, 1)], 1
    while left:
        one, depth = left.pop()
        if not isinstance(one, dict | list):
            if isinstance(one, str) and is_placeholder(one):
                return False
            continue
        keys, inner = (one.keys(), one.values()) if isinstance(one, dict) else ((), one)
        items += len(keys) + len(inner)
        if depth > MAX_DEPTH or items > MAX_ITEMS or any(map(is_key_to_come, keys)):
            return False
        left += [(each, depth + 1) for each in inner]
    return True


def is_log(text: str) -> bool:
    """Whether each line of a text is an object by itself, and none one of Kubernetes."""
    try:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return False
    return len(lines) > 1 and all(
        isinstance(line, dict) and "apiVersion" not in line for line in lines
    )


def is_measured(text: str) -> bool:
    """Whether a text is JSON but for numbers that programs of Python write where none is right.

    `Infinity` and `NaN` stand in what was measured, and no API server takes them,
    https://docs.python.org/3/library/json.html#infinite-and-nan-number-values.
    """
    found: list[str] = []
    try:
        json.loads(text, parse_constant=found.append)
    except (ValueError, RecursionError):
        return False
    return bool(found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is there twice")
    return made


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
