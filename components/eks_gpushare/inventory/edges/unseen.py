"""What is not known of nodes, charts and pods, said for every check that would have needed it.

The checks themselves go on where they can. What none of them can say anything about is said here,
so that nothing passes in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.chart_daemonsets import EXPORTER_CHART, OPERATOR_CHART, chart_of
from eks_gpushare.facts.mps import some_wait
from eks_gpushare.inventory.advertised import Offer, is_gpu_resource, offers
from eks_gpushare.inventory.daemons import daemons
from eks_gpushare.inventory.edges.configs import KEY_MISSING
from eks_gpushare.inventory.edges.daemonsets import KEPT_OUT
from eks_gpushare.inventory.edges.engines import TWO_ENGINES, TWO_PLUGINS
from eks_gpushare.inventory.edges.landing import NOT_ADVERTISED
from eks_gpushare.inventory.edges.mig import CANNOT
from eks_gpushare.inventory.edges.mps import SEVERAL_USERS, TOO_MANY_CLIENTS, users_of
from eks_gpushare.inventory.edges.promises import PROMISE_DIFFERS
from eks_gpushare.inventory.edges.quotas import ABOVE_CAPACITY, QUOTA_NAME
from eks_gpushare.inventory.edges.tenants import SHARED_BY_TENANTS
from eks_gpushare.inventory.items import (
    Namespace,
    NodeSet,
    Overlay,
    Quota,
    Release,
    Workload,
)
from eks_gpushare.inventory.mig_states import MIG_CONFIG_LABEL, mig_managers
from eks_gpushare.inventory.plugin_configs import (
    config_paths,
    configs_of,
    find_map,
    may_be_there,
)
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.problem import NotSeen
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import gpu_workloads
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, pairs
from eks_gpushare.sharing.tenants import ISOLATED, ISOLATION_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement


@edge(
    *(NOT_ADVERTISED, QUOTA_NAME, SHARED_BY_TENANTS, SEVERAL_USERS),
    *(PROMISE_DIFFERS, CANNOT, KEPT_OUT, TOO_MANY_CLIENTS),
    *(KEY_MISSING, ABOVE_CAPACITY, TWO_PLUGINS, TWO_ENGINES),
)
def unseen(inventory: Inventory) -> Iterator[Judgement]:
    """By what is not known, and by what there is that hangs on it."""
    for cluster in inventory.clusters():
        needed = tuple(_needed(inventory, cluster))
        said: set[int] = set()
        for offer in offers(inventory, cluster).every:
            nodes = offer.kind.nodes
            if id(nodes) in said or nodes.advertised is not None:
                continue
            said.add(id(nodes))
            yield from _of_offer(inventory, offer, needed)
        yield from _of_types(inventory, cluster, needed)
        yield from _of_charts(inventory, cluster)
        yield from _of_nodes(inventory, cluster)
        yield from _of_pods(inventory, cluster)
        yield from _of_namespaces(inventory, cluster)
        yield from _of_quotas(inventory, cluster)


def _needed(inventory: Inventory, cluster: str) -> Iterator[Rule]:
    """The rules that there is something to judge for, once it is known what nodes advertise."""
    workloads = [workload for workload, _ in gpu_workloads(inventory, cluster)]
    if workloads:
        yield NOT_ADVERTISED
    if _has_quotas(inventory, cluster):
        yield QUOTA_NAME
    spaces = inventory.of(Namespace, cluster)
    if len(workloads) > 1 and any(
        at(namespace.labels, ISOLATION_LABEL) == ISOLATED for namespace in spaces
    ):
        yield SHARED_BY_TENANTS
    if some_wait(user for workload in workloads for user in users_of(workload) or ()):
        yield SEVERAL_USERS


def _has_quotas(inventory: Inventory, cluster: str) -> bool:
    every = (name for quota in inventory.of(Quota, cluster) for name, _ in pairs(quota.hard))
    return any(is_gpu_resource(name) for name in every)


def _of_offer(inventory: Inventory, offer: Offer, needed: tuple[Rule, ...]) -> Iterator[NotSeen]:
    nodes = offer.kind.nodes
    why = _why(inventory, offer)
    if not why:
        return
    if offer.resources is None or None in offer.resources.values():
        for rule in needed:
            yield NotSeen(rule, nodes.source, why)
        overlays = nodes.provisioner == "karpenter" and inventory.of(Overlay, nodes.cluster)
        if overlays or nodes.promised:
            yield NotSeen(PROMISE_DIFFERS, nodes.source, why)
        if offer.config is None and offer.plugins:
            yield NotSeen(TOO_MANY_CLIENTS, nodes.source, why)
    if _may_be_cut(inventory, offer):
        yield NotSeen(CANNOT, nodes.source, why)


def _why(inventory: Inventory, offer: Offer) -> str:
    """What is not known of what nodes advertise; empty where nothing is, or it is not here."""
    nodes = offer.kind.nodes
    if nodes.instance_types is UNKNOWN:
        return f"the instance types of {nodes.source.name}"
    if has_unknown(nodes.labels):
        return f"the labels of {nodes.source.name}"
    for plugin in offer.plugins:
        if isinstance(plugin.item, Release) and (why := _of_release(inventory, plugin.item)):
            return why
    if nodes.user_data is UNKNOWN and offer.mig.instances is None:
        return f"the user data of {nodes.source.name}"
    return ""


def _of_release(inventory: Inventory, release: Release) -> str:
    places = (config_paths(release), ("migStrategy",), ("mig",), ("migManager", "config"))
    if any(has_unknown(at(release.values, *path)) for path in places):
        return f"the values of {release.source.name}"
    configs = configs_of(inventory, release)
    if configs is None or not configs.map_name:
        return ""
    found = find_map(inventory, release, configs.map_name)
    if has_unknown(found.data) if found is not None else may_be_there(inventory, release):
        return f"the ConfigMap {configs.map_name} of {release.source.name}"
    return ""


def _may_be_cut(inventory: Inventory, offer: Offer) -> bool:
    """Whether what is not known may be a MIG layout, and somebody would apply it."""
    nodes = offer.kind.nodes
    label = at(nodes.labels, MIG_CONFIG_LABEL)
    if offer.mig.problems or offer.mig.instances is not None:
        return False
    if label is UNKNOWN or (label is not None and nodes.instance_types is UNKNOWN):
        return bool(mig_managers(inventory, nodes.cluster))
    has_strategy = offer.config is not None and offer.config.mig_strategy != "none"
    return nodes.user_data is UNKNOWN and has_strategy


def _of_types(inventory: Inventory, cluster: str, needed: tuple[Rule, ...]) -> Iterator[NotSeen]:
    """Nodes of which it is not known whether they have GPUs at all."""
    judged = {id(offer.kind.nodes) for offer in offers(inventory, cluster).every}
    plugins = any(daemon.role == "plugin" for daemon in daemons(inventory, cluster))
    for nodes in inventory.of(NodeSet, cluster):
        if nodes.instance_types is not UNKNOWN or id(nodes) in judged:
            continue
        what = f"the instance types of {nodes.source.name}"
        for rule in (*needed, *((KEPT_OUT,) if plugins else ())):
            yield NotSeen(rule, nodes.source, what)


_PLACING = (
    *(("affinity",), ("nodeSelector",), ("gfd",), ("nfd",), ("devicePlugin", "enabled")),
    *(("node-feature-discovery",), ("daemonsets",)),
)
"""Values that decide where a chart's DaemonSets go, but tolerations of the plugin's chart."""


def _of_charts(inventory: Inventory, cluster: str) -> Iterator[NotSeen]:
    for plugin in daemons(inventory, cluster):
        if plugin.role != "plugin" or not isinstance(plugin.item, Release):
            continue
        values, title = plugin.item.values, plugin.source.name
        if values is not UNKNOWN and any(has_unknown(at(values, *path)) for path in _PLACING):
            yield NotSeen(KEPT_OUT, plugin.source, f"where {title} puts its DaemonSets")
        why = _of_release(inventory, plugin.item)
        if why and not _has_keys(inventory, plugin.item):
            yield NotSeen(KEY_MISSING, plugin.source, why)
    exporting = [
        release
        for release in inventory.of(Release, cluster)
        if chart_of(release.chart) in (EXPORTER_CHART, OPERATOR_CHART)
    ]
    for each in exporting if len(exporting) > 1 else ():
        if has_unknown(each.values):
            yield NotSeen(TWO_ENGINES, each.source, f"the values of {each.source.name}")


def _has_keys(inventory: Inventory, release: Release) -> bool:
    """Whether it is known which configurations there are, if not what they say."""
    configs = configs_of(inventory, release)
    return configs is not None and configs.documents is not UNKNOWN


def _of_nodes(inventory: Inventory, cluster: str) -> Iterator[NotSeen]:
    """What keeps a DaemonSet off nodes, or brings it there, is not known."""
    plugins = [daemon for daemon in daemons(inventory, cluster) if daemon.role == "plugin"]
    counted = _has_quotas(inventory, cluster)
    declared = {id(offer.kind.nodes): offer.kind for offer in offers(inventory, cluster).every}
    for kind in declared.values():
        nodes = kind.nodes
        if counted and nodes.most is UNKNOWN:
            what = f"how many nodes {nodes.source.name} may have"
            yield NotSeen(ABOVE_CAPACITY, nodes.source, what)
        if not plugins or kind.serves_itself:
            continue
        if has_unknown(nodes.labels):
            what = f"the labels of {nodes.source.name}"
            yield NotSeen(KEPT_OUT, nodes.source, what)
            yield NotSeen(KEY_MISSING, nodes.source, what)
        if len(plugins) > 1 and has_unknown([nodes.labels, nodes.taints]):
            what = f"the labels and taints of {nodes.source.name}"
            yield NotSeen(TWO_PLUGINS, nodes.source, what)


def _of_pods(inventory: Inventory, cluster: str) -> Iterator[NotSeen]:
    """Pods of which it is not known what they ask for."""
    if not offers(inventory, cluster).every and not inventory.complete:
        return
    for workload in inventory.of(Workload, cluster):
        if workload.kind != "DaemonSet" and _asks_for_unknown(workload.spec):
            yield NotSeen(NOT_ADVERTISED, workload.source, f"what {workload.source.name} asks for")


def _asks_for_unknown(spec: Any) -> bool:
    return at(spec, "containers") is UNKNOWN or any(
        at(container, "resources", part) is UNKNOWN
        for _, container in containers(spec)
        for part in ("limits", "requests")
    )


def _of_namespaces(inventory: Inventory, cluster: str) -> Iterator[NotSeen]:
    """Namespaces that may be of another tenant than the one that is to be kept apart."""
    spaces = inventory.of(Namespace, cluster)
    if not any(at(namespace.labels, ISOLATION_LABEL) == ISOLATED for namespace in spaces):
        return
    for space in spaces:
        if space.name is UNKNOWN or has_unknown(space.labels):
            yield NotSeen(SHARED_BY_TENANTS, space.source, f"the labels of {space.source.name}")
    for workload, _ in gpu_workloads(inventory, cluster):
        if workload.namespace is UNKNOWN:
            what = f"the namespace of {workload.source.name}"
            yield NotSeen(SHARED_BY_TENANTS, workload.source, what)
        elif has_unknown([at(workload.spec, key) for key in ("nodeSelector", "affinity")]):
            what = f"which nodes {workload.source.name} selects"
            yield NotSeen(SHARED_BY_TENANTS, workload.source, what)


def _of_quotas(inventory: Inventory, cluster: str) -> Iterator[NotSeen]:
    for quota in inventory.of(Quota, cluster):
        for name, given in pairs(quota.hard):
            if is_gpu_resource(name) and given is UNKNOWN:
                what = f"how many of {name} {quota.source.name} allows"
                yield NotSeen(QUOTA_NAME, quota.source, what)
