"""Texts of YAML or JSON, with as many documents as they hold.

What is wrong with one document keeps none of the others from being read, since tools too send them
one by one.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.control_lines import (
    has_marked_parts,
    has_tags_in_comments,
    without_control_lines,
)
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.json_text import is_json_file, json_problem, without_comments
from eks_gpushare.manifests.nodes import MAX_ITEMS, KubernetesComposer
from eks_gpushare.manifests.placeholders import has_more, with_gaps
from eks_gpushare.manifests.yaml_text import BlockScalar, YamlText
from eks_gpushare.stack_file.composer import find
from eks_gpushare.stack_file.yaml_problems import LINE_BREAK, StopReadingError, YamlProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare.findings.finding import FieldPath, Position
    from eks_gpushare.stack_file.composer import Node

MAX_DOCUMENTS: Final = 5_000
"""Most documents of a text."""

_SEPARATOR: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_OBJECT: Final = re.compile(r"(?<=^\}\n)(?: {4}\n)*(?=\{)", re.MULTILINE)
"""Between two objects of JSON, which kubectl takes one after another where a file begins with one.

Source: `NewYAMLOrJSONDecoder` of pkg/util/yaml/decoder.go in kubernetes/apimachinery.
"""
_NULL: Final = re.compile(r"^null$", re.MULTILINE)
"""What kubectl passes over between them: `StreamVisitor` of pkg/resource/visitor.go in
kubernetes/cli-runtime."""
# Possessive throughout: a comment full of # could be taken apart in more ways than can be tried.
_NOTHING: Final = re.compile(r"(?:\s++|[#%][^\n]*+|---[ \t]*+(?=\r?\n|\Z))*+(?:\.\.\.\s*+)?\Z")
_SKIPPED: Final = re.compile(r"^kind: *[\"']?CustomResourceDefinition\b", re.MULTILINE)
"""Definitions of resources, which are long and say nothing of GPUs."""
_LONG_KEY: Final = re.compile(r'"(?:[^"\\\n]|\\.){1024,}+"[ \t]*+:')
"""One of JSON; of YAML a key in a line has 1,024 characters at most."""
_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
"""A character beyond the first 65,536, as JSON writes it in two halves."""
_HEAD: Final = {
    "apiVersion": re.compile(
        r"^apiVersion:[ \t]*['\"]?([A-Za-z0-9_./-]+)['\"]?[ \t]*\r?$", re.MULTILINE
    ),
    "kind": re.compile(r"^kind:[ \t]*['\"]?([A-Za-z0-9_]+)['\"]?[ \t]*\r?$", re.MULTILINE),
    "name": re.compile(
        r"^metadata:[ \t]*\r?\n[ ]+name:[ \t]*([a-z0-9.-]+)[ \t]*\r?$", re.MULTILINE
    ),
}
_BOM: Final = "\ufeff"
_PLAIN: Final = re.compile("[^\t\n\r -~]")
# libyaml's own set of characters. A byte order mark that begins a line is passed over by Go's
# YAML, and by PyYAML it is not. Compiled where it is needed.
_UNREADABLE: Final = (
    "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|(?<![^\n\r])\ufeff"
)


class Texts(NamedTuple):
    """What was read of a text."""

    documents: tuple[Document, ...]
    problems: tuple[YamlProblem, ...]
    """What is wrong with it, with lines of the whole."""
    items: int = 0
    """How many keys and values it has."""


def read_texts(
    text: str,
    file: str,
    *,
    place: Callable[[Position], Position] | None = None,
    block: BlockScalar | None = None,
    editable: bool = True,
    most: int = MAX_ITEMS,
    outlines: bool = False,
) -> Texts:
    """The documents of a text of YAML or JSON; never raises.

    Args:
        text: The text, without characters that YAML does not have.
        file: Name of the file that it is from.
        place: Turns line and column in the text to those in the file, where it is a part of that.
        block: Where it stands in another document.
        editable: Whether edits can be written back to the file. Not where `place` is given.
        most: Most keys and values of all documents together.
        outlines: Whether an object that cannot be read counts as one of which nothing is known but
            what it is.
    """
    given = most
    documents: list[Document] = []
    problems: list[YamlProblem] = []
    text = text.removeprefix(_BOM)
    named_json = place is None and block is None and is_json_file(file) and text.strip()
    if named_json and (no_json := json_problem(text)) is not None:
        stream = _stream_of_json(text)
        text = stream or without_comments(text)
        if stream is None and json_problem(text) is not None:
            return Texts((), (no_json,))
        editable = editable and stream is None
    for start, line, part in _parts(text):
        if len(documents) >= MAX_DOCUMENTS:
            message = f"more than {MAX_DOCUMENTS:,} documents; the rest is not read"
            problems.append(YamlProblem(message, line + 1, 1, "size"))
            break
        value = _skipped(part, named_json=bool(named_json))
        if value is not None:
            skipped = YamlText(part, None, start, line, place, block)
            count = len(documents)
            at = skipped.line_and_column
            documents.append(Document(file, value, at, count, editable=False))
            continue
        composer = KubernetesComposer(_as_yaml(part), line, most)
        outer = YamlText(part, None, start, line, place, block)
        read, found = _document(composer, outer)
        most -= composer.items
        alone = False
        marked = bool(found) and has_marked_parts(part)
        found = [each for each in found if not marked or each.kind != "duplicate"]
        may = editable and place is None and not marked
        # A key stands twice where tags in comments say which of the two is there.
        twice = bool(found) and has_tags_in_comments(part)
        if (composer.stopped or twice) and not named_json:
            may = False
            if (made := _as_template(part, outer, most)) is not None:
                read, found, alone = made
        problems += found
        count = len(documents)
        if read is not None:
            at, place_of = read.line_and_column, f"{file}:{count}" if alone else ""
            documents.append(Document(file, read.value, at, count, may, read, alone=place_of))
        if outlines and (read is None or alone) and (told := _outline(part)) is not None:
            where = outer.line_and_column
            documents.append(Document(file, told, where, len(documents), editable=False))
    return Texts(tuple(documents), tuple(problems), given - most)


def texts_within(document: Document, path: FieldPath) -> Texts | None:
    """The documents of a text that stands in a document, None where there is none.

    Of a literal block every line keeps its place; of other texts all is at their key.
    """
    if document.origin is not None:
        inner: Texts | None = document.origin.texts(path)
        return inner
    outer = document.text
    if outer is None or outer.root is None:
        return None
    entry, depth = find(outer.root, (*document.at, *path))
    if entry is None or depth < len(document.at) + len(path):
        return None
    value = entry.node.value
    made = at(document.value, *path) if document.build else value
    if not isinstance(value, str) or (isinstance(made, str) and made != value):
        return None  # a patch, which is judged where it stands, takes its place
    block = _block(outer, entry.node, (*document.at, *path))
    if block is not None:
        read = read_texts(value, document.file, block=block, editable=document.editable)
    else:
        here = outer.in_file(entry.key.line, entry.key.column)
        read = read_texts(value, document.file, place=lambda _: here)
    build, alone = document.build, document.alone
    within = tuple(replace(each, build=build, alone=alone) for each in read.documents)
    return read._replace(documents=within)


def place_within(document: Document, path: FieldPath) -> Position | None:
    """Where the first line of a text that is a literal block begins; None of any other."""
    if document.origin is not None:
        return document.origin.first_line(path)
    outer = document.text
    if outer is None or outer.root is None:
        return None
    entry, depth = find(outer.root, (*document.at, *path))
    if entry is None or depth < len(document.at) + len(path):
        return None
    block = _block(outer, entry.node, ()) if isinstance(entry.node.value, str) else None
    if block is None:
        return None
    return outer.in_file(block.line, block.indent)


def _block(outer: YamlText, node: Node, path: FieldPath) -> BlockScalar | None:
    if node.style != "|":
        return None
    begin = outer.text.find("\n", node.span.start) + 1
    for written, read in zip(
        outer.text[begin : node.span.end].split("\n"), node.value.split("\n"), strict=False
    ):
        if written.strip():
            indent = len(written) - len(written.lstrip(" ")) - (len(read) - len(read.lstrip(" ")))
            return BlockScalar(outer, node.span.line + 1, begin, indent, path)
    return None


def unreadable_character(text: str, file: str = "") -> YamlProblem | None:
    """The first character that YAML does not have, in a file that is not JSON.

    JSON may have any but control characters, https://www.rfc-editor.org/rfc/rfc8259#section-7.
    """
    found = _PLAIN.search(text) and re.search(_UNREADABLE, text.removeprefix(_BOM))
    if not found or (is_json_file(file) and json_problem(text.removeprefix(_BOM)) is None):
        return None
    before = text.removeprefix(_BOM)[: found.start()]
    ends = [match.end() for match in LINE_BREAK.finditer(before)]
    line, column = len(ends) + 1, len(before) - (ends[-1] if ends else 0) + 1
    message = f"the character U+{ord(found[0]):04X} is not allowed in YAML"
    fix = "remove it, or write it as an escape in double quotes"
    return YamlProblem(message, line, column, "character", fix=fix)


def is_passed_over(text: str, problem: YamlProblem) -> bool:
    """Whether a character that YAML does not have is a byte order mark that Go's reader skips.

    That is one at the start of a document, each of which kubectl and Helm read by itself, or of a
    line that holds nothing.
    """
    lines = LINE_BREAK.split(text.removeprefix(_BOM))
    here = lines[problem.line - 1] if problem.line <= len(lines) else ""
    above = lines[problem.line - 2].rstrip() if problem.line > 1 else ""
    rest = here.removeprefix(_BOM)
    starts = above == "---" and not rest.startswith("---")
    return here != rest and problem.column == 1 and (starts or rest.strip()[:1] in {"", "#"})


def _parts(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, lines before and text of each document that holds something.

    No scalar has a line that begins with three dashes, so this needs no parser.
    """
    starts = [match.start() for match in _SEPARATOR.finditer(text)]
    if not starts and text.startswith("{"):
        starts = [match.start() for match in _OBJECT.finditer(text)]
    line = last = 0
    begin = 0
    for end in (*starts, len(text)):
        part = text[begin:end]
        if _only_directives(part):
            continue  # directives belong to the document that follows
        if not _NOTHING.match(part):
            line += text.count("\n", last, begin)
            last = begin
            yield begin, line, part
        begin = end


def _as_yaml(part: str) -> str:
    """The same text with as many characters, without what JSON has and YAML has not."""
    if not part.lstrip().startswith(("{", "[")):
        return part
    if _PLAIN.search(part):
        part = re.sub(f"{_UNREADABLE}|[\x85\u2028\u2029]", "\ufffd", part)
    return _PAIR.sub("\ufffd" * 12, part)


def _skipped(part: str, *, named_json: bool) -> Any:
    """What a document is that is not read as YAML; None of all others."""
    if _SKIPPED.search(part):
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.loads(part) if named_json and _LONG_KEY.search(part) else None


def _stream_of_json(text: str) -> str | None:
    """Objects of JSON one after another, with blanks for `null` between; None of any other text."""
    plain = _NULL.sub("    ", text)
    parts = _OBJECT.split(plain) if text.startswith("{") else [""]
    return plain if all(json_problem(part) is None for part in parts) else None


def _only_directives(part: str) -> bool:
    if "%" not in part:
        return False
    lines = [line for line in part.splitlines() if line.strip() and not line.startswith("#")]
    return bool(lines) and all(line.startswith("%") for line in lines)


def _as_template(
    part: str, outer: YamlText, most: int
) -> tuple[YamlText | None, list[YamlProblem], bool] | None:
    """What YAML does not take for the signs in it, with what they stand for not known.

    Go's reader takes a backslash before a single quote too (go-yaml, scannerc.go). For judging it
    may as well be a double quote, which leaves everything where it is.

    The last value says whether it may not be there, or may have keys and items that are not seen.
    """
    if "\\'" in part:
        composer = KubernetesComposer(part.replace("\\'", '\\"'), outer.line, most)
        read, found = _document(composer, outer)
        if not composer.stopped:
            return read, found, False
    plain = without_control_lines(part)
    if plain is None or (plain.is_all_enclosed and _outline(part) is None):
        return None
    gapped = with_gaps(plain.text) or plain.text
    if gapped == part:
        return None
    composer = KubernetesComposer(gapped, outer.line, most)
    read, found = _document(composer, outer)
    return None if composer.stopped else (read, found, plain.is_all_enclosed or has_more(gapped))


def _outline(part: str) -> dict[str, Any] | None:
    """What is there for certain where an object cannot be read: that it is, and of which kind."""
    said = {key: pattern.search(part) for key, pattern in _HEAD.items()}
    if said["apiVersion"] is None or said["kind"] is None:
        return None
    told: dict[str, Any] = {key: each[1] for key, each in said.items() if each and key != "name"}
    name = said["name"]
    told["metadata"] = {"name": name[1] if name else UNKNOWN}
    keys = ["data" if told["kind"] == "ConfigMap" else "spec"]
    if told["apiVersion"].startswith("eksctl.io/"):
        keys = ["nodeGroups", "managedNodeGroups"]
    else:
        told["metadata"]["namespace"] = UNKNOWN
    return told | dict.fromkeys(keys, UNKNOWN)


def _document(
    composer: KubernetesComposer, text: YamlText
) -> tuple[YamlText | None, list[YamlProblem]]:
    problems = composer.problems
    root: Node | None = None
    try:
        root = composer.document()
    except StopReadingError as stop:
        composer.stopped = True
        problems = [*problems, stop.problem]
    placed = []
    for problem in problems:
        line, column = text.in_file(problem.line - 1, problem.column - 1)
        placed.append(problem._replace(line=line, column=column))
    empty = root is None or root.value is None or root.value is UNKNOWN
    return None if empty else replace(text, root=root), placed
