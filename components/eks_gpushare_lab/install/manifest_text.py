"""Text with manifests as plain data: YAML documents or JSON, read as kubectl reads them.

Documents are parted at their `---` before anything is parsed, so that one that is broken says
nothing about the others. What would take memory or depth without bound is refused before it is
made: what a few aliases come to is counted first.
"""

from __future__ import annotations

import binascii
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 100
"""How deep a document may be nested; the definitions of large operators have half of it."""
MAX_VALUES = 200_000
"""How many values a document may come to once its aliases stand for what they mean."""

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_ONLY_HEAD = re.compile(r"(?:[ \t]*(?:#.*)?\n?|%.*\n?)*")
_ONLY_BLANK = re.compile(r"(?:[ \t\r]*(?:#.*)?\n?)*")
_CONTENT = re.compile(r"\S")
_OPENS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSES = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_MANY_DIGITS = "Exceeds the limit"


@dataclass(frozen=True, slots=True)
class ManifestPart:
    """One document, or why it cannot be read."""

    number: int
    """Of the document, from 1."""
    value: Any = None
    """Plain data, as JSON has it."""
    wrong: str = ""
    """What is wrong with it, with the line of the file where that is known."""


class _DocumentError(Exception):
    """What is wrong with a document."""


class _ConstantError(Exception):
    """A number that JSON does not have, in a text that is JSON otherwise."""


def parts_of(text: str) -> list[ManifestPart]:
    """The documents of a text; those without content are left out."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return _json_parts(text)
        except ValueError:
            pass  # YAML in its flow style, or broken: then YAML's parser says where
        except RecursionError:
            return [ManifestPart(1, wrong=_too_deep())]
        except _ConstantError as error:
            return [ManifestPart(1, wrong=str(error))]
    found = []
    for number, (line, chunk) in enumerate(_chunks(text), 1):
        try:
            values = _values(chunk, line)
            found += [_part(number, value) for value in values if value is not None]
        except _DocumentError as error:
            found.append(ManifestPart(number, wrong=str(error)))
    return found


def _part(number: int, value: Any) -> ManifestPart:
    wrong = _no_json(value)
    return ManifestPart(number, wrong=wrong) if wrong else ManifestPart(number, value)


def _json_parts(text: str) -> list[ManifestPart]:
    """Values one after the other, as kubectl takes them.

    Raises:
        ValueError: If it is no JSON.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_json_object, parse_constant=_no_constant)
    found: list[ManifestPart] = []
    start = _CONTENT.search(text)
    while start:
        value, end = decoder.raw_decode(text, start.start())
        found.append(_part(len(found) + 1, value))
        start = _CONTENT.search(text, end)
    return found


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")  # YAML's parser says where
    return found


def _no_constant(name: str) -> Any:
    raise _ConstantError(f"it has the number {name}, which JSON does not have")


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Documents with the line that each begins at, from 0."""
    starts = [0, *(found.start() for found in _SEPARATOR.finditer(text) if found.start())]
    # A head of comments and directives belongs to the document that it stands above.
    if len(starts) > 1 and _ONLY_HEAD.fullmatch(text[: starts[1]]):
        starts.pop(1)
    line, last = 0, 0
    for at, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line += text.count("\n", last, at)
        last = at
        yield line, text[at:end]


def _values(chunk: str, line: int) -> list[Any]:
    if _ONLY_BLANK.fullmatch(chunk.removeprefix("---")):
        return []
    try:
        _measure(chunk)
        return list(yaml.load_all(chunk, Loader=_Strict))
    except yaml.YAMLError as error:
        raise _DocumentError(f"it is no YAML: {_said(error, line)}") from None
    except RecursionError:
        raise _DocumentError(_too_deep()) from None
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        # What constructors of YAML's own types raise: `!!int many`, a number of 5,000 digits.
        many = _MANY_DIGITS in str(error)
        why = "has too many digits" if many else "is not what its tag or first characters say"
        raise _DocumentError(f"below line {line + 1}: a value {why}") from None


class _Size:
    """What a document comes to, event by event, with what its aliases stand for."""

    def __init__(self) -> None:
        self.total = 0
        self._anchors: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = []

    def take(self, event: yaml.Event) -> None:
        """Count an event."""
        if isinstance(event, _CLOSES):
            anchor, before = self._open.pop()
            self._keep(anchor, self.total - before + 1)
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in self._open):
                raise _DocumentError(f"the alias *{event.anchor} stands within what it means")
            self.total += self._anchors.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            self.total += 1
            self._keep(event.anchor, 1)
        elif isinstance(event, _OPENS):
            self.total += 1
            self._open.append((event.anchor, self.total))

    @property
    def depth(self) -> int:
        """How many lists and mappings are open."""
        return len(self._open)

    def _keep(self, anchor: str | None, size: int) -> None:
        if anchor:
            self._anchors[anchor] = size


def _measure(chunk: str) -> None:
    """Refuse what would come to too much.

    Raises:
        _DocumentError: If it would.
        YAMLError: If it is no YAML.
    """
    size = _Size()
    for event in yaml.parse(chunk, Loader=_Base):
        size.take(event)
        if size.depth > MAX_DEPTH:
            raise _DocumentError(_too_deep())
        if size.total > MAX_VALUES:
            raise _DocumentError(f"it comes to more than {MAX_VALUES:,} values")


class _Strict(_Base):  # type: ignore[misc]  # one of two classes
    """Refuses a key that stands twice, as the API server would, if it ever got to see it."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    made: dict[str, Any] = {}
    for key, value in node.value:
        given = loader.construct_object(key, deep=True)
        if not isinstance(given, str | int | float | bool | None):
            raise yaml.constructor.ConstructorError(
                None, None, "a key is a list or a mapping, and not text", key.start_mark
            )
        name = given if isinstance(given, str) else json.dumps(given)  # as kubectl makes it text
        if name in made:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {name!r} stands twice", key.start_mark
            )
        made[name] = loader.construct_object(value, deep=True)
    return made


def _binary(loader: Any, node: yaml.ScalarNode) -> str:
    """What kubectl makes of `!!binary`: the text that it encodes."""
    try:
        return binascii.a2b_base64(loader.construct_scalar(node).encode()).decode("utf-8")
    except (ValueError, UnicodeError):
        said = "!!binary here is not the base64 of text; bytes go into binaryData, as plain base64"
        raise yaml.constructor.ConstructorError(None, None, said, node.start_mark) from None


_Strict.add_constructor("tag:yaml.org,2002:map", _mapping)
_Strict.add_constructor("tag:yaml.org,2002:binary", _binary)
# Times are text to Kubernetes.
_Strict.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _no_json(value: Any, path: tuple[str, ...] = ()) -> str:
    """What JSON does not have of a value; `""` if it has it all."""
    if len(path) > MAX_DEPTH:
        return _too_deep()
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (_no_json(item, (*path, str(key))) for key, item in items)), "")
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'.'.join(path)} is {value}, which JSON does not have"
    if isinstance(value, str | int | float | None):
        return ""
    return f"{'.'.join(path)} is a {type(value).__name__}, which JSON does not have"


def _too_deep() -> str:
    return f"it is nested deeper than {MAX_DEPTH} levels"


def _said(error: yaml.YAMLError, line: int) -> str:
    """What is wrong and where, without the parser's drawing."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {line + mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{getattr(error, 'problem', None) or ' '.join(str(error).split())}"
