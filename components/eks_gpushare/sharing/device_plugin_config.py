"""Configuration documents of NVIDIA's device plugin, one key per pool in one ConfigMap.

The plugin parses leniently: unknown and misplaced keys are dropped without a word. So documents
are rendered from the model alone, and every key whose default differs between the upstream plugin
and Bottlerocket's is always written.

Source: https://github.com/NVIDIA/k8s-device-plugin/blob/v0.20.0/api/config/v1.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.sharing import Mig, Mps, TimeSlicing
from eks_gpushare.sharing.resources import GPU, NotPlannedError, renames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.pools import Pool

DEFAULT_KEY = "default"
"""Key for a node without the label: whole GPUs, the one configuration that can surprise nobody."""
_HASH_LENGTH = 10


def document(pool: Pool) -> dict[str, Any]:
    """The device plugin's configuration for the nodes of a pool.

    Raises:
        NotPlannedError: For MIG.
    """
    sharing = pool.sharing
    if isinstance(sharing, Mig):
        raise NotPlannedError
    plain: dict[str, Any] = {"version": "v1", "flags": {"migStrategy": "none"}}
    if not isinstance(sharing, TimeSlicing | Mps):
        return plain
    shared = {
        "renameByDefault": renames(pool),
        "failRequestsGreaterThanOne": sharing.fail_requests_greater_than_one,
        "resources": [{"name": GPU, "replicas": sharing.replicas}],
    }
    return {**plain, "sharing": {sharing.mode: shared}}


def config_map_data(pools: Mapping[str, Pool]) -> dict[str, str]:
    """The data of the ConfigMap: a document per pool, and a safe default."""
    documents = {DEFAULT_KEY: {"version": "v1", "flags": {"migStrategy": "none"}}}
    documents |= {name: document(pool) for name, pool in sorted(pools.items())}
    return {key: render(value) for key, value in documents.items()}


def render(value: Mapping[str, Any]) -> str:
    """A document as YAML, the same text for the same content."""
    import yaml  # noqa: PLC0415  (not needed to check a stack file)

    return str(yaml.safe_dump(value, sort_keys=False))


def content_hash(data: Mapping[str, str]) -> str:
    """Short hash of a ConfigMap's data, for its name.

    Nothing watches the ConfigMap for changes, so a change has to be a new name: then the chart's
    DaemonSet changes with it, and its pods roll.
    """
    text = json.dumps(data, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
