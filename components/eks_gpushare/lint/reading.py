"""Files that are read together: who reads what, and what is wrong in and between it."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeGuard

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.documents.reading import STDIN
from eks_gpushare.findings.defects import defect
from eks_gpushare.findings.silenced import today
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.lint.accepted import as_accepted
from eks_gpushare.lint.against import judge_against
from eks_gpushare.lint.applied_by_commands import with_applied
from eks_gpushare.lint.builds import in_all_builds
from eks_gpushare.lint.dumps import without_what_controllers_made
from eks_gpushare.lint.file_in_reading import FileInReading, edits_of, kind_of
from eks_gpushare.lint.flux_variables import FluxVariables
from eks_gpushare.lint.judging import Scoped
from eks_gpushare.lint.layouts import laid_out
from eks_gpushare.lint.left_out import left_out
from eks_gpushare.lint.named_folders import AppliedFolders
from eks_gpushare.lint.node_classes import class_of
from eks_gpushare.lint.playbooks import Playbooks
from eks_gpushare.lint.readers.every import DOCUMENT_READERS
from eks_gpushare.lint.readers.texts import TEXT_READERS
from eks_gpushare.lint.references import as_applied, naming
from eks_gpushare.lint.rendered_charts import RenderedCharts, told_by_values
from eks_gpushare.lint.report import FileReport, Placed, finding_of
from eks_gpushare.lint.rules.files import UNREADABLE
from eks_gpushare.lint.scopes import Member, all_together, put_out_in, scopes_of
from eks_gpushare.lint.terraform_roots import TerraformRoots, is_terraform
from eks_gpushare.lint.unread import (
    NO_KIND,
    as_note,
    is_assertion,
    is_of_others,
    is_yaml,
    looks_like_yaml,
    not_hcl,
    not_read,
    not_rendered,
    of_others,
    told,
    told_of_character,
    unreadable,
)
from eks_gpushare.lint.value_files import missing_keys, missing_values
from eks_gpushare.lint.variants import is_loose, values_to_come
from eks_gpushare.lint.written import written_in
from eks_gpushare.manifests.checks.charts.chart_values import values_of_files
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.json_text import plain_json
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.nodes import MAX_ITEMS
from eks_gpushare.manifests.readers.helm_values import HelmValuesReader, ValuesOf
from eks_gpushare.manifests.readers.kubernetes import configurations_within, policies
from eks_gpushare.manifests.readers.subcharts import (
    SubchartValuesReader,
    chart_above,
    of_its_chart,
)
from eks_gpushare.manifests.texts import read_texts, unreadable_character

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.inventory.items import Item, Release
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.registry import Edge
    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.nearby import Nearby
    from eks_gpushare.lint.references import Naming
    from eks_gpushare.lint.rendered_charts import RenderedChart
    from eks_gpushare.lint.scopes import FileScope
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.lint.terraform_roots import Root
    from eks_gpushare.manifests.document import DocumentReader, Read
    from eks_gpushare.manifests.files import GivenFile
    from eks_gpushare.manifests.readers.subcharts import Subchart

_MOST_WITHIN: Final = 4
"""Documents within documents that are followed: a script's manifest's ConfigMap's configuration."""
_MOST_DOCUMENTS: Final = 50_000
MOST_ITEMS: Final = 400_000
"""Keys and values of all files that are judged together, so that memory has a bound."""


@dataclass(slots=True)
class Reading:
    """Files that are being read, and what was made of them."""

    items: list[Item] = field(default_factory=list)
    """What they say of GPU sharing."""
    judgements: list[Judgement] = field(default_factory=list)
    """What is wrong within single documents."""
    files: dict[str, FileInReading] = field(default_factory=dict)
    classes: list[Document] = field(default_factory=list)
    """Documents that are node classes."""
    folders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Folders that applications of a file name, by its normal path."""
    applied: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Folders that commands of a file apply, likewise."""
    applied_folders: AppliedFolders = field(default_factory=AppliedFolders)
    """What these make of objects."""
    playbooks: Playbooks = field(default_factory=Playbooks)
    flux: FluxVariables = field(default_factory=FluxVariables)
    documents: int = 0
    read: int = 0
    """Keys and values of the files together."""
    charts: dict[str, str] = field(default_factory=dict)
    """Charts that files of values are for, where a command says so, by their paths."""
    charts_of_ones_own: frozenset[str] = frozenset()
    """Their folders."""
    chart_versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of charts called like NVIDIA's, by their folders."""
    subcharts: Mapping[str, Sequence[Subchart]] = field(default_factory=dict)
    """Charts that a chart brings along, by its folder."""
    kustomizations: Kustomizations = field(default_factory=lambda: Kustomizations(()))
    charted: RenderedCharts = field(default_factory=RenderedCharts)
    terraform: TerraformRoots = field(default_factory=TerraformRoots)
    named: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Files of values that commands of a file name, by the file."""
    declared: Declared | None = None
    """How files belong together by what somebody says."""
    _given_as: dict[str, str] = field(default_factory=dict)
    """Names as the call gave them, by what Terraform calls the files."""
    against: bool = False
    """Whether the files are held against a stack, so that all of them are for its cluster."""
    everywhere: Naming | None = None
    """What the files of the whole call have and name, where these are a part of them."""
    grave: tuple[frozenset[str], ...] = ()
    """Normal paths of the files of each scope of which an error or a warning is told."""
    beyond: list[str] = field(default_factory=list)
    """Files that are not read, since what is read of them together has a bound."""

    def add(self, given: GivenFile) -> None:
        """Read a file."""
        self._given_as[posixpath.normpath(given.name)] = given.name
        file = self.files.setdefault(given.name, FileInReading(given.name))
        file.text, file.in_folder = given.text, given.in_folder
        self.items += written_in(given.name, given.text)
        if given.problem:
            file.readable = False
            file.found.append(Placed(unreadable(given.problem), None))
        elif given.note:
            file.found.append(Placed(not_read(given.note), None))
        elif not (self._text(file, given.text) or file.found or given.name in self.playbooks.files):
            what = "It holds nothing" if not given.text.strip() else NO_KIND
            file.found.append(Placed(not_read(what), None))

    def _text(self, file: FileInReading, text: str) -> bool:
        """Read a text; whether something in it was known."""
        if self._of_terraform(file):
            return True
        for reader in TEXT_READERS:
            if reader.matches(file.name, text):
                file.kinds[reader.name] = None
                self._take(file, reader.read(file.name, text), 0)
                return True
        return self._yaml(file, text)

    def _of_terraform(self, file: FileInReading) -> bool:
        """Whether a file is one of Terraform's, or is judged with a resource that it is for."""
        name = posixpath.normpath(file.name)
        if name in self.terraform.taken:
            file.kinds["File of Terraform"] = None
            return True
        if name in self.charted.templates:
            file.kinds["Helm template"] = None
            return True
        if is_terraform(name):
            file.kinds["Terraform"] = None
            file.found += map(not_hcl, self.terraform.parsed.get(name, ()))
            return True
        return False

    def _yaml(self, file: FileInReading, text: str) -> bool:
        is_patch = posixpath.normpath(file.name) in self.kustomizations.patch_files
        plain = None if is_patch else plain_json(text, file.name)
        is_data = plain is not None and self._reader(file, plain, 0) is None
        is_named = is_yaml(file.name) or file.name == STDIN
        if is_data or not (is_named or looks_like_yaml(file.name, text)):
            return False
        bad = unreadable_character(text, file.name)
        if bad is not None:
            placed, file.readable = told_of_character(
                bad, file.name, text, in_folder=file.in_folder
            )
            file.found.append(placed)
            return False
        left = max(0, MOST_ITEMS - self.read)
        texts = read_texts(text, file.name, most=min(MAX_ITEMS, left), outlines=True)
        self.read += texts.items
        problems = texts.problems
        if problems and is_of_others(file.name, text, problems[0], in_folder=file.in_folder):
            file.found.append(of_others(problems[0]))
            return True
        if left < MAX_ITEMS and any(problem.kind == "size" for problem in problems):
            file.readable = False
            self.beyond.append(file.name)
            return True
        for placed in (told(problem, text) for problem in problems):
            file.found.append(placed)
            file.readable = file.readable and placed.finding.code != UNREADABLE.id
        if is_patch:
            file.kinds["Kustomize patch"] = None  # of an object that is judged with it
            for inner in (each for one in texts.documents for each in configurations_within(one)):
                self._document(file, inner, 1)
            return True
        built = [
            given
            for document in texts.documents
            for built in self.kustomizations.built(self.flux.given(document))
            for given in self.applied_folders.given(self.playbooks.given(built))
        ]
        known = [self._document(file, document, 0) for document in built]
        if not any(known) and file.in_folder:  # such as values of a chart of others
            file.found = [as_note(placed) for placed in file.found]
        return any(known)

    def _document(self, file: FileInReading, document: Document, depth: int) -> bool:
        self.documents += 1
        if self.documents > _MOST_DOCUMENTS:
            return False
        reader = self._reader(file, document, depth)
        if reader is None or is_assertion(document.value):
            self.items += () if reader is None else policies(document)
            return False
        if class_of(document) is not None:
            self.classes.append(document)
        file.kinds[kind_of(reader, document)] = None
        read = reader.read(document)
        if not depth and isinstance(reader, HelmValuesReader | ValuesOf):
            found = [of_its_chart(self.chart_versions, file.name, item) for item in read.items]
            read = read._replace(items=found)
        self._take(file, read, depth)
        if document.alone:
            self.items += values_to_come(read.items)
        return True

    def _reader(self, file: FileInReading, document: Document, depth: int) -> DocumentReader | None:
        is_own = not depth and file.is_values_in(self.charts_of_ones_own)
        if not depth:
            name = posixpath.normpath(file.name)
            if (chart := self.charts.get(name)) is not None and not is_own:
                values = ValuesOf(chart)
                return values if values.matches(document) else None
            above = chart_above(self.subcharts, name) or posixpath.dirname(name)
            reader = SubchartValuesReader(self.subcharts.get(above, ()))
            if reader.matches(document):
                return reader
        found = next((reader for reader in DOCUMENT_READERS if reader.matches(document)), None)
        if isinstance(found, HelmValuesReader) and is_own:
            return found if self._brings_charts(file) and found.is_of_subcharts(document) else None
        return found

    def _brings_charts(self, file: FileInReading) -> bool:
        """Whether charts lie within the one that it is values of, which Helm takes unnamed too."""
        within = f"{posixpath.dirname(posixpath.normpath(file.name))}/charts/"
        return any(
            each.startswith(within) for each in (*self.charts_of_ones_own, *self.chart_versions)
        )

    def _take(self, file: FileInReading, read: Read, depth: int) -> None:
        self.items += read.items
        self.judgements += read.judgements
        if depth < _MOST_WITHIN:
            for inner in read.inner:
                self._document(file, inner, depth + 1)

    def add_root(self, root: Root) -> None:
        """Take what a root module of Terraform makes."""
        self.items += root.read.items
        self.judgements += root.read.judgements
        for inner in root.read.inner:
            self._document(self.file_named(inner.file), inner, 1)

    def add_chart(self, chart: RenderedChart) -> None:
        """Take what helm makes of a chart."""
        for document in chart.documents:
            self._document(self.file_named(document.file), document, 1)
        if chart.problem:
            self.file_named(chart.file).found.append(not_rendered(chart.problem))

    def file_named(self, name: str) -> FileInReading:
        """What is known of a file, which may be named otherwise than it was given."""
        return self.files.setdefault(self._given_as.get(name, name), FileInReading(name))

    def hold_against(self, stack: Stack) -> None:
        """Take the pools of a stack as the other side of what the files say."""
        self.judgements += judge_against(Inventory(tuple(self.items)), stack)
        self.items += stack.items
        self.against = True

    def naming(self) -> Naming:
        """What the files have names for, and name."""
        return naming(self.items, self.classes, self.files.values())

    def scopes(self) -> tuple[FileScope, ...]:
        """The files by what joins them."""
        files = [posixpath.normpath(name) for name in self.files]
        if self.against or (self.declared is not None and self.declared.together):
            return (all_together(),)
        everywhere = self.everywhere or self.naming()
        built = self.kustomizations.that_build
        folders = with_applied(self.folders, self.applied, built, everywhere.layouts)
        members = [
            Member(
                file,
                tuple(folders.get(file, ())),
                tuple(self.named.get(file, ())),
                tuple(everywhere.references.get(file, ())),
                tuple(put_out_in(file, self.file_named(file).text)),
            )
            for file in files
        ]
        declared = self.declared.scopes(self.files) if self.declared is not None else {}
        found = scopes_of(members, built, declared, self.terraform.contents, self.charted.contents)
        out = left_out(self.folders, built)
        return found if declared else laid_out(found, everywhere.layouts, out)

    @property
    def is_declared(self) -> bool:
        """Whether somebody says what of the files belongs together."""
        said = self.declared
        return said is not None and bool(said.together or said.scopes(self.files))

    def nearby(self) -> Nearby | None:
        """What may be of a scope's cluster; None where somebody says what belongs together."""
        if self.is_declared:
            return None
        return (self.everywhere or self.naming()).nearby

    def judge(self, edges: Sequence[Edge], *, complete: bool = False) -> None:
        """Look for what does not agree."""
        parts = [release for release in self.items if self.is_part(release)]
        items = without_what_controllers_made([i for i in self.items if not self.is_part(i)])
        found = [*self.judgements, *values_of_files(parts)]
        found += missing_values(self.items, map(posixpath.normpath, self.files))
        found += missing_keys(self.items)
        texts = {file.name: file.text for file in self.files.values()}
        others = self.everywhere or self.naming()
        said = (items, self.classes, texts, edges, others.changes)
        scoped = Scoped(*said, complete=complete, nearby=self.nearby())
        within = in_all_builds([(scope, scoped.judged(scope)) for scope in self.scopes()])
        within += scoped.judged_alone()
        self.grave = tuple(scoped.grave)
        found = [others.with_other_scopes(judgement) for judgement in (*found, *within)]
        found = [as_applied(each, texts, self.kustomizations.contents.values()) for each in found]
        for error, edge in scoped.broken:
            self._somewhere(defect(error, edge.rules))
        for judgement in told_by_values(found, self.charted):
            self.place(as_accepted(judgement, lambda name: self.file_named(name).text))

    def is_part(self, item: Item) -> TypeGuard[Release]:
        """Whether it is a file of values that a kustomization takes with others, or a chart.

        What a chart makes of them is there already. Of the GPU Operator it is what the operator
        makes that counts, which nobody renders.
        """
        if not is_loose(item):
            return False
        file = posixpath.normpath(item.source.file)
        taken = self.charted.valued if chart_of(item.chart) != OPERATOR_CHART else ()
        return file in self.kustomizations.layers or file in taken

    def place(self, judgement: Judgement) -> None:
        """Put a judgement to the file that it is about."""
        document = judgement.source.document
        if not isinstance(document, Document):  # of a stack, not of a file
            self._somewhere(finding_of(judgement, judgement.source.path))
            return
        below = judgement.path if isinstance(judgement, Problem) else ()
        path = (*judgement.source.path, *below)
        found = finding_of(judgement, (*document.at, *path))
        name, position = document.where(path)
        edits = edits_of(judgement, document)
        self.file_named(name).found.append(Placed(found, position, document, edits))

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
        return tuple(file.report(day or today()) for file in self.files.values())
