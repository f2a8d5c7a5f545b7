"""Whether `lint` notices a broken stack by the manifests that come of it.

Workloads are linted as their authors do it: against the stack, without its other manifests.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.reading import Reading
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import given_files
from eks_gpushare.program.manifests import write_manifests
from stack_mutants.recordings import recorded, stack_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eks_gpushare.lint.report import FileReport
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.program.recording import Recording, Resource
    from stack_mutants.mutant import Mutant

WORKLOADS = "of-"
"""What the names of workloads that mutants have beside the stack begin with."""


def caught_by(mutant: Mutant) -> tuple[str, ...]:
    """Codes of the findings that are there of it and not of the stack."""
    if "kubernetes:" not in mutant.urn:
        return ()
    broken = mutant.recording(preview=True)
    if broken is None:
        return ()
    recording, resource = broken
    before = recorded(mutant.stack, preview=True)
    if resource is None or not resource.name.startswith(WORKLOADS):
        return _new(_of_stack(mutant.stack), _found(_files(before, recording)))
    file = file_of(before, resource)
    whole = file_of(before, before.by_urn[mutant.urn])
    return _new(_against(mutant.stack, whole), _against(mutant.stack, file))


def _new(before: Counter[str], after: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(code for code, count in after.items() if count > before[code]))


@cache
def _of_stack(stack: str) -> Counter[str]:
    recording = recorded(stack, preview=True)
    return _found(_files(recording, recording))


def _found(files: Iterable[str]) -> Counter[str]:
    """What `lint_files` finds in them, with each file read once for all mutants."""
    reading = Reading(declared=Declared(together=True))
    for name in files:
        one = _read(name)
        reading.items += one.items
        reading.judgements += one.judgements
        reading.files |= {
            each.name: replace(each, found=list(each.found)) for each in one.files.values()
        }
    reading.judge((*EDGES, *CHECKS))
    return _codes(reading.reports())


@cache
def _read(file: str) -> Reading:
    return read_files(given_files([file]))


def _against(stack: str, file: str) -> Counter[str]:
    return _codes(lint_files(given_files([file]), _stack(stack)))


@cache
def _stack(name: str) -> Stack:
    return read_stack(stack_file(name))


def _codes(reports: Iterable[FileReport]) -> Counter[str]:
    found = (each.finding for report in reports for each in report.found)
    return Counter(each.code for each in found if each.severity != "info")


def _files(whole: Recording, recording: Recording) -> list[str]:
    """The manifests of a recording, of which only what is broken is written anew."""
    return [file_of(whole, each) for each in recording.resources if _is_object(each)]


def _is_object(resource: Resource) -> bool:
    return resource.type.startswith("kubernetes:") and resource.custom


_kept: dict[int, tuple[Resource, str]] = {}
"""Files by what they were written of; it is held, so that no other gets its place in memory."""


def file_of(whole: Recording, resource: Resource) -> str:
    """The manifest of a resource, written once."""
    if id(resource) not in _kept:
        folder = _folder() / str(len(_kept))
        alone = replace(whole, resources=[resource])
        _kept[id(resource)] = resource, str(write_manifests(alone, folder)[0])
    return _kept[id(resource)][1]


@cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="mutants-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
