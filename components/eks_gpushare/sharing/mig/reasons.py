"""Why instances do not fit on a GPU, in words, and what fits instead."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from eks_gpushare.catalog import mig_models
from eks_gpushare.sharing.mig.placement_table import placement_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.catalog.mig import MigModel, Profile

_PROFILE = r"(?:nvidia\.com/)?(?:mig-)?([0-9]+)g\.?([0-9]+)gb?((?:[+.-][a-z.]+)?)"
"""The name of a profile, also as part of a resource's; compiled when it is first needed."""
_NEAREST = 3
_MOST_NAMED = 12
"""Instances of one set that are told apart when sets are compared; no GPU holds more."""
_MOST_COMPARED = 256
"""Layouts of a GPU that are compared. NVIDIA's have 128 at most; of profiles that somebody adds
there may be any number."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def why_not(model: MigModel, devices: Mapping[str, int]) -> str:
    """Why the instances do not fit on an empty GPU, empty if they do.

    Args:
        model: The GPU.
        devices: Instances by profile.
    """
    for name in devices:
        if name not in model.profiles:
            return unknown_profile(model, name)
    for name, count in devices.items():
        if count < 0:
            return f"{count} instances of {name} cannot be made."
    if placement_table(model).placed(devices) is not None:
        return ""
    for name, count in devices.items():
        if count > model.profiles[name].max_count:
            return _too_many(model, model.profiles[name], count)
    return _two_of_a_group(model, devices) or _no_place(model, devices)


def unknown_profile(model: MigModel, name: str) -> str:
    """That the model has no such profile, which one was meant, and those it has."""
    others = [other.name for other in mig_models().values() if name in other.profiles]
    owner = f"; it is one of {_listed(others[:3])}" if others else ""
    meant = meant_profile(model, name)
    instead = f" Of the same compute it has {meant}." if meant else ""
    return (
        f"{name} is not a profile of the {model.name}{owner}.{instead} "
        f"All of them: {', '.join(model.profiles)}."
    )


def meant_profile(model: MigModel, name: str) -> str | None:
    """The model's profile that was meant by another board's, or by a misspelt, name.

    It has as many compute slices and the same attributes. Where there are two of them, with one
    memory slice and with two, it is the one that `name` is on the boards that have it.
    """
    matched = re.fullmatch(_PROFILE, name.strip().lower())
    if matched is None:
        return None
    compute, memory = int(matched[1]), int(matched[2])
    attributes = matched[3].replace(".me", "+me", 1) if matched[3].startswith(".") else matched[3]
    attributes = attributes.replace(".gfx", "+gfx", 1) if attributes[:1] == "." else attributes
    wanted = [
        profile
        for profile in model.profiles.values()
        if profile.compute_slices == compute and _suffix(profile) == attributes
    ]
    exact = [profile for profile in wanted if profile.memory_gb == memory]
    if exact or not wanted:
        return exact[0].name if exact else None
    bare = f"{compute}g.{memory}gb{attributes}"
    parts = {
        other.profiles[bare].memory_slices / other.memory_slices
        for other in mig_models().values()
        if bare in other.profiles and other.compute_slices == model.compute_slices
    }
    if len(parts) == 1:
        part = parts.pop()
        wanted.sort(key=lambda p: abs(p.memory_slices / model.memory_slices - part))
    else:
        wanted.sort(key=lambda p: p.memory_slices)
    return wanted[0].name


def nearest(model: MigModel, devices: Mapping[str, int]) -> list[dict[str, int]]:
    """A few layouts that fit and differ least from one that does not, the nearest first.

    Instances are compared one by one, the largest with the largest, by their compute and memory
    slices. Profiles that the model does not have stand for those that were meant.
    """
    wanted: dict[str, int] = {}
    for name, count in devices.items():
        known = name if name in model.profiles else meant_profile(model, name)
        if known is not None and count > 0:
            wanted[known] = min(wanted.get(known, 0) + count, _MOST_NAMED)
    if not wanted:
        return []
    plain = [name for name, profile in model.profiles.items() if not profile.attributes]
    sizes = _sizes(model, wanted)
    table = placement_table(model)
    some = islice(table.layouts({*plain, *wanted}), _MOST_COMPARED)
    candidates = [candidate for candidate in (_as_many_as_fit(model, wanted), *some) if candidate]

    def distance(layout: dict[str, int]) -> tuple[int, int]:
        changed = sum(abs(layout.get(name, 0) - wanted.get(name, 0)) for name in {*layout, *wanted})
        return _apart(model, sizes, _sizes(model, layout)), changed

    nearest_first = sorted(candidates, key=distance)
    return [
        candidate for n, candidate in enumerate(nearest_first) if candidate not in nearest_first[:n]
    ][:_NEAREST]


def _as_many_as_fit(model: MigModel, wanted: Mapping[str, int]) -> dict[str, int]:
    """The instances that find a place one after the other, the large ones before."""
    table, found = placement_table(model), dict[str, int]()
    for name in table.large_first:
        for _ in range(wanted.get(name, 0)):
            more = {**found, name: found.get(name, 0) + 1}
            if table.placed(more) is None:
                break
            found = more
    return found


def _sizes(model: MigModel, devices: Mapping[str, int]) -> list[tuple[int, int]]:
    found = [
        (model.profiles[name].memory_slices, model.profiles[name].compute_slices)
        for name, count in devices.items()
        for _ in range(count)
    ]
    return sorted(found, reverse=True)


def _apart(model: MigModel, one: list[tuple[int, int]], other: list[tuple[int, int]]) -> int:
    """Slices by which the instances differ, a GPU's memory counting as much as its compute."""
    longest = max(len(one), len(other))
    pairs = zip(
        one + [(0, 0)] * (longest - len(one)),
        other + [(0, 0)] * (longest - len(other)),
        strict=True,
    )
    return sum(
        abs(a[0] - b[0]) * model.compute_slices + abs(a[1] - b[1]) * model.memory_slices
        for a, b in pairs
    )


def _too_many(model: MigModel, profile: Profile, count: int) -> str:
    most, places = profile.max_count, _places(profile)
    if most < len(profile.starts) and profile.exclusive_group:
        only = _only_one(model, profile)
        return f"{only}, so at most {most} {profile.name} fits; {count} are asked for."
    if most == 1 and len(profile.starts) == 1:
        return (
            f"{profile.name} takes {places}, which the first one has, so the second has no place."
        )
    if most == len(profile.starts):
        held = "both are" if most == len(("first", "second")) else "all are"
        return (
            f"{profile.name} takes {places}; {held} taken by the first {_word(most)}, so the "
            f"{_ordinal(most + 1)} {profile.name} has no place."
        )
    return (
        f"{profile.name} takes {places}, and the {model.name} has at most {most} of it; {count} "
        "are asked for."
    )


def _two_of_a_group(model: MigModel, devices: Mapping[str, int]) -> str:
    members: dict[str, list[str]] = {}
    for name, count in devices.items():
        group = model.profiles[name].exclusive_group
        if group is not None and count:
            members.setdefault(group, []).append(name)
    for names in members.values():
        if len(names) > 1:
            only = _only_one(model, model.profiles[names[0]])
            return f"{only}, so {_listed(names)} exclude each other."
    return ""


def _only_one(model: MigModel, profile: Profile) -> str:
    if "ofa" in profile.engines:
        return f"The {model.name} has one OFA media engine, and it goes to one instance"
    what = "media engines" if profile.exclusive_group == "me" else profile.exclusive_group
    return f"One instance of the {model.name} at most has the {what}"


def _no_place(model: MigModel, devices: Mapping[str, int]) -> str:
    """The first instance, the large ones before, that finds no place whatever is done before."""
    before: dict[str, int] = {}
    for name in placement_table(model).large_first:
        for _ in range(devices.get(name, 0)):
            more = {**before, name: before.get(name, 0) + 1}
            if placement_table(model).placed(more) is None:
                return _collision(model, before, model.profiles[name], devices)
            before = more
    return ""  # not reached: somewhere the set stops fitting


def _collision(
    model: MigModel, before: Mapping[str, int], profile: Profile, devices: Mapping[str, int]
) -> str:
    needs = _needs(model, devices)
    nth = before.get(profile.name, 0) + 1
    if short := _short_engine(model, {**before, profile.name: nth}):
        return f"{short} {needs}"
    beside = _listed(
        f"{at.profile} ({_run(at.start, model.profiles[at.profile].memory_slices)})"
        for at in sorted(placement_table(model).placed(before) or (), key=lambda at: at.start)
    )
    which = f"the {_ordinal(nth)} {profile.name}" if nth > 1 else profile.name
    return (
        f"{profile.name} takes {_places(profile)}; beside {beside} there is no place left for "
        f"{which}, nor in any other arrangement. {needs}"
    )


def _short_engine(model: MigModel, devices: Mapping[str, int]) -> str:
    """The media engines of which instances need more than the GPU has, if that is the reason."""
    compute, memory = _sums(model, devices)
    if compute > model.compute_slices or memory > model.memory_slices:
        return ""
    for engine, most in model.engines.items():
        need = sum(model.profiles[n].engines.get(engine, 0) * c for n, c in devices.items())
        if need > most:
            named = _listed(f"{c} x {n}" for n, c in devices.items() if c)
            return (
                f"{named} need {need} {engine.upper()} media engines; the {model.name} has {most}."
            )
    return ""


def _needs(model: MigModel, devices: Mapping[str, int]) -> str:
    compute, memory = _sums(model, devices)
    return (
        f"Together they need {compute} of {model.compute_slices} compute slices and {memory} of "
        f"{model.memory_slices} memory slices."
    )


def _sums(model: MigModel, devices: Mapping[str, int]) -> tuple[int, int]:
    known = [(model.profiles[name], count) for name, count in devices.items()]
    return (
        sum(profile.compute_slices * count for profile, count in known),
        sum(profile.memory_slices * count for profile, count in known),
    )


def _places(profile: Profile) -> str:
    runs = [_run(start, profile.memory_slices) for start in profile.starts]
    if profile.memory_slices == 1 and len(runs) > 1:
        first, last = profile.starts[0], profile.starts[-1]
        if last - first == len(runs) - 1:
            return f"one of the memory slices {first} to {last}"
    return f"memory slice{'s' if profile.memory_slices > 1 else ''} {_listed(runs, 'or')}"


def _run(start: int, size: int) -> str:
    return str(start) if size == 1 else f"{start}-{start + size - 1}"


def _suffix(profile: Profile) -> str:
    """What follows the sizes in the name of a profile."""
    return profile.name.partition("gb")[2]


def _listed(words: Iterable[str], last: str = "and") -> str:
    *most, final = words
    return f"{', '.join(most)} {last} {final}" if most else final


def _word(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else str(number)


def _ordinal(number: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    return words[number - 1] if number <= len(words) else f"{number}th"
