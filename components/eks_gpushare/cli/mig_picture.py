"""A MIG layout on the slices of a GPU, in a terminal.

Readable without colour: every device is a box with its name. In a terminal that has colours, each
compute size has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from eks_gpushare.cli.mig_rows import compute_row, memory_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.catalog import MigModel
    from eks_gpushare.cli.mig_rows import Box
    from eks_gpushare.sharing.mig.geometry import Placement

_WIDTH = 64
"""Characters of all memory slices; with the row's name it stays within 80 columns."""
_NAME_WIDTH = 9
_STYLES = {1: "cyan", 2: "green", 3: "yellow", 4: "magenta", 7: "blue"}
"""By compute slices."""
_LINES = "┌┬┐│└┴┘─"
_PLAIN_LINES = "+++|+++-"
"""For terminals of an encoding without the others."""


def print_picture(model: MigModel, placements: Sequence[Placement]) -> None:
    """Print the memory and the compute slices, and which device has them."""
    console = Console(highlight=False, soft_wrap=True)
    drawn = _LINES if _has(console.encoding, _LINES) else _PLAIN_LINES
    width = max(1, _WIDTH // model.memory_slices)
    numbers = "".join(str(each).ljust(width) for each in range(model.memory_slices))
    console.print(Text(f"  {'slice':{_NAME_WIDTH}} {numbers}".rstrip()))
    for name, row in (
        ("memory", memory_row(model, placements)),
        ("compute", compute_row(model, placements)),
    ):
        for line in _lines(name, row, width, drawn):
            console.print(line)


def _has(encoding: str, letters: str) -> bool:
    try:
        letters.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _lines(name: str, row: Sequence[Box], width: int, drawn: str) -> Iterator[Text]:
    side, along = drawn[3], drawn[-1]
    yield _edge(drawn[:3], along, row, width)
    for number in range(max(len(box.label) for box in row)):
        line = Text(f"  {'' if number else name:{_NAME_WIDTH}}{side}")
        for box in row:
            inside = box.size * width - 1
            style = _STYLES.get(box.profile.compute_slices, "bold") if box.profile else "dim"
            line.append(f"{box.label[number]:^{inside}.{inside}}", style=style)
            line.append(side)
        yield line
    yield _edge(drawn[4:7], along, row, width)


def _edge(corners: str, along: str, row: Sequence[Box], width: int) -> Text:
    left, between, right = tuple(corners)
    runs = between.join(along * (box.size * width - 1) for box in row)
    return Text(f"  {'':{_NAME_WIDTH}}{left}{runs}{right}")
