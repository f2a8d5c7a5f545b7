"""Which configuration of the device plugin is for which nodes.

Source: `cmd/config-manager` and the chart of NVIDIA/k8s-device-plugin, and
`controllers/object_controls.go` of NVIDIA/gpu-operator, at the versions in `catalog.versions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, chart_of
from eks_gpushare.documents.device_plugin import (
    DocumentError,
    PluginConfig,
    device_plugin_config,
    plugin_config_of,
)
from eks_gpushare.inventory.items import ConfigMap, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text
from eks_gpushare.sharing.labels import CONFIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.inventory.source import Maybe

_DEFAULT_KEY = "default"
_FALLBACKS = ("named", "single")
"""What the chart falls back on where nothing says which key."""


class Configs(NamedTuple):
    """The configurations that a release of a chart gives its plugin."""

    release: Release
    map_name: Maybe[str]
    """Name of the ConfigMap; empty where the chart makes one or there is none."""
    documents: Maybe[Mapping[str, Any]]
    """Texts by key; `UNKNOWN` where the ConfigMap is not to be seen."""
    default: Maybe[str]
    """Key for nodes without the label."""
    fallbacks: tuple[str, ...] = ()
    is_there: bool = True
    """Whether there is any configuration by ConfigMap, without which values and flags count."""

    def key_for(self, kind: NodeKind) -> Maybe[str | None]:
        """The key that nodes get, None where they get none."""
        label = kind.label(CONFIG_LABEL)
        if label:
            return label
        return self.key_without_label()

    def key_without_label(self) -> Maybe[str | None]:
        """The key of nodes that have no label."""
        if self.default is UNKNOWN or self.default:
            return self.default
        if self.documents is UNKNOWN:
            return UNKNOWN
        keys = list(self.documents)
        if "named" in self.fallbacks and _DEFAULT_KEY in keys:
            return _DEFAULT_KEY
        if "single" in self.fallbacks and len(keys) == 1:
            return keys[0]
        return "" if "empty" in self.fallbacks else None


def config_paths(release: Release) -> tuple[str, ...]:
    """Where a chart's values say of the plugin's configurations."""
    return ("devicePlugin", "config") if chart_of(release.chart) == OPERATOR_CHART else ("config",)


def configs_of(inventory: Inventory, release: Release) -> Configs | None:
    """The configurations of a release; None where its values are not known."""
    if release.values is UNKNOWN:
        return None
    above = config_paths(release)
    operator = chart_of(release.chart) == OPERATOR_CHART
    block = at(release.values, *above)
    if block is UNKNOWN:
        return None
    embedded = at(block, "data" if operator else "map")
    name = text(at(block, "name"))
    default = text(at(block, "default"))
    fallbacks = tuple(str(each) for each in items(at(block, "fallbackStrategies"))) or _FALLBACKS
    if operator:
        # assets/state-device-plugin and object_controls.go: FALLBACK_STRATEGIES is `empty`.
        fallbacks = ("empty",)
    if embedded:
        documents = UNKNOWN if embedded is UNKNOWN else dict(pairs(embedded))
        return Configs(release, name if operator else "", documents, default, fallbacks)
    if not name:
        return Configs(release, "", {}, default, fallbacks, is_there=False)
    found = find_map(inventory, release, name)
    documents = UNKNOWN if found is None else found.data
    return Configs(release, name, documents, default, fallbacks)


def find_map(inventory: Inventory, release: Release, name: Maybe[str]) -> ConfigMap | None:
    """The ConfigMap that a release means, in its namespace."""
    if name is UNKNOWN:
        return None
    for each in inventory.of(ConfigMap, release.cluster):
        same = UNKNOWN in (each.namespace, release.namespace) or each.namespace == release.namespace
        if each.name == name and same:
            return each
    return None


def config_for(configs: Configs, kind: NodeKind) -> PluginConfig | None:
    """What the plugin goes by on nodes; None where that is not known, or it would stop."""
    if not configs.is_there:
        return _by_values(configs.release)
    key = configs.key_for(kind)
    if key is UNKNOWN or key is None or configs.documents is UNKNOWN:
        return None
    if key == "":
        return PluginConfig()
    found = configs.documents.get(key)
    if found is None or found is UNKNOWN:
        return None
    try:
        return device_plugin_config(found) if isinstance(found, str) else plugin_config_of(found)
    except DocumentError:
        return None


def _by_values(release: Release) -> PluginConfig | None:
    """Without a ConfigMap, what the values give the plugin as environment."""
    strategy = text(at(release.values, "migStrategy"))
    return None if strategy is UNKNOWN else PluginConfig(strategy or "none")
