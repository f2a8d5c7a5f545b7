"""What of the cache goes again: programs of versions that nobody runs any more.

Whoever starts a lab holds the lock of use from the moment it looks for programs until they run, so
that nothing is removed meanwhile; and programs that run are kept, whoever runs them.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.binaries.versions import GO_PACKAGE
from eks_gpushare_lab.host import folders

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

CONTENTS = "contents.json"
"""In each entry: what it holds. When it was last changed is when the entry was last used."""

KEPT_DAYS = 30
"""For how long an entry that nobody uses is kept when something else is built."""

_DAY_SECONDS = 24 * 60 * 60
_LOCK = Path("locks") / "use"
_LEFT = (".building-*", f".{GO_PACKAGE[0]}-*")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """Something in the cache that can be made again."""

    folder: Path
    """Where it is."""
    size: int
    """Bytes on disk."""

    @property
    def name(self) -> str:
        """Tool and version, as people know them."""
        parts = self.folder.name.split("-linux-")[0].rpartition("-")
        return f"{parts[0]} {parts[2]}"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of the entries."""

    removed: tuple[CacheEntry, ...]
    """They are gone."""
    running: tuple[CacheEntry, ...]
    """They would be gone, did nobody run them."""


@contextmanager
def in_use(waiting: Callable[[str], object] | None = None) -> Iterator[None]:
    """Keep everything in the cache for as long as the block runs.

    Args:
        waiting: called once if somebody is removing something: until that is done.
    """
    with folders.locked(folders.cache_folder() / _LOCK, waiting, shared=True):
        yield


def note_use(folder: Path) -> None:
    """Remember that an entry is in use now."""
    with suppress(OSError):  # one that comes from PATH is not there
        os.utime(folder / CONTENTS)


def clean(kept: Collection[Path], waiting: Callable[[str], object] | None = None) -> Cleaned:
    """Remove what can be made again.

    Args:
        kept: folders to keep.
        waiting: called once if a lab is being started or built: until that is done.
    """
    cache = folders.cache_folder()
    if not cache.is_dir():
        return Cleaned((), ())
    removed, running = [], []
    with folders.locked(cache / _LOCK, waiting), folders.locked(cache / "locks" / "build"):
        remove_leftovers(cache)
        runs = _run_from(cache)
        for folder in _folders(cache):
            if folder in kept:
                continue
            entry = CacheEntry(folder, _size(folder))
            if folder in runs:
                running.append(entry)
            elif _remove(folder):
                removed.append(entry)
        wanted = {folder.name.split("-linux-")[0] for folder in (*_folders(cache), *kept)}
        for log in (cache / "logs").glob("*.log"):
            if log.stem not in wanted:
                log.unlink(missing_ok=True)
    return Cleaned(tuple(removed), tuple(running))


def remove_unused(cache: Path) -> list[CacheEntry]:
    """Remove entries that nobody has used for long. The caller holds the lock of builds."""
    removed = []
    for folder in _folders(cache):
        entry = CacheEntry(folder, _size(folder))
        idle = _idle_days(folder) > KEPT_DAYS and folder not in _run_from(cache)
        if idle and _remove(folder):
            removed.append(entry)
    return removed


def remove_leftovers(cache: Path) -> None:
    """Remove what interrupted builds left. The caller holds the lock of builds."""
    for pattern in _LEFT:
        for left in cache.glob(pattern):
            shutil.rmtree(left, ignore_errors=True)


def _folders(cache: Path) -> list[Path]:
    """Entries: what was built, and Go toolchains; nothing that somebody else put there."""
    built = [file.parent for file in cache.glob(f"[!.]*/{CONTENTS}")]
    return sorted([*built, *cache.glob(f"{GO_PACKAGE[0]}-*")])


def _remove(folder: Path) -> bool:
    """First out of sight, in one step: half an entry is none."""
    gone = folder.with_name(f".building-{folder.name}")
    with suppress(OSError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
    return not folder.exists()


def _idle_days(folder: Path) -> float:
    marked = folder / CONTENTS if (folder / CONTENTS).exists() else folder
    return (time.time() - marked.stat().st_mtime) / _DAY_SECONDS


def _run_from(cache: Path) -> set[Path]:
    """Entries that a process runs from."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            program = (process / "exe").readlink()
        except OSError:
            continue
        if program.is_relative_to(cache):
            found.add(cache / program.relative_to(cache).parts[0])
    return found


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
