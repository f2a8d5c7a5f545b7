"""Which key of the ConfigMap configures a node, as the chart's config-manager selects it.

Source: NVIDIA/k8s-device-plugin, cmd/config-manager/main.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

EMPTY = ""
"""Selected by the fallback `empty`: the plugin runs with its defaults."""

_NAMED = "default"


class ConfigSelectionError(Exception):
    """The config-manager stops with this message, and its container restarts."""


def select_config(label: str, default: str, fallbacks: Sequence[str], keys: Collection[str]) -> str:
    """The key for a node.

    Args:
        label: value of the node's label, `""` where it has none.
        default: the environment variable DEFAULT_CONFIG.
        fallbacks: the environment variable FALLBACK_STRATEGIES.
        keys: of the ConfigMap.

    Raises:
        ConfigSelectionError: If there is none, in the original's words.
    """
    if not keys:
        raise ConfigSelectionError("no configuration files available")
    wanted = label or default
    if wanted:
        if wanted not in keys:
            # For a missing default the original names the label's value, which is empty.
            raise ConfigSelectionError(f"specified config {label} does not exist")
        return wanted
    for fallback in fallbacks:
        if fallback == "named" and _NAMED in keys:
            return _NAMED
        if fallback == "single" and len(keys) == 1:
            return next(iter(keys))
        if fallback == "empty":
            return EMPTY
        if fallback not in {"named", "single"}:
            raise ConfigSelectionError(f"unknown fallback strategy: {fallback}")
    raise ConfigSelectionError(
        "no config was set, no default was provided, and all fallbacks failed"
    )
