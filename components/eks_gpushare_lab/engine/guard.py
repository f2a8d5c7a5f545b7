"""Run a program so that nothing of it is left, however it or its caller ends.

    python -I -S guard.py DIE_WITH_PARENT SECONDS PROGRAM [ARGUMENT...]

The Pulumi engine starts plugins in process groups of their own, which outlive it when it is killed.
This process adopts whatever loses its parent below it, and kills all of it when the program has
ended, when its time is over, when it is asked to stop, or when standard input ends, which it does
with the caller. It asks nobody first: the state that the engine would save is thrown away as well.
Exit code: that of the program, or 124 when its time was over. A script of its own that imports
nothing of this package, like the library's `die_with_parent.py`, whose path it is given.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

TIME_IS_OVER = 124
_STOPPED = 130
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_TICK_SECONDS = 0.05
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


class _StopError(Exception):
    """Somebody wants an end."""


def _on_signal(number: int, _: object) -> None:
    raise _StopError(signal.Signals(number).name)


def main() -> int:
    """Run the program, then see to it that nothing is left."""
    die_with_parent, limit, *command = sys.argv[1:]
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1)):
        sys.exit("the kernel does not hand orphans to this process: prctl failed")
    tied = [sys.executable, "-I", "-S", die_with_parent, str(os.getpid()), *command]
    try:
        for number in _SIGNALS:
            signal.signal(number, _on_signal)
        process = subprocess.Popen(tied, stdin=subprocess.DEVNULL)  # noqa: S603  (the caller's)
        return _wait(process, time.monotonic() + float(limit))
    except _StopError:
        return _STOPPED
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        _kill_all()


def _wait(process: subprocess.Popen[bytes], deadline: float) -> int:
    while process.poll() is None:
        if time.monotonic() > deadline:
            return TIME_IS_OVER
        readable, _, _ = select.select([0], [], [], _TICK_SECONDS)
        if readable and not os.read(0, 1024):
            raise _StopError("the caller has gone")
    return process.returncode


def _kill_all() -> None:
    """Kill children until there are none: those of a killed one become ours at once."""
    while True:
        for pid in _children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_TICK_SECONDS / 10)


def _children() -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    sys.exit(main())
