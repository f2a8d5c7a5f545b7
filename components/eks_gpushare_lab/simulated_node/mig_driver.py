"""What the hardware and its driver do when somebody wants MIG instances of a GPU.

The driver knows where on the memory of a GPU an instance of each profile may lie, and refuses what
overlaps. The search is the lab's own: it shares nothing with the engine that plans layouts but
the catalog's table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.simulated_node.gpus import MigInstance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.catalog.mig import MigModel, Profile

Wanted = tuple[str, int | None]
"""A profile by its name or by nvidia-smi's number, and where it is to begin; None: anywhere."""

NO_ROOM = "Failed to create GPU instances: Insufficient Resources"
"""What nvidia-smi says when instances do not fit."""


class PartitionError(Exception):
    """The driver refuses; the text is what the tool would say."""


def create(model: MigModel, wanted: Sequence[Wanted]) -> tuple[MigInstance, ...]:
    """The instances that `nvidia-smi mig -cgi` creates on an empty GPU, in the order given.

    Raises:
        PartitionError: For a profile that the GPU does not have, and for what does not fit.
    """
    profiles = [(_profile(model, name), start) for name, start in wanted]
    for profile, start in profiles:
        if start is not None and start not in profile.starts:
            starts = ", ".join(map(str, profile.starts))
            text = f"Failed to create GPU instances: {profile.name} cannot begin at {start}"
            raise PartitionError(f"{text}, only at {starts}")
    _check_sums(model, [profile for profile, _ in profiles])
    found = _place(profiles, 0, frozenset())
    if found is None:
        raise PartitionError(NO_ROOM)
    return found


def arrange(model: MigModel, counts: Mapping[str, int]) -> tuple[MigInstance, ...]:
    """The instances that a tool creates which tries every order, as mig-parted does.

    Raises:
        PartitionError: As `create`.
    """
    names = [name for name, count in counts.items() for _ in range(count)]
    names.sort(key=lambda name: -_profile(model, name).memory_slices)
    return create(model, [(name, None) for name in names])


def _profile(model: MigModel, name: str) -> Profile:
    found = model.profiles.get(name)
    if found is None and name.isascii() and name.isdigit():
        by_number = (profile for profile in model.profiles.values() if profile.smi_id == int(name))
        found = next(by_number, None)
    if found is None:
        raise PartitionError(
            f"Invalid GPU instance profile {name}: {model.name} has no such profile"
        )
    return found


def _check_sums(model: MigModel, profiles: Sequence[Profile]) -> None:
    """What has nothing to do with where an instance lies."""
    compute = sum(profile.compute_slices for profile in profiles)
    if compute > model.compute_slices:
        raise PartitionError(NO_ROOM)
    for profile in profiles:
        of_kind = [each for each in profiles if each.name == profile.name]
        group = profile.exclusive_group
        in_group = [profile for profile in profiles if group and profile.exclusive_group == group]
        if len(of_kind) > profile.max_count or len(in_group) > 1:
            raise PartitionError(NO_ROOM)
    for engine, there in model.engines.items():
        if sum(profile.engines.get(engine, 0) for profile in profiles) > there:
            raise PartitionError(NO_ROOM)


def _place(
    profiles: Sequence[tuple[Profile, int | None]], number: int, taken: frozenset[int]
) -> tuple[MigInstance, ...] | None:
    if number == len(profiles):
        return ()
    profile, given = profiles[number]
    for start in profile.starts if given is None else (given,):
        slices = frozenset(range(start, start + profile.memory_slices))
        if slices & taken:
            continue
        rest = _place(profiles, number + 1, taken | slices)
        if rest is not None:
            return (MigInstance(profile.name, start), *rest)
        # Instances of one profile are alike: where the first free place leads nowhere, a later
        # one may still, since it leaves other slices to those that follow.
    return None
