"""The labs of this user: one folder each, with a lock that says whether it is alive."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import shutil
import signal
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.host.folders import (
    locked,
    make_private,
    make_state_folder,
    state_folder,
    write_private,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NAME = "default"
"""The lab of `lab up`. Those of one command or one test have names of their own."""

KEPT_SECONDS = 24 * 60 * 60
"""How long the logs of a lab that ended badly are kept."""

_NAME = re.compile(rf"{NAME}|run-[0-9]+-[0-9a-f]{{8}}")
_STATE, _LOCK, _LOGS = "state.json", "lock", "logs"


@dataclass(frozen=True, slots=True)
class Lab:
    """What is known of a lab.

    Attributes:
        directory: its folder, mode 0700.
        phase: "starting", "ready", "stopped", or "failed", then `error` says why.
        pid: process id of the supervisor.
        port: of the API server, on 127.0.0.1.
        started: seconds since 1970.
        ready_seconds: from start to ready.
        versions: of each tool, such as {"etcd": "v3.6.16"}.
        processes: process ids by name.
        error: why it failed, for the user.

    """

    directory: Path
    phase: str
    pid: int
    port: int = 0
    started: float = 0
    ready_seconds: float = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    processes: Mapping[str, int] = field(default_factory=dict)
    error: str = ""

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of a cluster administrator, complete in itself."""
        return self.directory / "kubeconfig"

    @property
    def ca(self) -> Path:
        """Certificate of the authority that signed the API server's."""
        return self.directory / "ca.crt"

    @property
    def client_cert(self) -> Path:
        """Certificate of a cluster administrator."""
        return self.directory / "admin.crt"

    @property
    def client_key(self) -> Path:
        """Key of that certificate."""
        return self.directory / "admin.key"

    @property
    def logs(self) -> Path:
        """Folder with one log per process, kept after the lab has stopped."""
        return self.directory / _LOGS


def save(lab: Lab) -> None:
    """Write down what is known, so that a reader sees the old or the new state, never a half."""
    text = json.dumps({**asdict(lab), "directory": str(lab.directory)}, indent=2)
    new = lab.directory / f"{_STATE}.new"
    write_private(new, text.encode())
    new.replace(lab.directory / _STATE)


def read(directory: Path) -> Lab | None:
    """What a lab wrote down last; None if it never did, or another version of us wrote it."""
    try:
        values: dict[str, Any] = json.loads((directory / _STATE).read_text(encoding="utf-8"))
        return Lab(**{**values, "directory": directory})
    except (OSError, ValueError, TypeError):
        return None


def directory_of(name: str) -> Path:
    """Folder of a lab."""
    return state_folder() / name


def find(name: str = NAME) -> tuple[Lab | None, bool]:
    """A lab as it was last written down, and whether it is alive."""
    with registry():
        directory = directory_of(name)
        return read(directory), is_alive(directory)


def stop(directory: Path, seconds: float) -> bool:
    """Have the supervisor of a lab stop it; kill the supervisor if it does not in time.

    Returns:
        Whether the lab was alive.

    """
    with registry():
        lab = read(directory)
        if lab is None or not is_alive(directory):
            return False
        supervisor = os.pidfd_open(lab.pid)  # its own id still: it holds the lock
    try:
        signal.pidfd_send_signal(supervisor, signal.SIGTERM)
        if not select.select([supervisor], [], [], seconds)[0]:
            # The processes it owns die with it.
            signal.pidfd_send_signal(supervisor, signal.SIGKILL)
            select.select([supervisor], [], [], seconds)
    except ProcessLookupError:
        pass  # it ended by itself meanwhile
    finally:
        os.close(supervisor)
    return True


@contextmanager
def registry() -> Iterator[None]:
    """Keep other processes from starting, judging or removing a lab meanwhile."""
    with locked(make_state_folder() / ".lock"):
        yield


def is_alive(directory: Path) -> bool:
    """Whether a supervisor holds the lock of a lab. Ask within `registry()`."""
    try:
        descriptor = os.open(directory / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def claim(directory: Path) -> bool:
    """Make a fresh folder for a lab and lock it until this process ends, within `registry()`.

    Returns:
        False if the lab is alive, so that there is nothing to claim.

    """
    if directory.is_symlink():
        raise LabError(f"{directory} is a symbolic link, which the lab does not follow: remove it")
    if is_alive(directory):
        return False
    remove(directory)
    make_private(directory / _LOGS)
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


def strip(directory: Path) -> None:
    """Remove everything of a dead lab but its logs and its last state: keys and data above all."""
    for entry in directory.iterdir():
        if entry.name in {_STATE, _LOCK, _LOGS}:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _is_a_labs(directory: Path) -> bool:
    """Whether a folder is that of a lab; links and what somebody else has put there are not."""
    if directory.is_symlink() or not directory.is_dir():
        return False
    names = (_STATE, _LOCK, _LOGS)
    return bool(_NAME.fullmatch(directory.name)) or any((directory / n).exists() for n in names)


def remove(directory: Path) -> None:
    """Remove the folder of a lab altogether."""
    shutil.rmtree(directory, ignore_errors=True)


def clean() -> list[Path]:
    """Remove what dead labs left, within `registry()`.

    Of the lab of `lab up`, and for a day of one that failed, state and logs stay.

    Returns:
        The folders of labs that were killed, so that somebody can be told.

    """
    killed = []
    for directory in state_folder().iterdir():
        if not _is_a_labs(directory) or is_alive(directory):
            continue
        lab = read(directory)
        if lab is not None and lab.phase in {"starting", "ready"}:
            killed.append(directory)
        failed = lab is not None and lab.phase == "failed"
        recent = time.time() - directory.stat().st_mtime < KEPT_SECONDS
        if directory.name == NAME or (failed and recent):
            strip(directory)
        else:
            remove(directory)
    return killed
