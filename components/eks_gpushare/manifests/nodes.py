"""YAML that others wrote for Kubernetes and Helm, with scalars as those tools read them.

Unlike that of stack files it may have aliases, merges, tags and keys of any kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown
from eks_gpushare.manifests.placeholders import (
    GAP,
    is_comment_for_value,
    is_key_alone,
    is_key_to_come,
    is_placeholder,
)
from eks_gpushare.manifests.scalars import function_of, key_of_plain, plain_scalar, tagged_scalar
from eks_gpushare.stack_file.composer import Composer, Node

if TYPE_CHECKING:
    from eks_gpushare.stack_file.yaml_events import Event

MAX_ITEMS: Final = 120_000
"""Most keys and values of a text, each alias counted with everything it stands for."""
_MAX_PROBLEMS: Final = 20
"""With so many problems, reading stops."""


class KubernetesComposer(Composer):
    """Builds the node tree of one document; use each instance once.

    Args:
        text: Text of the document.
        line: Lines of the file before it, for messages.
        most: Most keys and values that are read.
    """

    def __init__(self, text: str, line: int = 0, most: int = MAX_ITEMS) -> None:
        super().__init__(
            text, most_items=most, most_problems=_MAX_PROBLEMS, line=line, lenient=True
        )
        self.stopped = False
        """Whether it could not be read to its end."""

    def _second_document(self, event: Event) -> None:  # behind `...`, which nobody writes
        self._stop("documents", event, "a second document starts here without ---")

    def _fault(self, kind: str, event: Event, message: str, fix: str = "") -> None:
        self._stop(kind, event, message, fix)

    def _made(self, node: Node) -> Node:
        """The short form of one of CloudFormation's functions is as its long form."""
        value = node.value
        if node.flow and isinstance(value, dict) and list(value.values()) == [None]:
            span = node.span
            if is_key_alone(self._text[span.start : span.end]):
                node.value, node.children = UNKNOWN, {}
        elif isinstance(value, dict) and any(map(is_key_to_come, value)):
            for key in filter(is_key_to_come, list(value)):
                del value[key], node.children[key]
            node.value = PartlyKnown(value)
        function = function_of(node.tag)
        return node if function is None else node.wrapped(function)

    def _key(self, event: Event) -> str:
        """The key's text, as JSON has it."""
        text: str = getattr(event, "value", "")
        if text and event.tag is None and event.anchor is None and GAP not in text:
            self._count(event, 1)  # of nearly all keys nothing else is to be told
            return text if event.style else key_of_plain(text)
        return self._rare_key(event)

    def _rare_key(self, event: Event) -> str:
        node = self._node(event)
        if isinstance(node.value, dict | list):
            return self._no_text(event, node)
        if isinstance(node.value, str):
            return node.value
        if GAP in self._text[node.span.start : node.span.end]:  # two of them are no key twice
            return f"{GAP}{node.span.start}"
        if node.value is UNKNOWN and not node.raw:
            return self._text[node.span.start : node.span.end]
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        return str(getattr(event, "value", node.value))

    def _scalar(self, event: Event) -> Node:
        text: str = event.value
        if is_placeholder(text) and function_of(event.tag) is None:
            return Node(event, UNKNOWN)
        if not text and not event.style and self._is_told(event):
            return Node(event, UNKNOWN)
        if event.tag not in (None, "!"):
            return Node(event, tagged_scalar(event.tag, text))
        return Node(event, text if event.style else plain_scalar(text))

    def _is_told(self, event: Event) -> bool:
        """Whether a comment tells what goes where there is no value."""
        begin = event.start_mark.index
        line = self._text[self._text.rfind("\n", 0, begin) + 1 : begin]
        return is_comment_for_value(self._text, begin, len(line) - len(line.lstrip(" -")))
