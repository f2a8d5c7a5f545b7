"""Become another program, one that the kernel kills when our parent ends.

    python -I -S die_with_parent.py PARENT PROGRAM [ARGUMENT...]

A script of its own and not something between fork and exec: it may take locks there, and the
process that starts it may have threads. It imports nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Tie ourselves to the parent, then run the program."""
    parent, *command = sys.argv[1:]
    if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL)):
        sys.exit("the kernel does not tie this process to its parent: prctl failed")
    if os.getppid() != int(parent):  # it ended before the call: the signal will never come
        sys.exit("the parent has gone")
    try:
        os.execv(command[0], command)  # noqa: S606  (no shell is wanted)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main()
