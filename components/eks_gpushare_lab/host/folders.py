"""Where the lab keeps what it builds and runs, and locks that die with their holder."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OWN = "eks-gpushare"


def cache_folder() -> Path:
    """Folder of built programs: $XDG_CACHE_HOME/eks-gpushare, or ~/.cache/eks-gpushare."""
    return _folder("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path:
    """Folder of running labs: $XDG_STATE_HOME/eks-gpushare/lab, or below ~/.local/state."""
    return _folder("XDG_STATE_HOME", ".local/state") / "lab"


def make_private(folder: Path) -> Path:
    """Make a folder, and those above it, that nobody else can enter."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder} cannot be made: {error.strerror}; XDG_CACHE_HOME and XDG_STATE_HOME"
        raise LabError(f"{message} name other places for what the lab keeps") from error
    return folder


def write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read, from its first byte on."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)


@contextmanager
def locked(
    file: Path, waiting: Callable[[str], object] | None = None, *, shared: bool = False
) -> Iterator[None]:
    """Hold a lock that other processes see.

    The kernel holds it for this process, so it is gone when the process is, however that ended.

    Args:
        file: what to lock; made if it is missing, and never removed.
        waiting: called once, with the process id of the holder as far as it is known, if
            somebody else has the lock. Default: wait in silence.
        shared: let others hold it so as well, and keep out only who wants it alone.

    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    make_private(file.parent)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting is not None:
                waiting(os.pread(descriptor, 20, 0).decode("ascii", "replace").strip())
            fcntl.flock(descriptor, kind)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _folder(variable: str, below_home: str) -> Path:
    given = os.environ.get(variable, "")
    # The XDG specification has relative paths ignored.
    if given.startswith("/"):
        return Path(given) / _OWN
    try:
        return Path.home() / below_home / _OWN
    except RuntimeError as error:
        message = f"no home directory is known: set HOME, or {variable} to an absolute path"
        raise LabError(message) from error
