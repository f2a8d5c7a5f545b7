"""What device plugins make of GPUs by their configurations alone, whatever nodes there are.

Most teams declare their nodes elsewhere. A plugin whose configuration is the same for all of them
decides all the same what pods get, and by which name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.documents.device_plugin import (
    DocumentError,
    PluginConfig,
    device_plugin_config,
    plugin_config_of,
)
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.items import ConfigMap, NodeSet, Overlay, Release
from eks_gpushare.inventory.kept import kept
from eks_gpushare.inventory.nodes import NodeKind, gpu_nodes
from eks_gpushare.inventory.plugin_configs import Configs, config_for, configs_of, written_config
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import has_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.daemons import Daemon
    from eks_gpushare.inventory.inventory import Inventory

_SHARES: Final = re.compile(r"\b(?:timeSlicing|mps)[\"']?:")
ANY_NODE = NodeKind(NodeSet(source=Source("nodes"), name="", provisioner="managed"), None)
"""Nodes without labels of their own."""


class Sharing(NamedTuple):
    """A plugin and one of the configurations that it may go by."""

    daemon: Daemon
    config: PluginConfig


@kept
def sharings(inventory: Inventory, cluster: str) -> tuple[Sharing, ...]:
    """Each configuration that the plugins of a cluster have, in use or not."""
    return tuple(
        Sharing(daemon, config)
        for daemon in daemons(inventory, cluster)
        if daemon.role == "plugin"
        for config in _configs(inventory, daemon)
    )


@kept
def are_shared(inventory: Inventory, cluster: str) -> bool:
    """Whether some node may have more of something than it has GPUs: shares, or by an overlay."""
    return bool(inventory.of(Overlay, cluster)) or any(
        sharing.config.sharing != "none" for sharing in sharings(inventory, cluster)
    )


@kept
def may_be_shared(inventory: Inventory, cluster: str) -> bool:
    """Whether they are, or a ConfigMap shares GPUs that somebody may tell a plugin to go by."""
    return are_shared(inventory, cluster) or any(
        isinstance(given, str) and _SHARES.search(given) is not None
        for each in inventory.of(ConfigMap, cluster)
        if each.data is not UNKNOWN
        for given in each.data.values()
    )


@kept
def alone(inventory: Inventory, cluster: str) -> Sharing | None:
    """The one plugin and what it goes by on all nodes, where none are declared here.

    None where there are several, or labels of nodes decide.
    """
    plugins = [each for each in daemons(inventory, cluster) if each.role == "plugin"]
    if len(plugins) != 1 or plugins[0].is_on is None:
        return None
    if any(kind.nodes.provisioner != "byHand" for kind in gpu_nodes(inventory, cluster)):
        return None
    found = sharings(inventory, cluster)
    item = plugins[0].item
    if len({repr(each.config) for each in found}) != 1:
        return None
    if isinstance(item, Release):
        configs = configs_of(inventory, item)
        config = None if configs is None else config_for(configs, ANY_NODE)
        # The operator leaves nodes without a label as they are: then labels decide. Its strategy
        # for MIG is of the chart, and no document has it.
        strategy = found[0].config.mig_strategy
        is_same = config and replace(config, mig_strategy=strategy) == found[0].config
        return Sharing(plugins[0], config) if config and is_same else None
    return found[0]


def _configs(inventory: Inventory, daemon: Daemon) -> Iterator[PluginConfig]:
    if not isinstance(daemon.item, Release):
        found = written_config(inventory, daemon.item, ANY_NODE)
        if found is not None:
            yield found
        return
    configs = configs_of(inventory, daemon.item)
    if configs is None:
        return
    if not configs.is_there:
        found = config_for(configs, ANY_NODE)
        if found is not None:
            yield found
        return
    yield from _documents(configs)


def _documents(configs: Configs) -> Iterator[PluginConfig]:
    documents = {} if configs.documents is UNKNOWN else configs.documents
    for given in documents.values():
        if given is None or has_unknown(given):
            continue
        try:
            yield device_plugin_config(given) if isinstance(given, str) else plugin_config_of(given)
        except DocumentError:
            continue
