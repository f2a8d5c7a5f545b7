"""Become another program in a mount namespace of its own, one that dies with our parent.

    python -I -S own_mounts.py PARENT FOLDER=PLACE... -- PROGRAM [ARGUMENT...]

Each folder appears at its place, which is below /var/lib or is there already. /var/lib and /run are
otherwise empty, for this program alone: nobody else sees the mounts, nor what is written there, and
they go when it ends. A script of
its own, as the library's live/die_with_parent.py is; it imports nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000  # linux/mount.h
_EMPTY = ("/var/lib", "/run")


def main() -> None:
    """Make the namespace, fill it, and run the program in it."""
    parent, *arguments = sys.argv[1:]
    split = arguments.index("--")
    places = [pair.rpartition("=") for pair in arguments[:split]]
    try:
        _unshare()
        _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
        # Held open, since they may be below what is to be empty.
        held = [(os.open(folder, os.O_PATH), place) for folder, _, place in places]
        for place in _EMPTY:
            _mount("none", place, "tmpfs", 0)
        for folder, place in held:
            if place.startswith(_EMPTY):
                Path(place).mkdir(parents=True)
            _mount(f"/proc/self/fd/{folder}", place, "", _MS_BIND | _MS_REC)
            os.close(folder)
    except OSError as error:
        sys.exit(f"no mount namespace: {error.strerror}")
    # Only now: a change of the user namespace takes the signal back.
    if _LIBRARY.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL)):
        sys.exit("the kernel does not tie this process to its parent: prctl failed")
    if os.getppid() != int(parent):
        sys.exit("the parent has gone")
    command = arguments[split + 1 :]
    try:
        os.execv(command[0], command)  # noqa: S606  (no shell is wanted)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


def _unshare() -> None:
    """A mount namespace; one in a user namespace where only that is allowed."""
    user, group = os.geteuid(), os.getegid()
    if user == 0 and _LIBRARY.unshare(_CLONE_NEWNS) == 0:
        return
    if _LIBRARY.unshare(_CLONE_NEWNS | _CLONE_NEWUSER):
        _fail()
    for name, text in (
        ("uid_map", f"{user} {user} 1"),
        ("setgroups", "deny"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text, encoding="ascii")


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    if _LIBRARY.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None):
        _fail()


def _fail() -> None:
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
