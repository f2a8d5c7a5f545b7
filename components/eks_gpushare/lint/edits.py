"""Edits as changes of a text: everything that is not edited stays to the letter.

Only what is certain is changed. An edit at a place that stands for several (an alias, a merged key)
or whose spelling leaves doubt (a tag, an anchor) gives no change.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.manifests.json_text import json_problem
from eks_gpushare.manifests.scalars import plain_scalar
from eks_gpushare.stack_file.composer import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Edit
    from eks_gpushare.manifests.yaml_text import YamlText
    from eks_gpushare.stack_file.composer import Entry, Node

_SAFE: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./-]*")
_LINE_END: Final = re.compile(r"\r?(?:\n|\Z)")
_FIRST: Final = frozenset(("apiVersion", "kind", "version", "name"))
"""Keys that people write before all others."""


class Style(NamedTuple):
    """How values are written on one line."""

    scalar: Callable[[Any], str]
    flow: Callable[[Any], str]


class Change(NamedTuple):
    """Characters of a text that become others."""

    start: int
    end: int
    new: str


class Planned(NamedTuple):
    """An edit with the change of the file that it is."""

    change: Change
    text: YamlText
    """The document's text."""
    edit: Edit
    """With the value that is written."""


def planned(text: YamlText, edits: Iterable[Edit]) -> list[Planned]:
    """The changes of a file that edits of one of its documents are.

    Args:
        text: The document's text.
        edits: What to change, with paths from the top of the document.
    """
    found = []
    is_json = text.text.lstrip().startswith(("{", "[")) and json_problem(text.text) is None
    for edit in edits:
        chain = _chain(text.root, edit.path) if text.root is not None and edit.path else None
        if chain is None:
            continue
        meant = _as_meant(text.text, chain, edit)
        change = _change(text, chain, meant, _JSON if is_json else _YAML)
        if change is not None:
            found.append(Planned(_in_file(text, change), text, meant))
    return found


def applied(text: str, wanted: Iterable[Planned]) -> tuple[str, list[Planned]]:
    """A text with changes made, and which were; of two that overlap the first is made."""
    parts: list[str] = []
    made: list[Planned] = []
    last = 0
    for planned_edit in sorted(wanted, key=lambda one: one.change):
        change = planned_edit.change
        if change.start < last or (made and made[-1].change == change):
            continue
        if text[change.start : change.end] == change.new:
            continue
        new = change.new.replace("\n", _line_end_at(text, change.start))
        parts += (text[last : change.start], new)
        last = change.end
        made.append(planned_edit)
    return "".join((*parts, text[last:])), made


def _line_end_at(text: str, index: int) -> str:
    """How the line ends in which something stands, or the one before it."""
    end = text.find("\n", index)
    end = text.rfind("\n", 0, index) if end < 0 else end
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _in_file(text: YamlText, change: Change) -> Change:
    """The same change of the file: of a literal block, each line has blanks before it."""
    if text.block is None:
        return Change(change.start + text.start, change.end + text.start, change.new)
    block = text.block
    new = change.new.replace("\n", "\n" + " " * block.indent)
    start, end = (_offset(text, position) for position in (change.start, change.end))
    return _in_file(block.outer, Change(start, end, new))


def _offset(text: YamlText, index: int) -> int:
    """The place in the outer document of a character of a literal block."""
    block = text.block
    if block is None:
        return index
    before = text.text[:index]
    line = text.line + before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    start = block.start
    for _ in range(line):
        start = block.outer.text.find("\n", start) + 1
    return start + block.indent + column


def _change(text: YamlText, chain: list[Entry], edit: Edit, style: Style) -> Change | None:
    match edit.kind:
        case "rename":
            return _renamed(text.text, chain, edit, style)
        case "set":
            return _set(text, chain, edit.path, edit.value, style)
        case "append":
            return _appended(text, chain, edit.path, edit.value, style)
        case "remove":
            return _removed(text, chain, edit.path)


def _as_meant(text: str, chain: list[Entry], edit: Edit) -> Edit:
    """The edit with what stands there, where that was meant as text: of `yes` not `true`."""
    if edit.kind != "set" or len(chain) < len(edit.path) or not isinstance(edit.value, str):
        return edit
    node = chain[-1].node
    written = text[node.span.start : node.span.end]
    if node.style is None and written and edit.value == _as_text(node.value):
        return replace(edit, value=written)
    return edit


def _chain(root: Node, path: FieldPath) -> list[Entry] | None:
    """The entries down to a path, as far as they are; None if one stands for several places."""
    chain: list[Entry] = []
    for length, _ in enumerate(path, 1):
        entry, depth = find(root, path[:length])
        if entry is None or depth < length:
            break
        if entry.merged or entry.node.span.start < entry.key.start:
            return None
        chain.append(entry)
    return chain


def _renamed(text: str, chain: list[Entry], edit: Edit, style: Style) -> Change | None:
    if len(chain) < len(edit.path):
        return None
    key = chain[-1].key
    written = text[key.start : key.end]
    if written[:1] in "&!*?":
        return None
    quoted = written.startswith(('"', "'"))
    new = _quoted(edit.value, written[0]) if quoted else style.scalar(edit.value)
    return Change(key.start, key.end, new)


def _set(
    text: YamlText, chain: list[Entry], path: FieldPath, value: Any, style: Style
) -> Change | None:
    if len(chain) == len(path):
        return _replaced(text.text, chain[-1].node, value, style)
    above = chain[-1].node if chain else text.root
    missing = path[len(chain) :]
    for step in reversed(missing[1:]):
        if not isinstance(step, str):
            return None
        value = {step: value}
    if above is None or not isinstance(missing[0], str):
        return None
    if isinstance(above.value, dict):
        return _added(text.text, above, missing[0], value, style)
    return None


def _replaced(text: str, node: Node, value: Any, style: Style) -> Change | None:
    start, end = node.span.start, node.span.end
    written = text[start:end]
    if node.children or isinstance(value, dict | list) or written[:1] in ("&", "!", "|", ">"):
        return None
    if isinstance(node.value, dict | list):
        return None
    new = style.scalar(value)
    if isinstance(value, str) and node.style is not None:
        new = _quoted(value, node.style)
    return Change(start, end, new if start < end else f" {new}")


def _added(text: str, node: Node, key: str, value: Any, style: Style) -> Change | None:
    """A key that a mapping does not have yet."""
    own = [entry for entry in node.children.values() if not entry.merged]
    if node.flow:
        return _added_in_flow(text, node, own, f"{style.scalar(key)}: {style.flow(value)}")
    if not own:
        return None
    first = min(own, key=lambda entry: entry.key.start)
    lines = _block({key: value}, first.key.column)
    indent = " " * first.key.column
    if key in _FIRST:
        return Change(first.key.start, first.key.start, f"{lines}\n{indent}")
    end = _line_end(text, _content_end(text, own))
    return Change(end, end, f"\n{indent}{lines}")


def _added_in_flow(text: str, node: Node, own: list[Entry], new: str) -> Change | None:
    if own:
        end = max(_end(text, entry.node) for entry in own)
        last = max(own, key=lambda entry: entry.key.start)
        line = text.rfind("\n", node.span.start, last.key.start) + 1
        blanks = text[line : last.key.start]
        # What has its own line gets one beside it.
        joined = f",\n{blanks}" if line and blanks.isspace() else ", "
        return Change(end, end, f"{joined}{new}")
    start = node.span.start
    if text[start : start + 1] not in ("{", "["):
        return None
    return Change(start + 1, start + 1, new)


def _appended(
    text: YamlText, chain: list[Entry], path: FieldPath, value: Any, style: Style
) -> Change | None:
    if len(chain) < len(path):
        return _set(text, chain, path, [value], style)
    node = chain[-1].node
    if not isinstance(node.value, list) or text.text[node.span.start : node.span.start + 1] in "&!":
        return None
    own = list(node.children.values())
    if node.flow or not own:
        return _added_in_flow(text.text, node, own, style.flow(value)) if node.flow else None
    dash = text.text.rfind("-", None, own[0].key.start)
    if text.text[dash : own[0].key.start].strip() != "-":
        return None
    column = dash - (text.text.rfind("\n", None, dash) + 1)
    end = _line_end(text.text, _content_end(text.text, own))
    return Change(end, end, f"\n{' ' * column}- {_block(value, column + 2)}")


def _removed(document: YamlText, chain: list[Entry], path: FieldPath) -> Change | None:
    """The lines of a key, where they are its own."""
    text = document.text
    if len(chain) < len(path):
        return None
    entry = chain[-1]
    above = chain[-2].node if len(chain) > 1 else document.root
    line = text.rfind("\n", None, entry.key.start) + 1
    own_lines = not text[line : entry.key.start].strip()
    if above is None or above.flow or not own_lines or len(above.children) == 1:
        return None
    if not isinstance(path[-1], str):
        return None
    end = _line_end(text, _end(text, entry.node))
    if "#" in text[line:end]:
        return None  # perhaps a comment, which says why it is there
    behind = _LINE_END.match(text, end)
    return Change(line, behind.end() if behind else end, "")


def _content_end(text: str, entries: Iterable[Entry]) -> int:
    """Where the last of some entries ends, without the blank lines and comments behind it."""
    last = max(entries, key=lambda entry: entry.key.start)
    if last.node.span.start < last.key.start:  # an alias
        return last.key.end
    return max(_end(text, last.node), last.key.start)


def _end(text: str, node: Node) -> int:
    if node.children and not node.flow:
        return _content_end(text, node.children.values())
    end = node.span.end
    if node.style in ("|", ">"):
        return len(text[:end].rstrip())
    return end


def _line_end(text: str, index: int) -> int:
    end = _LINE_END.search(text, index)
    return end.start() if end else len(text)


def _scalar(value: Any) -> str:
    """A value on one line, in quotes where it would be read as another."""
    if isinstance(value, str):
        plain = _SAFE.fullmatch(value) and plain_scalar(value) == value
        return value if plain and isinstance(plain_scalar(value), str) else json.dumps(value)
    return json.dumps(value)


def _as_text(value: Any) -> str | None:
    """What a value is called that is not text and was to be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _quoted(value: str, quote: str) -> str:
    """A text in the quotes that were there."""
    plain = quote == "'" and value.isprintable()
    return "'" + value.replace("'", "''") + "'" if plain else json.dumps(value)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _block(value: Any, indent: int) -> str:
    """A value in lines, of which all but the first are indented."""
    return f"\n{' ' * indent}".join(_lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                yield f"{_scalar(key)}:"
                yield from (f"  {line}" for line in _lines(item))
            else:
                yield f"{_scalar(key)}: {_flow(item)}"
    elif isinstance(value, list) and value:
        for inner in value:
            first, *rest = _lines(inner)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield _flow(value)


_YAML: Final = Style(_scalar, _flow)
_JSON: Final = Style(json.dumps, json.dumps)
