"""Configurations of NVIDIA's mig-parted, as files or within ConfigMaps and Helm values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog.mig import mig_models
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import PartlyKnown
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.mig_devices import PROFILE, wrong_devices
from eks_gpushare.manifests.readers.words import close_to, plain, shown
from eks_gpushare.manifests.rules import mig_parted as rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eks_gpushare.catalog.mig import MigModel
    from eks_gpushare.findings.finding import FieldPath
    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.manifests.document import Document

_TOP: Final = "mig-configs"
_KEYS: Final = ("device-filter", "devices", "mig-enabled", "mig-devices")
_FILTER: Final = re.compile(r"0x[0-9a-f]{1,8}|[0-9]{1,10}", re.IGNORECASE)
_NVIDIA: Final = 0x10DE
"""Number of the vendor on PCI (https://pci-ids.ucw.cz/read/PC/10de)."""


class MigPartedReader:
    """Knows one by its key `mig-configs`, however it is spelt."""

    name = "mig-parted configuration"

    def matches(self, document: Document) -> bool:
        """Whether it is one."""
        value = document.value
        if not isinstance(value, dict) or "apiVersion" in value:
            return False
        return any(plain(key) == plain(_TOP) for key in value)

    def read(self, document: Document) -> Read:
        """What is wrong with it."""
        return Read(judgements=tuple(_Config(document).judge()))


class _Config:
    def __init__(self, document: Document) -> None:
        self.source = Source("the MIG configuration", document)
        self.value: Mapping[str, Any] = document.value

    def judge(self) -> Iterator[Problem]:
        yield from self._version()
        for key in self.value:
            if key not in ("version", _TOP):
                close = close_to(key, ("version", _TOP))
                message = f"mig-parted refuses the key {key}."
                fix = f"Write {close}." if close else f"Remove it; version and {_TOP} are known."
                yield self._problem(rules.REFUSED, (key,), message, fix, _renamed((key,), close))
        configs = self.value.get(_TOP)
        if configs is UNKNOWN or _TOP not in self.value:
            return
        if not isinstance(configs, dict) or not (configs or isinstance(configs, PartlyKnown)):
            message = f"{_TOP} is {shown(configs)}, and must have a layout at least."
            yield self._problem(
                rules.REFUSED, (_TOP,), message, "Write NAME: with a list of items."
            )
            return
        for name, items in configs.items():
            yield from self._items(name, items)

    def _version(self) -> Iterator[Problem]:
        version = self.value.get("version")
        if version in ("v1", UNKNOWN):
            return
        given = "It does not say version: v1" if version is None else f"version is {shown(version)}"
        path: FieldPath = ("version",) if version is not None else ()
        edits = (Edit("set", ("version",), "v1"),) if version in (None, "1", 1) else ()
        message = f"{given}, and mig-parted refuses all but v1."
        yield self._problem(rules.REFUSED, path, message, "Write version: v1.", edits)

    def _items(self, name: str, items: Any) -> Iterator[Problem]:
        path: FieldPath = (_TOP, name)
        if items is UNKNOWN:
            return
        if not isinstance(items, list) or not items:
            message = f"The layout {name} is {shown(items)}, not a list of items."
            fix = "Write its items as a list: - devices: all"
            yield self._problem(rules.REFUSED, path, message, fix)
            return
        for index, item in enumerate(items):
            if isinstance(item, dict):
                yield from self._item((*path, index), name, item)
            elif item is not UNKNOWN:
                message = f"An item of {name} is {shown(item)}, not a mapping."
                fix = "Write devices, mig-enabled and mig-devices in it."
                yield self._problem(rules.REFUSED, (*path, index), message, fix)

    def _item(self, path: FieldPath, name: str, item: Mapping[str, Any]) -> Iterator[Problem]:
        for key in item:
            if key not in _KEYS:
                close = close_to(key, _KEYS)
                message = f"mig-parted refuses the key {key} in {name}."
                fix = f"Write {close}." if close else f"Remove it; an item has {', '.join(_KEYS)}."
                edits = _renamed((*path, key), close if close not in item else None)
                yield self._problem(rules.REFUSED, (*path, key), message, fix, edits)
        spelt = {close_to(key, _KEYS) for key in item}
        enabled = item.get("mig-enabled")
        for key in ("devices", "mig-enabled"):
            if key not in spelt and not isinstance(item, PartlyKnown):
                value = "all" if key == "devices" else "true"
                message = f"An item of {name} lacks {key}, so mig-parted refuses the file."
                yield self._problem(rules.REFUSED, path, message, f"Write {key}: {value}.")
        if "mig-enabled" in item and enabled is not UNKNOWN and not isinstance(enabled, bool):
            meant = {"true": True, "false": False}.get(str(enabled).lower())
            edits = () if meant is None else (Edit("set", (*path, "mig-enabled"), meant),)
            message = f"mig-enabled of {name} is {shown(enabled)}, not true or false."
            at = (*path, "mig-enabled")
            yield self._problem(rules.REFUSED, at, message, "Write true or false.", edits)
        yield from self._gpus(path, name, item.get("devices", "all"))
        yield from self._filters(path, item.get("device-filter"))
        yield from self._devices(path, name, item)

    def _gpus(self, path: FieldPath, name: str, gpus: Any) -> Iterator[Problem]:
        listed = isinstance(gpus, list) and all(
            gpu is UNKNOWN or (isinstance(gpu, int) and not isinstance(gpu, bool)) for gpu in gpus
        )
        if gpus not in ("all", UNKNOWN) and not listed:
            message = f"devices of {name} is {shown(gpus)}, not all or a list of numbers."
            at = (*path, "devices")
            yield self._problem(rules.REFUSED, at, message, "Write all, or indexes: [0, 1].")

    def _filters(self, path: FieldPath, given: Any) -> Iterator[Problem]:
        for at, entry in _listed((*path, "device-filter"), given):
            if entry is UNKNOWN or entry == "":
                continue
            if not isinstance(entry, str):
                # Of an id without quotes YAML makes a number.
                message = f"A device filter is {shown(entry)}, not text, so the file is refused."
                yield self._problem(rules.REFUSED, at, message, 'Put it in quotes: "0x20B010DE".')
            elif _device_id(entry) is None:
                message = f"The device filter {shown(entry)} matches no NVIDIA GPU."
                fix = "Write device and vendor, as 0x20B010DE for an A100."
                yield self._problem(rules.NO_FILTER, at, message, fix)

    def _devices(self, path: FieldPath, name: str, item: Mapping[str, Any]) -> Iterator[Problem]:
        at = (*path, "mig-devices")
        devices, enabled = item.get("mig-devices"), item.get("mig-enabled")
        if devices is UNKNOWN:
            return
        if devices is None:
            # Null is as if it were not there; one that is misspelt is told already.
            others = {close_to(key, _KEYS) for key in item if key != "mig-devices"}
            if enabled is True and "mig-devices" not in others:
                message = f"An item of {name} has MIG on and no mig-devices."
                fix = "Write mig-devices with profiles and counts, {} for none."
                yield self._problem(rules.REFUSED, path, message, fix)
            return
        if not isinstance(devices, dict):
            message = f"mig-devices of {name} is {shown(devices)}, not profiles with counts."
            yield self._problem(rules.REFUSED, at, message, 'Write "1g.5gb": 7 below it.')
            return
        if devices and enabled is False:
            message = f"{name} has MIG devices while mig-enabled is false."
            yield self._problem(rules.REFUSED, at, message, "Set mig-enabled: true.")
        counts = {}
        for profile, count in devices.items():
            if count is UNKNOWN:
                return
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                message = f"The count of {profile} in {name} is {shown(count)}, not a number."
                fix = "Write a whole number without quotes."
                yield self._problem(rules.REFUSED, (*at, profile), message, fix)
                return
            counts[profile] = count
        if counts and not any(counts.values()):
            message = f"All counts of {name} are 0, so mig-parted refuses the file."
            fix = "Write how many of one at least, or mig-devices: {} for none."
            yield self._problem(rules.REFUSED, at, message, fix)
        yield from self._profiles(at, name, counts, _models(item.get("device-filter")))

    def _profiles(
        self, at: FieldPath, name: str, counts: Mapping[str, int], models: Sequence[MigModel]
    ) -> Iterator[Problem]:
        wrong = [count for count in counts if not PROFILE.fullmatch(count)]
        for each in wrong:
            close = close_to(each, {p for model in models for p in model.profiles})
            message = f"{each} is no name of a MIG profile, so mig-parted refuses the file."
            fix = f"Did you mean {close}?" if close else "Write one such as 1g.5gb."
            edits = _renamed((*at, each), close if close not in counts else None)
            yield self._problem(rules.REFUSED, (*at, each), message, fix, edits)
        split = any(re.match(r"[0-9]+c\.", count) for count in counts)
        if wrong or split:
            return
        apart = "Give each kind of GPU an item of its own, with a device-filter."
        for found in wrong_devices(name, counts, models, apart):
            where = at if found.profile is None else (*at, found.profile)
            yield self._problem(found.rule, where, found.message, found.fix)

    def _problem(
        self,
        rule: Rule,
        path: FieldPath,
        message: str,
        fix: str,
        edits: tuple[Edit, ...] = (),
    ) -> Problem:
        return Problem(rule, self.source, path, message, fix, None, edits)


def _renamed(path: FieldPath, name: str | None) -> tuple[Edit, ...]:
    return (Edit("rename", path, name),) if name else ()


def _listed(path: FieldPath, given: Any) -> Iterator[tuple[FieldPath, Any]]:
    if isinstance(given, list):
        yield from (((*path, index), entry) for index, entry in enumerate(given))
    elif given is not None:
        yield path, given


def _device_id(text: str) -> int | None:
    """The device of a filter, None where mig-parted would compare it with nothing of NVIDIA's."""
    first, _, _ = text.partition(":")
    if not _FILTER.fullmatch(first):
        return None
    number = int(first, 16 if first.lower().startswith("0x") else 10)
    return number >> 16 if number & 0xFFFF == _NVIDIA else None


def _models(given: Any) -> list[MigModel]:
    """The GPUs that an item may be for; none where it is for one that the catalog does not know."""
    filters = [filter_ for _, filter_ in _listed((), given) if filter_ != ""]
    if not filters:
        return list(mig_models().values())
    found: dict[str, MigModel] = {}
    for filter_ in filters:
        device = _device_id(filter_) if isinstance(filter_, str) else None
        if device is None:
            return []
        known = [
            model
            for model in mig_models().values()
            if any(int(one, 16) == device for one in model.device_ids)
        ]
        if not known:
            return []
        found |= {model.name: model for model in known}
    return list(found.values())
