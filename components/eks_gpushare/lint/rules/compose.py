"""What is wrong in a service plan of Omnistrate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import Catalog
from eks_gpushare.catalog.mig import mig_model, why_no_mig
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import mapping, whole
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog.instances import InstanceType
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

_OMNISTRATE = "https://docs.omnistrate.com/build-guides/gpu-slicing/"

NO_SUCH_SLICE = Rule(
    "GPU1074",
    "error",
    "A service plan names a MIG profile that the GPUs of its instance type have.",
    "The GPU is not split: no node gets the resource, and the service never starts.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles",
)
PLAN_SHAPE = Rule(
    "GPU1075",
    "error",
    "A service plan asks for GPUs by a type that has them, and by numbers that can be.",
    "The plan is refused, or the service gets no GPU, or never changes its size.",
    _OMNISTRATE,
)
PLAN_KEY = Rule(
    "GPU1076",
    "warning",
    "A service plan has keys for GPUs that Omnistrate reads.",
    "Another key is passed over, and what it says is not in force.",
    _OMNISTRATE,
)

INTEGRATIONS: Final = "x-internal-integrations"
GPU: Final = "multiTenantGpu"
CAPABILITIES: Final = "x-omnistrate-capabilities"
_KEYS: Final = ("instanceType", "timeSlicingReplicas", "migProfile")
_PROFILE: Final = re.compile(r"[0-9]+g\.[0-9]+gb(?:\+[a-z.]+)?")
_PERCENT: Final = 100


def plan_rules(value: Mapping[str, Any], source: Source) -> Iterator[Judgement]:
    """What is wrong in a plan."""
    place: FieldPath = (INTEGRATIONS, GPU)
    gpu = at(value, *place)
    for key in mapping(gpu):
        if key not in _KEYS:
            near = similar(key, _KEYS)
            fix = f"Write {near}." if near else f"Remove it; there are {', '.join(_KEYS)}."
            yield Problem(PLAN_KEY, source, (*place, key), f"{GPU} has no key {key}.", fix)
    name = at(gpu, "instanceType")
    found = Catalog().find(name) if isinstance(name, str) else None
    if name is None:
        fix = "Add instanceType, such as g5.xlarge."
        yield Problem(PLAN_SHAPE, source, place, f"{GPU} names no instanceType.", fix)
    elif isinstance(name, str):
        yield from _type(source, (*place, "instanceType"), name, found)
    yield from _replicas(source, (*place, "timeSlicingReplicas"), at(gpu, "timeSlicingReplicas"))
    profile = at(gpu, "migProfile")
    if isinstance(profile, str) and found is not None and found.gpu is not None:
        yield from _profile(source, (*place, "migProfile"), profile, found)
    for service, given in mapping(at(value, "services")).items():
        scaling = at(given, CAPABILITIES, "autoscaling")
        yield from _scaling(source, ("services", service, CAPABILITIES, "autoscaling"), scaling)


def _type(
    source: Source, place: FieldPath, name: str, found: InstanceType | None
) -> Iterator[Judgement]:
    if found is None:
        near = similar(name, Catalog().gpu_types())
        fix = f"Write {near}." if near else "Name a type with NVIDIA GPUs, such as g5.xlarge."
        message = f"{name} is no instance type that is known to have GPUs."
        yield Problem(PLAN_SHAPE, source, place, message, fix)
    elif found.gpu is None:
        fix = "Name a type with NVIDIA GPUs, such as g5.xlarge."
        yield Problem(PLAN_SHAPE, source, place, f"{name} has no NVIDIA GPU.", fix)


def _replicas(source: Source, place: FieldPath, given: Any) -> Iterator[Judgement]:
    if given is None or given is UNKNOWN:
        return
    count = whole(given)
    if not isinstance(count, int) or count < 1:
        message = f"timeSlicingReplicas is {given}; it is how many pods take turns on a GPU."
        yield Problem(PLAN_SHAPE, source, place, message, "Write a whole number from 2.")


def _profile(
    source: Source, place: FieldPath, profile: str, found: InstanceType
) -> Iterator[Judgement]:
    if (why := why_no_mig(found)) is not None:
        fix = "Remove migProfile, or name a type with MIG, such as p4d.24xlarge."
        yield Problem(NO_SUCH_SLICE, source, place, why, fix)
        return
    model = mig_model(found.gpu) if found.gpu else None
    if model is None or profile in model.profiles:
        return
    have = ", ".join(model.profiles)
    message = f"{profile} is no profile of the {model.name} in {found.name}."
    if not _PROFILE.fullmatch(profile):
        message = f"{profile} is no MIG profile; one is written like 1g.5gb."
    yield Problem(NO_SUCH_SLICE, source, place, message, f"Name one of {have}.")


def _scaling(source: Source, place: FieldPath, given: Any) -> Iterator[Judgement]:
    least, most = whole(at(given, "minReplicas")), whole(at(given, "maxReplicas"))
    if isinstance(least, int) and isinstance(most, int) and least > most:
        message = f"minReplicas {least} is more than maxReplicas {most}."
        yield Problem(PLAN_SHAPE, source, (*place, "minReplicas"), message, "Raise maxReplicas.")
    idle, over = whole(at(given, "idleThreshold")), whole(at(given, "overUtilizedThreshold"))
    if isinstance(idle, int) and isinstance(over, int) and not idle < over <= _PERCENT:
        message = (
            f"idleThreshold is {idle} and overUtilizedThreshold {over}; both are percent, and the "
            "first has to be below the second."
        )
        fix = "Leave room between them, such as 20 and 80."
        yield Problem(PLAN_SHAPE, source, (*place, "idleThreshold"), message, fix)
