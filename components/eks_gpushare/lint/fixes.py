"""`--fix`: the files as they would be with everything corrected that is certain."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.lint.corrections import corrected
from eks_gpushare.lint.dispatch import judged_files
from eks_gpushare.lint.made_by_tools import name_in_project, why_made
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.ignored import Ignored
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.references import Naming
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
        before, after = (each.splitlines(keepends=True) for each in (self.before, self.after))
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
    return fixed_part(files, stack, declared)[0]


def fixed_part(
    files: Iterable[GivenFile],
    stack: Stack | None = None,
    declared: Declared | None = None,
    *,
    everywhere: Naming | None = None,
    choose: Callable[[FileReport], FileReport] | None = None,
) -> tuple[Corrections, Naming]:
    """The same of files that are a part of those of a call, with what they have and name.

    Args:
        files: The files.
        stack: A stack on whose pools the workloads are to run.
        declared: How files belong together by what somebody says.
        everywhere: What the files of the whole call have and name. Default: these are all.
        choose: Leaves out what nobody wants to know, which is not corrected either.
    """

    def judge(texts: Iterable[GivenFile]) -> tuple[FileReport, ...]:
        found, naming = judged_files(texts, stack, declared, everywhere)
        names.append(naming)
        return tuple(map(choose, found)) if choose is not None else found

    names: list[Naming] = []
    given = list(files)
    first = reports = judge(given)
    after = {each.file: each.text for each in first}
    counts = dict.fromkeys(after, 0)
    left = {each.file: each for each in _left(first)}
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
            each if each.problem or each.note else GivenFile(each.name, after[each.name])
            for each in given
        ]
        reports = judge(given)
    fixed = [
        Fixed(each.file, each.text, after[each.file], counts[each.file])
        for each in first
        if after[each.file] != each.text
    ]
    return Corrections(tuple(fixed), first, reports, tuple(left.values())), names[0]


def _left(reports: Iterable[FileReport]) -> Iterator[Unwritten]:
    """The files with corrections that a tool makes or keeps."""
    some = [(report, better[1]) for report in reports if (better := _fixed(report))]
    ignored = Ignored()
    for report, count in some:
        documents = [each.document for each in report.found if each.document is not None]
        why = why_made(name_in_project(report.file), report.text, documents)
        is_file = report.file != STDIN
        if why is None and is_file and ignored(Path(report.file).resolve()):
            why = "is ignored by git"
        if why is not None:
            yield Unwritten(report.file, count, why)


def _fixed(report: FileReport) -> tuple[str, int] | None:
    """The text of a file with so many corrections; None where there are none, or any doubt."""
    wanted = [
        (each.document.text, each.edits)
        for each in report.found
        if each.document is not None and each.document.text is not None and each.edits
    ]
    if not wanted or read_texts(report.text, report.file).problems:
        return None
    text, count = corrected(report.text, report.file, wanted)
    return None if text == report.text else (text, count)
