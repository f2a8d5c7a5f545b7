"""mig-parted's configuration file, version 1, read as strictly as the original reads it.

Source: NVIDIA/mig-parted, `api/spec/v1`, `pkg/mig/builder` and `cmd/nvidia-mig-parted/apply`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.catalog.mig import named_layouts
from eks_gpushare.documents.go_yaml import first_document
from eks_gpushare_lab.simulated_node.gpus import SimulatedGpu
from eks_gpushare_lab.simulated_node.mig_driver import PartitionError, arrange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare_lab.simulated_node.hardware import Hardware

_ITEM_KEYS = ("device-filter", "devices", "mig-enabled", "mig-devices")
_PROFILE = re.compile(
    r"([0-9]+c\.)?[0-9]+g\.[0-9]+gb(\+[a-z][a-z0-9.]*(,[a-z][a-z0-9.]*)*|-[a-z]+)?"
)
_NVIDIA = "10DE"


class SpecError(Exception):
    """The file or a configuration in it is refused, in the original's words."""


class ApplyError(Exception):
    """The GPUs cannot be made what a configuration wants."""


@dataclass(frozen=True, slots=True)
class AppliedItem:
    """What some GPUs are to be."""

    devices: tuple[int, ...] | None
    """Indices of the GPUs; None means all."""
    enabled: bool
    """Whether MIG mode is on."""
    counts: Mapping[str, int]
    """Instances by profile."""
    filters: tuple[str, ...] = ()
    """Device ids that it is for, such as 0x20B010DE; none means every GPU."""

    def matches(self, number: int, hardware: Hardware) -> bool:
        """Whether it is for a GPU."""
        own = f"{hardware.device_id}{_NVIDIA}".casefold()
        mine = not self.filters or any(f.partition(":")[0].casefold() == own for f in self.filters)
        return mine and (self.devices is None or number in self.devices)


Spec = dict[str, tuple[AppliedItem, ...]]
"""Configurations by name."""


def read(text: str) -> Spec:
    """Read a file.

    Raises:
        SpecError: If mig-parted would refuse it.
    """
    try:
        document = first_document(text)
    except yaml.YAMLError as error:
        raise SpecError(f"unmarshal error: {error}") from None
    content = _mapping(document, "unable to parse with missing 'version' field")
    if "version" not in content:
        raise SpecError("unmarshal error: unable to parse with missing 'version' field")
    if content["version"] != "v1":
        raise SpecError(f"unmarshal error: unknown version: {content['version']}")
    for key in content:
        if key not in {"version", "mig-configs"}:
            raise SpecError(f"unmarshal error: unexpected field: {key}")
    configurations = _mapping(content.get("mig-configs") or {}, "mig-configs is no map")
    if not configurations:
        raise SpecError("unmarshal error: at least one entry in 'mig-configs' is required")
    return {name: tuple(_items(name, items)) for name, items in configurations.items()}


def generated(hardware: Hardware) -> Spec:
    """What the MIG manager writes itself by the hardware, where no file is given."""
    found: Spec = {"all-enabled": (AppliedItem(None, enabled=True, counts={}),)}
    for name, counts in named_layouts(hardware.mig).items() if hardware.mig else ():
        found[name] = (AppliedItem(None, enabled=bool(counts), counts=counts),)
    return found


def selected(spec: Spec, name: str) -> tuple[AppliedItem, ...]:
    """The configuration of a name.

    Raises:
        SpecError: If there is none.
    """
    if name not in spec:
        raise SpecError(f"selected mig-config not present: {name}")
    return spec[name]


def is_applied(
    items: Sequence[AppliedItem], gpus: Sequence[SimulatedGpu], hardware: Hardware
) -> bool:
    """Whether the GPUs are what a configuration wants."""
    return modes_are_applied(items, gpus, hardware) and all(
        not item.enabled or gpus[number].counts() == _some(item.counts)
        for item, number in _pairs(items, hardware)
    )


def modes_are_applied(
    items: Sequence[AppliedItem], gpus: Sequence[SimulatedGpu], hardware: Hardware
) -> bool:
    """Whether MIG mode is on where a configuration wants it, and off where it does not."""
    return all(gpus[number].mig == item.enabled for item, number in _pairs(items, hardware))


def with_modes(
    items: Sequence[AppliedItem], gpus: Sequence[SimulatedGpu], hardware: Hardware
) -> tuple[SimulatedGpu, ...]:
    """The GPUs after `apply --mode-only`: where MIG mode was on, what was there is gone.

    Raises:
        ApplyError: If a GPU has no MIG.
    """
    found = list(gpus)
    for item, number in _pairs(items, hardware):
        found[number] = SimulatedGpu(mig=item.enabled)
    return tuple(found)


def with_instances(
    items: Sequence[AppliedItem], gpus: Sequence[SimulatedGpu], hardware: Hardware
) -> tuple[SimulatedGpu, ...]:
    """The GPUs after `apply`, item by item.

    Raises:
        ApplyError: If a mode is wrong, or the instances do not fit.
    """
    found = list(gpus)
    for item, number in _pairs(items, hardware):
        there = found[number]
        if item.enabled and not there.mig:
            raise ApplyError("unable to apply MIG config with MIG mode disabled")
        if there.mig and not item.enabled:
            raise ApplyError(
                "MIG mode is currently enabled, but the configuration specifies it should be "
                "disabled"
            )
        if not item.enabled or hardware.mig is None or there.counts() == _some(item.counts):
            continue
        try:
            found[number] = SimulatedGpu(mig=True, instances=arrange(hardware.mig, item.counts))
        except PartitionError as error:
            message = f"error setting MIGConfig: GPU {number}: {_text(item.counts)}: {error}"
            raise ApplyError(message) from None
    return tuple(found)


def _pairs(items: Sequence[AppliedItem], hardware: Hardware) -> Iterator[tuple[AppliedItem, int]]:
    """Each item with each GPU that it is for, as the original walks them."""
    for item in items:
        for number in range(hardware.count):
            if not item.matches(number, hardware):
                continue
            if hardware.mig is not None:
                yield item, number
            elif item.devices is not None and item.enabled:
                raise ApplyError("cannot set MIG mode on non MIG-capable GPU")


def _items(name: str, items: Any) -> Iterator[AppliedItem]:
    if not isinstance(items, list) or not items:
        raise SpecError(f"unmarshal error: at least one entry in '{name}' is required")
    for item in items:
        yield _item(_mapping(item, f"an entry of '{name}' is no map"))


def _item(item: Mapping[str, Any]) -> AppliedItem:
    for key in ("devices", "mig-enabled"):
        if key not in item:
            raise SpecError(f"unmarshal error: missing required field: {key}")
    for key in item:
        if key not in _ITEM_KEYS:
            raise SpecError(f"unmarshal error: unexpected field: {key}")
    enabled, given = item["mig-enabled"], item.get("mig-devices")
    if not isinstance(enabled, bool):
        raise SpecError("unmarshal error: mig-enabled is no bool")
    counts = _counts(given) if given is not None else {}
    if enabled and given is None:  # Go makes no map of null
        text = "missing required field 'mig-devices' when 'mig-enabled' is true"
        raise SpecError(f"unmarshal error: {text}")
    if counts and not enabled:
        raise SpecError("unmarshal error: MIG devices included when 'mig-enabled' is false")
    return AppliedItem(
        _devices(item["devices"]), enabled, counts, _filters(item.get("device-filter"))
    )


def _devices(given: Any) -> tuple[int, ...] | None:
    if given == "all":
        return None
    if isinstance(given, list) and all(type(index) is int for index in given):
        return tuple(given)
    raise SpecError(f"unmarshal error: invalid string input for 'devices': {given}")


def _filters(given: Any) -> tuple[str, ...]:
    if given is None or given == "":
        return ()
    filters = given if isinstance(given, list) else [given]
    if not all(isinstance(filter_, str) for filter_ in filters):
        raise SpecError("unmarshal error: device-filter is no string")
    return tuple(filters)


def _counts(given: Any) -> dict[str, int]:
    counts = _mapping(given, "mig-devices is no map")
    where = "error validating values in 'mig-devices' field"
    for profile, count in counts.items():
        if type(count) is not int or count < 0:
            raise SpecError(f"unmarshal error: {where}: invalid count for '{count}'")
        if not _PROFILE.fullmatch(str(profile)):
            raise SpecError(f"unmarshal error: {where}: invalid format for '{profile}'")
    if counts and not any(counts.values()):
        raise SpecError(f"unmarshal error: {where}: all counts for all MigProfiles are 0")
    return dict(counts)


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    return {profile: count for profile, count in counts.items() if count}


def _mapping(value: Any, otherwise: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SpecError(f"unmarshal error: {otherwise}")
    return value


def _text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{profile} x {count}" for profile, count in counts.items())
