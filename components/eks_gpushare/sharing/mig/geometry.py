"""Which MIG instances fit on one empty GPU together, and where they lie.

An instance takes a run of memory slices that begins at one of its profile's starts. That decides,
not a sum: two `3g.20gb` and a `1g.5gb` need just the 7 compute slices that an A100 has, but the
two already lie on all of its 8 memory slices. Beside the places there count a profile's most
instances, groups of which a GPU has one, compute slices, and media engines where they are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.sharing.mig.placement_table import Placement, placement_table
from eks_gpushare.sharing.mig.reasons import meant_profile, nearest, why_not

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.catalog.mig import MigModel

__all__ = [
    "Placement",
    "Unused",
    "addable",
    "all_layouts",
    "fits",
    "is_maximal",
    "large_first",
    "meant_profile",
    "nearest",
    "place",
    "unused",
    "why_not",
]


class Unused(NamedTuple):
    """What a layout leaves of a GPU."""

    compute_slices: int
    """Compute slices that no instance has."""
    memory_slices: int
    """Memory slices that no instance has."""
    memory_gb: int
    """About how much memory these are, in GB."""
    addable: tuple[str, ...]
    """Profiles of which one more instance would still fit."""


def place(model: MigModel, devices: Mapping[str, int]) -> tuple[Placement, ...] | None:
    """Where the instances lie on an empty GPU, in the order to create them.

    Large instances come first. Each is put where it leaves the most places for others, much as the
    driver does if it may choose; only where that leads nowhere is another place tried.

    Args:
        model: The GPU.
        devices: Instances by profile. A count of 0 means none.

    Returns:
        The placements; None if the instances do not fit, or a profile is not one of the model.
    """
    return placement_table(model).placed(devices)


def fits(model: MigModel, devices: Mapping[str, int]) -> bool:
    """Whether the instances fit on an empty GPU together."""
    return placement_table(model).placed(devices) is not None


def addable(
    model: MigModel, devices: Mapping[str, int], profiles: Iterable[str] | None = None
) -> Iterator[str]:
    """Profiles of which one more instance would fit beside the given ones, if all were remade."""
    for name in model.profiles if profiles is None else profiles:
        if placement_table(model).placed({**devices, name: devices.get(name, 0) + 1}) is not None:
            yield name


def is_maximal(
    model: MigModel, devices: Mapping[str, int], profiles: Iterable[str] | None = None
) -> bool:
    """Whether the instances fit, and no further instance would.

    Args:
        model: The GPU.
        devices: Instances by profile.
        profiles: Profiles that a further instance may have. Default: all of the model.
    """
    return fits(model, devices) and not any(addable(model, devices, profiles))


def all_layouts(
    model: MigModel, profiles: Iterable[str] | None = None
) -> tuple[dict[str, int], ...]:
    """Every set of instances that fits on an empty GPU, but for the empty one.

    Args:
        model: The GPU.
        profiles: Profiles to use. Default: all of the model.

    Returns:
        The sets, those with the largest instances first.
    """
    wanted = model.profiles if profiles is None else profiles
    return tuple(layout for layout in placement_table(model).layouts(wanted) if layout)


def unused(model: MigModel, devices: Mapping[str, int]) -> Unused:
    """What instances that fit leave of the GPU."""
    counted = [(model.profiles[name], count) for name, count in devices.items()]
    compute = sum(profile.compute_slices * count for profile, count in counted)
    free = model.memory_slices - sum(profile.memory_slices * count for profile, count in counted)
    return Unused(
        model.compute_slices - compute,
        free,
        round(free * model.memory_gb / model.memory_slices),
        tuple(addable(model, devices)),
    )


def large_first(model: MigModel, devices: Mapping[str, int]) -> dict[str, int]:
    """The same instances, large ones first, without profiles that have none."""
    return {name: devices[name] for name in placement_table(model).large_first if devices.get(name)}
