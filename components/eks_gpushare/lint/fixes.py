"""`--fix`: the files as they would be with everything corrected that is certain."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.lint.corrections import corrected
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.made_by_tools import ignored_by_git, name_in_project, why_made
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.report import FileReport
    from eks_gpushare.lint.stack_side import Stack

_ROUNDS: Final = 5
"""What one correction brings to light is corrected by the next round."""


class Fixed(NamedTuple):
    """A file that has something to be corrected."""

    file: str
    before: str
    after: str
    places: int
    """How many places are corrected."""

    def diff(self) -> str:
        """The difference, as `diff -u` shows it."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, self.file, self.file)
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        return text.replace("\r\n", "\n")


class Unwritten(NamedTuple):
    """A file that could be corrected and is not."""

    file: str
    places: int
    """How many places could be corrected."""
    why: str
    """The rest of "it ..."."""


class Corrections(NamedTuple):
    """What `--fix` makes of some files."""

    fixed: tuple[Fixed, ...]
    before: tuple[FileReport, ...]
    """What is found in the files."""
    after: tuple[FileReport, ...]
    """What is found once they are corrected."""
    left: tuple[Unwritten, ...] = ()
    """Files that could be corrected and are not written."""


def fixed_files(
    files: Iterable[GivenFile], stack: Stack | None = None, declared: Declared | None = None
) -> Corrections:
    """What to correct, and what is found in the files before and after that.

    What follows from a file that is not of the same scope for certain is found, and not corrected.
    """
    given = list(files)
    first = reports = lint_files(given, stack, declared)
    after = {file.file: file.text for file in first}
    counts = dict.fromkeys(after, 0)
    left = {left_out.file: left_out for left_out in _left(first)}
    for _ in range(_ROUNDS):
        made = {
            report.file: better
            for report in reports
            if report.file not in left and (better := _fixed(report))
        }
        if not made:
            break
        for file, (text, count) in made.items():
            after[file] = text
            counts[file] += count
        given = [
            file if file.problem or file.note else GivenFile(file.name, after[file.name])
            for file in given
        ]
        reports = lint_files(given, stack, declared)
    fixed = [
        Fixed(file.file, file.text, after[file.file], counts[file.file])
        for file in first
        if after[file.file] != file.text
    ]
    return Corrections(tuple(fixed), first, reports, tuple(left.values()))


def _left(reports: Iterable[FileReport]) -> Iterator[Unwritten]:
    """The files with corrections that a tool makes or keeps."""
    some = [(report, better[1]) for report in reports if (better := _fixed(report))]
    ignored = ignored_by_git(file.file for file, _ in some if file.file != STDIN)
    for report, count in some:
        documents = [placed.document for placed in report.found if placed.document is not None]
        why = why_made(name_in_project(report.file), report.text, documents)
        if why is None and report.file in ignored:
            why = "is ignored by git"
        if why is not None:
            yield Unwritten(report.file, count, why)


def _fixed(report: FileReport) -> tuple[str, int] | None:
    """The text of a file with so many corrections; None where there are none, or any doubt."""
    wanted = [
        (placed.document.text, placed.edits)
        for placed in report.found
        if placed.document is not None and placed.document.text is not None and placed.edits
    ]
    if not wanted or read_texts(report.text, report.file).problems:
        return None
    text, count = corrected(report.text, report.file, wanted)
    return None if text == report.text else (text, count)
