"""Programs in mount namespaces of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from eks_gpushare_lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN_MOUNTS = Path(__file__).with_name("own_mounts.py")
_LINES = 5


def mounted(places: Mapping[Path, str]) -> list[str]:
    """What to put before a command for it to have folders at places that are its alone."""
    pairs = [f"{folder}={place}" for folder, place in places.items()]
    return [sys.executable, "-I", "-S", str(_OWN_MOUNTS), str(os.getpid()), *pairs, "--"]


def check_namespaces() -> None:
    """See whether the kernel gives a program mounts of its own.

    Raises:
        LabError: If it does not.
    """
    command = [*mounted({Path("/"): "/var/lib/eks-gpushare"}), shutil.which("true") or "/bin/true"]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  (our own script)
    if done.returncode:
        said = last_lines(done.stderr)
        raise LabError(
            f"--nvidia starts NVIDIA's programs in a mount namespace, and this machine gives none: "
            f"{said}; run it as root, or allow user namespaces (sysctl kernel.unprivileged_userns_"
            "clone, kernel.apparmor_restrict_unprivileged_userns)"
        )


def last_lines(text: bytes) -> str:
    """The end of what a program has said, in a line."""
    lines = [line.strip() for line in text.decode(errors="replace").splitlines() if line.strip()]
    return " / ".join(lines[-_LINES:])
