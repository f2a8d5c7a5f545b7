"""Processes that die with their parent, and what they cost."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None, use_errno=True)


def spawn(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    output: int,
    errors: int = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start a process that the kernel kills when this one ends, however this one ends.

    Call it from the main thread, of a process that has no other: the kernel takes the end of the
    thread that forked for the end of the parent, and between fork and exec nothing may wait for a
    lock that another thread held.

    Args:
        command: the program with its arguments.
        cwd: its working directory.
        environment: all of its environment.
        output: file descriptor for what it prints.
        errors: file descriptor for its standard error. Default: the same.

    """
    parent = os.getpid()

    def die_with_parent() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call: the signal will never come
            os._exit(1)

    return subprocess.Popen(  # noqa: S603  (what we built, or found by its version)
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        preexec_fn=die_with_parent,  # noqa: PLW1509  (one thread only, see above)
    )


def stop(processes: Iterable[subprocess.Popen[bytes]], seconds: float) -> None:
    """Ask processes to end, and kill those that have not after some seconds."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.terminate()
    deadline = time.monotonic() + seconds
    while running and time.monotonic() < deadline:
        time.sleep(0.02)
        running = [process for process in running if process.poll() is None]
    for process in running:
        process.kill()
    for process in running:
        process.wait()


def resident_bytes(pid: int) -> int:
    """Main memory that a process takes; 0 if there is no such process."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
