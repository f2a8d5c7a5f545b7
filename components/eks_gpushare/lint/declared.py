"""How files belong together by what somebody says: in the call, or in a configuration file."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Declared:
    """What is said of how files belong together."""

    together: bool = False
    """Whether all of the call are of one cluster."""
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Scopes by name: files, folders and patterns of both."""
    folder: str = "."
    """The folder that these paths begin in."""
    more: tuple[Declared, ...] = ()
    """What other configurations say, each of its own files."""
    is_for: Callable[[str], bool] | None = None
    """Whether it is said of a file. Default: of all."""

    def scopes(self, files: Iterable[str]) -> dict[str, frozenset[str]]:
        """The files of each scope, by their normal paths."""
        files = list(files)
        inside = {
            posixpath.normpath(file): below(file, self.folder)
            for file in files
            if self.paths and (self.is_for is None or self.is_for(file))
        }
        found = {
            name: frozenset(file for file, path in inside.items() if is_in_any(path, paths))
            for name, paths in self.paths.items()
        }
        for other in self.more:
            for name, members in other.scopes(files).items():
                found[f"{name} of {other.folder}" if name in found else name] = members
        return found


def below(file: str, folder: str) -> str:
    """The path of a file from a folder on, with slashes."""
    return os.path.relpath(file, folder).replace(os.sep, "/")


def is_in_any(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or a folder that it is in, is one of some files, folders and patterns.

    Args:
        path: From the folder on that the patterns begin in.
        patterns: In which `*` stands for folders too.
    """
    return any(_is_in(path, pattern) for pattern in patterns)


def wrong_pattern(pattern: str) -> str | None:
    """Why nothing can be meant by a pattern: the rest of a sentence that begins with it."""
    if pattern.startswith(("/", "~")):
        return "is absolute; paths begin in the folder of the configuration"
    if posixpath.normpath(pattern).startswith(".."):
        return "leads out of the folder of the configuration; move the file up"
    if pattern.startswith("!"):
        return "takes nothing back as .gitignore does; name what is meant"
    if pattern.count("[") != pattern.count("]"):
        return "has a bracket without its other half; for a bracket itself write [[]"
    return None


def _is_in(file: str, path: str) -> bool:
    path = posixpath.normpath(path)
    if path == ".":
        return True
    # Two stars stand for no folder too, as they do for git.
    patterns = {path, path.removeprefix("**/"), path.replace("/**/", "/")}
    every = (file, *_folders(file))
    return any(fnmatchcase(each, pattern) for pattern in patterns for each in every)


def _folders(file: str) -> Iterable[str]:
    while file := posixpath.dirname(file):
        yield file
