"""Where the lab keeps what it builds and runs, and locks that die with their holder."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OWN = "eks-gpushare"
_MARKER, _FORMER_MARKER = ".eks-gpushare-lab", ".lock"
_MARKED = "Folders in here are running labs. Those of labs that have ended are removed.\n"
_ELSEWHERE = "name another place by XDG_STATE_HOME"


def cache_folder() -> Path:
    """Folder of built programs: $XDG_CACHE_HOME/eks-gpushare, or ~/.cache/eks-gpushare."""
    return _folder("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path:
    """Folder of running labs: $XDG_STATE_HOME/eks-gpushare/lab, or below ~/.local/state."""
    return _folder("XDG_STATE_HOME", ".local/state") / "lab"


def make_state_folder() -> Path:
    """The folder of running labs, made if it is missing.

    What the lab finds there it removes when it thinks a lab has died. So it has to be its own.

    Raises:
        LabError: If something else is in its place, or it is somebody else's.
    """
    folder = state_folder()
    for path in (folder.parent, folder):
        _refuse_foreign(path)
    make_private(folder)
    marker = folder / _MARKER
    if not marker.exists():
        others = sorted(path.name for path in folder.iterdir())
        if others and _FORMER_MARKER not in others:
            message = f"{folder} is no folder of the lab: it holds {others[0]}"
            raise LabError(f"{message}; move it away, or {_ELSEWHERE}")
        write_private(marker, _MARKED.encode())
    folder.chmod(0o700)
    return folder


def make_private(folder: Path) -> Path:
    """Make a folder, and those above it that are missing, that nobody else can enter."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
            path.chmod(0o700)  # whatever the umask says
        if not folder.is_dir():
            folder.mkdir()  # which says what is wrong
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


def _refuse_foreign(folder: Path) -> None:
    """Refuse what is there in place of a folder of one's own."""
    try:
        there = folder.lstat()
    except OSError:
        return  # nothing is; if it cannot be made, that is said then
    if stat.S_ISLNK(there.st_mode):
        what = "is a symbolic link, which the lab does not follow"
    elif not stat.S_ISDIR(there.st_mode):
        what = "is no folder"
    elif there.st_uid != os.geteuid():
        what = f"belongs to the user {there.st_uid}, and this one is {os.geteuid()}"
    else:
        return
    raise LabError(f"{folder} {what}: remove it, or {_ELSEWHERE}")


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
