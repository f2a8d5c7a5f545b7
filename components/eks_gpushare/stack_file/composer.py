"""From YAML events to values that know where they stand.

The half of the YAML reader that deals with structure: nesting, keys, anchors, merges and limits.
It builds on libyaml's event stream. ``yaml.compose`` does so too, but it descends without a limit,
which a file of opening brackets turns into a crash, it forgets the line of an alias, and it ends at
the first mistake.
"""

from __future__ import annotations

import math
import re
from typing import Final, TypeAlias

import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package

from eks_gpushare.stack_file import scalars
from eks_gpushare.stack_file.yaml_events import Event, EventReader
from eks_gpushare.stack_file.yaml_problems import shorten

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
MAX_DEPTH: Final = 100
"""Most levels of nesting that are followed."""

MAX_ITEMS: Final = 100_000
"""Most keys and values together, each alias counted with everything it stands for."""

MAX_PROBLEMS: Final = 100
"""With so many problems, reading stops."""

_QUOTE: Final = "put it in quotes"
_ESCAPED_SLASH: Final = re.compile(r"(?<!\\)(?:\\\\)*\\/")
_KINDS: Final[dict[scalars.Kind, str]] = {
    "null": "null",
    "bool": "a boolean",
    "int": "a number",
    "float": "a number",
    "timestamp": "a date",
}


class Node:
    """A value with its place; an alias or a merge makes several parents share one."""

    __slots__ = ("children", "kind", "line", "open", "raw", "size", "value")

    def __init__(
        self, event: Event, value: Value, kind: scalars.Kind = "str", raw: str | None = None
    ) -> None:
        self.line: int = event.start_mark.line + 1
        self.value = value
        self.kind = kind
        self.raw = raw
        self.open = False
        self.size = 1
        # Each child with the line of its own key or dash, which an aliased node cannot tell.
        self.children: dict[str | int, tuple[int, Node]] = _NO_CHILDREN


_NO_CHILDREN: Final[dict[str | int, tuple[int, Node]]] = {}
"""Shared by all scalars and never written to."""


class Composer(EventReader):
    """Builds the node tree of one text; use each instance once."""

    def __init__(self, text: str) -> None:
        super().__init__(text, most_items=MAX_ITEMS, most_problems=MAX_PROBLEMS)
        self.usable = True
        """False once a problem leaves no value that the text could be said to have."""

        self._depth = 0
        self._flow = 0
        self._aliased = 0
        self._anchors: dict[str, Node] = {}

    def document(self) -> Node | None:
        """Read the text's one document; None if it holds none."""
        self._event()
        start = self._event()
        if type(start) is yaml.StreamEndEvent:
            return None
        if start.version not in (None, (1, 1)):
            message = "the Pulumi engine reads no YAML that calls itself anything but 1.1"
            self._report("directive", start, message, "remove the %YAML line")
        root = self._node(self._event())
        self._event()
        following = self._event()
        if type(following) is not yaml.StreamEndEvent:
            message = "a second document starts here; the Pulumi engine reads only the first"
            self._report("documents", following, message, "keep one document per file")
        return root

    def _node(self, event: Event) -> Node:
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self._alias(event)
        if kind is yaml.ScalarEvent:
            return self._scalar_node(event, self._scalar(event))
        self._count(event, 1)
        node = Node(event, {} if kind is yaml.MappingStartEvent else [])
        if event.anchor:
            self._anchors[event.anchor] = node
        node.children = {}
        node.open = True
        # Not the length of the path: a key may be a list, whose items have no path.
        self._depth += 1
        self._flow += bool(event.flow_style)
        if self._depth > MAX_DEPTH:
            self._path.clear()
            self._stop("depth", event, f"more than {MAX_DEPTH} levels of nesting")
        name = "map" if kind is yaml.MappingStartEvent else "seq"
        if event.tag not in (None, "!", scalars.TAG_PREFIX + name):
            self._report_tag(event, "the Pulumi engine ignores it")
        node.value = self._mapping(node) if name == "map" else self._sequence(node)
        self._depth -= 1
        self._flow -= bool(event.flow_style)
        node.open = False
        return node

    def _alias(self, event: Event) -> Node:
        target = self._anchors.get(event.anchor)
        if target is None or target.open:
            fault = "is not defined above" if target is None else "stands for a value it is part of"
            self.usable = False
            self._report("alias", event, f"the alias *{shorten(event.anchor)} {fault}")
            return Node(event, None)
        self._aliased += target.size
        self._count(event, 1 + target.size)
        # The rule by which go-yaml v3 gives up on a document of this size.
        if self._aliased > 100 and self.items > 1000 and self._aliased > 0.99 * self.items:  # noqa: PLR2004
            message = "aliases make up more than 99% of the document"
            self._stop("alias", event, message, "write the values out")
        return target

    def _sequence(self, node: Node) -> Value:
        values: list[Value] = []
        while type(event := self._event()) is not yaml.SequenceEndEvent:
            index = len(values)
            self._path.append(index)
            child = self._node(event)
            self._path.pop()
            values.append(child.value)
            node.children[index] = (event.start_mark.line + 1, child)
            node.size += child.size
        return values

    def _mapping(self, node: Node) -> Value:
        values: dict[str, Value] = {}
        seen: dict[str, int] = {}
        merged: list[Node] = []
        while type(event := self._event()) is not yaml.MappingEndEvent:
            line = event.start_mark.line + 1
            key = self._key(event)
            merges = key == "<<" and type(event) is yaml.ScalarEvent and _is_plain(event)
            self._path.append(key)
            if key == "<<" and not merges:
                message = "the Pulumi engine merges the value of a key << even if it is in quotes"
                self._report("merge", event, message, "rename the key")
            if key in seen:
                message = f"the key {shorten(key)!r} is already set on line {seen[key]}"
                self._report("duplicate", event, message, "keep one of the two")
            value_event = self._event()
            child = self._node(value_event)
            if merges:
                merged = self._merge_sources(value_event, child)
            elif key not in seen:
                values[key] = child.value
                node.children[key] = (line, child)
            seen.setdefault(key, line)
            node.size += 1 + child.size
            self._path.pop()
        for source in merged:
            for step, entry in source.children.items():
                if step not in values:
                    values[str(step)] = entry[1].value
                    node.children[step] = entry
        return values

    def _key(self, event: Event) -> str:
        """Give the key's text."""
        if type(event) is yaml.ScalarEvent:
            scalar = self._scalar(event, is_key=True)
            if event.anchor:
                self._scalar_node(event, scalar)
            if scalar.kind == "str":
                return str(scalar.value)
            text: str = event.value
            message = f"the key {shorten(text) or 'is empty,'} is read as {_KINDS[scalar.kind]}"
            self._report("key", event, f"{message}, not as a string", _QUOTE)
            return text
        node = self._node(event)
        if type(event) is yaml.AliasEvent:
            if isinstance(node.value, str) and node.kind == "str":
                return node.value
            message = f"the key *{shorten(str(event.anchor))} is not a string"
            self._report("key", event, message, _QUOTE)
            return f"*{event.anchor}"
        self.usable = False
        shape = "a mapping" if isinstance(node.value, dict) else "a list"
        message = f"a key must be a string, and this one is {shape}"
        self._report("key", event, message, "quote text that starts with { or [")
        return f"({shape} on line {node.line})"

    def _merge_sources(self, event: Event, node: Node) -> list[Node]:
        """Give the mappings that a merge key names, those that win first."""
        sources = [node]
        if isinstance(node.value, list) and type(event) is yaml.SequenceStartEvent:
            sources = [child for _, child in node.children.values()]
        if all(isinstance(source.value, dict) for source in sources):
            self._count(event, sum(source.size for source in sources))
            return sources
        self.usable = False
        message = "the merge key << takes a mapping or a list of mappings"
        self._report("merge", event, message, "name an anchored mapping: '<<: *anchor'")
        return []

    def _scalar_node(self, event: Event, scalar: scalars.Scalar) -> Node:
        node = Node(event, scalar.value, scalar.kind, event.value)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _scalar(self, event: Event, *, is_key: bool = False) -> scalars.Scalar:
        self._count(event, 1)
        self._check_spelling(event)
        text: str = event.value
        if event.tag not in (None, "!"):
            scalar = self._tagged(event)
        elif event.style:
            scalar = scalars.Scalar("str", text)
        else:
            scalar = scalars.resolve_plain(text)
        kind, value = scalar
        if kind == "str":
            return self._program_text(event, scalar) if "\n" in text else scalar
        if is_key:
            return scalar  # no key may be anything but a string
        if kind == "timestamp":
            message = f"{text} is read as a date, and the program receives {value!r}"
            self._report("timestamp", event, message, _QUOTE)
        elif isinstance(value, float) and not math.isfinite(value):
            message = f"{text} is read as a number that the Pulumi engine cannot pass on"
            self._report("infinite", event, message, f"{_QUOTE} if text is meant")
        return scalar

    def _check_spelling(self, event: Event) -> None:
        """Refuse what libyaml reads and go-yaml v3 does not, or not in the same way."""
        text: str = event.value
        if self._flow and not event.style and "?" in text:
            message = "a question mark within brackets needs quotes for the Pulumi engine"
            self._report("syntax", event, message, _QUOTE)
        elif self._flow and not event.style and not text and event.tag is not None:
            message = f"the tag {shorten(event.tag)} has no value to it"
            self._report("tag", event, message, "remove the tag or write a value behind it")
        elif event.style == '"' and "/" in text:
            given = self._text[event.start_mark.index : event.end_mark.index]
            if _ESCAPED_SLASH.search(given):
                message = r"the escape \/ is unknown to the Pulumi engine"
                self._report("syntax", event, message, "write a plain slash")

    def _program_text(self, event: Event, scalar: scalars.Scalar) -> scalars.Scalar:
        received = scalars.as_program_text(str(scalar.value))
        if received is not None:
            return scalars.Scalar("str", received)
        message = "a text of several lines begins with a tab, which the Pulumi engine fails over"
        self._report("scalar", event, message, "begin it with blanks or on the next line")
        return scalar

    def _tagged(self, event: Event) -> scalars.Scalar:
        """Resolve a scalar by its explicit tag."""
        text = str(event.value)
        _, _, name = str(event.tag).rpartition(scalars.TAG_PREFIX)
        resolved = None
        if event.tag != scalars.TAG_PREFIX + name or name not in scalars.TAGS:
            self._report_tag(event, "only !!str, !!int, !!float, !!bool and !!null are read")
        elif (resolved := scalars.resolve_tagged(name, text)) is None:
            message = f"{shorten(text)!r} cannot be read as !!{name}"
            self._report("scalar", event, message, "remove the tag or correct the value")
        return resolved or scalars.Scalar("str", text)

    def _report_tag(self, event: Event, why: str) -> None:
        tag = shorten(str(event.tag).replace(scalars.TAG_PREFIX, "!!", 1))
        self._report("tag", event, f"the tag {tag} is not supported: {why}", "remove the tag")


def _is_plain(event: Event) -> bool:
    """Whether a scalar has neither quotes nor a tag."""
    return not event.style and event.tag in (None, "!")
