"""MIG devices that somebody wants on one GPU, held against the GPUs that there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.manifests.rules.mig_parted import NO_FIT, NO_PROFILE
from eks_gpushare.sharing.mig.geometry import fits
from eks_gpushare.sharing.mig.reasons import nearest, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.findings.rule import Rule

PROFILE: Final = re.compile(
    r"(?:([0-9]+)c\.)?([0-9]+)g\.([0-9]+)gb((?:[+.-](?:me|gfx)(?:[.,]all)?)*)", re.IGNORECASE
)
"""How NVIDIA names a profile: `1g.5gb`, `1g.10gb+me`, `1c.3g.20gb` for a part of its compute."""
_ELSEWHERE: Final = frozenset(("3g.95gb", "4g.95gb", "7g.189gb"))
"""Profiles in NVIDIA's own default configuration, of boards that EC2 does not have."""


class WrongDevices(NamedTuple):
    """Why no GPU can have the devices."""

    rule: Rule
    profile: str | None
    """The name that is wrong; None if it is all of them together."""
    message: str
    fix: str


def wrong_devices(
    name: str, counts: Mapping[str, int], models: Sequence[MigModel], apart: str
) -> Iterator[WrongDevices]:
    """What keeps devices from being on one GPU, nothing of those that only a newer board has.

    Args:
        name: What messages call all of them.
        counts: How many of each profile.
        models: The GPUs that it can be.
        apart: How to have devices of several GPUs.
    """
    if not models or not counts or not _ELSEWHERE.isdisjoint(counts):
        return
    named = {_usual(item): count for item, count in counts.items()}
    having = [model for model in models if all(profile in model.profiles for profile in named)]
    if not having:
        yield from _of_no_gpu(name, counts, models, apart)
    elif not any(fits(model, named) for model in having):
        model = having[0]
        near = nearest(model, named)
        layouts = " or ".join(
            "{" + ", ".join(f"{p}: {n}" for p, n in devices.items()) + "}" for devices in near[:2]
        )
        message = f"{name} does not fit on a {model.name}: {why_not(model, named)}"
        fix = f"The nearest that do are {layouts}." if layouts else "Take fewer devices."
        yield WrongDevices(NO_FIT, None, message, fix)


def _of_no_gpu(
    name: str, counts: Mapping[str, int], models: Sequence[MigModel], apart: str
) -> Iterator[WrongDevices]:
    known = {profile for model in models for profile in model.profiles}
    which = models[0].name if len(models) == 1 else "GPU in EC2"
    strange = [count for count in counts if _usual(count) not in known]
    for each in strange:
        fix = f"Its profiles are {', '.join(models[0].profiles)}."
        if len(models) > 1:
            size = each.split(".")[0]
            some = sorted(p for p in known if p.startswith(f"{size}.") and p.endswith("gb"))
            fix = f"There are {', '.join(some or sorted(known))}."
        yield WrongDevices(NO_PROFILE, each, f"No {which} has the MIG profile {each}.", fix)
    if not strange:
        message = f"No GPU has all of {', '.join(counts)}, which {name} puts on one."
        yield WrongDevices(NO_PROFILE, None, message, apart)


def _usual(profile: str) -> str:
    """A profile as the catalog spells it."""
    return profile.lower().replace(".me", "+me").replace(".gfx", "+gfx")
