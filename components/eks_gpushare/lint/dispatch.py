"""From files to findings."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.findings.defects import defect
from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.lint.application_values import (
    with_applications_of_folders,
    with_files_of_applications,
    with_values_beneath,
    with_values_of_sets,
)
from eks_gpushare.lint.applied_by_commands import of_commands
from eks_gpushare.lint.beside import beside, named_values
from eks_gpushare.lint.flux_variables import FluxVariables
from eks_gpushare.lint.given_variables import judge_given
from eks_gpushare.lint.named_folders import of_files
from eks_gpushare.lint.playbooks import Playbooks
from eks_gpushare.lint.reading import MOST_ITEMS, Reading
from eks_gpushare.lint.rendered_charts import rendered_charts
from eks_gpushare.lint.report import FileReport, Placed
from eks_gpushare.lint.rules.kustomize import unapplied
from eks_gpushare.lint.template_accounts import accounts_of_charts
from eks_gpushare.lint.terraform_roots import blocks_of_guide, terraform_roots
from eks_gpushare.lint.texts_of_values import with_texts_of_files
from eks_gpushare.lint.unread import NO_PARSER, beyond, not_rendered
from eks_gpushare.lint.values_of_sets import SetFiles, layers_of_sets, missing_of_sets
from eks_gpushare.lint.wrapper_values import values_above
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.kustomize import Kustomizations
from eks_gpushare.manifests.readers.subcharts import (
    chart_versions,
    charts_of_ones_own,
    subcharts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.file_in_reading import FileInReading
    from eks_gpushare.lint.references import Naming
    from eks_gpushare.lint.stack_side import Stack


def read_files(
    files: Iterable[GivenFile],
    declared: Declared | None = None,
    everywhere: Naming | None = None,
) -> Reading:
    """Read files, each of which may refer to what stands in others.

    Args:
        files: The files.
        declared: How they belong together by what somebody says. Default: by what joins them.
        everywhere: What the files of the whole call have and name, where these are a part of them.
    """
    files = list(files)
    named = named_values(files)
    files += beside(files, named.charts)
    kustomizations = Kustomizations(files)
    charts = {path: chart for path, chart in named.charts.items() if chart is not None}
    charts = {**kustomizations.charts, **charts}
    terraform = terraform_roots(files)
    files += terraform.further
    folders, applied_folders = of_files(files, kustomizations)
    reading = Reading(
        kustomizations=kustomizations,
        charts=charts,
        subcharts=subcharts(files),
        charts_of_ones_own=charts_of_ones_own(files),
        chart_versions={**chart_versions(files), **named.versions},
        named=named.by_file,
        declared=declared,
        everywhere=everywhere,
        terraform=terraform,
        charted=rendered_charts(files),
        folders=folders,
        applied=of_commands(files),
        applied_folders=applied_folders,
        playbooks=Playbooks(files),
        flux=FluxVariables(files, kustomizations),
    )
    kustomizations.build_in(each for named in folders.values() for each in named)
    for given in files:
        try:
            reading.add(given)
            for root in blocks_of_guide(given):
                reading.add_root(root)
        except Exception as error:  # noqa: BLE001  (other files are read all the same)
            reading.files[given.name].found.append(Placed(defect(error), None))
    for root in terraform.roots:
        reading.add_root(root)
    for chart in reading.charted.rendered:
        reading.add_chart(chart)
    if reading.charted.without_helm:
        reading.file_named(reading.charted.without_helm).found.append(not_rendered(""))
    if terraform.without_parser:
        reading.file_named(terraform.without_parser).found.append(NO_PARSER)
    for name, fault in terraform.broken:
        reading.file_named(name).found.append(Placed(defect(fault), None))
    reading.items += accounts_of_charts(files, reading.items)
    reading.judgements += map(unapplied, reading.kustomizations.unapplied)
    reading.items = with_applications_of_folders(reading.items, reading.subcharts)
    reading.items = with_texts_of_files(reading.items, files)
    reading.items, found = with_files_of_applications(reading.items, named.installs)
    sets = SetFiles({each.name: each.text for each in files})
    reading.items, of_sets = with_values_of_sets(reading.items, layers_of_sets(sets))
    reading.items, beneath = with_values_beneath(reading.items, named.installs)
    reading.judgements += [*found, *of_sets, *beneath]
    passed = {*reading.chart_versions, *named.charts}
    reading.judgements += values_above(files, reading.subcharts, passed)
    reading.judgements += missing_of_sets(sets, named.charts)
    return reading


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
    return judged_files(files, stack, declared)[0]


def judged_files(
    files: Iterable[GivenFile],
    stack: Stack | None = None,
    declared: Declared | None = None,
    everywhere: Naming | None = None,
) -> tuple[tuple[FileReport, ...], Naming]:
    """What is wrong in and between files that are a part of those of a call; what they name.

    Args:
        files: The files.
        stack: A stack on whose pools the workloads are to run.
        declared: How files belong together by what somebody says.
        everywhere: What the files of the whole call have and name. Default: these are all.
    """
    files = list(files)
    reading = read_files(files, declared, everywhere)
    names = reading.naming()
    reading.everywhere = everywhere or names
    if stack is not None:
        reading.hold_against(stack)
    # Of a stack with errors nothing is planned, so that everything would seem to be missing.
    edges = (*EDGES, *CHECKS)
    reading.judge(edges, complete=stack is not None and not stack.errors)
    if stack is None:
        judge_given(reading, edges, reading.everywhere)
    by_itself = _left_to_read(reading, may_be_apart=stack is None and len(files) > 1)
    reports = {each.file: each for each in reading.reports()}
    for given in by_itself:
        ((report, *_), _) = judged_files([given], None, declared, reading.everywhere)
        reports[given.name] = reports[given.name].joined(report)
    return tuple(reports.values()), replace(names, grave=reading.grave)


def _left_to_read(reading: Reading, *, may_be_apart: bool) -> list[GivenFile]:
    """The files that were too many to be read with the others, and that are read by themselves.

    Where somebody says that they belong together, or a kustomization does, they are not: it is
    said that they are not read.
    """
    names, reading.beyond = reading.beyond, []
    contents = reading.kustomizations.contents
    built = frozenset(contents).union(*contents.values())
    may_be_apart = may_be_apart and not reading.is_declared
    found: dict[bool, list[FileInReading]] = {True: [], False: []}
    for name in names:
        file = reading.files[name]
        file.readable = may_be_apart and posixpath.normpath(name) not in built
        found[file.readable].append(file)
    for is_apart, files in found.items():
        for first in files[:1]:
            first.found.append(beyond(len(files), MOST_ITEMS, is_apart=is_apart))
    return [GivenFile(each.name, each.text, in_folder=each.in_folder) for each in found[True]]
