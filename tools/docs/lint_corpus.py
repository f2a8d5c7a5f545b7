"""The corpus of lint: what people write about GPU sharing, right and wrong, in our own words.

Each file of `tests/lint/corpus/` is a list of cases. A case has `files`, by name; a line that is
wrong ends in a mark that is taken out before the file is read: `#!! mistake`, in Markdown
`<!--!! mistake -->`, several with commas where one of them is enough. What can have no comments
has `expect` instead: lists of file, line and mistake. `mend` are replacements, each of file, old
and new text, and `mended` whole files, after which nothing is wrong with the files any more.

`tests/lint/mistakes.yaml` says of each mistake what it is and which rules are for it. Rules may be
told apart finer than mistakes, and rules about consequences may speak up beside them: those are
`also`. A mistake that is not found yet is in `missed`, with the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.lint.named_folders import of_files
from eks_gpushare.lint.reading import Reading
from eks_gpushare.manifests.checks import CHECKS
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "lint" / "corpus"
MISTAKES = ROOT / "tests" / "lint" / "mistakes.yaml"

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MARK = re.compile(
    r"[ \t]*(?:#!! (?P<plain>[^\n]*)|<!--!! (?P<markdown>[^\n]*?) -->)$", re.MULTILINE
)


class Mistake(NamedTuple):
    """A kind of mistake."""

    means: str
    rules: tuple[str, ...]
    """Codes of the rules that are for it."""


class Mark(NamedTuple):
    """A mistake in a file of a case."""

    file: str
    line: int
    mistakes: tuple[str, ...]
    """Any of them is right."""


class Found(NamedTuple):
    """An error or a warning of lint."""

    file: str
    line: int | None
    code: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """Files that are given together."""

    name: str
    about: str
    subject: str
    """The file of the corpus that it is from."""
    files: Mapping[str, str]
    marks: tuple[Mark, ...] = ()
    also: frozenset[str] = frozenset()
    """Codes of other rules that rightly speak up too."""
    missed: str = ""
    """Why what is marked is not found."""

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.marks


@dataclass(slots=True)
class Verdict:
    """What lint made of a case."""

    case: Case
    hits: dict[Mark, Found] = field(default_factory=dict)
    misses: list[Mark] = field(default_factory=list)
    alarms: list[Found] = field(default_factory=list)
    """Errors and warnings that nothing in the case accounts for."""


@cache
def mistakes() -> dict[str, Mistake]:
    """Every kind of mistake, by name."""
    given = yaml.safe_load(MISTAKES.read_text(encoding="utf-8"))
    return {k: Mistake(v["means"], tuple(v["rules"])) for k, v in given.items()}


@cache
def cases() -> tuple[Case, ...]:
    """Every case, and of those that can be mended also the mended one."""
    return tuple(
        case
        for path in sorted(FOLDER.glob("*.yaml"))
        for given in yaml.load(path.read_bytes(), Loader=_LOADER)  # noqa: S506  (safe, in C)
        for case in _cases(path.stem, given)
    )


def _cases(subject: str, given: Mapping[str, Any]) -> Iterator[Case]:
    name, about = given["name"], given["about"]
    files: dict[str, str] = {}
    marks: list[Mark] = [Mark(file, line, (slug,)) for file, line, slug in given.get("expect", ())]
    for file, text in given["files"].items():
        marks += _marks(file, text)
        files[file] = _MARK.sub("", text)
    also = frozenset(given.get("also", ()))
    yield Case(name, about, subject, files, tuple(marks), also, given.get("missed", ""))
    if "mend" in given or "mended" in given:
        mended = {**files, **given.get("mended", {})}
        for file, old, new in given.get("mend", ()):
            if old not in mended[file]:
                raise ValueError(f"{name}: {old!r} is not in {file}")
            mended[file] = mended[file].replace(old, new)
        yield Case(f"{name}, mended", about, subject, mended)


def _marks(file: str, text: str) -> Iterator[Mark]:
    for number, line in enumerate(text.split("\n"), start=1):
        if marked := _MARK.search(line):
            names = marked["plain"] or marked["markdown"]
            yield Mark(file, number, tuple(each.strip() for each in names.split(",")))


def found_in(files: Mapping[str, str]) -> tuple[Found, ...]:
    """Errors and warnings of lint in files that are given together."""
    given = [GivenFile(name, text) for name, text in files.items()]
    folders, applied_folders = of_files(given)
    reading = Reading(folders=folders, applied_folders=applied_folders)
    for file in given:
        reading.add(file)
    reading.judge((*EDGES, *CHECKS))
    return tuple(
        Found(
            report.file,
            each.position.line if each.position else None,
            each.finding.code,
            each.finding.message,
        )
        for report in reading.reports()
        for each in report.found
        if each.finding.severity != "info"
    )


def judge(case: Case) -> Verdict:
    """Lint a case and hold what is found against its marks."""
    left = list(found_in(case.files))
    verdict = Verdict(case)
    for mark in case.marks:
        wanted = {rule for name in mark.mistakes for rule in mistakes()[name].rules}
        hit = next(
            (f for f in left if (f.file, f.line) == mark[:2] and f.code in wanted),
            None,
        )
        if hit is None:
            verdict.misses.append(mark)
        else:
            verdict.hits[mark] = hit
            left = [each for each in left if each[:3] != hit[:3]]
    verdict.alarms = [each for each in left if each.code not in case.also]
    return verdict


@cache
def verdict_of(number: int) -> Verdict:
    """What lint makes of a case, by its number among all."""
    return judge(cases()[number])


def verdicts() -> tuple[Verdict, ...]:
    """What lint makes of every case."""
    return tuple(map(verdict_of, range(len(cases()))))
