"""YAML as the Pulumi engine reads it: what go-yaml v3 makes of scalars, and all that is refused."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, TypeAlias

import yaml  # type: ignore[import-untyped,unused-ignore]  # its stubs are a separate package

from eks_gpushare.stack_file import scalars
from eks_gpushare.stack_file.composer import Composer, Node
from eks_gpushare.stack_file.yaml_problems import shorten

if TYPE_CHECKING:
    from eks_gpushare.stack_file.yaml_events import Event

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
_MAX_ITEMS: Final = 100_000
"""Most keys and values together, each alias counted with everything it stands for."""
_MAX_PROBLEMS: Final = 100
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


class EngineComposer(Composer):
    """Builds the node tree of one stack file, and goes on behind most mistakes."""

    def __init__(self, text: str) -> None:
        super().__init__(text, most_items=_MAX_ITEMS, most_problems=_MAX_PROBLEMS, lenient=False)
        self.usable = True
        """False once a problem leaves no value that the text could be said to have."""
        self._aliased = 0

    def _begin(self, start: Event) -> None:
        if start.version not in (None, (1, 1)):
            message = "the Pulumi engine reads no YAML that calls itself anything but 1.1"
            self._report("directive", start, message, "remove the %YAML line")

    def _second_document(self, event: Event) -> None:
        message = "a second document starts here; the Pulumi engine reads only the first"
        self._report("documents", event, message, "keep one document per file")

    def _fault(self, kind: str, event: Event, message: str, fix: str = "") -> None:
        self.usable = False
        self._report(kind, event, message, fix)

    def _look_at(self, event: Event) -> None:
        name = "map" if type(event) is yaml.MappingStartEvent else "seq"
        if event.tag not in (None, "!", scalars.TAG_PREFIX + name):
            self._report_tag(event, "the Pulumi engine ignores it")

    def _look_at_key(self, event: Event, key: str, *, merges: bool) -> None:
        if key == "<<" and not merges:
            message = "the Pulumi engine merges the value of a key << even if it is in quotes"
            self._report("merge", event, message, "rename the key")

    def _alias(self, event: Event) -> Node:
        before = self.items
        target = super()._alias(event)
        self._aliased += target.size if self.items > before else 0
        # The rule by which go-yaml v3 gives up on a document of this size.
        if self._aliased > 100 and self.items > 1000 and self._aliased > 0.99 * self.items:  # noqa: PLR2004
            message = "aliases make up more than 99% of the document"
            self._stop("alias", event, message, "write the values out")
        return target

    def _key(self, event: Event) -> str:
        if type(event) is yaml.ScalarEvent:
            self._count(event, 1)
            node = self._anchored(event, self._read(event, is_key=True))
            if node.kind == "str":
                return str(node.value)
            text: str = event.value
            message = f"the key {shorten(text) or 'is empty,'} is read as {_KINDS[node.kind]}"
            self._report("key", event, f"{message}, not as a string", _QUOTE)
            return text
        node = self._node(event)
        if type(event) is not yaml.AliasEvent:
            return self._no_text(event, node)
        if isinstance(node.value, str) and node.kind == "str":
            return node.value
        message = f"the key *{shorten(str(event.anchor))} is not a string"
        self._report("key", event, message, _QUOTE)
        return f"*{event.anchor}"

    def _scalar(self, event: Event) -> Node:
        return self._read(event)

    def _read(self, event: Event, *, is_key: bool = False) -> Node:
        kind, value = self._resolved(event, is_key=is_key)
        return Node(event, value, kind)

    def _resolved(self, event: Event, *, is_key: bool) -> scalars.Scalar:
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
