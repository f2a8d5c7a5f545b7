"""Keys as eksctl, EKS, Karpenter and NVIDIA's device plugin call them, and what they are here."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "minSize": "nodes: {min: ...}",
        "maxSize": "nodes: {max: ...}",
        "desiredCapacity": "nodes: {desired: ...}",
        "desiredSize": "nodes: {desired: ...}",
        "volumeSize": "rootVolumeGiB",
        "diskSize": "rootVolumeGiB",
        "spot": "capacityType: spot",
        "ami": "customAmi: {id: ...}, with amiFamily: custom",
        "disruption": "karpenter: {consolidationPolicy: ..., consolidateAfter: ...}",
        "requirements": "instanceTypes: [...], and zones and capacityType beside it",
        "renameByDefault": "rename",
        # Of tenants: Kubernetes' words for amounts, and what a nested key is called here.
        "requests": "guaranteed: {shares: ...}",
        "limits": "maximum: {shares: ...}",
        "max": "maximum: {shares: ...}",
        "costCenter": "cost: {center: ...}",
        "existing": "existingNamespaces: [...]",
    }
)
_AUTO_MODE: Final = frozenset(("automode", "auto", "computeconfig", "automodeconfig"))
"""EKS Auto Mode as EKS, eksctl, Terraform and pulumi_eks call it, and as one would guess, bare."""
_MODES: Final = ("timeSlicing", "mps")
_DEPTH: Final = 3


def in_our_words(key: str, block: Sequence[str]) -> str | None:
    """What to write for another tool's key in a block that has what it is for; None for others."""
    ours = _WORDS.get(key)
    has_it = ours is not None and ours.partition(":")[0] in block
    return f"Write {ours}." if has_it else of_auto_mode(key)


def of_auto_mode(word: Any) -> str | None:
    """What to do in place of EKS Auto Mode, for a key or value by which somebody asks for it."""
    if str(word).casefold().replace("_", "").replace("-", "") not in _AUTO_MODE:
        return None
    return (
        "EKS Auto Mode shares no GPUs: the device plugin of its nodes is EKS's own and has no "
        "settings. Remove it, and use provisioner: managedNodeGroup or karpenter."
    )


def of_device_plugin(given: Mapping[str, Any], depth: int = _DEPTH) -> str | None:
    """A pool's `sharing`, for who has given the configuration of NVIDIA's device plugin there.

    Args:
        given: What stands under `sharing`.
        depth: How far to look into it.
    """
    for mode in _MODES:
        block = given.get(mode)
        resources = block.get("resources") if isinstance(block, dict) else None
        if isinstance(resources, list) and resources and isinstance(resources[0], dict):
            return f"{{mode: {mode}, replicas: {resources[0].get('replicas', 4)}}}"
    inner = given.get("sharing")
    return of_device_plugin(inner, depth - 1) if isinstance(inner, dict) and depth else None


def in_place_of_mapping(key: str, given: Mapping[str, Any]) -> str | None:
    """What to write for a mapping under a key that takes something else; None where nobody knows.

    Args:
        key: The key.
        given: What stands under it.
    """
    if key == "shares":
        return f"Write sharesOf: {json.dumps(given)}, which counts shares by kind."
    if key == "namespaces" and [*given] == ["existing"]:
        return "Write existingNamespaces: [...] for those that others make."
    return "Put it into a list: [pool.served]." if key == "served" else None
