"""Configuration of NVIDIA's mig-parted, which the GPU Operator's MIG manager applies.

mig-parted refuses unknown keys and an item without `mig-devices` where MIG is on. What it does not
refuse is a malformed device filter: that matches no GPU, and the node is left as it was. Filters
are therefore made here, from PCI device ids.

Source: `api/spec/v1/spec.go` of NVIDIA/mig-parted, at the version in `catalog.versions`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSION = "v1"
ALL_DISABLED = "all-disabled"
"""The configuration that switches MIG off; MIG manager and its users expect it by this name."""

_VENDOR = "10DE"
_DEVICE_ID = re.compile(r"0x[0-9A-Fa-f]{4}")


class MigPartedItem(NamedTuple):
    """What some GPUs of a node are to be.

    The items of a configuration are applied in order; of two that match a GPU, the later wins.
    """

    devices: Mapping[str, int]
    """MIG devices to make on each of the GPUs, by profile. Empty switches MIG off."""
    gpus: tuple[int, ...] | None = None
    """Indexes of the GPUs, in the order of the PCI bus. None is all."""
    device_ids: tuple[str, ...] = ()
    """PCI device ids of the boards that are meant, such as `0x20B0`. Empty is any."""


def mig_parted_document(configs: Mapping[str, Sequence[MigPartedItem]]) -> dict[str, Any]:
    """The document with the given configurations and `all-disabled`.

    Args:
        configs: The items of each configuration, by its name.

    Raises:
        ValueError: For a configuration without items, or an id that is not a PCI device id.
    """
    named = {**configs, ALL_DISABLED: (MigPartedItem({}),)}
    return {
        "version": VERSION,
        "mig-configs": {name: _items(name, named[name]) for name in sorted(named)},
    }


def mig_parted_text(configs: Mapping[str, Sequence[MigPartedItem]]) -> str:
    """The same as YAML, the same text for the same content."""
    import yaml

    return str(yaml.safe_dump(mig_parted_document(configs), sort_keys=False))


def _items(name: str, items: Sequence[MigPartedItem]) -> list[dict[str, Any]]:
    if not items:
        raise ValueError(f"{name} has no items, which mig-parted refuses.")
    return [_item(item) for item in items]


def _item(item: MigPartedItem) -> dict[str, Any]:
    gpus = "all" if item.gpus is None else list(item.gpus)
    made: dict[str, Any] = {"devices": gpus, "mig-enabled": bool(item.devices)}
    if item.device_ids:
        made = {"device-filter": [_filter(device_id) for device_id in item.device_ids], **made}
    if item.devices:
        made["mig-devices"] = dict(sorted(item.devices.items()))
    return made


def _filter(device_id: str) -> str:
    """A PCI device id as mig-parted compares it: `0x<device><vendor>`."""
    if not _DEVICE_ID.fullmatch(device_id):
        raise ValueError(f"{device_id} is not a PCI device id such as 0x20B0.")
    return f"0x{device_id[2:].upper()}{_VENDOR}"
