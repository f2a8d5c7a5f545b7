"""Files of a call judged part by part, with the same result as all at once.

A first pass reads each file and keeps what it names (`lint.parts`); a second one reads and judges
part after part. What the first could not see, that a file names something which only one other of
the whole call has, is known after the second: the few parts that it joins are judged once more,
and at last those of which something grave is told, with what lies nearby (`lint.nearby`).
"""

from __future__ import annotations

import gc
import posixpath
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from eks_gpushare.lint.parts import Joined, Links
from eks_gpushare.lint.references import all_of
from eks_gpushare.manifests.files import given_files, read_file
from eks_gpushare.manifests.folders import in_common

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eks_gpushare.lint.declared import Declared
    from eks_gpushare.lint.references import Naming
    from eks_gpushare.manifests.files import GivenFile

T = TypeVar("T")

_KEPT: Final = 16 * 1024 * 1024
"""Bytes of text up to which files are not read a second time."""
_SMALL: Final = 256 * 1024
"""Characters up to which all files are judged at once, which is the quicker for so few."""
_NEAR: Final = 1024 * 1024
"""Characters up to which parts are judged together for what lies nearby, the nearest first."""
_COLLECTED: Final = 8 * 1024 * 1024
"""Bytes of text after which cycles are collected: a short command collects none."""


class Part(NamedTuple, Generic[T]):
    """What was made of files that are judged together."""

    files: tuple[str, ...]
    """Their normal paths."""
    naming: Naming
    made: T


class Files:
    """The files of a call, of which no more texts are held than are needed.

    Args:
        names: What is named: files, folders, `-`.
        leave_out: Whether a file is passed over. Default: none is.
        ignored: Whether what git ignores is read too.
    """

    def __init__(
        self,
        names: Iterable[str],
        leave_out: Callable[[str], bool] | None = None,
        *,
        ignored: bool = False,
    ) -> None:
        self.links = Links()
        self.bytes = 0
        """Size of all texts together, in characters."""
        self._given: dict[str, list[GivenFile]] = {}
        self._sizes: dict[str, int] = {}
        self._is_kept = True
        for file in given_files(names, leave_out, ignored=ignored):
            self.links.look_at(file)
            self.bytes += len(file.text)
            if self._is_kept and self.bytes > _KEPT:
                self._forget()
            path = posixpath.normpath(file.name)
            self._given.setdefault(path, []).append(self._held(file))
            self._sizes[path] = len(file.text)

    def _held(self, file: GivenFile) -> GivenFile:
        return file if self._is_kept or file.name == "-" else file._replace(text="")

    def _forget(self) -> None:
        self._is_kept = False
        self._given = {path: [*map(self._held, files)] for path, files in self._given.items()}

    @property
    def paths(self) -> list[str]:
        """All of them by their normal paths, in the order in which they were given."""
        return list(self._given)

    @property
    def names(self) -> list[str]:
        """All of them as they are called, in the order in which they were given."""
        return [file.name for files in self._given.values() for file in files]

    def size_of(self, paths: Iterable[str]) -> int:
        """Characters of some of them together."""
        return sum(self._sizes[path] for path in paths)

    def read(self, paths: Iterable[str]) -> Iterator[GivenFile]:
        """Some of them with their texts."""
        for path in paths:
            for file in self._given[path]:
                is_whole = self._is_kept or file.text or file.problem or file.note
                yield file if is_whole else read_file(file.name, in_folder=file.in_folder)


def judged_in_parts(
    files: Files,
    declared: Declared,
    judge: Callable[[list[GivenFile], Naming | None], tuple[T, Naming]],
    *,
    together: bool = False,
) -> list[Part[T]]:
    """What is made of each part of the files.

    Args:
        files: The files.
        declared: How they belong together by what somebody says.
        judge: Makes it of files and of what the whole call has and names, where that is known;
            gives what these files have and name too.
        together: Whether all of them are one part.
    """
    if together or declared.together or files.bytes <= _SMALL:
        return [_judged(files, files.paths, judge, None)]
    groups = files.links.parts(declared.scopes(files.paths))
    parts: list[Part[T]] = []
    read = 0
    for group in groups:
        parts.append(_judged(files, group, judge, None))
        read += files.size_of(group)
        if read > _COLLECTED:
            read = 0
            gc.collect()
    return _again(files, parts, judge)


def _judged(
    files: Files,
    paths: Iterable[str],
    judge: Callable[[list[GivenFile], Naming | None], tuple[T, Naming]],
    everywhere: Naming | None,
) -> Part[T]:
    paths = tuple(paths)
    made, naming = judge(list(files.read(paths)), everywhere)
    return Part(paths, naming, made)


def _again(
    files: Files,
    parts: list[Part[T]],
    judge: Callable[[list[GivenFile], Naming | None], tuple[T, Naming]],
) -> list[Part[T]]:
    """The parts, with those anew to which the whole call gives other references than they had."""
    everywhere = all_of(part.naming for part in parts)
    owners = _owners(parts)
    joined = Joined(map(str, range(len(parts))))
    changed: set[int] = set()
    for number, part in enumerate(parts):
        had = part.naming.references
        if everywhere.gives_labels_to(part.naming) or part.naming.layouts:
            changed.add(number)
        if part.naming.changes != everywhere.changes:
            changed.add(number)
        for file in part.files:
            wanted = everywhere.references.get(file, ())
            if sorted(wanted) != sorted(had.get(file, ())):
                changed.add(number)
                others = [str(owners[each]) for each in wanted if each in owners]
                joined.join((str(number), *others))
    for inside in everywhere.files_laid_out():
        of_cluster = {owners[file] for file in inside if file in owners}
        changed |= of_cluster
        joined.join(map(str, sorted(of_cluster)))

    def anew(paths: Iterable[str]) -> Part[T]:
        return _judged(files, paths, judge, everywhere)

    found = _joined(parts, joined, changed, anew)
    return _with_nearby(files, found, everywhere, anew)


def _with_nearby(
    files: Files, parts: list[Part[T]], everywhere: Naming, anew: Callable[[Iterable[str]], Part[T]]
) -> list[Part[T]]:
    """The parts, with those anew beside which there is more that may be of the same cluster.

    They are judged with it, as far as that is no more than can be read at once.
    """
    owners = _owners(parts)
    by_folder: dict[str, set[int]] = {}
    for file, number in owners.items():
        by_folder.setdefault(posixpath.dirname(file), set()).add(number)
    joined = Joined(map(str, range(len(parts))))
    sizes = {str(number): files.size_of(part.files) for number, part in enumerate(parts)}
    changed: set[int] = set()
    for number, part in enumerate(parts):
        folders = {each for scope in part.naming.grave for each in everywhere.nearby.of(scope)}
        for other in _nearest_first(
            part, {folder: by_folder.get(folder, ()) for folder in folders}
        ):
            tops = {joined.top(str(number)), joined.top(str(other))}
            size = sum(sizes[top] for top in tops)
            if size > _NEAR:
                break
            changed.add(number)
            joined.join((str(number), str(other)))
            sizes[joined.top(str(number))] = size
    return _joined(parts, joined, changed, anew)


def _nearest_first(part: Part[T], others: Mapping[str, Iterable[int]]) -> list[int]:
    """The numbers of parts by their folders, those first that have more folders in common."""
    own = posixpath.dirname(part.files[0])
    near = sorted(others, key=lambda folder: (-in_common(own, folder), folder))
    return list(dict.fromkeys(each for folder in near for each in sorted(others[folder])))


def _joined(
    parts: list[Part[T]],
    joined: Joined,
    changed: set[int],
    anew: Callable[[Iterable[str]], Part[T]],
) -> list[Part[T]]:
    """Parts as some of them belong together, those anew of which something changed."""
    found: list[Part[T]] = []
    for group in joined.groups():
        numbers = [*map(int, group)]
        if changed.isdisjoint(numbers):
            found += [parts[number] for number in numbers]
        else:
            found.append(anew([path for number in numbers for path in parts[number].files]))
    return found


def _owners(parts: Iterable[Part[T]]) -> dict[str, int]:
    """The number of the part that each file is of."""
    return {file: number for number, part in enumerate(parts) for file in part.files}
