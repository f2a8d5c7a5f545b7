"""Bottlerocket's settings for NVIDIA GPUs, which its own device plugin and MIG manager follow.

The settings are a strict model: a key or a value that it does not know stops the boot, and the node
never joins. Defaults are the reverse of those of NVIDIA's plugin: shares are renamed, and a request
for two of them fails.

Sources: https://bottlerocket.dev/en/os/latest/api/settings/kubelet-device-plugins/ and the model
`kubelet-device-plugins` of bottlerocket-settings-models 0.24.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.simulated_node.config_file import Configuration, Replicated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Version = tuple[int, int]
"""Major and minor version of the OS."""

_PATH = "settings.kubelet-device-plugins.nvidia"
_GPU = "nvidia.com/gpu"
_GPU_KEY = re.compile(r"[a-z][0-9]+\.[0-9]+gb")
_PROFILE = re.compile(r"[12347]|[0-9]g\.[0-9]+gb")
_MOST_MPS = 48
_IMAGE = re.compile(r"Bottlerocket OS ([0-9]+)\.([0-9]+)")


class SettingsError(Exception):
    """The OS refuses the settings; the text names the key."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the OS's own NVIDIA programs follow."""

    plugin: Configuration | None
    """What the built-in device plugin runs with; None if it is switched off."""
    partitioned: bool = False
    """Whether MIG partitions the GPUs."""
    profiles: Mapping[str, str] = field(default_factory=dict)
    """Profile or number of slices by GPU, such as {"a100.40gb": "1g.5gb"}."""


@dataclass(frozen=True, slots=True)
class _Key:
    is_valid: Callable[[Any], bool]
    allowed: str
    since: Version = (0, 0)


def version_of(os_image: str) -> Version | None:
    """The version in a node's OS image, such as "Bottlerocket OS 1.57.0 (aws-k8s-1.35-nvidia)"."""
    found = _IMAGE.match(os_image)
    return (int(found[1]), int(found[2])) if found else None


def read(document: Mapping[str, Any], version: Version | None = None) -> Settings:
    """Read user data.

    Args:
        document: the TOML document.
        version: of the OS; None takes every key that is known.

    Raises:
        SettingsError: If the OS would refuse it.
    """
    unknown = [key for key in document if key != "settings"]
    if unknown:
        raise SettingsError(f"unknown table {unknown[0]}: user data has settings only")
    plugins = _table(document.get("settings", {}), "settings").get("kubelet-device-plugins", {})
    known = _table(plugins, "settings.kubelet-device-plugins")
    for key in known:
        if key != "nvidia":
            raise SettingsError(f"unknown field settings.kubelet-device-plugins.{key}")
    given = _table(known.get("nvidia", {}), _PATH)
    _check(given, version)
    sharing = given.get("device-sharing-strategy", "none")
    partitioned = given.get("device-partitioning-strategy", "none") == "mig"
    if sharing == "mps" and partitioned:
        raise SettingsError(
            "MPS and MIG cannot be enabled simultaneously. "
            "NVIDIA does not support MPS on MIG-partitioned devices."
        )
    plugin = _configuration(sharing, given, partitioned=partitioned)
    return Settings(
        plugin if given.get("enabled", True) else None,
        partitioned,
        dict(given.get("mig", {}).get("profile", {})),
    )


def _configuration(sharing: str, given: Mapping[str, Any], *, partitioned: bool) -> Configuration:
    strategy = "single" if partitioned else "none"
    if sharing == "none":
        return Configuration(strategy)
    block = given.get(sharing, {})
    return Configuration(
        mig_strategy=strategy,
        strategy=sharing,
        resources=(Replicated(_GPU, block.get("replicas", 2)),),
        renamed=block.get("rename-by-default", True),
        fail_more_than_one=block.get("fail-requests-greater-than-one", True),
    )


def _check(given: Mapping[str, Any], version: Version | None) -> None:
    for path, value in _leaves(given):
        key = _KEYS.get(path)
        if key is None:
            raise SettingsError(f"unknown field {_PATH}.{path}")
        if version is not None and version < key.since:
            since, there = (".".join(map(str, each)) for each in (key.since, version))
            text = f"unknown field {_PATH}.{path}: it came with {since} and the OS is {there}"
            raise SettingsError(text)
        if not key.is_valid(value):
            raise SettingsError(f"invalid value {value!r} of {_PATH}.{path}: {key.allowed}")
    if version is not None and version < _MPS and given.get("device-sharing-strategy") == "mps":
        there = ".".join(map(str, version))
        text = f"invalid value 'mps' of {_PATH}.device-sharing-strategy"
        raise SettingsError(f"{text}: it came with 1.54 and the OS is {there}")
    for gpu, profile in _table(given.get("mig", {}).get("profile", {}), "mig.profile").items():
        if not _GPU_KEY.fullmatch(gpu):
            raise SettingsError(f"invalid GPU {gpu!r} in {_PATH}.mig.profile")
        if not isinstance(profile, str) or not _PROFILE.fullmatch(profile):
            raise SettingsError(f"invalid MIG profile {profile!r} in {_PATH}.mig.profile")


def _leaves(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found = []
    for key, value in given.items():
        if key in _TABLES:
            found += [(f"{key}.{inner}", v) for inner, v in _table(value, f"{_PATH}.{key}").items()]
        else:
            found.append((key, value))
    return found


def _table(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SettingsError(f"{path} is no table")
    return value


def _one_of(*values: str) -> tuple[Callable[[Any], bool], str]:
    return (lambda value: value in values), f"one of {', '.join(values)}"


def _is_number(least: int, most: int) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most


def _are_lists(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(item in _LISTS for item in values)


_TABLES = ("time-slicing", "mps", "mig")
_LISTS = ("envvar", "volume-mounts", "cdi-cri")
_SLICING, _PARTITIONING, _MPS, _SWITCH = (1, 25), (1, 34), (1, 54), (1, 63)
_FLAG: tuple[Callable[[Any], bool], str] = (lambda value: isinstance(value, bool)), "true or false"
_KEYS: dict[str, _Key] = {
    "enabled": _Key(*_FLAG, _SWITCH),
    "pass-device-specs": _Key(*_FLAG),
    "device-id-strategy": _Key(*_one_of("index", "uuid")),
    "device-list-strategy": _Key(_are_lists, f"one or several of {', '.join(_LISTS)}"),
    "device-sharing-strategy": _Key(*_one_of("none", "time-slicing", "mps"), _SLICING),
    "time-slicing.replicas": _Key(_is_number(2, 2**31 - 1), "2 or more", _SLICING),
    "time-slicing.rename-by-default": _Key(*_FLAG, _SLICING),
    "time-slicing.fail-requests-greater-than-one": _Key(*_FLAG, _SLICING),
    "device-partitioning-strategy": _Key(*_one_of("none", "mig"), _PARTITIONING),
    "mig.profile": _Key(lambda value: isinstance(value, dict), "a table", _PARTITIONING),
    "mps.replicas": _Key(_is_number(2, _MOST_MPS), f"2 to {_MOST_MPS}", _MPS),
    "mps.rename-by-default": _Key(*_FLAG, _MPS),
}
