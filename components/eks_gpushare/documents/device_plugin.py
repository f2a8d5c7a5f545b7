"""What NVIDIA's device plugin makes of a configuration that somebody else wrote.

It reads leniently: unknown keys are dropped without a word, `rename` and `devices` of a resource
are checked and then ignored, and MPS goes over time slicing. Keys match whatever their case, as
Go's JSON decoder has it, but for those inside a sharing block and its resources.

Source: `api/config/v1` and `cmd/nvidia-device-plugin/main.go` of NVIDIA/k8s-device-plugin, at the
version in `catalog.versions`, whose own program was run on the texts of
`tests/lab/data/device-plugin-documents.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal

PREFIX: Final = "nvidia.com/"
"""What a resource's name gets where it has none."""
_LEAST_REPLICAS: Final = 2
_LONGEST_NAME: Final = 63
_LARGEST: Final = 2**63 - 1
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_HEX = r"[0-9a-fA-F]"
_PLAIN_UUID = rf"{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_UUID = rf"((urn:uuid:)?{_PLAIN_UUID}|{_HEX}{{32}}|\{{{_PLAIN_UUID}\}})"
_DEVICE = re.compile(rf"[0-9]+(:[0-9]+)?|(GPU-|MIG-){_UUID}|MIG-GPU-{_UUID}/[0-9]+/[0-9]+")
_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)|infinite")


class DocumentError(ValueError):
    """The plugin stops at this, and its container restarts for ever."""


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """What the plugin goes by."""

    mig_strategy: str = "none"
    """none, single or mixed; none too where the document does not say."""
    sharing: Literal["none", "timeSlicing", "mps"] = "none"
    """Of two that are given it is MPS."""
    replicas: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Shares of one device, by the resource's full name: the most that any entry of it says."""
    renamed: bool = False
    """Whether shares are called `<name>.shared`."""
    refuses_several: bool = False
    """Whether a container that asks for two shares is refused."""
    device_lists: tuple[str, ...] = ()
    """How containers get to know their devices; empty where the document does not say."""
    mps_root: str = field(default="", compare=False)
    """Where the document says that MPS keeps its files."""
    listed: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """The entries as they are listed: feature discovery goes by the first of a resource."""


@lru_cache(maxsize=256)  # each node group's, and each check asks again
def device_plugin_config(text: str, mig_strategy: str | None = None) -> PluginConfig:
    """Read a document, of several the first.

    Args:
        text: the document; an empty one leaves the defaults.
        mig_strategy: what the variable MIG_STRATEGY says over it, an empty text too; None if it is
            not set.

    Raises:
        DocumentError: If the plugin would stop, in its words.
    """
    from eks_gpushare.documents.go_yaml import first_document

    try:
        content = first_document(text)
    except ValueError as error:
        message = f"unmarshal error: error converting YAML to JSON: {error}"
        raise DocumentError(message) from None
    return plugin_config_of(content, mig_strategy)


def plugin_config_of(content: Any, mig_strategy: str | None = None) -> PluginConfig:
    """The same of a document that has been read.

    Raises:
        DocumentError: If the plugin would stop.
    """
    whole = _mapping(content, "Config")
    version = _text(_field(whole, "version"), "Config.version")
    flags = _struct(_field(whole, "flags"), "Config.flags", _FLAGS)
    _resources(_field(whole, "resources"))
    imex = _struct(_field(whole, "imex"), "Config.imex", _IMEX)
    sharing = _mapping(_field(whole, "sharing"), "Config.sharing")
    # The one is a value and the other a pointer, so that an empty key means nothing for MPS only.
    slicing = _block(_field(sharing, "timeSlicing")) if _has(sharing, "timeSlicing") else None
    mps = None if (given := _field(sharing, "mps")) is None else _block(given)
    if version not in ("", "v1"):
        raise DocumentError(f"unknown version: {version}")
    written = flags.get("migStrategy")
    strategy = written if mig_strategy is None else mig_strategy
    strategy = "none" if strategy is None else strategy
    if mps is not None and strategy == "mixed":
        raise DocumentError("using --mig-strategy=mixed is not supported with MPS")
    for value, (allowed, message) in _choices(flags, strategy, imex):
        if value not in allowed:
            raise DocumentError(f"{message}: {value}")
    lists = tuple((flags.get("plugin") or {}).get("deviceListStrategy") or ())
    root = flags.get("mpsRoot") or ""
    chosen = mps or slicing
    if chosen is None:
        return PluginConfig(strategy, device_lists=lists, mps_root=root)
    refuses = mps is not None if chosen.fail is None else chosen.fail
    most: dict[str, int] = {}
    for name, count in chosen.resources:
        most[name] = max(count, most.get(name, 0))
    kind: Literal["timeSlicing", "mps"] = "timeSlicing" if mps is None else "mps"
    return PluginConfig(
        strategy, kind, most, chosen.renamed, refuses, lists, root, chosen.resources
    )


def device_lists(given: Any) -> tuple[str, ...]:
    """Ways to hand out devices, a list or names with commas between them."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    return tuple(str(strategy) for strategy in given) if isinstance(given, list) else ()


@dataclass(frozen=True, slots=True)
class _Block:
    renamed: bool
    fail: bool | None
    resources: tuple[tuple[str, int], ...]


def _choices(
    flags: Mapping[str, Any], strategy: str, imex: Mapping[str, Any]
) -> list[tuple[Any, tuple[tuple[Any, ...], str]]]:
    """Values with what they may be and what is said otherwise, in the plugin's order."""
    plugin = flags.get("plugin") or {}
    lists = plugin.get("deviceListStrategy") or ()
    policy = "sharedDevicesAllocationPolicy"
    return [
        *((name, (_LISTS, f"{_INVALID_LIST}: invalid strategy")) for name in lists),
        (plugin.get("deviceIDStrategy"), (_IDS, "invalid --device-id-strategy option")),
        (plugin.get(policy), (_POLICIES, "invalid --shared-devices-allocation-policy option")),
        (
            flags.get("deviceDiscoveryStrategy"),
            (_DISCOVERIES, "invalid --device-discovery-strategy option"),
        ),
        (strategy, (("none", "single", "mixed"), "unknown MIG strategy")),
        (
            imex.get("channelIDs") or [],
            (([], [0]), "invalid IMEX channel IDs: channelIDs must be [] or [0]; found"),
        ),
    ]


_INVALID_LIST = "invalid --device-list-strategy option"
_LISTS = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
_IDS = (None, "uuid", "index")
_POLICIES = (None, "distributed", "packed")
_DISCOVERIES = (None, "auto", "nvml", "tegra")


def _block(value: Any) -> _Block:
    given = _mapping(value, "ReplicatedResources")
    renamed = _flag(given.get("renameByDefault"), "renameByDefault") or False
    fail = _flag(given.get("failRequestsGreaterThanOne"), "failRequestsGreaterThanOne")
    resources = given.get("resources")
    if not isinstance(resources, list) and resources is not None:
        raise _mistyped(resources, "[]ReplicatedResource")
    if not resources:
        raise DocumentError("unmarshal error: no resources specified")
    return _Block(renamed, fail, tuple(map(_replicated, resources)))


def _replicated(value: Any) -> tuple[str, int]:
    given = _mapping(value, "ReplicatedResource")
    if "name" not in given:
        raise DocumentError("unmarshal error: no resource name specified")
    name = _resource_name(given["name"])
    if "devices" in given:
        _check_devices(given["devices"])
    if "replicas" not in given:
        raise DocumentError("unmarshal error: no replicas specified")
    replicas = 0 if given["replicas"] is None else given["replicas"]
    if not _is_int(replicas):
        raise _mistyped(replicas, "int")
    if replicas < _LEAST_REPLICAS:
        raise DocumentError(f"unmarshal error: number of replicas must be >= {_LEAST_REPLICAS}")
    if "rename" in given:
        _resource_name(given["rename"])
    return name, replicas


def _resource_name(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise _mistyped(value, "string")
    given = value or ""
    name = given if given.startswith(PREFIX) else PREFIX + given
    if len(name) > _LONGEST_NAME:
        message = f"fully-qualified resource name must be {_LONGEST_NAME} characters or less"
        raise DocumentError(f"unmarshal error: {message}: {name}")
    if not _SUBDOMAIN.fullmatch(name.removeprefix(PREFIX)):
        raise DocumentError(f"unmarshal error: incorrect format for resource name '{name}'")
    return name


def _check_devices(devices: Any) -> None:
    if devices is None or (isinstance(devices, str) and devices != "all"):
        message = f"devices set as '{devices or ''}' but the only valid string input is 'all'"
        raise DocumentError(f"unmarshal error: {message}")
    if _is_int(devices) and devices <= 0:
        message = f"devices set as '{devices}' but a count of devices must be > 0"
        raise DocumentError(f"unmarshal error: {message}")
    if not isinstance(devices, str | list) and not _is_int(devices):
        raise DocumentError(f"unmarshal error: unrecognized type for devices spec: {devices}")
    for device in devices if isinstance(devices, list) else ():
        if isinstance(device, bool) or not _DEVICE.fullmatch(str(device)):
            message = f"unsupported type for device in devices list: {device}"
            raise DocumentError(f"unmarshal error: {message}")


def _resources(value: Any) -> None:
    """Check what the plugin reads of `resources`, and ignores."""
    for kind in ("gpus", "mig"):
        listed = _field(_mapping(value, "Config.resources"), kind)
        if listed is not None and not isinstance(listed, list):
            raise _mistyped(listed, "[]Resource")
        for entry in listed or ():
            given = _mapping(entry, "Resource")
            for key in ("pattern", "name"):
                if key not in given:
                    raise DocumentError(f"unmarshal error: resources must have a '{key}' field set")
            if not isinstance(given["pattern"], str | None):
                raise _mistyped(given["pattern"], "ResourcePattern")
            _resource_name(given["name"])


def _struct(
    value: Any, kind: str, fields: Mapping[str, Callable[[Any, str], Any]]
) -> dict[str, Any]:
    given = _mapping(value, kind)
    return {
        name: read(_field(given, name), f"{kind}.{name}")
        for name, read in fields.items()
        if _has(given, name)
    }


def _mapping(value: Any, kind: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _mistyped(value, kind)
    return {str(key): item for key, item in value.items()}


def _field(content: Mapping[str, Any], name: str) -> Any:
    """The last key that is `name` in any case: Go's decoder sees them sorted, and takes each."""
    found = None
    for key in sorted(content):
        if key.casefold() == name.casefold():
            found = content[key]
    return found


def _has(content: Mapping[str, Any], name: str) -> bool:
    return any(key.casefold() == name.casefold() for key in content)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _flag(value: Any, kind: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise _mistyped(value, f"bool {kind}")


def _text(value: Any, kind: str) -> str:
    """A text; a number or a switch is taken for one, since it is wanted as such."""
    if isinstance(value, list | Mapping):
        raise _mistyped(value, f"string {kind}")
    return str(value).lower() if isinstance(value, bool) else str("" if value is None else value)


def _known_text(value: Any, kind: str) -> str | None:
    """A text of a flag, for which nothing else is taken."""
    if value is None or isinstance(value, str):
        return value
    raise _mistyped(value, f"string {kind}")


def _strategies(value: Any, kind: str) -> list[str] | None:
    listed = [value] if isinstance(value, str) else value
    if listed is None or (isinstance(listed, list) and all(isinstance(e, str) for e in listed)):
        return listed
    raise DocumentError(f"unmarshal error: invalid {kind.rpartition('.')[2]}: {value}")


def _duration(value: Any, _: str) -> None:
    if isinstance(value, str) and not _DURATION.fullmatch(value):
        raise DocumentError(f'unmarshal error: time: invalid duration "{value}"')
    if isinstance(value, bool | list | Mapping):
        raise DocumentError("unmarshal error: invalid duration")


def _numbers(value: Any, kind: str) -> list[int] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise _mistyped(value, f"[]int {kind}")
    for entry in value:
        if entry is not None and not _is_int(entry):
            raise _mistyped(entry, f"int {kind}")
    return [count or 0 for count in value]


def _mistyped(value: Any, kind: str) -> DocumentError:
    names = {dict: "object", list: "array", str: "string", bool: "bool"}
    given = names.get(type(value), "number")
    return DocumentError(f"unmarshal error: cannot unmarshal {given} into Go value of type {kind}")


def _fields(read: Callable[[Any, str], Any], *names: str) -> dict[str, Callable[[Any, str], Any]]:
    return dict.fromkeys(names, read)


_PLUGIN = {
    **_fields(_flag, "passDeviceSpecs"),
    **_fields(_strategies, "deviceListStrategy"),
    **_fields(_known_text, "deviceIDStrategy", "cdiAnnotationPrefix", "nvidiaCTKPath"),
    **_fields(_known_text, "containerDriverRoot", "sharedDevicesAllocationPolicy"),
}
_DISCOVERY = {
    **_fields(_flag, "oneshot", "noTimestamp"),
    **_fields(_duration, "sleepInterval"),
    **_fields(_known_text, "outputFile", "machineTypeFile"),
}
_FLAGS: dict[str, Callable[[Any, str], Any]] = {
    **_fields(_known_text, "migStrategy", "mpsRoot", "nvidiaDriverRoot", "nvidiaDevRoot"),
    **_fields(_known_text, "deviceDiscoveryStrategy"),
    **_fields(_flag, "failOnInitError", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled"),
    **_fields(_flag, "useNodeFeatureAPI"),
    "plugin": lambda value, kind: _struct(value, kind, _PLUGIN),
    "gfd": lambda value, kind: _struct(value, kind, _DISCOVERY),
}
_IMEX = {**_fields(_numbers, "channelIDs"), **_fields(_flag, "required")}
