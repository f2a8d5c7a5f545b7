"""Settings of devices that NVIDIA's driver of dynamic resource allocation takes in claims.

Source: `sharing.go` and `validate.go` in `api/nvidia.com/resource/v1beta1` of
https://github.com/NVIDIA/k8s-dra-driver-gpu, and `vgpuconfig.go` beside them since the driver is at
https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu (November 2026). The driver decodes them
strictly.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import FieldPath

DRIVER: Final = "gpu.nvidia.com"
API: Final = "resource.nvidia.com/v1beta1"
GATES: Final = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}
"""Gates of the driver without which a strategy is not known to it."""
INTERVALS: Final = ("Default", "Short", "Medium", "Long")
_SHARED: Final = ("GpuConfig", "MigDeviceConfig")
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(_SHARED, ("sharing",)),
    "VfioDeviceConfig": ("iommu",),
    "VgpuDeviceConfig": ("profile", "profileID", "params"),
}
"""Kinds with their fields; the last two are of devices for virtual machines."""
GATES_OF_KINDS: Final = {
    "VfioDeviceConfig": "PassthroughSupport",
    "VgpuDeviceConfig": "VGPUSupport",
}
"""Gates of the driver without which it has no devices of a kind."""
_IOMMU: Final = ("backendPolicy", "enableAPIDevice")
_POLICIES: Final = ("LegacyOnly", "PreferIommuFD")
_MEBIBYTE: Final = 2**20
_SETTINGS: Final = {"TimeSlicing": "timeSlicingConfig", "MPS": "mpsConfig"}
_MPS_KEYS: Final = (
    *("defaultActiveThreadPercentage", "defaultPinnedDeviceMemoryLimit"),
    "defaultPerDevicePinnedMemoryLimit",
)
_PERCENT: Final = 100


class ConfigProblem(NamedTuple):
    """Something that the driver refuses."""

    place: FieldPath
    """Below `opaque`."""
    message: str
    fix: str


def config_problems(driver: Any, parameters: Any) -> Iterator[ConfigProblem]:
    """What is wrong with the settings of a claim or a class.

    Args:
        driver: Who they are for.
        parameters: They themselves.
    """
    version, kind = at(parameters, "apiVersion"), at(parameters, "kind")
    if driver != DRIVER or not isinstance(parameters, Mapping) or UNKNOWN in (version, kind):
        return
    place: FieldPath = ("parameters",)
    if version != API:
        yield ConfigProblem(
            (*place, "apiVersion"), f"{version} is no version of settings.", f"Write {API}."
        )
        return
    if not isinstance(kind, str) or kind not in _KINDS:
        listed = ", ".join(_KINDS)
        yield ConfigProblem((*place, "kind"), f"{kind} is no kind of settings.", f"Use {listed}.")
        return
    yield from _unknown(place, parameters, ["apiVersion", "kind", *_KINDS[kind]])
    sharing = at(parameters, "sharing")
    if isinstance(sharing, Mapping) and kind in _SHARED:
        yield from _sharing((*place, "sharing"), sharing, kind)
    elif kind == "VfioDeviceConfig":
        yield from _iommu((*place, "iommu"), at(parameters, "iommu"))
    elif kind == "VgpuDeviceConfig":
        yield from _vgpu(place, at(parameters, "profileID"))


def _iommu(place: FieldPath, given: Any) -> Iterator[ConfigProblem]:
    yield from _unknown(place, given, list(_IOMMU))
    policy = at(given, _IOMMU[0])
    if policy not in (None, "", UNKNOWN, *_POLICIES):
        fix = f"Write one of {', '.join(_POLICIES)}."
        yield ConfigProblem((*place, _IOMMU[0]), f"{policy} is no policy of backends.", fix)


def _vgpu(place: FieldPath, profile: Any) -> Iterator[ConfigProblem]:
    if profile in (None, UNKNOWN):
        return
    if isinstance(profile, bool) or not isinstance(profile, int) or profile < 0:
        yield ConfigProblem(
            (*place, "profileID"),
            f"profileID is {profile}; it is the number of a vGPU type.",
            "Write the number, or leave it to the device that is allocated.",
        )


def _unknown(place: FieldPath, given: Any, known: list[str]) -> Iterator[ConfigProblem]:
    for key, _ in pairs(given):
        if key not in known:
            spelt = {name.lower(): name for name in known}
            near = get_close_matches(key.lower(), spelt)
            fix = (
                f"Write {spelt[near[0]]}, if that was meant."
                if near
                else f"Its fields are {', '.join(known)}."
            )
            yield ConfigProblem((*place, key), f"{place[-1]} has no field {key}.", fix)


def _sharing(place: FieldPath, sharing: Mapping[str, Any], kind: str) -> Iterator[ConfigProblem]:
    of_mig = kind == "MigDeviceConfig"
    known = ["strategy", "mpsConfig", *([] if of_mig else ["timeSlicingConfig"])]
    yield from _unknown(place, sharing, known)
    strategy = sharing.get("strategy")
    if strategy is UNKNOWN:
        return
    if not isinstance(strategy, str) or strategy not in _SETTINGS:
        fix = f"Write one of {', '.join(_SETTINGS)}."
        yield ConfigProblem((*place, "strategy"), f"{strategy} is no strategy of sharing.", fix)
        return
    for other, key in _SETTINGS.items():
        if other != strategy and key in sharing and key in known:
            yield ConfigProblem(
                (*place, key),
                f"{key} stands beside the strategy {strategy}.",
                f"Remove it, or write strategy: {other}.",
            )
    interval = at(sharing, "timeSlicingConfig", "interval")
    if strategy == "TimeSlicing" and interval not in (None, UNKNOWN, *INTERVALS):
        yield ConfigProblem(
            (*place, "timeSlicingConfig", "interval"),
            f"{interval} is no interval of time slices.",
            f"Write one of {', '.join(INTERVALS)}.",
        )
    yield from _unknown(
        (*place, "timeSlicingConfig"), at(sharing, "timeSlicingConfig"), ["interval"]
    )
    if strategy == "MPS":
        yield from _mps((*place, "mpsConfig"), at(sharing, "mpsConfig"))


def _mps(place: FieldPath, mps: Any) -> Iterator[ConfigProblem]:
    yield from _unknown(place, mps, list(_MPS_KEYS))
    percent = at(mps, _MPS_KEYS[0])
    if percent not in (None, UNKNOWN):
        whole = isinstance(percent, int) and not isinstance(percent, bool)
        if not whole or not 0 <= percent <= _PERCENT:
            yield ConfigProblem(
                (*place, _MPS_KEYS[0]),
                f"{_MPS_KEYS[0]} is {percent}; it is a whole number from 0 to 100.",
                "Write the share of the GPU's threads that a client may have at once.",
            )
    limits = [((*place, _MPS_KEYS[1]), at(mps, _MPS_KEYS[1]))]
    per_device = pairs(at(mps, _MPS_KEYS[2]))
    limits += [((*place, _MPS_KEYS[2], key), limit) for key, limit in per_device]
    for where, given in limits:
        if given in (None, UNKNOWN):
            continue
        amount = quantity(str(given))
        if amount is None or amount < _MEBIBYTE:
            yield ConfigProblem(
                where,
                f"{given} is no limit of memory; it is 1Mi or more.",
                "Write a quantity, such as 10Gi.",
            )
