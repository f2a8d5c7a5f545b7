"""What git passes over: patterns of `.gitignore` files, as far up as the repository goes.

The patterns are read by pathspec, which has git's own meaning of them. Git itself is not asked,
since it need not be installed, and a call of it for each folder is slow. What is ignored and
tracked all the same is ignored here, as ruff and ripgrep do.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from eks_gpushare.documents.reading import read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pathspec import GitIgnoreSpec

_NAME: Final = ".gitignore"
_EXCLUDE: Final = ".git/info/exclude"
_MOST: Final = 1024 * 1024


class Ignored:
    """What a repository ignores, of which each folder is looked at once."""

    def __init__(self) -> None:
        self._folders: dict[Path, _Folder] = {}

    def __call__(self, path: Path, *, folder: bool = False) -> bool:
        """Whether git passes a path over, for itself or for a folder that it is in.

        Args:
            path: The path, absolute.
            folder: Whether it is a folder.
        """
        above = self._of(path.parent)
        return above.is_ignored or above.says(f"{path.name}/" if folder else path.name)

    def _of(self, path: Path) -> _Folder:
        found = self._folders.get(path)
        if found is None:
            is_top = (path / ".git").exists()
            above = None if is_top or path == path.parent else self._of(path.parent)
            found = self._folders[path] = _Folder(path, above)
        return found


class _Folder:
    """A folder, and what it and those above it say of what lies in it."""

    def __init__(self, path: Path, above: _Folder | None) -> None:
        self.path, self.above = path, above

    @cached_property
    def top(self) -> Path | None:
        """The folder of the repository; None outside of one, where nothing is ignored."""
        if self.above is not None:
            return self.above.top
        return self.path if (self.path / ".git").exists() else None

    @cached_property
    def is_ignored(self) -> bool:
        """Whether the folder is passed over as such, so that nothing in it can be taken back."""
        above = self.above
        if above is None or self.top is None:
            return False
        return above.is_ignored or above.says(f"{self.path.name}/")

    def says(self, name: str) -> bool:
        """Whether patterns ignore what lies in it; those of the nearest folder win, the last first.

        Args:
            name: Its name, with a slash behind that of a folder.
        """
        for spec, folder in self.told:
            if (told := spec.check_file(f"{folder}{name}").include) is not None:
                return told
        return False

    @cached_property
    def told(self) -> Sequence[tuple[GitIgnoreSpec, str]]:
        """What it and those above it say, and where it lies from each, from the nearest on."""
        if self.top is None:
            return ()
        own = [(spec, "") for spec in self.specs]
        above = () if self.above is None else self.above.told
        return [*own, *((spec, f"{folder}{self.path.name}/") for spec, folder in above)]

    @cached_property
    def specs(self) -> Sequence[GitIgnoreSpec]:
        """What its own files say, the one of `.git` last."""
        names = (_NAME, _EXCLUDE) if self.path == self.top else (_NAME,)
        found = []
        for name in names:
            if (self.path / name).is_file():
                from pathspec import GitIgnoreSpec

                try:
                    lines = read_bytes(str(self.path / name), _MOST).decode(errors="replace")
                    found.append(GitIgnoreSpec.from_lines(lines.splitlines()))
                except (OSError, ValueError):
                    continue  # git takes no such pattern either
        return found
