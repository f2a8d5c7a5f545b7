"""Findings that a repository had when it began to look: known, and not in the way of a gate.

A baseline is JSON in the repository. It has files by their paths from its folder on, what was found
in each by code, object and place, without lines, and how often. An entry is a line of its own and
all are sorted, so that two branches merge. What is found more often than an entry says is new; an
entry that is found less often has been mended, and is told as gone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.reading import STDIN, read_bytes, reason
from eks_gpushare.findings.finding import is_at_least
from eks_gpushare.lint.declared import below

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from eks_gpushare.findings.finding import Severity
    from eks_gpushare.lint.report import FileReport, Placed

_MOST: Final = 64 * 1024 * 1024
_VERSION: Final = 1
_UNREADABLE: Final = "GPU1000"
_CODE: Final = re.compile(r"GPU[0-9]{3,4}( .*)?", re.DOTALL)
_CONFLICT: Final = re.compile(r"^(<{7}|={7}|>{7})", re.MULTILINE)


class BaselineError(Exception):
    """A baseline cannot be used; the text says why."""


class Gone(NamedTuple):
    """An entry that is found less often than it says."""

    file: str
    """Its path from the folder of the baseline on."""
    entry: str
    """Code, object and place."""
    times: int
    """How often less."""


class Looked(NamedTuple):
    """What a call looked for and where."""

    for_code: Callable[[str], bool]
    """Whether it looked for a code."""
    left_out: Callable[[Path], bool]
    """Whether it leaves a file out."""


class HeldAgainst(NamedTuple):
    """Reports held against a baseline."""

    reports: tuple[FileReport, ...]
    gone: tuple[Gone, ...]


class Baseline(NamedTuple):
    """Findings that are known."""

    folder: str
    """The folder that its paths begin in."""
    entries: Mapping[str, Mapping[str, int]]
    """How often each is known, by its file and by code, object and place."""

    def held(self, reports: Sequence[FileReport], asked: Looked) -> HeldAgainst:
        """What is new in files, what is known, and what is gone.

        What a finding follows from may stand in another file. So entries are only told as gone
        where all files that the baseline knows were looked at.

        Args:
            reports: The files that were looked at, with findings that know their identity.
            asked: What was looked for, and where.
        """
        found: list[FileReport] = []
        left = {path: Counter(entries) for path, entries in self.entries.items()}
        for report in reports:
            here = left.get(self.path_of(report.file), Counter())
            new: list[Placed] = []
            known: list[Placed] = []
            for placed in report.found:
                entry = entry_of(placed)
                is_known = here[entry] > 0
                here[entry] -= is_known
                (known if is_known else new).append(placed)
            found.append(_with(report, new, known))
        gone = [
            Gone(path, entry, count)
            for path, entries in left.items()
            for entry, count in entries.items()
            if count > 0 and asked.for_code(code_of(entry))
        ]
        met = {self.path_of(report.file) for report in reports}
        return HeldAgainst(tuple(found), tuple(sorted(gone)) if self._is_all(met, asked) else ())

    def _is_all(self, met: Collection[str], asked: Looked) -> bool:
        """Whether all files were looked at that the baseline has and that are still there."""
        return all(
            path in met or not (file := Path(self.folder, path)).exists() or asked.left_out(file)
            for path in self.entries
        )

    def path_of(self, file: str) -> str:
        """The path of a file as the baseline has it."""
        return file if file == STDIN else below(file, self.folder)

    def renewed(self, reports: Sequence[FileReport], asked: Looked) -> Baseline:
        """The same with what is found now, and without what is gone.

        Notes are not taken in, since they fail nothing, unless somebody wants them to. Where not
        all files of the baseline were looked at, no entry goes.

        Args:
            reports: The files that were looked at.
            asked: What was looked for, and where.
        """
        made: dict[str, Counter[str]] = {}
        for report in reports:
            least: Severity = "info" if report.fails_on == "info" else "warning"
            taken = Counter(
                entry_of(placed)
                for placed in (*report.found, *report.known)
                if is_at_least(placed.finding.severity, least)
            )
            if taken and report.file != STDIN:
                made[self.path_of(report.file)] = taken
        is_all = self._is_all({self.path_of(report.file) for report in reports}, asked)
        for path, entries in self.entries.items():
            for entry, count in entries.items():
                if not (is_all and asked.for_code(code_of(entry))):
                    here = made.setdefault(path, Counter())
                    here[entry] = max(here[entry], count)
        return Baseline(self.folder, made)

    @property
    def size(self) -> int:
        """How many findings are known."""
        return sum(sum(entries.values()) for entries in self.entries.values())

    def as_text(self) -> str:
        """The baseline as it is written: sorted, an entry a line."""
        files = {
            path: dict(sorted(entries.items())) for path, entries in sorted(self.entries.items())
        }
        document = {"version": _VERSION, "findings": files}
        return json.dumps(document, indent=1) + "\n"


def _with(report: FileReport, new: list[Placed], known: list[Placed]) -> FileReport:
    # Of a file that could not be read when the baseline was made, this is known.
    unread = any(placed.finding.code == _UNREADABLE for placed in new)
    knew = any(placed.finding.code == _UNREADABLE for placed in known)
    readable = report.readable or (knew and not unread)
    return report._replace(found=tuple(new), known=tuple(known), readable=readable)


def code_of(entry: str) -> str:
    """The code of an entry."""
    return entry.partition(" ")[0]


def entry_of(placed: Placed) -> str:
    """What a baseline knows a finding by."""
    return f"{placed.finding.code} {placed.identity}".rstrip()


def read_baseline(file: Path) -> Baseline:
    """A baseline as it was written.

    Raises:
        BaselineError: If it cannot be read, or was written by something else.
    """
    try:
        text = read_bytes(file, _MOST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is no UTF-8"
        raise BaselineError(f"{file}: {why}; --write-baseline makes one") from None
    if (found := _CONFLICT.search(text)) is not None:
        line = text[: found.start()].count("\n") + 1
        why = "a merge has left a conflict; take either side, and run --write-baseline"
        raise BaselineError(f"{file}:{line}: {why}")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"{file}:{error.lineno}" if isinstance(error, json.JSONDecodeError) else f"{file}"
        raise BaselineError(f"{where}: not valid JSON; --write-baseline makes it anew") from None
    return Baseline(str(file.parent), _entries(file, value))


def _entries(file: Path, value: Any) -> dict[str, dict[str, int]]:
    if not isinstance(value, dict) or not isinstance(value.get("findings"), dict):
        why = "it is no baseline, which has version and findings; --write-baseline makes one"
        raise BaselineError(f"{file}: {why}")
    if value.get("version") != _VERSION:
        told = json.dumps(value.get("version"))
        why = f"version is {told}, and this eks-gpushare knows {_VERSION}"
        raise BaselineError(f"{file}: {why}; make it anew by --write-baseline, or upgrade")
    wrong = [
        f"{file}: {path}: {entry!r} is not a code with its place, and how often"
        for path, entries in value["findings"].items()
        for entry, count in (entries.items() if isinstance(entries, dict) else [(entries, 0)])
        if not _is_entry(entry, count)
    ]
    if wrong:
        raise BaselineError("\n".join(wrong[:10]))
    found: dict[str, dict[str, int]] = value["findings"]
    return found


def _is_entry(entry: Any, count: Any) -> bool:
    is_count = isinstance(count, int) and not isinstance(count, bool) and count > 0
    return isinstance(entry, str) and _CODE.fullmatch(entry) is not None and is_count
