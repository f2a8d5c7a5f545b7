"""`--fix`: the files as they would be with everything corrected that is certain."""

from __future__ import annotations

import difflib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.edits import Change, applied, changes
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eks_gpushare.lint.report import FileReport
    from eks_gpushare.lint.stack_side import Stack

_ROUNDS: Final = 5
"""What one correction brings to light is corrected by the next round."""
_BOM: Final = b"\xef\xbb\xbf"


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


def fixed_files(
    files: Iterable[GivenFile], stack: Stack | None = None
) -> tuple[tuple[Fixed, ...], tuple[FileReport, ...], tuple[FileReport, ...]]:
    """What to correct, and what is found in the files before and after that."""
    given = list(files)
    first = reports = lint_files(given, stack)
    after = {each.file: each.text for each in first}
    counts = dict.fromkeys(after, 0)
    for _ in range(_ROUNDS):
        made = {report.file: better for report in reports if (better := _fixed(report))}
        if not made:
            break
        for file, (text, count) in made.items():
            after[file] = text
            counts[file] += count
        given = [
            each if each.problem or each.note else GivenFile(each.name, after[each.name])
            for each in given
        ]
        reports = lint_files(given, stack)
    fixed = [
        Fixed(each.file, each.text, after[each.file], counts[each.file])
        for each in first
        if after[each.file] != each.text
    ]
    return tuple(fixed), first, reports


def _fixed(report: FileReport) -> tuple[str, int] | None:
    """The text of a file with so many corrections; None where there are none, or any doubt."""
    wanted: list[Change] = []
    for each in report.found:
        if each.document is not None and each.document.text is not None and each.edits:
            wanted += changes(each.document.text, each.edits)
    text, count = applied(report.text, wanted)
    if text == report.text:
        return None
    before, after = (read_texts(each, report.file) for each in (report.text, text))
    if after.problems or len(after.documents) != len(before.documents):
        return None
    return text, count


def write(fixed: Sequence[Fixed]) -> None:
    """Put corrected files in the place of those that are there, each at once.

    Raises:
        OSError: If one cannot be written, or has changed since it was read; those before it are.
    """
    for each in fixed:
        if each.file == STDIN:
            continue
        path = Path(each.file).resolve()
        content = path.read_bytes()
        mark = _BOM if content.startswith(_BOM) else b""
        if content.removeprefix(mark) != each.before.encode():
            raise OSError(f"{each.file} has changed since it was read")
        _replace(path, mark + each.after.encode())


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        status = path.stat()
        Path(name).chmod(status.st_mode & 0o7777)
        with suppress(OSError):
            os.chown(name, status.st_uid, status.st_gid)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
