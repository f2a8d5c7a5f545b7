"""From files to findings: who reads what, and what is wrong in and between it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeGuard

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.findings.defects import defect
from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.silenced import today
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.lint.against import judge_against
from eks_gpushare.lint.beside import beside, named_values
from eks_gpushare.lint.judging import Scoped, in_all_builds
from eks_gpushare.lint.node_classes import class_of
from eks_gpushare.lint.readers.every import DOCUMENT_READERS
from eks_gpushare.lint.readers.texts import TEXT_READERS
from eks_gpushare.lint.references import references
from eks_gpushare.lint.report import FileReport, Placed
from eks_gpushare.lint.rules.files import NOT_READ, TEMPLATE, TWICE, UNREADABLE
from eks_gpushare.lint.rules.kustomize import unapplied
from eks_gpushare.lint.scopes import Member, all_together, folders_named, scopes_of
from eks_gpushare.lint.silencing import silenced
from eks_gpushare.lint.variants import is_loose
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.checks.chart_values import values_of_files
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import ENDINGS
from eks_gpushare.manifests.json_text import is_json_file
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.nodes import MAX_ITEMS
from eks_gpushare.manifests.readers.helm_values import ValuesOf
from eks_gpushare.manifests.texts import read_texts, unreadable_character

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.inventory.items import Item, Release
    from eks_gpushare.inventory.problem import Edit, Judgement
    from eks_gpushare.inventory.registry import Edge
    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.scopes import FileScope
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.manifests.document import DocumentReader, Read
    from eks_gpushare.manifests.files import GivenFile
    from eks_gpushare.stack_file.yaml_problems import YamlProblem

_YAML: Final = (".yaml", ".yml", ".json", ".tmpl", ".gotmpl")
_MOST_WITHIN: Final = 4
"""Documents within documents that are followed: a script's manifest's ConfigMap's configuration."""
_MOST_DOCUMENTS: Final = 50_000
_MOST_ITEMS: Final = 400_000
"""Keys and values of all files together, so that memory has a bound."""


@dataclass(slots=True)
class _File:
    """What is known so far of one file."""

    name: str
    kinds: dict[str, None] = field(default_factory=dict)
    found: list[Placed] = field(default_factory=list)
    readable: bool = True
    text: str = ""

    def report(self, today: date) -> FileReport:
        unique = {(placed.finding, placed.position): placed for placed in self.found}
        found, away = silenced(unique.values(), self.text, today)
        in_order = tuple(sorted(found, key=lambda placed: placed.position or Position(0, 0)))
        kinds = tuple(self.kinds)
        return FileReport(self.name, kinds, in_order, self.readable, self.text, away)


@dataclass(slots=True)
class Reading:
    """Files that are being read, and what was made of them."""

    items: list[Item] = field(default_factory=list)
    """What they say of GPU sharing."""
    judgements: list[Judgement] = field(default_factory=list)
    """What is wrong within single documents."""
    files: dict[str, _File] = field(default_factory=dict)
    classes: list[Document] = field(default_factory=list)
    """Documents that are node classes."""
    folders: dict[str, list[str]] = field(default_factory=dict)
    """Folders that applications of a file name, by the file."""
    documents: int = 0
    read: int = 0
    """Keys and values of the files together."""
    charts: dict[str, str] = field(default_factory=dict)
    """Charts that files of values are for, where a command says so, by their paths."""
    kustomizations: Kustomizations = field(default_factory=lambda: Kustomizations(()))
    named: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Files of values that commands of a file name, by the file."""
    declared: Declared | None = None
    """How files belong together by what somebody says."""
    against: bool = False
    """Whether the files are held against a stack, so that all of them are for its cluster."""

    def add(self, given: GivenFile) -> None:
        """Read a file."""
        file = self.files.setdefault(given.name, _File(given.name))
        file.text = given.text
        if given.problem:
            file.readable = False
            file.found.append(Placed(_unreadable(given.problem), None))
        elif given.note:
            file.found.append(Placed(_not_read(given.note), None))
        elif not self._text(file, given.text) and not file.found:
            what = "It holds nothing" if not given.text.strip() else _NO_KIND
            file.found.append(Placed(NOT_READ.finding((), f"{what}.", _GIVE), None))

    def _text(self, file: _File, text: str) -> bool:
        """Read a text; whether something in it was known."""
        for reader in TEXT_READERS:
            if reader.matches(file.name, text):
                file.kinds[reader.name] = None
                self._take(file, reader.read(file.name, text), 0)
                return True
        if not (_is_yaml(file.name) or file.name == STDIN or _looks_like_yaml(file.name, text)):
            return False
        bad = unreadable_character(text)
        if bad is not None:
            file.readable = False
            file.found.append(_problem(bad))
            return False
        texts = read_texts(text, file.name, most=max(0, min(MAX_ITEMS, _MOST_ITEMS - self.read)))
        self.read += texts.items
        about_ours = _MAY_BE_OURS.search(text) or "{{" in text
        if texts.problems and is_json_file(file.name) and not about_ours:
            what = f"{_sentence(texts.problems[0].message)} Nothing in it is of Kubernetes or GPUs."
            file.found.append(Placed(NOT_READ.finding((), what, _GIVE), None))
            return True
        for problem in texts.problems:
            self._yaml_problem(file, problem, text)
        if posixpath.normpath(file.name) in self.kustomizations.patch_files:
            file.kinds["Kustomize patch"] = None  # of an object that is judged with it
            return True
        named = folders_named(document.value for document in texts.documents)
        self.folders[file.name] = list(named)
        built = [
            built for document in texts.documents for built in self.kustomizations.built(document)
        ]
        known = [self._document(file, document, 0) for document in built]
        return any(known)

    def _yaml_problem(self, file: _File, problem: YamlProblem, text: str) -> None:
        if problem.kind == "duplicate":
            message = f"{problem.message[:1].upper()}{problem.message[1:]}."
            found = TWICE.finding(problem.path, message, _sentence(problem.fix))
            file.found.append(Placed(found, Position(problem.line, problem.column)))
        elif _is_template(text, problem.line):
            message = "It is a template that is not rendered, so it is not checked."
            fix = "Give what it makes: helm template CHART | eks-gpushare lint -"
            found = TEMPLATE.finding((), message, fix)
            file.found.append(Placed(found, Position(problem.line, problem.column)))
        else:
            file.readable = False
            file.found.append(_problem(problem))

    def _document(self, file: _File, document: Document, depth: int) -> bool:
        self.documents += 1
        if self.documents > _MOST_DOCUMENTS:
            return False
        chart = None if depth else self.charts.get(posixpath.normpath(file.name))
        reader = _reader_of(document) if chart is None else ValuesOf(chart)
        if reader is None or not reader.matches(document):
            return False
        if class_of(document) is not None:
            self.classes.append(document)
        file.kinds[_kind(reader, document)] = None
        self._take(file, reader.read(document), depth)
        return True

    def _take(self, file: _File, read: Read, depth: int) -> None:
        self.items += read.items
        self.judgements += read.judgements
        if depth < _MOST_WITHIN:
            for inner in read.inner:
                self._document(file, inner, depth + 1)

    def hold_against(self, stack: Stack) -> None:
        """Take the pools of a stack as the other side of what the files say."""
        self.judgements += judge_against(Inventory(tuple(self.items)), stack)
        self.items += stack.items
        self.against = True

    def scopes(self) -> tuple[FileScope, ...]:
        """The files by what joins them."""
        files = [posixpath.normpath(name) for name in self.files]
        if self.against or (self.declared is not None and self.declared.together):
            return (all_together(),)
        folders = {posixpath.normpath(name): found for name, found in self.folders.items()}
        others = references(self.items, self.classes)
        members = [
            Member(
                file,
                tuple(folders.get(file, ())),
                tuple(self.named.get(file, ())),
                tuple(others.get(file, ())),
            )
            for file in files
        ]
        declared = self.declared.scopes(self.files) if self.declared is not None else {}
        return scopes_of(members, self.kustomizations.contents, declared)

    def judge(self, edges: Sequence[Edge], *, complete: bool = False) -> None:
        """Look for what does not agree."""
        parts = [release for release in self.items if self._is_part(release)]
        items = [item for item in self.items if not self._is_part(item)]
        found = [*self.judgements, *values_of_files(parts)]
        texts = {file.name: file.text for file in self.files.values()}
        scoped = Scoped(items, self.classes, texts, edges, complete=complete)
        found += in_all_builds([(scope, scoped.judged(scope)) for scope in self.scopes()])
        for error, edge in scoped.broken:
            self._somewhere(defect(error, edge.rules))
        for judgement in found:
            self.place(judgement)

    def _is_part(self, item: Item) -> TypeGuard[Release]:
        """Whether it is a file of values that a kustomization takes with others."""
        file = getattr(item.source.document, "file", "")
        return is_loose(item) and posixpath.normpath(file) in self.kustomizations.layers

    def place(self, judgement: Judgement) -> None:
        """Put a judgement to the file that it is about."""
        document = judgement.source.document
        if not isinstance(document, Document):  # of a stack, not of a file
            self._somewhere(_finding(judgement, judgement.source.path))
            return
        below = judgement.path if isinstance(judgement, Problem) else ()
        path = (*judgement.source.path, *below)
        found = _finding(judgement, (*document.at, *path))
        file = self.files.setdefault(document.file, _File(document.file))
        file.found.append(
            Placed(found, document.position(path), document, _edits(judgement, document))
        )

    def _somewhere(self, found: Finding) -> None:
        for file in self.files.values():
            file.found.append(Placed(found, None))
            return

    def reports(self, day: date | None = None) -> tuple[FileReport, ...]:
        """What was found, by file in the order in which they were given.

        Args:
            day: What the last days of comments that let findings be are compared with. Default:
                today.
        """
        day = day or today()
        return tuple(file.report(day) for file in self.files.values())


_FIXES: Final = {
    "size": "give a smaller file, or parts of it",
    "depth": "give a file with fewer levels",
    "alias": "define the anchor above its use, in the same document",
    "documents": "begin each document with ---",
}
"""What to do where the parser does not tell."""
_MAY_BE_OURS: Final = re.compile(r"apiVersion|nvidia|gpu|planned_values|AWS::", re.IGNORECASE)
"""What a file is about that is worth a word where it cannot be read."""
_NO_KIND = "It is of no kind that is read"
_GIVE = "Leave it out, or see docs/lint.md for what is read."


def read_files(files: Iterable[GivenFile], declared: Declared | None = None) -> Reading:
    """Read files, each of which may refer to what stands in others.

    Args:
        files: The files.
        declared: How they belong together by what somebody says. Default: by what joins them.
    """
    files = list(files)
    named = named_values(files)
    files += beside(files, named.charts)
    kustomizations = Kustomizations(files)
    charts = {path: chart for path, chart in named.charts.items() if chart is not None}
    charts = {**kustomizations.charts, **charts}
    reading = Reading(
        kustomizations=kustomizations, charts=charts, named=named.by_file, declared=declared
    )
    kustomizations.build_in(_folders_of_applications(files))
    for given in files:
        try:
            reading.add(given)
        except Exception as error:  # noqa: BLE001  (other files are read all the same)
            reading.files[given.name].found.append(Placed(defect(error), None))
    reading.judgements += map(unapplied, reading.kustomizations.unapplied)
    return reading


def _folders_of_applications(files: Iterable[GivenFile]) -> Iterator[str]:
    for file in files:
        if "argoproj.io/" in file.text or "kustomize.toolkit.fluxcd.io/" in file.text:
            documents = read_texts(file.text, file.name).documents
            yield from folders_named(document.value for document in documents)


def lint_files(
    files: Iterable[GivenFile], stack: Stack | None = None, declared: Declared | None = None
) -> tuple[FileReport, ...]:
    """What is wrong in and between files.

    Args:
        files: The files, those of a scope read together.
        stack: A stack on whose pools the workloads are to run; what neither it nor the files have
            is then nowhere.
        declared: How files belong together by what somebody says. Default: by what joins them.
    """
    reading = read_files(files, declared)
    if stack is not None:
        reading.hold_against(stack)
    # Of a stack with errors nothing is planned, so that everything would seem to be missing.
    reading.judge((*EDGES, *CHECKS), complete=stack is not None and not stack.errors)
    return reading.reports()


def _reader_of(document: Document) -> DocumentReader | None:
    return next((reader for reader in DOCUMENT_READERS if reader.matches(document)), None)


def _edits(judgement: Judgement, document: Document) -> tuple[Edit, ...]:
    if isinstance(judgement, NotSeen) or not document.editable:
        return ()
    above = judgement.source.path
    return tuple(replace(edit, path=(*document.at, *above, *edit.path)) for edit in judgement.edits)


def _kind(reader: DocumentReader, document: Document) -> str:
    kind = document.value.get("kind") if isinstance(document.value, dict) else None
    return f"{reader.name} {kind}" if reader.name == "Kubernetes" else reader.name


def _finding(judgement: Judgement, at: tuple[str | int, ...]) -> Finding:
    if isinstance(judgement, NotSeen):
        what = judgement.what.rstrip(".")
        message = (
            f"It cannot be decided, since something is not known: {what}. {judgement.rule.title}"
        )
        return judgement.rule.finding(at, message, "Give files with the final values.", "info")
    rule = judgement.rule
    return rule.finding(at, judgement.message, judgement.fix, judgement.severity)


def _problem(problem: YamlProblem) -> Placed:
    message = _sentence(problem.message)
    fix = problem.fix or _FIXES.get(problem.kind, "correct it, or leave the file out")
    found = UNREADABLE.finding(problem.path, message, _sentence(fix))
    return Placed(found, Position(problem.line, problem.column))


def _unreadable(why: str) -> Finding:
    return UNREADABLE.finding((), f"It cannot be read: {why}.", "Give a file that can be read.")


def _not_read(why: str) -> Finding:
    return NOT_READ.finding((), f"It is not read: {why}.", _GIVE)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _is_template(text: str, line: int) -> bool:
    """Whether what cannot be read is a template: of an engine, or of `envsubst`."""
    lines = text.splitlines()
    return "{{" in text or "${" in "".join(lines[line - 1 : line])


def _is_yaml(name: str) -> bool:
    return name.lower().endswith(_YAML)


def _looks_like_yaml(name: str, text: str) -> bool:
    """Whether a file of no known ending begins as a manifest does."""
    if name.lower().endswith(ENDINGS):
        return False
    return text.lstrip().startswith(("apiVersion:", "---", "{")) or "\napiVersion:" in text
