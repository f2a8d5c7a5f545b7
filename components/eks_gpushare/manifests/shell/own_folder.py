"""Folders that scripts go by: the one that they lie in, and others from there.

What they ask for is an absolute path. It is given as one from the script's folder, which begins
with a dot.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN: Final = re.compile(
    r"""
    \s* (?:(?:CDPATH=\S*\s+)? cd \s+ (?:--\s+)? (?P<moves>) "? (?:\$\(|`) \s*)?
    dirname \s+ (?:--\s+)?
    (?:"?\$\((?:readlink\s+(?:-f|--canonicalize)|realpath)\s+)?
    "? \$ (?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?(?::-\$0)?\}) "? (?:\)"?)?
    (?(moves) \s* [)`] (?P<from>(?:/[A-Za-z0-9_.-]+)*) /? "? (?:\s+[0-9&]?>\s*[^\s&;]+(?:\s+2>&1)?)?
    \s* (?:&&|;) \s* pwd (?:\s+-P)?)
    \s*
    """,
    re.VERBOSE,
)
_OF_OWN: Final = re.compile(
    r"""
    \s* (?:(?P<above>dirname|realpath|readlink\s+-f) | cd) \s+ (?:--\s+)?
    "? \$ (?:\{(?P<braced>[A-Za-z0-9_]+)\}|(?P<bare>[A-Za-z0-9_]+))
    (?P<from>(?:/[A-Za-z0-9_.-]+)*) /? "?
    (?(above) | (?:\s+[0-9&]?>\s*[^\s&;]+(?:\s+2>&1)?)? \s* (?:&&|;) \s* pwd (?:\s+-P)?)
    \s*
    """,
    re.VERBOSE,
)
"""The same of a folder that a variable is of."""


def folder_asked_for(command: str, variables: Mapping[str, str]) -> str | None:
    """The folder that a command prints, `.` for the script's own; None of any other command.

    Args:
        command: What stands in a substitution.
        variables: Values of the variables that are known.
    """
    if own := _OWN.fullmatch(command):
        return f".{own['from'] or ''}"
    if (of := _OF_OWN.fullmatch(command)) is None:
        return None
    folder = variables.get(of["braced"] or of["bare"], "")
    if folder.split("/")[0] not in {".", ".."}:
        return None
    return f"{folder}{of['from']}{'/..' if of['above'] == 'dirname' else ''}"
