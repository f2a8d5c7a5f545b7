"""MIG devices that commands of nvidia-smi in a node's boot make, where they can be told.

Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/getting-started-with-mig.html
(read in November 2026).
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COMMAND: Final = re.compile(
    r"(?:^|[;&|({]|\bsudo\b)[ \t]*(?:\S*/)?nvidia-smi[ \t]+([^\n;&|)}]*)", re.MULTILINE
)
_JOINED: Final = re.compile(r"\\\r?\n[ \t]*")
_UNSURE: Final = re.compile(
    r"(?:^|[;&|])[ \t]*(?:if|for|while|until|case|select|function)\b|nvidia-mig-parted|\bxargs\b",
    re.MULTILINE,
)
"""What makes it depend on the machine whether a command is run, and on which GPU."""
CREATE: Final = ("-cgi", "--create-gpu-instance")
"""Flags behind which instances are named."""
_GPU: Final = ("-i", "--id")
_TAKES_AWAY: Final = ("-dgi", "--destroy-gpu-instance", "-dci", "--destroy-compute-instance")


def devices_made(script: str, gpus: int, numbers: Mapping[str, str]) -> list[dict[str, int]] | None:
    """The MIG devices of each GPU by profile; None where it cannot be told.

    Args:
        script: Commands that a shell runs, without comments.
        gpus: GPUs of the node.
        numbers: Profiles by the number that nvidia-smi gives them.
    """
    script = _JOINED.sub(" ", script)
    if _UNSURE.search(script):
        return None
    found: list[dict[str, int]] = [{} for _ in range(gpus)]
    for command in _COMMAND.finditer(script):
        try:
            words = shlex.split(command[1])
        except ValueError:
            return None
        if not words or words[0] != "mig":
            continue
        if any("$" in word or "`" in word for word in words) or set(words) & set(_TAKES_AWAY):
            return None
        wanted, where = _value(words, CREATE), _value(words, _GPU)
        if wanted is None:
            continue
        meant = _meant(where, gpus)
        if meant is None:
            return None
        for index in meant:
            for each in filter(None, wanted.split(",")):
                number = each.partition(":")[0]
                profile = numbers.get(number, number)
                found[index][profile] = found[index].get(profile, 0) + 1
    return found if any(found) else None


def _meant(where: str | None, gpus: int) -> Sequence[int] | None:
    """The GPUs that a command is for; None where they are called otherwise than by index."""
    if where is None:
        return range(gpus)
    listed = where.split(",")
    if not all(index.isascii() and index.isdecimal() and int(index) < gpus for index in listed):
        return None
    return [int(index) for index in listed]


def _value(words: Sequence[str], names: Sequence[str]) -> str | None:
    for at, word in enumerate(words):
        name, joined, value = word.partition("=")
        if name in names:
            return value if joined else next(iter(words[at + 1 :]), None)
    return None
