"""Files that the user data of an AL2023 node writes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SYSTEMD = "/etc/systemd/system"
"""Folder of units and their drop-ins on the node."""

_FOLDER = Path(__file__).parent / "data"
_END = "EOF"


def written(path: str, text: str) -> str:
    """The line of a shell script that writes a file.

    Raises:
        ValueError: If a line of the text would end it.
    """
    if f"\n{_END}\n" in f"\n{text}":
        raise ValueError(f"{path} has a line that ends what is written to it")
    return f"cat >{path} <<'{_END}'\n{text}{_END}"


@cache
def data(name: str) -> str:
    """A file for the node, less its comments: EC2 takes 16 KB of user data."""
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    kept = [
        line
        for line in lines
        if line.strip() and (line.startswith("#!") or not line.lstrip().startswith("#"))
    ]
    return "\n".join(kept) + "\n"
