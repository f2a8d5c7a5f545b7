"""What is wrong in Bottlerocket's settings for GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.bottlerocket import bottlerocket_mig_gpu
from eks_gpushare.catalog.gpus import MPS_CLIENTS
from eks_gpushare.catalog.mig import mig_models
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.plain import EFFECTS, items, mapping
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.inventory.source import Source

_SETTINGS = "https://bottlerocket.dev/en/os/latest/#/api/settings/kubelet-device-plugins/"

BAD_SETTING = Rule(
    "GPU1082",
    "error",
    "Bottlerocket's settings are ones that it takes.",
    "It refuses user data with a setting that it does not know or a value that it does not take: "
    "the node never joins the cluster.",
    _SETTINGS,
)
IDLE_SETTING = Rule(
    "GPU1083",
    "warning",
    "What Bottlerocket's settings say of sharing is in force.",
    "A table without its strategy, or a strategy beside one that excludes it, shares nothing, or "
    "keeps the device plugin from starting.",
    _SETTINGS,
)

NVIDIA: Final = ("settings", "kubelet-device-plugins", "nvidia")
_SHARED_KEYS: Final[Mapping[str, Any]] = {
    "replicas": int,
    "rename-by-default": bool,
    "fail-requests-greater-than-one": bool,
}
_KEYS: Final[Mapping[str, Any]] = {
    "device-sharing-strategy": ("none", "time-slicing", "mps"),
    "device-partitioning-strategy": ("none", "mig"),
    "device-id-strategy": ("index", "uuid"),
    "device-list-strategy": ("envvar", "volume-mounts", "cdi-cri"),
    "pass-device-specs": bool,
    "time-slicing": _SHARED_KEYS,
    "mps": _SHARED_KEYS,
    "mig": {"profile": None},
}
_NOUNS: Final = {bool: "true or false", int: "a whole number"}
_LEAST: Final = 2
_MODES: Final = ("off", "once", "always")
_OWN_CONTAINERS: Final = ("admin", "control")
"""Containers of the host whose image Bottlerocket names itself."""
_COUNT: Final = re.compile(r"[1-9][0-9]?")
_PARTS: Final = (1, 2, 3, 4, 7)


def bottlerocket_rules(value: Mapping[str, Any], source: Source) -> Iterator[Judgement]:
    """What is wrong in settings, read of TOML."""
    given = at(value, *NVIDIA)
    yield from _block(source, NVIDIA, given, _KEYS)
    for name in ("time-slicing", "mps"):
        replicas = at(given, name, "replicas")
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            continue
        if replicas < _LEAST or (name == "mps" and replicas > MPS_CLIENTS):
            most = f" to {MPS_CLIENTS}" if name == "mps" else ""
            message = f"replicas of {name} is {replicas}; it is a number from {_LEAST}{most}."
            fix = "Write how many pods share a GPU, or remove the strategy."
            yield Problem(BAD_SETTING, source, (*NVIDIA, name, "replicas"), message, fix)
    yield from _profiles(source, given)
    yield from _strategies(source, given)
    yield from _taints(source, at(value, "settings", "kubernetes", "node-taints"))
    yield from _containers(source, value)


def _block(
    source: Source, place: FieldPath, given: Any, keys: Mapping[str, Any]
) -> Iterator[Judgement]:
    for key, value in mapping(given).items():
        path = (*place, key)
        if key not in keys:
            dashed = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", key).replace("_", "-").lower()
            near = dashed if dashed in keys else similar(key, keys)
            fix = f"Write {near}." if near else f"Remove it; there are {', '.join(keys)}."
            yield Problem(BAD_SETTING, source, path, f"{_dotted(path)} is no setting.", fix)
            continue
        allowed = keys[key]
        if value is UNKNOWN:
            continue
        if isinstance(allowed, dict):
            yield from _block(source, path, value, allowed)
        elif isinstance(allowed, tuple) and value not in allowed:
            near = similar(str(value), allowed)
            message = f"{key} is {value!r}; it is one of {', '.join(allowed)}."
            yield Problem(BAD_SETTING, source, path, message, f"Write {near or allowed[0]}.")
        elif isinstance(allowed, type) and type(value) is not allowed:
            message = f"{key} is {value!r}; it is {_NOUNS[allowed]}."
            yield Problem(BAD_SETTING, source, path, message, "Write it without quotes.")


def _profiles(source: Source, given: Any) -> Iterator[Judgement]:
    """Profiles by model: `"a100.40gb" = "2g.10gb"`, or into how many instances."""
    known = {
        found.key: found
        for found in (bottlerocket_mig_gpu(name) for name in mig_models())
        if found is not None
    }
    for key, profile in mapping(at(given, "mig", "profile")).items():
        place = (*NVIDIA, "mig", "profile", key)
        model = known.get(key)
        if model is None:
            # A board that is newer than what is known of Bottlerocket is not judged.
            if similar(key, known) is not None:
                fix = f"Write one of {', '.join(known)}."
                yield Problem(BAD_SETTING, source, place, f"{key} is no GPU with MIG.", fix)
            continue
        text = str(profile)
        if (
            profile is UNKNOWN
            or text in model.instances
            or (_COUNT.fullmatch(text) and int(text) in _PARTS)
        ):
            continue
        have = ", ".join(model.instances)
        message = f"{text} is no profile of {key} that Bottlerocket makes: it leaves the GPU whole."
        yield Problem(IDLE_SETTING, source, place, message, f"Write one of {have}.")


def _strategies(source: Source, given: Any) -> Iterator[Judgement]:
    sharing = at(given, "device-sharing-strategy")
    parts = at(given, "device-partitioning-strategy")
    for name in ("time-slicing", "mps"):
        if name in mapping(given) and sharing not in (name, UNKNOWN):
            said = f"is {sharing}" if sharing else "is not set"
            yield Problem(
                IDLE_SETTING,
                source,
                (*NVIDIA, name),
                f"The table {name} says how, and device-sharing-strategy {said}.",
                f'Write device-sharing-strategy = "{name}", or remove the table.',
            )
        elif sharing == name and at(given, name, "replicas") is None:
            yield Problem(
                IDLE_SETTING,
                source,
                (*NVIDIA, "device-sharing-strategy"),
                f"device-sharing-strategy is {name}, and nothing says how many replicas.",
                f"Add a table {name} with replicas.",
            )
    if "mig" in mapping(given) and parts not in ("mig", UNKNOWN):
        message = "The table mig names profiles, and device-partitioning-strategy is not mig."
        fix = 'Write device-partitioning-strategy = "mig".'
        yield Problem(IDLE_SETTING, source, (*NVIDIA, "mig"), message, fix)
    if parts == "mig" and sharing == "mps":
        yield Problem(
            IDLE_SETTING,
            source,
            (*NVIDIA, "device-sharing-strategy"),
            "MPS and MIG exclude each other: the device plugin does not start.",
            "Keep one of the two, or share MIG devices by time-slicing.",
        )


def _taints(source: Source, given: Any) -> Iterator[Judgement]:
    """Taints by key: `"nvidia.com/gpu" = ["true:NoSchedule"]`."""
    for key, taints in mapping(given).items():
        whole: FieldPath = ("settings", "kubernetes", "node-taints", key)
        # One may stand by itself.
        places = [(*whole, index) for index, _ in enumerate(items(taints))] or [whole]
        for place, taint in zip(places, items(taints) or [taints], strict=True):
            if isinstance(taint, str) and taint.rpartition(":")[2] not in EFFECTS:
                message = f"The taint {key} is {taint!r}, which names no effect."
                fix = 'Write "VALUE:NoSchedule".'
                yield Problem(BAD_SETTING, source, place, message, fix)


def _containers(source: Source, value: Any) -> Iterator[Judgement]:
    """Containers of the host that run before or beside Kubernetes.

    Source: https://bottlerocket.dev/en/os/latest/api/settings/bootstrap-containers/, and
    host-containers beside it: only of its own ones Bottlerocket knows an image.
    """
    for name, given in mapping(at(value, "settings", "bootstrap-containers")).items():
        mode = at(given, "mode")
        if isinstance(mode, str) and mode not in _MODES:
            place: FieldPath = ("settings", "bootstrap-containers", name, "mode")
            message = f"mode is {mode!r}; it is one of {', '.join(_MODES)}."
            yield Problem(BAD_SETTING, source, place, message, "Write once.")
    for name, given in mapping(at(value, "settings", "host-containers")).items():
        runs = at(given, "enabled") is True and name not in _OWN_CONTAINERS
        if runs and at(given, "source") is None:
            place = ("settings", "host-containers", name)
            message = f"{_dotted(place)} runs a container and names no image."
            fix = "Give its source, the image in a registry."
            yield Problem(BAD_SETTING, source, place, message, fix)


def _dotted(path: FieldPath) -> str:
    return ".".join(str(step) for step in path)
