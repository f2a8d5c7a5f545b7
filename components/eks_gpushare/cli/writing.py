"""Files that a command writes: all of them or none, and over nobody's own by mistake."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ThereAlreadyError(Exception):
    """Files that were to be written are there already."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = tuple(files)
        """Those files."""
        super().__init__(", ".join(map(str, self.files)))


def write_files(files: Mapping[Path, str], *, force: bool = False) -> list[Path]:
    """Write files, all or none.

    Args:
        files: Their texts by their paths. Folders are made as they are needed.
        force: Write over files that are there.

    Returns:
        Their paths.

    Raises:
        ThereAlreadyError: Without `force`, if one is there; then nothing is written.
        OSError: If one cannot be written; then all is as it was before.
    """
    there = [file for file in files if os.path.lexists(file)]
    if there and not force:
        raise ThereAlreadyError(there)
    undo = _Undo()
    try:
        staged = [(_staged(file, text, undo), file) for file, text in files.items()]
        for temporary, file in staged:
            undo.remember(file)
            temporary.replace(file)
    except BaseException:  # also an interrupt leaves nothing behind
        undo.run()
        raise
    return list(files)


class _Undo:
    def __init__(self) -> None:
        self.made: list[Path] = []
        self.folders: list[Path] = []
        self.before: dict[Path, bytes | None] = {}

    def remember(self, file: Path) -> None:
        self.before[file] = file.read_bytes() if file.exists() else None

    def run(self) -> None:
        for temporary in self.made:
            temporary.unlink(missing_ok=True)
        for file, content in self.before.items():
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(content)
        for folder in reversed(self.folders):
            folder.rmdir()


def _staged(file: Path, text: str, undo: _Undo) -> Path:
    if file.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(file))
    missing = [path for path in (file.parent, *file.parent.parents) if not path.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        undo.folders.append(folder)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    undo.made.append(Path(name))
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as opened:
        opened.write(text)
    Path(name).chmod(0o666 & ~_umask())
    return Path(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
