"""Runs a command, and ends it with all that it started when whoever asked for it is gone.

Started as a script, with the command as its arguments and a pipe as standard input. The other end
of the pipe closes with the process that holds it, however that ends: by SIGKILL too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

_PATIENCE_SECONDS = 3
_PAUSE_SECONDS = 0.02


def run(command: list[str]) -> int:
    """Run a command to its end, or until standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _ignored)  # a handler, which children do not inherit
    try:
        # A group of its own, which also holds what it starts.
        child = subprocess.Popen(  # noqa: S603  (what we were told)
            command, stdin=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
        return 126
    threading.Thread(target=_until_alone, args=(child.pid,), daemon=True).start()
    # Its number is not given away before the group is ended.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    _end(child.pid, signal.SIGKILL)
    code = child.wait()
    return code if code >= 0 else 128 - code


def _ignored(_number: int, _frame: object) -> None:
    pass


def _until_alone(group: int) -> None:
    while os.read(0, 1024):
        pass
    _end(group, signal.SIGTERM)
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        time.sleep(_PAUSE_SECONDS)
    _end(group, signal.SIGKILL)


def _end(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
