"""What NVIDIA's device plugin makes of a configuration that somebody else wrote.

It reads leniently: unknown keys are dropped without a word, `rename` and `devices` of a resource
are checked and then ignored, and MPS goes over time slicing.

Source: `api/config/v1` of NVIDIA/k8s-device-plugin, at the version in `catalog.versions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal

PREFIX: Final = "nvidia.com/"
"""What a resource's name gets where it has none."""
_LEAST_REPLICAS: Final = 2


class DocumentError(ValueError):
    """The plugin stops at this, and its container restarts for ever."""


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """What the plugin goes by."""

    mig_strategy: str = "none"
    """none, single or mixed; empty where the document does not say."""
    sharing: Literal["none", "timeSlicing", "mps"] = "none"
    """Of two that are given it is MPS."""
    replicas: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Shares of one device, by the resource's full name."""
    renamed: bool = False
    """Whether shares are called `<name>.shared`."""
    refuses_several: bool = False
    """Whether a container that asks for two shares is refused."""
    device_lists: tuple[str, ...] = ()
    """How containers get to know their devices; empty where the document does not say."""


@lru_cache(maxsize=256)  # each node group's, and each check asks again
def device_plugin_config(text: str) -> PluginConfig:
    """Read a document, of several the first.

    Raises:
        DocumentError: If the plugin would stop.
    """
    import yaml

    try:
        content = next(iter(yaml.safe_load_all(text)), None)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise DocumentError("it is no YAML that can be read") from None
    return plugin_config_of(content)


def plugin_config_of(content: Any) -> PluginConfig:
    """The same of a document that has been read.

    Raises:
        DocumentError: If the plugin would stop.
    """
    whole = _mapping(content, "the document")
    version = _field(whole, "version")
    if version not in (None, "", "v1"):
        raise DocumentError(f"version is {version}, and only v1 is known")
    flags = _mapping(_field(whole, "flags"), "flags")
    strategy = _field(flags, "migStrategy") or "none"
    if strategy not in ("none", "single", "mixed"):
        raise DocumentError(f"migStrategy is {strategy}, and only none, single and mixed are known")
    lists = device_lists(
        _field(_mapping(_field(flags, "plugin"), "flags.plugin"), "deviceListStrategy")
    )
    sharing = _mapping(_field(whole, "sharing"), "sharing")
    found = PluginConfig(strategy, device_lists=lists)
    if _has(sharing, "timeSlicing"):  # read whether or not MPS goes over it
        slicing = _field(sharing, "timeSlicing")
        found = _shared(strategy, "timeSlicing", slicing, lists, refuses=False)
    if (mps := _field(sharing, "mps")) is None:
        return found
    if strategy == "mixed":
        raise DocumentError("migStrategy is mixed, which MPS does not go with")
    return _shared(strategy, "mps", mps, lists, refuses=True)


def _shared(
    strategy: str,
    kind: Literal["timeSlicing", "mps"],
    given: Any,
    lists: tuple[str, ...],
    *,
    refuses: bool,
) -> PluginConfig:
    block = _mapping(given, kind)
    resources = block.get("resources")
    if not isinstance(resources, list) or not resources:
        raise DocumentError(f"sharing.{kind}.resources names no resource")
    replicas: dict[str, int] = {}
    for resource in resources:
        name, count = _replicated(resource, kind)
        replicas.setdefault(name, count)  # the plugin takes the first that is for a device
    refused = block.get("failRequestsGreaterThanOne")
    return PluginConfig(
        strategy,
        kind,
        replicas,
        block.get("renameByDefault") is True,
        refuses if refused is None else refused is True,
        lists,
    )


def _replicated(given: Any, kind: str) -> tuple[str, int]:
    entry = _mapping(given, f"an item of sharing.{kind}.resources")
    name, count = entry.get("name"), entry.get("replicas")
    if not isinstance(name, str) or not name:
        raise DocumentError(f"an item of sharing.{kind}.resources has no name")
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    if isinstance(count, bool) or not isinstance(count, int) or count < _LEAST_REPLICAS:
        raise DocumentError(f"replicas of {name} is {count}, and must be a whole number from 2 on")
    return name if name.startswith(PREFIX) else PREFIX + name, count


def device_lists(given: Any) -> tuple[str, ...]:
    """Ways to hand out devices, a list or names with commas between them."""
    if isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    return tuple(str(each) for each in given) if isinstance(given, list) else ()


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DocumentError(f"{what} is no mapping")
    return {str(key): each for key, each in value.items()}


def _field(content: Mapping[str, Any], name: str) -> Any:
    """The last key that is `name` in any case: Go's decoder sees them sorted, and takes each."""
    found = None
    for key in sorted(content):
        if key.casefold() == name.casefold():
            found = content[key]
    return found


def _has(content: Mapping[str, Any], name: str) -> bool:
    return any(key.casefold() == name.casefold() for key in content)
