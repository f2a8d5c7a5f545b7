"""Folders as Argo CD and Flux name them: from the top of a repository, or several by a pattern.

`apps/*` is each folder in `apps` but hidden ones, and `!apps/old` is none of them:
https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Git/#git-generator-directories;
November 2026.
"""

from __future__ import annotations

import posixpath
import re
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

_WILD = {"*": "[^/]*", "?": "[^/]"}


def is_pattern(folder: str) -> bool:
    """Whether it stands for several."""
    return "*" in folder or "?" in folder


def those_meant(named: Iterable[str], top: str | None = None) -> Callable[[str], bool]:
    """Whether a path is that of a folder which is named.

    Args:
        named: What names them.
        top: The repository's top, `""` for where paths begin. Without one it may be any folder.
    """
    start = "(?:.*/)?" if top is None else top and f"{re.escape(top.rstrip('/'))}/"
    meant = list(dict.fromkeys(named))
    found = _any(start, (each for each in meant if not each.startswith("!")))
    left_out = _any(start, (each[1:] for each in meant if each.startswith("!")))
    return lambda path: found(path) and not left_out(path)


def ends_with(path: str, tail: str) -> bool:
    """Whether a path from wherever it begins is one of those that a path from a top may mean."""
    return f"/{path}".endswith(f"/{tail}")


class Paths:
    """Normal paths by their last names, as of many files few are called as a pattern ends.

    Args:
        paths: All of them.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._all = list(dict.fromkeys(paths))
        self._by_name: dict[str, list[str]] = {}
        for each in self._all:
            self._by_name.setdefault(posixpath.basename(each), []).append(each)

    def ending_with(self, tail: str) -> list[str]:
        """Those that a path from a top may mean."""
        near = self._by_name.get(posixpath.basename(tail), ())
        return [each for each in near if ends_with(each, tail)]

    def meant_by(self, patterns: Iterable[str]) -> Iterator[str]:
        """Those that patterns mean, from whichever folder these begin in."""
        several: list[str] = []
        for pattern in patterns:
            name = posixpath.basename(pattern)
            if is_pattern(name):
                several.append(pattern)
            else:
                yield from filter(those_meant((pattern,)), self._by_name.get(name, ()))
        if several:
            yield from filter(those_meant(several), self._all)


def folders_above(folder: str) -> Iterator[str]:
    """A folder and those above it, up to the one in which paths begin."""
    while folder not in {"", "/"}:
        yield folder
        folder = posixpath.dirname(folder)
    yield folder


def is_below(path: str, folder: str) -> bool:
    """Whether a path is that of something in a folder; in the one where paths begin all is."""
    return not folder or path.startswith(f"{folder}/")


def in_common(path: str, other: str) -> int:
    """How many names two paths begin with alike."""
    pairs = zip(path.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def nearest(file: str, others: Iterable[str]) -> list[str]:
    """The one of some files that has more folders in common with a file than any other has."""
    found: dict[int, list[str]] = {}
    for other in others:
        found.setdefault(in_common(file, other), []).append(other)
    near = found[max(found)] if found else []
    return near if len(near) == 1 else []


def meant_in(
    file: str, named: str, left_out: Iterable[str], folders: Collection[str]
) -> Iterator[str]:
    """The folders that a name means in a file.

    Args:
        file: A normal path. The top of its repository is the outermost folder above it that has
            something of that name.
        named: A folder as it is named, or a pattern; nothing is meant by one that is left out.
        left_out: Patterns of what is not meant, which begin with `!`.
        folders: All that there are.
    """
    if named.startswith("!"):
        return
    for top in list(folders_above(posixpath.dirname(file)))[::-1]:
        path = posixpath.normpath(posixpath.join(top, named))
        found = [path] if path in folders else []
        if is_pattern(named):
            found = sorted(filter(those_meant((named, *left_out), top), folders))
        if found:
            yield from found
            return


def with_name(text: str, pattern: str, folder: str) -> str:
    """A text that has a pattern's last name of several, with that which a folder has in its place.

    Args:
        text: What is made of the pattern's names.
        pattern: The pattern, or a folder as it is named.
        folder: A path that it means.
    """
    names = zip(reversed(pattern.split("/")), reversed(folder.split("/")), strict=False)
    return next((text.replace(each, name) for each, name in names if is_pattern(each)), text)


def _any(start: str, folders: Iterable[str]) -> Callable[[str], bool]:
    patterns = ["/".join(map(_part, folder.split("/"))) for folder in folders]
    if not patterns:
        return lambda _: False
    found = re.compile(f"{start}(?:{'|'.join(patterns)})")
    return lambda path: found.fullmatch(path) is not None


def _part(name: str) -> str:
    hidden = r"(?!\.)" if name.startswith(("*", "?")) else ""
    return hidden + "".join(_WILD.get(sign, re.escape(sign)) for sign in name)
