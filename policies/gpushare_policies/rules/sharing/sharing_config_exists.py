"""The device plugin's configuration is there, with every key that nodes name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.edges.mig import managers
from eks_gpushare.inventory.edges.mounts import mounted
from eks_gpushare.inventory.items import ConfigMap, Nodes, Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, may_be_same, pairs
from eks_gpushare.inventory.wording import at_start
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.reading.inventory import program_of, urn_of
from gpushare_policies.reading.nodes import NODE_TOKENS
from gpushare_policies.reading.plain import text
from gpushare_policies.rule import StackRule, Unjudged, Violation
from gpushare_policies.tokens import CHART_V4, CONFIG_MAP, RELEASE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from eks_gpushare.inventory.inventory import Inventory

LABEL = "nvidia.com/device-plugin.config"
"""Node label whose value names the key of the device plugin's configuration."""

# Where the charts that run the device plugin take its configuration, and the embedded documents.
_CONFIG_VALUES = {
    "nvidia-device-plugin": (("config",), "map"),
    "gpu-operator": (("devicePlugin", "config"), "data"),
}


@dataclass(frozen=True, slots=True)
class _Plugin:
    """A chart that configures the device plugin."""

    release: Release
    config: Any
    documents: str
    path: str

    @property
    def title(self) -> str:
        return self.release.source.name


def _plugins(inventory: Inventory, cluster: str) -> Iterator[_Plugin]:
    for release in inventory.of(Release, cluster):
        path, documents = _CONFIG_VALUES.get(release.chart, ((), ""))
        config = at(release.values, *path) if path else None
        if config:
            above = map(str, release.paths.get((), ("values",))[1:])
            within = ".".join((*above, *path))
            yield _Plugin(release, config, documents, within)


_ELSEWHERE = (
    # Of the plugin's chart all is said below, also where the program does not make the cluster.
    edge_check("sharing-config-exists", only_of=managers),
    edge_check("sharing-config-exists", only_of=mounted),
)
"""Of MIG manager's ConfigMap, and of DaemonSets that are written out."""


def _sharing(args: StackValidationArgs) -> Iterator[Violation | tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    for check in _ELSEWHERE:
        yield from check(args)
    inventory = program_of(args.resources).inventory
    for cluster in inventory.clusters():
        yield from _in_cluster(inventory, cluster)


def _in_cluster(
    inventory: Inventory, cluster: str
) -> Iterator[Violation | tuple[str, str] | Unjudged]:
    plugins = list(_plugins(inventory, cluster))
    keys: set[str] = set()
    all_found = True
    for plugin in plugins:
        own = yield from _keys(inventory, cluster, plugin)
        if own is None:
            all_found = False
            continue
        yield from _default(plugin, own)
        keys |= own
    for nodes in inventory.of(Nodes, cluster):
        yield from _label(nodes, plugins, keys if all_found else None)


def _keys(
    inventory: Inventory, cluster: str, plugin: _Plugin
) -> Generator[tuple[str, str] | Unjudged, None, set[str] | None]:
    """Say what is wrong with a plugin's ConfigMap; returns its keys, None if they are not known."""
    name, own = text(at(plugin.config, "name")), at(plugin.config, plugin.documents)
    if UNKNOWN in (name, own):
        yield Unjudged(f"`values.{plugin.path}` of {plugin.title}")
        return None
    documents = dict(pairs(own))
    if documents or not name:
        return set(documents)
    found = _map_of(inventory, cluster, plugin, name)
    if isinstance(found, ConfigMap):
        if found.data is not UNKNOWN:
            return set(found.data)
        yield Unjudged(f"the keys of {found.source.name}")
    elif found is UNKNOWN:  # it may be that one
        yield Unjudged(f"the name of a ConfigMap, which may be {name}")
    else:
        yield _missing_map(plugin, name, found), _urn(plugin)
    return None


def _map_of(inventory: Inventory, cluster: str, plugin: _Plugin, name: str) -> Any:
    """The ConfigMap, `UNKNOWN` if one may be it, or else the namespaces that have one so named."""
    alike = [each for each in inventory.of(ConfigMap, cluster) if each.name in (name, UNKNOWN)]
    space = plugin.release.namespace
    here = [each for each in alike if may_be_same(each.namespace, space)]
    for each in here:
        if each.name == name:
            return each
    return UNKNOWN if here else [str(each.namespace) for each in alike if each.name == name]


def _default(plugin: _Plugin, keys: set[str]) -> Iterator[Violation | tuple[str, str] | Unjudged]:
    default = at(plugin.config, "default")
    if default is UNKNOWN:
        yield Unjudged(f"`values.{plugin.path}.default` of {plugin.title}")
    elif default and str(default) not in keys:
        who = f"`values.{plugin.path}.default` of {plugin.title}"
        yield _missing_key(who, str(default), sorted(keys)), _urn(plugin)


def _label(
    nodes: Nodes, plugins: Sequence[_Plugin], keys: set[str] | None
) -> Iterator[Violation | tuple[str, str] | Unjudged]:
    """`keys` are None where a ConfigMap is missing: that is one mistake, not one per pool."""
    key = UNKNOWN if nodes.labels is UNKNOWN else nodes.labels.get(LABEL)
    if key is UNKNOWN:
        if plugins:
            yield Unjudged(f"the labels of {nodes.source.name}")
    elif key and not plugins:
        yield _unserved(nodes, str(key)), urn_of(nodes.source)
    elif key and keys is not None and str(key) not in keys:
        who = f"The label {LABEL} of {nodes.source.name}"
        yield _missing_key(who, str(key), sorted(keys)), urn_of(nodes.source)


def _urn(plugin: _Plugin) -> str:
    return urn_of(plugin.release.source)


def _missing_map(plugin: _Plugin, name: str, elsewhere: Sequence[str]) -> str:
    where = f"only in the namespace {', '.join(sorted(elsewhere))}" if elsewhere else "not at all"
    space = plugin.release.namespace
    return (
        f"{at_start(plugin.title)} takes its sharing from the ConfigMap {name} in the namespace "
        f"{space}, which is in this stack {where}. It must exist there, or the device plugin does "
        f"not start. Make the ConfigMap in the namespace {space} and refer to its name in "
        f"`values.{plugin.path}.name`."
    )


def _missing_key(who: str, key: str, keys: Sequence[str]) -> str:
    return (
        f"{who} names the device-plugin configuration {key}, and no Release of this stack has "
        f"it (there are: {', '.join(sorted(keys)) or 'none'}). There must be a key of that name, "
        f"or the device plugin restarts for ever on these nodes. Add the key to the ConfigMap."
    )


def _unserved(nodes: Nodes, key: str) -> str:
    return (
        f"{at_start(nodes.source.name)} has the label {LABEL}={key}, and no Release of "
        f"this stack configures a device plugin. There must be one, or the nodes advertise "
        f"whole GPUs or none. Add a Release of nvidia-device-plugin with `values.config.name`."
    )


_MAKE_THE_MAP = (
    "Make the ConfigMap in the Release's namespace, with one key for each value of the label."
)

SHARING_CONFIG_EXISTS = StackRule(
    "sharing-config-exists",
    "The configurations of the device plugin, MIG manager and others must exist and hold every key "
    "that a node label or a mount names.",
    check=_sharing,
    applies_to=(
        RELEASE,
        CHART_V4,
        CONFIG_MAP,
        "kubernetes:apps/v1:DaemonSet",
        *NODE_TOKENS,
        "kubernetes:karpenter.sh/v1:NodePool",
    ),
    severity=Severity.HIGH,
    fix=Fix(
        "Declare pools under `pools` in the stack file: the ConfigMap, its keys, the Release and "
        "the node labels then come from one declaration.",
        _MAKE_THE_MAP,
        _MAKE_THE_MAP,
    ),
)
