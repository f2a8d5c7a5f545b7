"""From YAML events to values that know where each of them begins and ends.

Unlike the reader of stack files, this one reads what others wrote for Kubernetes and Helm: several
documents, aliases, merges, tags and keys of any kind, with scalars as those tools read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package

from eks_gpushare.lint.scalars import function_of, plain_scalar, tagged_scalar, templated
from eks_gpushare.stack_file.yaml_events import EventReader
from eks_gpushare.stack_file.yaml_problems import shorten

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.stack_file.yaml_events import Event

MAX_DEPTH: Final = 100
"""Most levels of nesting that are followed."""
MAX_ITEMS: Final = 120_000
"""Most keys and values of a text, each alias counted with everything it stands for."""
MAX_PROBLEMS: Final = 20
"""With so many problems, reading stops."""


class Span(NamedTuple):
    """Where something stands in a text: characters from 0, line and column from 0."""

    start: int
    end: int
    line: int
    column: int


class Entry(NamedTuple):
    """A value below another, with the place of its key or of the item itself."""

    key: Span
    node: Node
    merged: bool = False
    """Whether it came by a merge key, so that it does not stand here."""


class Node:
    """A value with its place; an alias or a merge makes several parents share one."""

    __slots__ = ("children", "flow", "open", "size", "span", "style", "tag", "value")

    def __init__(self, event: Event, value: Any) -> None:
        self.span = _span(event)
        self.value = value
        self.style: str | None = getattr(event, "style", None) or None
        """Of a scalar: None plain, otherwise its quote, `|` or `>`."""
        self.flow: bool = bool(getattr(event, "flow_style", None))
        self.tag: str | None = getattr(event, "tag", None)
        self.open = False
        self.size = 1
        self.children: dict[str | int, Entry] = _NO_CHILDREN

    def wrapped(self, key: str, entry: Entry) -> Node:
        """A mapping at the same place that has it as its one value."""
        outer = Node.__new__(Node)
        outer.span, outer.value, outer.style = self.span, {key: self.value}, None
        outer.flow, outer.tag, outer.open = self.flow, None, False
        outer.size, outer.children = self.size + 1, {key: entry}
        return outer


_NO_CHILDREN: Final[dict[str | int, Entry]] = {}
"""Shared by all scalars and never written to."""


class Composer(EventReader):
    """Builds the node tree of one document; use each instance once.

    Args:
        text: Text of the document.
        line: Lines of the file before it, for messages.
        most: Most keys and values that are read.
    """

    def __init__(self, text: str, line: int = 0, most: int = MAX_ITEMS) -> None:
        super().__init__(text, most_items=most, most_problems=MAX_PROBLEMS)
        self._line = line
        self._depth = 0
        self._anchors: dict[str, Node] = {}

    def document(self) -> Node | None:
        """Read the text's one document; None if it holds none.

        Raises:
            StopReadingError: If it is no YAML, or too large.
        """
        self._event()
        start = self._event()
        if type(start) is yaml.StreamEndEvent:
            return None
        root = self._node(self._event())
        self._event()
        following = self._event()
        if type(following) is not yaml.StreamEndEvent:  # behind `...`, which nobody writes
            self._stop("documents", following, "a second document starts here without ---")
        return root

    def _node(self, event: Event) -> Node:
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self._alias(event)
        self._count(event, 1)
        if kind is yaml.ScalarEvent:
            node = Node(event, _scalar(event))
            if event.anchor:
                self._anchors[event.anchor] = node
            return _of_function(node)
        node = Node(event, {} if kind is yaml.MappingStartEvent else [])
        if event.anchor:
            self._anchors[event.anchor] = node
        node.open, node.children = True, {}
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._path.clear()
            self._stop("depth", event, f"more than {MAX_DEPTH} levels of nesting")
        last = self._mapping(node) if kind is yaml.MappingStartEvent else self._sequence(node)
        node.span = node.span._replace(end=last)
        self._depth -= 1
        node.open = False
        return _of_function(node)

    def _alias(self, event: Event) -> Node:
        target = self._anchors.get(event.anchor)
        if target is None or target.open:
            fault = "is not defined above" if target is None else "stands for a value it is part of"
            self._stop("alias", event, f"the alias *{shorten(event.anchor)} {fault}")
        self._count(event, 1 + target.size)
        return target

    def _sequence(self, node: Node) -> int:
        values: list[Any] = node.value
        while type(event := self._event()) is not yaml.SequenceEndEvent:
            index = len(values)
            self._path.append(index)
            child = self._node(event)
            self._path.pop()
            values.append(child.value)
            node.children[index] = Entry(_span(event), child)
            node.size += child.size
        return _span(event).end

    def _mapping(self, node: Node) -> int:
        values: dict[str, Any] = node.value
        merged: list[Node] = []
        while type(event := self._event()) is not yaml.MappingEndEvent:
            key = self._key(event)
            merges = key == "<<" and type(event) is yaml.ScalarEvent and not event.style
            self._path.append(key)
            value_event = self._event()
            child = self._node(value_event)
            if merges:
                merged += self._merge_sources(value_event, child)
            else:
                if key in values:
                    before = self._line + node.children[key].key.line + 1
                    message = f"the key {shorten(key)!r} is already set on line {before}"
                    self._report("duplicate", event, message, "keep one of the two")
                values[key] = child.value
                node.children[key] = Entry(_span(event), child)
            node.size += 1 + child.size
            self._path.pop()
        for source in merged:
            for step, entry in source.children.items():
                if step not in values:
                    values[str(step)] = entry.node.value
                    node.children[step] = entry._replace(merged=True)
        return _span(event).end

    def _key(self, event: Event) -> str:
        """Give the key's text, as JSON has it."""
        node = self._node(event)
        if isinstance(node.value, dict | list):
            what = "a mapping" if isinstance(node.value, dict) else "a list"
            fix = "quote text that starts with { or ["
            self._stop("key", event, f"a key must be a string, and this one is {what}", fix)
        if isinstance(node.value, str):
            return node.value
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        return str(getattr(event, "value", node.value))

    def _merge_sources(self, event: Event, node: Node) -> list[Node]:
        """Give the mappings that a merge key names, those that win first."""
        sources = [node]
        if isinstance(node.value, list):
            sources = [entry.node for entry in node.children.values()]
        if not all(isinstance(source.value, dict) for source in sources):
            message = "the merge key << takes a mapping or a list of mappings"
            self._stop("merge", event, message, "name an anchored mapping: '<<: *anchor'")
        self._count(event, sum(source.size for source in sources))
        return sources


def _of_function(node: Node) -> Node:
    """A value with the short form of one of CloudFormation's functions as its long form has it."""
    function = function_of(node.tag)
    return node if function is None else node.wrapped(function, Entry(node.span, node))


def find(root: Node, path: FieldPath) -> tuple[Entry | None, int]:
    """The entry at a path or that of its nearest ancestor, and how many steps led to it."""
    found: Entry | None = None
    node = root
    for depth, step in enumerate(path):
        entry = node.children.get(step)
        if entry is None:
            return found, depth
        found, node = entry, entry.node
    return found, len(path)


def _scalar(event: Event) -> Any:
    text: str = event.value
    if templated(text) and function_of(event.tag) is None:
        from eks_gpushare.inventory.source import UNKNOWN

        return UNKNOWN
    if event.tag not in (None, "!"):
        return tagged_scalar(event.tag, text)
    return text if event.style else plain_scalar(text)


def _span(event: Event) -> Span:
    start, end = event.start_mark, event.end_mark
    return Span(start.index, end.index, start.line, start.column)
