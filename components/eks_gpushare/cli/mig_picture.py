"""A MIG layout on the slices of a GPU, in a terminal.

Readable without colour: every device is a box with its name. In a terminal that has colours, each
compute size has its own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from eks_gpushare.cli.mig_rows import compute_row, memory_row
from eks_gpushare.findings.text import has_colours

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.catalog import MigModel
    from eks_gpushare.cli.mig_rows import Box
    from eks_gpushare.sharing.mig.geometry import Placement

_WIDTH = 64
"""Characters of all memory slices; with the row's name it stays within 80 columns."""
_NAME_WIDTH = 9
_COLOURS = {1: "36", 2: "32", 3: "33", 4: "35", 7: "34"}
"""By compute slices, as a terminal knows them: cyan, green, yellow, magenta, blue."""
_BOLD, _DIM = "1", "2"
_LINES = "┌┬┐│└┴┘─"
_PLAIN_LINES = "+++|+++-"
"""For terminals of an encoding without the others."""


def print_picture(model: MigModel, placements: Sequence[Placement]) -> None:
    """Print the memory and the compute slices, and which device has them."""
    drawn = _LINES if _has(sys.stdout.encoding or "utf-8", _LINES) else _PLAIN_LINES
    width = max(1, _WIDTH // model.memory_slices)
    numbers = "".join(str(number).ljust(width) for number in range(model.memory_slices))
    print(f"  {'slice':{_NAME_WIDTH}} {numbers}".rstrip())
    colours = has_colours(sys.stdout)
    for name, row in (
        ("memory", memory_row(model, placements)),
        ("compute", compute_row(model, placements)),
    ):
        for line in _lines(name, row, width, drawn, colours=colours):
            print(line)


def _has(encoding: str, letters: str) -> bool:
    try:
        letters.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _lines(
    name: str, row: Sequence[Box], width: int, drawn: str, *, colours: bool
) -> Iterator[str]:
    side, along = drawn[3], drawn[-1]
    yield _edge(drawn[:3], along, row, width)
    for number in range(max(len(box.label) for box in row)):
        labels = (_label(box, number, width, colours=colours) for box in row)
        yield f"  {'' if number else name:{_NAME_WIDTH}}{side}{side.join(labels)}{side}"
    yield _edge(drawn[4:7], along, row, width)


def _label(box: Box, number: int, width: int, *, colours: bool) -> str:
    inside = box.size * width - 1
    label = f"{box.label[number]:^{inside}.{inside}}"
    if not colours:
        return label
    code = _COLOURS.get(box.profile.compute_slices, _BOLD) if box.profile else _DIM
    return f"\x1b[{code}m{label}\x1b[0m"


def _edge(corners: str, along: str, row: Sequence[Box], width: int) -> str:
    left, between, right = tuple(corners)
    runs = between.join(along * (box.size * width - 1) for box in row)
    return f"  {'':{_NAME_WIDTH}}{left}{runs}{right}"
