"""Keys of a device plugin's configuration that the plugin does not know, and so drops.

Source: `api/config/v1` of NVIDIA/k8s-device-plugin, at the version in `catalog.versions`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ANY: Mapping[str, Any] = {}
_REPLICATED = {"name": _ANY, "rename": _ANY, "devices": _ANY, "replicas": _ANY}
_SHARED = {"renameByDefault": _ANY, "failRequestsGreaterThanOne": _ANY, "resources": _REPLICATED}
_FLAGS = (
    "migStrategy failOnInitError mpsRoot nvidiaDriverRoot nvidiaDevRoot gdrcopyEnabled gdsEnabled "
    "mofedEnabled useNodeFeatureAPI deviceDiscoveryStrategy plugin gfd"
)
_KNOWN: Mapping[str, Any] = {
    "version": _ANY,
    "flags": dict.fromkeys(_FLAGS.split(), _ANY),
    "resources": _ANY,
    "sharing": {"timeSlicing": _SHARED, "mps": _SHARED},
    "imex": _ANY,
}


def looks_like_one(text: str) -> bool:
    """Whether a text is meant to be a configuration of the device plugin."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    if not isinstance(document, dict):
        return False
    return "sharing" in document or (document.get("version") == "v1" and "flags" in document)


def dropped(text: str) -> list[str]:
    """Keys that the plugin drops, each as a path, with the key that may be meant."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return []
    return list(_dropped(document, _KNOWN, ""))


def _dropped(value: Any, known: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _dropped(item, known, f"{path}[{number}]")
    if not isinstance(value, dict) or not known:
        return
    # Go's decoder takes fields in any case, but for those that the plugin decodes by hand.
    loose = {} if known in (_SHARED, _REPLICATED) else {key.casefold(): key for key in known}
    for key, item in value.items():
        name = loose.get(str(key).casefold(), str(key))
        here = f"{path}.{key}" if path else str(key)
        if name in known:
            yield from _dropped(item, known[name], here)
        else:
            near = get_close_matches(str(key), known, 1)
            yield f"{here} ({near[0]} is meant?)" if near else here
