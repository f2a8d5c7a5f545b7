"""From YAML events to values that know where each of them begins and ends.

The half of a YAML reader that deals with structure: nesting, keys, anchors, merges and limits. It
builds on libyaml's event stream. ``yaml.compose`` does so too, but it descends without a limit,
which a file of opening brackets turns into a crash, it forgets the line of an alias, and it ends at
the first mistake. What scalars mean, and what else is wrong, is for those who build on it: the
reader of stack files (`engine_yaml`) and that of files for Kubernetes and Helm (`lint.nodes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package

from eks_gpushare.stack_file.yaml_events import EventReader
from eks_gpushare.stack_file.yaml_problems import shorten

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.stack_file.scalars import Kind
    from eks_gpushare.stack_file.yaml_events import Event

MAX_DEPTH: Final = 100
"""Most levels of nesting that are followed."""
_MERGE_TAGS: Final = (None, "!", "tag:yaml.org,2002:merge")


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

    __slots__ = ("children", "flow", "kind", "open", "raw", "size", "span", "style", "tag", "value")

    def __init__(self, event: Event, value: Any, kind: Kind = "str") -> None:
        self.span = span_of(event)
        self.value = value
        self.kind = kind
        """Of a scalar: what it is read as."""
        self.raw: str | None = getattr(event, "value", None)
        """Of a scalar: its text."""
        self.style: str | None = getattr(event, "style", None) or None
        """Of a scalar: None plain, otherwise its quote, `|` or `>`."""
        self.flow: bool = bool(getattr(event, "flow_style", None))
        self.tag: str | None = getattr(event, "tag", None)
        self.open = False
        self.size = 1
        self.children: dict[str | int, Entry] = _NO_CHILDREN

    def wrapped(self, key: str) -> Node:
        """A mapping at the same place that has it as its one value."""
        outer = Node.__new__(Node)
        outer.span, outer.value, outer.style = self.span, {key: self.value}, None
        outer.kind, outer.raw, outer.flow, outer.tag, outer.open = "str", None, False, None, False
        outer.size, outer.children = self.size + 1, {key: Entry(self.span, self)}
        return outer


_NO_CHILDREN: Final[dict[str | int, Entry]] = {}
"""Shared by all scalars and never written to."""


class Composer(EventReader, ABC):
    """Builds the node tree of one document; use each instance once.

    Args:
        text: Text of the document.
        most_items: Most keys and values that are read.
        most_problems: With so many problems, reading stops.
        line: Lines of the file before it, for messages.
        lenient: Whether of a key that stands twice the last counts, and merge keys may be several.
    """

    def __init__(
        self, text: str, *, most_items: int, most_problems: int, line: int = 0, lenient: bool
    ) -> None:
        super().__init__(text, most_items=most_items, most_problems=most_problems)
        self._line = line
        self._lenient = lenient
        self._depth = 0
        self._flow = 0
        self._anchors: dict[str, Node] = {}

    def document(self) -> Node | None:
        """Read the text's one document; None if it holds none.

        Raises:
            StopReadingError: If it cannot be read on.
        """
        self._event()
        start = self._event()
        if type(start) is yaml.StreamEndEvent:
            return None
        self._begin(start)
        root = self._node(self._event())
        self._event()
        following = self._event()
        if type(following) is not yaml.StreamEndEvent:
            self._second_document(following)
        return root

    @abstractmethod
    def _second_document(self, event: Event) -> None:
        """Say that there is another document."""

    @abstractmethod
    def _scalar(self, event: Event) -> Node:
        """The node of a scalar's value."""

    @abstractmethod
    def _key(self, event: Event) -> str:
        """The text of a key, which may be a node of any kind."""

    @abstractmethod
    def _fault(self, kind: str, event: Event, message: str, fix: str = "") -> None:
        """Say what leaves no value that the text could be said to have."""

    def _begin(self, start: Event) -> None:
        """Look at how the document begins."""

    def _look_at(self, event: Event) -> None:
        """Look at how a list or mapping begins."""

    def _look_at_key(self, event: Event, key: str, *, merges: bool) -> None:
        """Look at a key, whose path is the one that is read."""

    def _made(self, node: Node) -> Node:
        """What stands for a node in its parent; of a scalar without a tag that is itself."""
        return node

    def _node(self, event: Event) -> Node:
        kind = type(event)
        if kind is yaml.AliasEvent:
            return self._alias(event)
        self._count(event, 1)
        if kind is yaml.ScalarEvent:
            node = self._anchored(event, self._scalar(event))
            return node if event.tag is None else self._made(node)
        is_mapping = kind is yaml.MappingStartEvent
        node = self._anchored(event, Node(event, {} if is_mapping else []))
        node.open, node.children = True, {}
        # Not the length of the path: a key may be a list, whose items have no path.
        self._depth += 1
        self._flow += node.flow
        if self._depth > MAX_DEPTH:
            self._path.clear()
            self._stop("depth", event, f"more than {MAX_DEPTH} levels of nesting")
        self._look_at(event)
        end = self._mapping(node) if is_mapping else self._sequence(node)
        node.span = node.span._replace(end=end)
        self._depth -= 1
        self._flow -= node.flow
        node.open = False
        return self._made(node)

    def _anchored(self, event: Event, node: Node) -> Node:
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: Event) -> Node:
        target = self._anchors.get(event.anchor)
        if target is None or target.open:
            fault = "is not defined above" if target is None else "stands for a value it is part of"
            self._fault("alias", event, f"the alias *{shorten(event.anchor)} {fault}")
            return Node(event, None)
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
            node.children[index] = Entry(span_of(event), child)
            node.size += child.size
        return span_of(event).end

    def _mapping(self, node: Node) -> int:
        values: dict[str, Any] = node.value
        seen: dict[str, int] = {}
        merged: list[Node] = []
        while type(event := self._event()) is not yaml.MappingEndEvent:
            place = span_of(event)
            key = self._key(event)
            merges = key == "<<" and type(event) is yaml.ScalarEvent and is_plain(event)
            self._path.append(key)
            self._look_at_key(event, key, merges=merges)
            if key in seen and not (merges and self._lenient):
                message = f"the key {shorten(key)!r} is already set on line {seen[key]}"
                self._report("duplicate", event, message, "keep one of the two")
            value_event = self._event()
            child = self._node(value_event)
            if merges:
                merged += self._merge_sources(value_event, child)
            elif self._lenient or key not in seen:
                values[key] = child.value
                node.children[key] = Entry(place, child)
            seen.setdefault(key, self._line + place.line + 1)
            node.size += 1 + child.size
            self._path.pop()
        for source in merged:
            for step, entry in source.children.items():
                if step not in values:
                    values[str(step)] = entry.node.value
                    node.children[step] = entry._replace(merged=True)
        return span_of(event).end

    def _merge_sources(self, event: Event, node: Node) -> list[Node]:
        """Give the mappings that a merge key names, those that win first."""
        sources = [node]
        if isinstance(node.value, list) and type(event) is yaml.SequenceStartEvent:
            sources = [entry.node for entry in node.children.values()]
        if all(isinstance(source.value, dict) for source in sources):
            self._count(event, sum(source.size for source in sources))
            return sources
        message = "the merge key << takes a mapping or a list of mappings"
        self._fault("merge", event, message, "name an anchored mapping: '<<: *anchor'")
        return []

    def _no_text(self, event: Event, node: Node) -> str:
        """Say that a key is a mapping or a list; what it is then."""
        shape = "a mapping" if isinstance(node.value, dict) else "a list"
        message = f"a key must be a string, and this one is {shape}"
        self._fault("key", event, message, "quote text that starts with { or [")
        return f"({shape} on line {node.span.line + 1})"


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


def is_plain(event: Event) -> bool:
    """Whether a scalar has neither quotes nor a tag that would keep it from merging."""
    return not event.style and event.tag in _MERGE_TAGS


def span_of(event: Event) -> Span:
    """Where an event stands."""
    start, end = event.start_mark, event.end_mark
    return Span(start.index, end.index, start.line, start.column)
