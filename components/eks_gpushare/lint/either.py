"""What guides and scripts say is one or the other: commands with an `or` between them.

A comment between commands, or a paragraph before a block of a guide, that is nothing but it says
that what the commands before and behind it apply need not be there together, wherever it lies. All
commands of a script are run but those that a comment puts out.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.reading import is_guide
from eks_gpushare.lint.readers.markdown import blocks
from eks_gpushare.lint.shell.reading import MAX_CHARACTERS, TOOLS
from eks_gpushare.manifests.folders import folders_above

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.lint.readers.markdown import Block

MOST: Final = 200
"""Most places of a text with an `or` that are heeded."""
MOST_NAMES: Final = 200
"""Most that the ways of a text may name: one with more tells of none."""
_OR: Final = r"(?:or|alternatively|alternative)(?![A-Za-z0-9_-])"
_CHOICE: Final = (
    _OR + r"[*_]{0,3},?(?:[ \t]+(?:with|by|use|using|via))?"
    r"(?:[ \t]+(?!(?:above|after|as|check|else|higher|if|just|later|more|newer|not|rather|see|so"
    r"|unless|until|wait|watch|when)\b)[A-Za-z0-9_./`-]+){0,2}(?:[ \t]*:)?[ \t]*"
)
"""One that says nothing but what the other way is with."""
_COMMENT: Final = re.compile(rf"[ \t]*#+[ \t]*{_CHOICE}", re.IGNORECASE)
_SENTENCE: Final = re.compile(
    r"[ \t>]*(?:[-*+][ \t]+|[0-9]+[.)][ \t]+)?[*_]{0,3}" + _CHOICE + r"[*_]{0,3}", re.IGNORECASE
)
"""Such a paragraph."""
_PARAGRAPHS: Final = re.compile(r"\n[ \t>]*\n")
_HEADING: Final = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)
_ANY: Final = re.compile(rf"^[ \t>#*_+.)0-9-]*{_OR}", re.IGNORECASE | re.MULTILINE)
_PUT_OUT: Final = re.compile(
    rf"[ \t]*#+[ \t]*(?:[$%][ \t]+)?(?:sudo[ \t]+)?(?:{'|'.join(TOOLS)})[ \t]+[a-z-]",
    re.IGNORECASE,
)
"""A comment with a command in it."""
_APPLIES: Final = re.compile(r"\b(?:apply|create|replace|install|upgrade)\b")
_NAMES: Final = re.compile(
    r"(?:^|[ \t])(?:-[fk]|--(?:filename|values|kustomize))(?:[ \t]+|=)[\"']?([^\s\"']+)"
)
_PATH: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_./-]*")
_FROM_VARIABLE: Final = re.compile(r"^\$(?:[A-Za-z_]+|\{[A-Za-z_]+\})/")
_UP: Final = re.compile(r"^(?:\.{1,2}/)+")
_SCRIPTS: Final = (".sh", ".bash")


class Way(NamedTuple):
    """Commands that are one of several ways."""

    either: int
    """The line at which the second of these begins, by which they are known."""
    first: int
    """Its first line, from 1."""
    last: int
    names: frozenset[str] = frozenset()
    """Files and folders that they apply, as they name them."""


def ways_in(file: str, text: str) -> list[Way]:
    """The ways that a guide or a script has, each beside others."""
    of_guide = is_guide(file)
    if not (of_guide or file.endswith(_SCRIPTS)):
        return []
    if len(text) > MAX_CHARACTERS or not _ANY.search(text):
        return []
    lines = text.splitlines()
    pairs = _between_blocks(text) if of_guide else _put_out(lines)
    found: list[Way] = []
    for before, behind in sorted(islice(pairs, MOST), key=lambda pair: pair[1].start):
        if not found or (found[-1].first, found[-1].last) != (before.start, before.stop - 1):
            found.append(_way(behind.start, before, lines))
        found.append(_way(found[-1].either, behind, lines))
    return found if len({name for way in found for name in way.names}) <= MOST_NAMES else []


def _way(either: int, where: range, lines: Sequence[str]) -> Way:
    said = "\n".join(lines[where.start - 1 : where.stop - 1]).replace("\\\n", " ")
    names = {
        _FROM_VARIABLE.sub("", name)
        for line in said.splitlines()
        if _APPLIES.search(line)
        for named in _NAMES.findall(line)
        for name in named.split(",")
    }
    paths = frozenset(posixpath.normpath(name) for name in names if _PATH.fullmatch(name))
    return Way(either, where.start, where.stop - 1, paths)


def _between_blocks(text: str) -> Iterator[tuple[range, range]]:
    """The lines of a guide's commands before and behind an `or`, within its blocks and between."""
    found = list(blocks(text))
    for block in found:
        if block.kind == "shell":
            lines = block.text.splitlines()
            for before, behind in _between_commands(lines):
                yield _moved(before, block.line - 1), _moved(behind, block.line - 1)
    for (one, prose), (_, other) in pairwise(pairwise(found)):
        is_between = prose.kind == "prose" and "prose" not in {one.kind, other.kind}
        said = _PARAGRAPHS.split(prose.text.strip()) if is_between else [""]
        if _SENTENCE.fullmatch(said[-1]) and not _HEADING.search(prose.text):
            yield _lines_of(one), _lines_of(other)


def _put_out(lines: Sequence[str]) -> Iterator[tuple[range, range]]:
    """The same of a script, where a comment puts out one of both."""
    for before, behind in _between_commands(lines):
        for where in (before, behind):
            if all(lines[each - 1].lstrip().startswith("#") for each in where):
                yield before, behind
                break


def _between_commands(lines: Sequence[str]) -> Iterator[tuple[range, range]]:
    """Lines before and behind a comment that begins so, up to a blank one or another comment.

    The commands behind it may be in comments themselves.
    """
    for at, line in enumerate(lines):
        if not _COMMENT.fullmatch(line):
            continue
        end = at
        while end and not lines[end - 1].strip():
            end -= 1
        start = end
        while start and _kind(lines[start - 1]) == _kind(lines[end - 1]) != "":
            start -= 1
        last = first = at + 1
        while last < len(lines) and _kind(lines[last]) == _kind(lines[first]) != "":
            last += 1
        if start < end and first < last:
            yield range(start + 1, end + 1), range(first + 1, last + 1)


def _kind(line: str) -> str:
    """Whether it is a command, or a comment that puts out one; empty of others."""
    if _COMMENT.fullmatch(line) or not line.strip():
        return ""
    if line.lstrip()[0] != "#":
        return "command"
    return "comment" if _PUT_OUT.match(line) else ""


def _moved(lines: range, by: int) -> range:
    return range(lines.start + by, lines.stop + by)


def _lines_of(block: Block) -> range:
    return range(block.line, block.line + len(block.text.splitlines()))


class NearFiles:
    """Files by how guides and scripts name them.

    Args:
        files: Normal paths.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._files = set(files)
        self._by_end = sorted((_backwards(each), each) for each in self._files)
        self._called: dict[str, list[str]] = {}
        self._below: dict[str, list[str]] = {}
        for file in sorted(self._files):
            for folder in folders_above(posixpath.dirname(file)):
                self._below.setdefault(folder, []).append(file)

    def meant(self, file: str, name: str) -> str | None:
        """The file or folder that another names: the nearest to that, or the only one.

        Args:
            file: The normal path of what names it.
            name: The normal path of a file or a folder.
        """
        near = self.near(file, name)
        if near is not None:
            return near
        found = self.called(name)
        return found[0] if len(found) == 1 else None

    def near(self, file: str, name: str) -> str | None:
        """The nearest alone."""
        for folder in folders_above(posixpath.dirname(file)):
            path = posixpath.normpath(posixpath.join(folder, name))
            if path != folder and (path in self._files or path in self._below):
                return path
        return None

    def called(self, name: str) -> list[str]:
        """All files that are called so, wherever they lie."""
        end = _backwards(_UP.sub("", name))
        if end not in self._called:
            first = last = bisect_left(self._by_end, (end, ""))
            while last < len(self._by_end) and self._by_end[last][0].startswith(end):
                last += 1
            self._called[end] = [each for _, each in self._by_end[first:last]]
        return self._called[end]

    def files_of(self, path: str) -> list[str]:
        """All of a folder, or one of its own."""
        return self._below.get(path) or [path]


def _backwards(path: str) -> str:
    return f"/{path}"[::-1]


class Ways:
    """What is one or the other by what guides and scripts say.

    Args:
        texts: Texts of files by their names.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._of_guides: dict[str, list[Way]] = {}
        self._of_files: dict[str, tuple[str, Way]] = {}
        self._known: set[str] = set()
        """Files and folders that a guide or a script has named: of another they are none."""
        told = {name: ways for name, text in texts.items() if (ways := ways_in(name, text))}
        if not told:
            return
        known = NearFiles(map(posixpath.normpath, texts))
        for name, ways in told.items():
            if is_guide(name):
                self._of_guides[name] = ways
            self._add(name, ways, known)

    def _add(self, name: str, ways: Iterable[Way], known: NearFiles) -> None:
        """Take the files of ways; one that several ways beside each other have is of none."""
        named: dict[str, list[Way]] = {}
        for way in ways:
            for each in sorted(way.names):
                path = known.meant(posixpath.normpath(name), each)
                if path is not None and path not in self._known:
                    named.setdefault(path, []).append(way)
        self._known.update(named)
        found: dict[tuple[str, int], dict[int, Way]] = {}
        for path, of in named.items():
            for file in known.files_of(path):
                for way in of:
                    found.setdefault((file, way.either), {})[way.first] = way
        for (file, _), beside in sorted(found.items(), key=lambda one: one[0][1]):
            if len(beside) == 1:
                self._of_files.setdefault(file, (name, next(iter(beside.values()))))

    def of_line(self, guide: str, line: int) -> Way | None:
        """The way that a line of a guide is of."""
        found = self._of_guides.get(guide, ())
        return next((way for way in found if way.first <= line <= way.last), None)

    def of_file(self, path: str) -> tuple[str, Way] | None:
        """The way that a file is of by its normal path, and who says so."""
        return self._of_files.get(path)
