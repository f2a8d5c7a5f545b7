"""MIG profiles and layouts that a stack file adds to the catalog or corrects in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from eks_gpushare.catalog import MigModel, Profile, mig_models
from eks_gpushare.findings.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.environment import CatalogMigProfile
    from eks_gpushare.findings.finding import FieldPath, Finding

WRONG_MIG_ADDITION = Rule(
    "GPU235",
    "error",
    "Added MIG profiles and layouts are possible ones.",
    "Layouts would be held against a GPU that does not exist, and fail on the node.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html",
)
_SOURCE = "the stack file's own catalog"

# NVIDIA/mig-parted v0.15.0, pkg/types/mig_profile.go, without the compute instances in front.
_PROFILE = re.compile(r"([1-9][0-9]*)g\.([1-9][0-9]*)gb(?:[+-]([a-z][a-z.]*(?:,[a-z][a-z.]*)*))?")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_RESERVED = ("all-disabled", "all-enabled")


def own_mig_models(
    given: Mapping[str, Mapping[str, CatalogMigProfile]], found: list[Finding]
) -> dict[str, MigModel]:
    """The GPU models of the stack file: known ones with its profiles added, and new ones.

    Args:
        given: Profiles by model and name.
        found: Takes what is wrong; a wrong profile is left out.
    """
    models: dict[str, MigModel] = {}
    for model, profiles in given.items():
        known = mig_models().get(model)
        right = {}
        for name, entry in profiles.items():
            at: FieldPath = ("catalog", "migProfiles", model, name)
            problems = list(_problems(at, name, entry, known))
            found += problems
            if not problems:
                right[name] = _profile(name, entry, known)
        if not profiles:
            message = f"{model} has no profile here."
            at = ("catalog", "migProfiles", model)
            found.append(WRONG_MIG_ADDITION.finding(at, message, "Add profiles, or remove it."))
        if right:
            models[model] = _merged(model, right, known)
    return models


def own_layouts(
    given: Mapping[str, Mapping[str, int]], found: list[Finding]
) -> dict[str, Mapping[str, int]]:
    """The layouts of the stack file; whether they fit is seen where a pool uses them.

    Args:
        given: Devices per GPU by name.
        found: Takes what is wrong; a wrong layout is left out.
    """
    layouts: dict[str, Mapping[str, int]] = {}
    for name, devices in given.items():
        problems = list(_layout_problems(("catalog", "migLayouts", name), name, devices))
        found += problems
        if not problems:
            layouts[name] = devices
    return layouts


def _layout_problems(at: FieldPath, name: str, devices: Mapping[str, int]) -> Iterator[Finding]:
    if name in _RESERVED:
        message = f"{name} has a meaning of its own for NVIDIA's tools."
        yield WRONG_MIG_ADDITION.finding(at, message, "Use another name.")
    elif not _LABEL.fullmatch(name):
        message = f'"{name}" cannot be the value of a label, which names the layout on a node.'
        fix = "Use up to 63 letters, digits, dots, dashes and underscores."
        yield WRONG_MIG_ADDITION.finding(at, message, fix)
    if not devices:
        message = "No device is named."
        fix = "Name profiles and how many of each, such as {1g.5gb: 2}."
        yield WRONG_MIG_ADDITION.finding(at, message, fix)
    for profile, count in devices.items():
        if not _PROFILE.fullmatch(profile):
            yield WRONG_MIG_ADDITION.finding((*at, profile), _no_name(profile), _NAMES)
        elif count <= 0:
            message = f"{count} is not a number of devices; a GPU has 1 or more of a profile."
            fix = f"Give 1 or more, or remove {profile}."
            yield WRONG_MIG_ADDITION.finding((*at, profile), message, fix)


_NAMES = "Write it as nvidia-smi mig -lgip does, such as 1g.5gb or 1g.5gb+me."


def _no_name(profile: str) -> str:
    return f'"{profile}" is not the name of a MIG profile.'


def _problems(
    at: FieldPath, name: str, entry: CatalogMigProfile, known: MigModel | None
) -> Iterator[Finding]:
    matched = _PROFILE.fullmatch(name)
    if matched is None:
        yield WRONG_MIG_ADDITION.finding(at, _no_name(name), _NAMES)
        return
    for key, number, of_name in (
        ("computeSlices", entry.compute_slices, int(matched[1])),
        ("memoryGB", entry.memory_gb, int(matched[2])),
    ):
        if number != of_name:
            message = f"{number} does not agree with the name, which says {of_name}."
            yield WRONG_MIG_ADDITION.finding((*at, key), message, f"Write {of_name}.")
    if entry.memory_slices <= 0:
        message = f"{entry.memory_slices} is not more than 0."
        yield WRONG_MIG_ADDITION.finding((*at, "memorySlices"), message, "Correct it.")
        return
    if known is not None and entry.compute_slices > known.compute_slices:
        message = f"The {known.name} has {known.compute_slices} compute slices."
        yield WRONG_MIG_ADDITION.finding((*at, "computeSlices"), message, "Correct it.")
    yield from _wrong_places(at, entry, known)


def _wrong_places(
    at: FieldPath, entry: CatalogMigProfile, known: MigModel | None
) -> Iterator[Finding]:
    places = entry.placements
    if not places or len(set(places)) < len(places):
        message = "A placement stands twice." if places else "There is no placement."
        fix = "List each memory slice at which an instance may begin once."
        yield WRONG_MIG_ADDITION.finding((*at, "placements"), message, fix)
    elif not 1 <= entry.max_count <= len(places):
        message = f"{entry.max_count} is not between 1 and the {len(places)} placements."
        yield WRONG_MIG_ADDITION.finding((*at, "maxCount"), message, "Correct one of the two.")
    for index, start in enumerate(places):
        end = start + entry.memory_slices
        if start < 0 or (known is not None and end > known.memory_slices):
            board = f"; the {known.name} has {known.memory_slices}" if known else ""
            message = f"Memory slices {start} to {end - 1} are not all there{board}."
            yield WRONG_MIG_ADDITION.finding((*at, "placements", index), message, "Correct it.")


def _profile(name: str, entry: CatalogMigProfile, known: MigModel | None) -> Profile:
    suffix = name.partition("gb")[2]
    attributes = tuple(suffix[1:].split(",")) if suffix.startswith("+") else (suffix,)
    media = any(attribute == "me" or attribute.startswith("me.") for attribute in attributes)
    profile = Profile(
        name=name,
        compute_slices=entry.compute_slices,
        memory_slices=entry.memory_slices,
        memory_gb=entry.memory_gb,
        max_count=entry.max_count,
        starts=entry.placements,
        attributes=attributes if suffix else (),
        exclusive_group="me" if media else None,
    )
    return _like(profile, known) if known else profile


def _like(profile: Profile, known: MigModel) -> Profile:
    """The profile with what does not change when a driver gives a known one another name."""
    for other in known.profiles.values():
        same = (other.compute_slices, other.memory_slices, other.attributes)
        if same == (profile.compute_slices, profile.memory_slices, profile.attributes):
            return replace(profile, smi_id=other.smi_id, engines=other.engines)
    return profile


def _merged(name: str, profiles: dict[str, Profile], known: MigModel | None) -> MigModel:
    if known is not None:
        return replace(
            known,
            profiles={**known.profiles, **profiles},
            source=f"{known.source}; {', '.join(profiles)}: {_SOURCE}",
        )
    return MigModel(
        name=name,
        # Nobody has to list the profile of the whole GPU: there is room for the most of each.
        compute_slices=max(p.compute_slices * p.max_count for p in profiles.values()),
        memory_slices=max(max(p.starts) + p.memory_slices for p in profiles.values()),
        memory_gb=max(p.memory_gb * p.max_count for p in profiles.values()),
        profiles=profiles,
        confidence="verified",
        source=_SOURCE,
    )
