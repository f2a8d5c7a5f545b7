"""Paths as they are from the root of a repository on, where pull requests show them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote


class ReportPath(NamedTuple):
    """A file's path, and whether it is one within the repository."""

    path: str
    inside: bool

    @property
    def uri(self) -> str:
        """The path as a URI: relative to the root where the file is inside."""
        if self.inside:
            return quote(self.path)
        return f"file://{quote(self.path)}"


def root_of(start: Path) -> Path:
    """The root of the repository that a folder is in; without one, the folder."""
    start = start.resolve()
    # In a worktree and in a submodule, `.git` is a file.
    return next((path for path in (start, *start.parents) if (path / ".git").exists()), start)


def placed(file: str, root: Path) -> ReportPath:
    """Where a file is.

    Args:
        file: Its path, from the working directory on if it is not absolute.
        root: The root of the repository.
    """
    path = Path(file)
    try:
        path = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that no file can have
        path = Path.cwd() / "".join(file.split("\0"))
    if path.is_relative_to(root):
        return ReportPath(path.relative_to(root).as_posix(), inside=True)
    return ReportPath(path.as_posix(), inside=False)
