"""Where the devices of a layout stand in a picture of a GPU's slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.catalog import MigModel, Profile
    from eks_gpushare.sharing.mig.geometry import Placement


class Box(NamedTuple):
    """A run of slices in a row of a picture."""

    first: int
    """Memory slice at which it begins."""
    size: int
    """How many memory slices it is wide."""
    profile: Profile | None
    """Profile of the device that has them; None if no device has."""
    label: tuple[str, ...]
    """Lines of text in it."""


def memory_row(model: MigModel, placements: Sequence[Placement]) -> list[Box]:
    """The memory slices of a GPU from left to right: names and memory of the devices."""
    boxes = []
    for placement in placements:
        profile = model.profiles[placement.profile]
        base, suffix = name_parts(profile)
        label = (base, suffix or f"{profile.memory_gb} GB")
        boxes.append(Box(placement.start, profile.memory_slices, profile, label))
    return _with_free(boxes, model.memory_slices, ("unused", ""))


def compute_row(model: MigModel, placements: Sequence[Placement]) -> list[Box]:
    """The compute slices of a GPU, each below the memory slices that it is drawn with.

    A GPU with seven has none below its eighth memory slice. Which physical slices the driver takes
    is its own business; how many, and beside which memory, is as drawn.
    """
    each = max(1, model.memory_slices // model.compute_slices)
    boxes = []
    for placement in placements:
        profile = model.profiles[placement.profile]
        label = (f"{profile.compute_slices}/{model.compute_slices}",)
        boxes.append(Box(placement.start, profile.compute_slices * each, profile, label))
    return _with_free(boxes, model.compute_slices * each, ("unused",))


def name_parts(profile: Profile) -> tuple[str, str]:
    """`1g.5gb+me` as `1g.5gb` and `+me`: a narrow box takes two lines for it."""
    base, unit, suffix = profile.name.partition("gb")
    return base + unit, suffix


def _with_free(boxes: list[Box], end: int, label: tuple[str, ...]) -> list[Box]:
    """The boxes in order, with what is free between and behind them."""
    row: list[Box] = []
    at = 0
    for box in sorted(boxes):
        if box.first > at:
            row.append(Box(at, box.first - at, None, label))
        row.append(box)
        at = box.first + box.size
    return [*row, Box(at, end - at, None, label)] if end > at else row
