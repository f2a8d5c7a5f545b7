"""Files of Terraform and OpenTofu as blocks and expressions, in HCL or in JSON.

HCL is taken apart by tree-sitter, which goes on behind what it cannot read. It is imported with the
first such file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.lint.hcl.values import Place
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

    from eks_gpushare.manifests.document import Document

HCL: Final = (".tf", ".tofu")
JSON: Final = (".tf.json", ".tofu.json")
_LABELS: Final = {"resource": 2, "data": 2, "variable": 1, "module": 1, "output": 1, "provider": 1}
"""How many labels blocks have that JSON writes as keys."""
_MOST_FAULTS: Final = 5


class HclText(NamedTuple):
    """A text that expressions stand in."""

    file: str
    content: bytes
    lines_before: int = 0
    """Lines that stand before it in what was parsed and not in the file."""
    is_template: bool = False
    """Whether it is one template, whose last line does not end."""
    fixed: Place | None = None
    """The one place of everything in it, where its lines are not those of a file."""

    def place(self, node: Node) -> Place:
        """Where a node begins."""
        if self.fixed is not None:
            return self.fixed
        row, column = node.start_point
        if column:
            begin = node.start_byte - column
            column = len(self.content[begin : node.start_byte].decode(errors="replace"))
        return Place(self.file, row + 1 - self.lines_before, column + 1)

    def text(self, node: Node) -> str:
        """What a node spans."""
        return self.content[node.start_byte : node.end_byte].decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Expression:
    """Something that has a value."""

    place: Place
    source: HclText | None = None
    node: Node | None = None
    given: Any = None
    """What stands there in JSON, where there is no node."""
    document: Document | None = None
    """The JSON that it stands in, with the path of it there."""
    path: tuple[str | int, ...] = ()


@dataclass(slots=True)
class Body:
    """What stands between braces."""

    attributes: dict[str, Expression] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)
    """Where the name of each attribute stands."""
    blocks: list[HclBlock] = field(default_factory=list)
    is_whole: bool = True
    """Whether all of it could be read."""


@dataclass(frozen=True, slots=True)
class HclBlock:
    """A block."""

    type: str
    labels: tuple[str, ...]
    body: Body
    place: Place


class Fault(NamedTuple):
    """A place that cannot be read."""

    place: Place
    what: str


class ParsedHcl(NamedTuple):
    """What a file says."""

    body: Body
    faults: tuple[Fault, ...] = ()


@cache
def _parser() -> Parser:
    import tree_sitter_hcl
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_hcl.language()))


def is_terraform(name: str) -> bool:
    """Whether a file is of Terraform or OpenTofu, by its name."""
    return name.lower().endswith((*HCL, *JSON))


def parse(file: str, text: str) -> ParsedHcl:
    """What a file says; never raises.

    Args:
        file: Its name, which decides whether it is JSON.
        text: Its text.
    """
    if file.lower().endswith(JSON):
        return _of_json(file, text)
    source = HclText(file, text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
    root = _parser().parse(source.content).root_node
    if not root.has_error:
        return ParsedHcl(_file_body(root, source))
    body = Body()
    faults: list[Fault] = []
    for part in _parts(source):
        root = _parser().parse(part.content).root_node
        _fill(body, root, part)
        faults += _faults(root, part) if root.has_error else []
    return ParsedHcl(body, tuple(faults[:_MOST_FAULTS]))


def _parts(source: HclText) -> Iterator[HclText]:
    """A text block by block, so that a mistake in one leaves the others as they are."""
    start = 0
    for found in re.finditer(rb"^\}[ \t]*\r?\n", source.content, re.MULTILINE):
        yield _part(source, start, found.end())
        start = found.end()
    yield _part(source, start, len(source.content))


def _part(source: HclText, start: int, end: int) -> HclText:
    return source._replace(
        content=source.content[start:end], lines_before=-source.content.count(b"\n", 0, start)
    )


def template(text: str, where: Place | str) -> tuple[HclText, Node] | None:
    """A text with `${}` and `%{}` as an expression; None if it cannot be read.

    Args:
        text: The text.
        where: The one place of all of it, or the file that its lines are those of.
    """
    end = "E_O_T"
    while end in text:
        end += "_"
    content = f"x = <<{end}\n{text}\n{end}\n".encode("utf-8", "surrogatepass")
    file, fixed = (where, None) if isinstance(where, str) else (where.file, where)
    source = HclText(file, content, 1, is_template=True, fixed=fixed)
    root = _parser().parse(content).root_node
    found = _file_body(root, source).attributes.get("x")
    if root.has_error or found is None or found.node is None:
        return None
    return source, found.node


def _file_body(root: Node, source: HclText) -> Body:
    body = Body()
    _fill(body, root, source)
    return body


def _fill(body: Body, node: Node, source: HclText) -> None:
    for child in node.children:
        if child.type == "attribute":
            name = child.children[0]
            expression = next((each for each in child.children if each.type == "expression"), None)
            if expression is not None:
                key = source.text(name)
                body.attributes[key] = Expression(source.place(expression), source, expression)
                body.keys[key] = source.place(name)
        elif child.type == "block":
            body.blocks.append(_block(child, source))
        elif child.type in {"body", "ERROR"}:
            _fill(body, child, source)


def _block(node: Node, source: HclText) -> HclBlock:
    kind, *rest = node.children
    body, labels = Body(is_whole=not node.has_error), []
    for child in rest:
        if child.type == "string_lit":
            labels.append(source.text(child).strip('"'))
        elif child.type == "identifier":
            labels.append(source.text(child))
        elif child.type == "body":
            _fill(body, child, source)
    return HclBlock(source.text(kind), tuple(labels), body, source.place(node))


def _faults(root: Node, source: HclText) -> Iterator[Fault]:
    waiting, count = [root], 0
    while waiting and count < _MOST_FAULTS:
        node = waiting.pop()
        if node.type == "ERROR" or node.is_missing:
            count += 1
            what = f"{node.type} is missing" if node.is_missing else _unexpected(node, source)
            yield Fault(source.place(node), what)
        elif node.has_error:
            waiting += reversed(node.children)


def _unexpected(node: Node, source: HclText) -> str:
    first = source.text(node).strip().partition("\n")[0][:40]
    return f"`{first}` is not expected there" if first else "this is not HCL"


def _of_json(file: str, text: str) -> ParsedHcl:
    texts = read_texts(text, file)
    faults = [Fault(Place(file, each.line, each.column), each.message) for each in texts.problems]
    body = Body()
    try:
        value = json.loads(text)  # as `read_texts` takes its expressions for placeholders
    except ValueError:
        return ParsedHcl(body, tuple(faults) or (Fault(Place(file, 1, 1), "it is no JSON"),))
    for document in texts.documents:
        if isinstance(value, dict):
            for kind, given in value.items():
                body.blocks.extend(_json_blocks(document, kind, (kind,), given))
    return ParsedHcl(body, tuple(faults))


def _json_blocks(
    document: Document, kind: str, path: tuple[str | int, ...], given: Any
) -> Iterator[HclBlock]:
    for labels, place, inner in _labelled(given, _LABELS.get(kind, 0), path):
        yield HclBlock(
            kind, labels, _json_body(document, place, inner), json_place(document, place)
        )


def _labelled(
    given: Any, depth: int, path: tuple[str | int, ...], labels: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[str | int, ...], dict[str, Any]]]:
    if isinstance(given, list):
        for index, each in enumerate(given):
            yield from _labelled(each, depth, (*path, index), labels)
    elif isinstance(given, dict) and depth == 0:
        yield labels, path, given
    elif isinstance(given, dict):
        for key, each in given.items():
            yield from _labelled(each, depth - 1, (*path, key), (*labels, key))


def _json_body(document: Document, path: tuple[str | int, ...], given: dict[str, Any]) -> Body:
    body = Body()
    for key, each in given.items():
        if key == "dynamic":
            continue
        where = (*path, key)
        place = json_place(document, where)
        body.attributes[key] = Expression(place, None, None, each, document, where)
        body.keys[key] = place
    return body


def json_place(document: Document, path: tuple[str | int, ...]) -> Place:
    """Where something stands in JSON."""
    found = document.position(path)
    return Place(document.file, found.line, found.column)


def parse_variables(file: str, text: str) -> ParsedHcl:
    """What a file of variables gives, `.tfvars` or `.tfvars.json`; never raises.

    Args:
        file: Its name, which decides whether it is JSON.
        text: Its text.
    """
    if not file.lower().endswith(".json"):
        return parse(file, text)
    texts = read_texts(text, file)
    faults = tuple(
        Fault(Place(file, each.line, each.column), each.message) for each in texts.problems
    )
    try:
        value = json.loads(text)
    except ValueError:
        return ParsedHcl(Body(), faults or (Fault(Place(file, 1, 1), "it is no JSON"),))
    if not isinstance(value, dict) or not texts.documents:
        return ParsedHcl(Body(), faults)
    return ParsedHcl(_json_body(texts.documents[0], (), value), faults)
