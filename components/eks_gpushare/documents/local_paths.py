"""Paths of this machine that a stack file holds: a kubeconfig, a chart on disk."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str) -> str:
    """A path with `~` and `~user` as home directories, where they are known.

    Variables such as `$HOME` stay as they are: what they stand for depends on who runs the program.
    """
    return os.path.expanduser(path)  # noqa: PTH111  (Path.expanduser raises where there is no home)


def located(path: str, folder: Path | None = None) -> Path:
    """Where a path of a stack file leads.

    Args:
        path: As it stands in the file.
        folder: Of the program, from which relative paths start, as the engine runs programs and
            providers there. Default: the working directory, which is that one in a program.
    """
    leads = (folder or Path()) / expanded(path)
    if folder is None or folder.is_dir():
        return leads
    return Path(os.path.normpath(leads))  # no system follows `..` from a folder yet to be made
