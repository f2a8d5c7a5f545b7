"""Which configuration of the device plugin is for which nodes.

Source: `cmd/config-manager` and the chart of NVIDIA/k8s-device-plugin, and
`controllers/object_controls.go` of NVIDIA/gpu-operator, at the versions in `catalog.versions`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.catalog.chart_daemonsets import OPERATOR_CHART, PLUGIN_CHART, chart_of
from eks_gpushare.documents.device_plugin import (
    DocumentError,
    PluginConfig,
    device_lists,
    device_plugin_config,
    plugin_config_of,
)
from eks_gpushare.inventory.daemons import config_manager, plugin_container
from eks_gpushare.inventory.items import ConfigMap, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import (
    PartlyKnown,
    at,
    has_unknown,
    holds,
    items,
    may_be_same,
    pairs,
    text,
)
from eks_gpushare.sharing.labels import CONFIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.items import Workload
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
    fallbacks: Maybe[tuple[str, ...]] = ()
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
        if self.documents is UNKNOWN or self.fallbacks is UNKNOWN:
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


def is_installed(release: Release) -> bool:
    """Whether something says how a chart is installed, other than a file of its values."""
    value = getattr(release.source.document, "value", None)
    named = release.name is not UNKNOWN and release.name != ""
    return named or bool(release.source.path) or at(value, "kind") is not None


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
    listed = at(block, "fallbackStrategies")
    fallbacks: Maybe[tuple[str, ...]] = tuple(str(item) for item in items(listed)) or _FALLBACKS
    if has_unknown(listed):
        fallbacks = UNKNOWN
    if operator:
        # assets/state-device-plugin and object_controls.go: FALLBACK_STRATEGIES is `empty`.
        fallbacks = ("empty",)
    if embedded is UNKNOWN and name and name is not UNKNOWN and not operator:
        embedded = None  # the chart refuses both
    if embedded:
        is_known = embedded is not UNKNOWN and not isinstance(embedded, PartlyKnown)
        within = dict(pairs(embedded)) if is_known else UNKNOWN
        return Configs(release, "", within, default, fallbacks)
    if not name:
        return Configs(release, "", {}, default, fallbacks, is_there=False)
    found = find_map(inventory, release, name)
    documents = UNKNOWN if found is None else found.data
    return Configs(release, name, documents, default, fallbacks)


def find_map(inventory: Inventory, user: Release | Workload, name: Maybe[str]) -> ConfigMap | None:
    """The ConfigMap that a release or pods mean, in their namespace.

    Where several have the name, as of a base and of an overlay that adds keys to it, it has the
    keys of all.
    """
    if name is UNKNOWN:
        return None
    found = [
        config_map
        for config_map in inventory.of(ConfigMap, user.cluster)
        if config_map.name == name and may_be_same(config_map.namespace, user.namespace)
    ]
    if not found:
        return None
    data: dict[str, Any] = {}
    for each in found:
        if each.data is UNKNOWN:
            return replace(found[0], data=UNKNOWN)
        data = {**each.data, **data}
    return replace(found[0], data=data)


def may_be_there(inventory: Inventory, user: Release | Workload) -> bool:
    """Whether a ConfigMap that a release or pods may use has a name that is not known yet."""
    return any(
        found.name is UNKNOWN and may_be_same(found.namespace, user.namespace)
        for found in inventory.of(ConfigMap, user.cluster)
    )


def config_for(configs: Configs, kind: NodeKind) -> PluginConfig | None:
    """What the plugin goes by on nodes; None where that is not known, or it would stop.

    The MIG strategy of the values becomes an environment variable, which goes over the document's;
    the operator's is single unless the values say otherwise.
    """
    found = _document_for(configs, kind)
    strategy = mig_strategy(configs.release)
    lists = _text(at(configs.release.values, "deviceListStrategy"))
    if found is None or strategy is UNKNOWN or lists is UNKNOWN:
        return None
    return _with_settings(found, strategy, lists)


def _with_settings(found: PluginConfig, strategy: str, lists: str) -> PluginConfig:
    """A document with what goes over it."""
    if strategy:
        found = replace(found, mig_strategy=strategy)
    return replace(found, device_lists=device_lists(lists)) if lists else found


def mig_strategy(release: Release) -> Maybe[str]:
    """The MIG strategy that values give every node; empty where they leave it to the document."""
    if chart_of(release.chart) != OPERATOR_CHART:
        return _text(at(release.values, "migStrategy"))
    if not holds(release.values, "mig", "strategy"):
        return UNKNOWN if at(release.values, "mig") is UNKNOWN else "single"
    return _text(at(release.values, "mig", "strategy"))


def _text(value: Any) -> Maybe[str]:
    return UNKNOWN if value is UNKNOWN else str(text(value))


def _document_for(configs: Configs, kind: NodeKind) -> PluginConfig | None:
    if not configs.is_there:
        return PluginConfig()
    key = configs.key_for(kind)
    if key is UNKNOWN or key is None or configs.documents is UNKNOWN:
        return None
    if key == "":
        return PluginConfig()
    found = configs.documents.get(key)
    if found is None or has_unknown(found):
        return None
    try:
        return device_plugin_config(found) if isinstance(found, str) else plugin_config_of(found)
    except DocumentError:
        return None


def written_config(inventory: Inventory, workload: Workload, kind: NodeKind) -> PluginConfig | None:
    """What a plugin that is written out goes by on nodes, from arguments, environment and mounts.

    Its file may be put there by config-manager, which takes it out of a ConfigMap by the label of
    the node, as the chart's pods have it.
    """
    container = plugin_container(workload.spec)
    settings = plugin_settings(container)
    if container is None or UNKNOWN in settings.values():
        return None
    given = settings.get("config-file", "")
    found: PluginConfig | None = PluginConfig()
    if given and (managed := _managed(inventory, workload, given)) is not None:
        found = _document_for(managed, kind)
    elif given:
        document = _mounted(inventory, workload, container, given)
        try:
            found = device_plugin_config(document) if isinstance(document, str) else None
        except DocumentError:
            found = None
    strategy, lists = (settings.get(name, "") for name in ("mig-strategy", "device-list-strategy"))
    return None if found is None else _with_settings(found, strategy, lists)


def _managed(inventory: Inventory, workload: Workload, path: str) -> Configs | None:
    """The configurations of which config-manager makes a file; None where it makes none."""
    container = config_manager(workload.spec)
    settings = plugin_settings(container)
    if container is None or settings.get("config-file-dst") != path:
        return None
    default, listed = (settings.get(each, "") for each in ("default-config", "fallback-strategies"))
    folder = settings.get("config-file-srcdir", "")
    named = file_of_map(workload, container, f"{folder}/any") if folder is not UNKNOWN else None
    name = text(named[0]) if named is not None else UNKNOWN
    found = find_map(inventory, workload, name)
    values = Release(source=workload.source, name="", chart=PLUGIN_CHART, values={})
    fallbacks = UNKNOWN if listed is UNKNOWN else tuple(listed.split(",")) if listed else ()
    documents = UNKNOWN if found is None else found.data
    return Configs(values, name, documents, default, fallbacks)


def plugin_settings(container: Any) -> dict[str, Any]:
    """Flags of a plugin's container by name, those of the command line over the environment."""
    found: dict[str, Any] = {}
    for item in items(at(container, "env")):
        name = str(text(at(item, "name")))
        found[name.lower().replace("_", "-")] = text(at(item, "value"))
    words = [text(word) for key in ("command", "args") for word in items(at(container, key))]
    for index, word in enumerate(words):
        if not isinstance(word, str) or not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        after = words[index + 1] if index + 1 < len(words) else ""
        found[name] = value if equals else after
    return found


def _mounted(inventory: Inventory, workload: Workload, container: Any, path: str) -> Any:
    """The text of a file that a ConfigMap is mounted as."""
    named = file_of_map(workload, container, path)
    if named is None or not isinstance(named[1], str):
        return None
    for config_map in inventory.of(ConfigMap, workload.cluster):
        if config_map.name == named[0]:
            return at(config_map.data, named[1])
    return None


def file_of_map(workload: Workload, container: Any, path: str) -> tuple[Any, Any] | None:
    """The ConfigMap and the key of it that a file of a container is; None where it is none."""
    for mount in items(at(container, "volumeMounts")):
        above = str(text(at(mount, "mountPath")))
        sub = text(at(mount, "subPath"))
        key = sub or path.rpartition("/")[2]
        if path != above and path.rpartition("/")[0] != above.rstrip("/"):
            continue
        for volume in items(at(workload.spec, "volumes")):
            given = at(volume, "configMap")
            if at(volume, "name") != at(mount, "name") or given is None:
                continue
            entries = items(at(given, "items"))
            key = next((at(entry, "key") for entry in entries if at(entry, "path") == key), key)
            return at(given, "name"), key
    return None
