"""Folders as Argo CD and Flux name them: from the top of a repository, or several by a pattern.

`apps/*` is each folder in `apps` but hidden ones, and `!apps/old` is none of them:
https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Git/#git-generator-directories;
November 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WILD = {"*": "[^/]*", "?": "[^/]"}


def is_pattern(folder: str) -> bool:
    """Whether it stands for several."""
    return "*" in folder or "?" in folder


def those_meant(named: Iterable[str], top: str | None = None) -> Callable[[str], bool]:
    """Whether a path is that of a folder which is named.

    Args:
        named: What names them.
        top: The repository's top, `""` for where paths begin. Without one it may be any folder.
    """
    start = "(?:.*/)?" if top is None else top and f"{re.escape(top.rstrip('/'))}/"
    meant = list(dict.fromkeys(named))
    found = _any(start, (each for each in meant if not each.startswith("!")))
    left_out = _any(start, (each[1:] for each in meant if each.startswith("!")))
    return lambda path: found(path) and not left_out(path)


def _any(start: str, folders: Iterable[str]) -> Callable[[str], bool]:
    patterns = ["/".join(map(_part, folder.split("/"))) for folder in folders]
    if not patterns:
        return lambda _: False
    found = re.compile(f"{start}(?:{'|'.join(patterns)})")
    return lambda path: found.fullmatch(path) is not None


def _part(name: str) -> str:
    hidden = r"(?!\.)" if name.startswith(("*", "?")) else ""
    return hidden + "".join(_WILD.get(sign, re.escape(sign)) for sign in name)
