"""The device plugin's configuration file, read as leniently as the original reads it.

Unknown keys are dropped without a word, `rename` and `devices` are checked and then ignored, and
MPS goes over time slicing. Keys of `sharing` and `flags` match whatever their case, as Go's JSON
decoder has it, while those inside a sharing block are compared as they are.

Source: NVIDIA/k8s-device-plugin, api/config/v1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from eks_gpushare_lab.simulated_node.go_yaml import first_document

_PREFIX = "nvidia.com/"
_LONGEST_NAME = 63
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MIG_STRATEGIES = ("none", "single", "mixed")
_LEAST_REPLICAS = 2
_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_DEVICE = re.compile(rf"[0-9]+(:[0-9]+)?|(GPU-|MIG-){_UUID}|MIG-GPU-{_UUID}/[0-9]+/[0-9]+")


class ConfigFileError(Exception):
    """The plugin stops with this message, and its container restarts."""


@dataclass(frozen=True, slots=True)
class Replicated:
    """One entry of a sharing block."""

    name: str
    """Resource, with its prefix."""
    replicas: int
    """Shares of one device."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the plugin makes of a file."""

    mig_strategy: str = "none"
    """none, single or mixed."""
    strategy: str = "none"
    """none, time-slicing or mps, as the node label says it."""
    resources: tuple[Replicated, ...] = ()
    """What is shared."""
    renamed: bool = False
    """Whether shares are called `<name>.shared`."""
    fail_more_than_one: bool = False
    """Whether a container that asks for two shares is refused."""

    def replicas(self, resource: str) -> int:
        """Shares of one device of a resource; 1 where it is not shared."""
        return next((each.replicas for each in self.resources if each.name == resource), 1)


def read(text: str, mig_strategy: str | None = None) -> Configuration:
    """Read a file.

    Args:
        text: its content; an empty one leaves the defaults.
        mig_strategy: the environment variable MIG_STRATEGY, which goes over the file.

    Raises:
        ConfigFileError: If the original would stop.
    """
    try:
        document = first_document(text)
    except yaml.YAMLError as error:
        raise ConfigFileError(f"unmarshal error: {error}") from None
    content = _mapping(document, "Config")
    version = _field(content, "version")
    if version not in {None, "", "v1"}:
        raise ConfigFileError(f"unknown version: {version}")
    flags = _mapping(_field(content, "flags"), "Config.flags")
    chosen = mig_strategy or _text(_field(flags, "migStrategy"), "migStrategy") or "none"
    sharing = _mapping(_field(content, "sharing"), "Config.sharing")
    # The one is a value and the other a pointer, so that an empty key means nothing for MPS only.
    slicing = _block(_field(sharing, "timeSlicing")) if _has(sharing, "timeSlicing") else None
    mps = _block(given) if (given := _field(sharing, "mps")) is not None else None
    if chosen not in _MIG_STRATEGIES:
        raise ConfigFileError(f"unknown MIG strategy: {chosen}")
    if mps is not None:
        if chosen == "mixed":
            raise ConfigFileError("using --mig-strategy=mixed is not supported with MPS")
        return _configuration(chosen, "mps", mps, fail_default=True)
    if slicing is not None:
        return _configuration(chosen, "time-slicing", slicing, fail_default=False)
    return Configuration(chosen)


@dataclass(frozen=True, slots=True)
class _Block:
    renamed: bool
    fail: bool | None
    resources: tuple[Replicated, ...]


def _configuration(mig: str, strategy: str, block: _Block, *, fail_default: bool) -> Configuration:
    fail = fail_default if block.fail is None else block.fail
    return Configuration(mig, strategy, block.resources, block.renamed, fail)


def _block(value: Any) -> _Block:
    given = _mapping(value, "ReplicatedResources")
    resources = given.get("resources")
    if not resources:
        raise ConfigFileError("unmarshal error: no resources specified")
    if not isinstance(resources, list):
        raise _mistyped(resources, "[]ReplicatedResource")
    renamed = _flag(given.get("renameByDefault")) or False
    fail = _flag(given.get("failRequestsGreaterThanOne"))
    return _Block(renamed, fail, tuple(_replicated(resource) for resource in resources))


def _replicated(value: Any) -> Replicated:
    given = _mapping(value, "ReplicatedResource")
    if "name" not in given:
        raise ConfigFileError("unmarshal error: no resource name specified")
    name = _resource_name(_text(given["name"], "name"))
    if "devices" in given:
        _check_devices(given["devices"])
    if "replicas" not in given:
        raise ConfigFileError("unmarshal error: no replicas specified")
    replicas = given["replicas"]
    if isinstance(replicas, float) and replicas.is_integer():
        replicas = int(replicas)
    if replicas is None:
        replicas = 0
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        raise _mistyped(replicas, "int")
    if replicas < _LEAST_REPLICAS:
        raise ConfigFileError("unmarshal error: number of replicas must be >= 2")
    if "rename" in given:
        _resource_name(_text(given["rename"], "rename"))
    return Replicated(name, replicas)


def _resource_name(given: str) -> str:
    name = given if given.startswith(_PREFIX) else _PREFIX + given
    if len(name) > _LONGEST_NAME:
        message = f"fully-qualified resource name must be {_LONGEST_NAME} characters or less"
        raise ConfigFileError(f"unmarshal error: {message}: {name}")
    if not _SUBDOMAIN.fullmatch(name.removeprefix(_PREFIX)):
        raise ConfigFileError(f"unmarshal error: incorrect format for resource name '{name}'")
    return name


def _check_devices(devices: Any) -> None:
    match devices:
        case bool() | float() | dict():
            raise ConfigFileError(f"unmarshal error: unrecognized type for devices spec: {devices}")
        case None | str() if devices != "all":
            message = f"devices set as '{devices or ''}' but the only valid string input is 'all'"
            raise ConfigFileError(f"unmarshal error: {message}")
        case int() if devices <= 0:
            message = f"devices set as '{devices}' but a count of devices must be > 0"
            raise ConfigFileError(f"unmarshal error: {message}")
        case list():
            for device in devices:
                if not _DEVICE.fullmatch(str(device)):
                    message = f"unsupported type for device in devices list: {device}"
                    raise ConfigFileError(f"unmarshal error: {message}")


def _mapping(value: Any, kind: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mistyped(value, kind)
    return {str(key): item for key, item in value.items()}


def _field(content: dict[str, Any], name: str) -> Any:
    """The last key that is `name` in any case: Go's decoder sees them sorted, and takes each."""
    found = None
    for key in sorted(content):
        if key.casefold() == name.casefold():
            found = content[key]
    return found


def _has(content: dict[str, Any], name: str) -> bool:
    return any(key.casefold() == name.casefold() for key in content)


def _flag(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise _mistyped(value, "bool")


def _text(value: Any, name: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    raise _mistyped(value, f"string {name}")


def _mistyped(value: Any, kind: str) -> ConfigFileError:
    names = {dict: "object", list: "array", str: "string", bool: "bool"}
    given = names.get(type(value), "number")
    return ConfigFileError(
        f"unmarshal error: cannot unmarshal {given} into Go value of type {kind}"
    )
