"""Processes that die with their parent, and what they cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare.live import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def spawn(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    output: int,
    errors: int = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start a process that the kernel kills when this one ends, however this one ends.

    The kernel takes the end of the thread that started it for the end of the parent: call this
    from the main thread, or from one that outlives the process.

    Args:
        command: the program, by its path, with its arguments.
        cwd: its working directory.
        environment: all of its environment.
        output: file descriptor for what it prints.
        errors: file descriptor for its standard error. Default: the same.

    """
    return subprocess.Popen(  # noqa: S603  (what we built, or found by its version)
        [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()), *command],
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
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
