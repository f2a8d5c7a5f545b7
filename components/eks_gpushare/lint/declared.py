"""How files belong together by what somebody says: in the call, or in a configuration file."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Declared:
    """What is said of how files belong together."""

    together: bool = False
    """Whether all of the call are of one cluster."""
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Scopes by name: files, folders and patterns of both."""
    folder: str = "."
    """The folder that these paths begin in."""

    def scopes(self, files: Iterable[str]) -> dict[str, frozenset[str]]:
        """The files of each scope, by their normal paths."""
        inside = {
            posixpath.normpath(file): os.path.relpath(file, self.folder).replace(os.sep, "/")
            for file in files
        }
        return {
            name: frozenset(
                file for file, below in inside.items() if any(_is_in(below, path) for path in paths)
            )
            for name, paths in self.paths.items()
        }


def _is_in(file: str, path: str) -> bool:
    path = posixpath.normpath(path)
    return path == "." or any(fnmatchcase(folder, path) for folder in (file, *_folders(file)))


def _folders(file: str) -> Iterable[str]:
    while file := posixpath.dirname(file):
        yield file
