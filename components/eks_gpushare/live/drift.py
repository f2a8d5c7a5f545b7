"""What of a running cluster is not as its stack declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.documents.go_yaml import first_document
from eks_gpushare.inventory.daemons import config_manager
from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.plugin_configs import file_of_map, plugin_settings
from eks_gpushare.inventory.scheduling import lasts, passes
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.live import rules
from eks_gpushare.live.checks.machines import taint_evidence
from eks_gpushare.live.cluster_inventory import daemon_sets
from eks_gpushare.live.faults import ClusterFault, Link, NodeFault, pool_mark
from eks_gpushare.live.nodes import LEAVING, SPARE, counted_names, is_unregistered, writer_of
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.sharing.labels import CONFIG_LABEL, MIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from eks_gpushare.inventory.items import Workload
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.cluster_inventory import ReadCluster
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object
    from eks_gpushare.sharing.plan import PoolPlan

_OF_KUBERNETES: Final = (
    *("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/"),
    *("node.eks.amazonaws.com/", "eks.amazonaws.com/", SPARE, *LEAVING),
)
"""Beginnings of taints that controllers put on nodes and take away again."""
_PLUGIN_ROLES: Final = "plugin"
_CHART_LABEL: Final = "helm.sh/chart"


def node_drift(nodes: Sequence[LiveNode], plans: Mapping[str, PoolPlan]) -> Iterator[NodeFault]:
    """Nodes whose labels, taints or type are not those of their pool."""
    for node in nodes:
        plan = plans.get(node.pool)
        if plan is None or node.is_leaving:
            continue
        yield from _type(node, plan)
        if is_unregistered(node.object):
            continue
        yield from _labels(node, plan)
        yield from _taints(node, plan)


def _type(node: LiveNode, plan: PoolPlan) -> Iterator[NodeFault]:
    types = plan.pool.instance_types
    if node.type_name and types and node.type_name not in types:
        yield NodeFault(
            rules.OTHER_TYPE,
            Link.NODE,
            node,
            f"it is a {node.type_name}, and its pool declares {', '.join(types)}.",
            "Run pulumi up --refresh, and let the group replace its nodes.",
            "label node.kubernetes.io/instance-type",
        )


def _labels(node: LiveNode, plan: PoolPlan) -> Iterator[NodeFault]:
    for key, value in plan.labels.items():
        has = node.labels.get(key)
        # Whether a layout could be made is told for itself; feature discovery writes the rest.
        if has == value or key == MIG_LABEL:
            continue
        told = f"{key}={has}" if has is not None else f"no label {key}"
        yield NodeFault(
            rules.LABELS_DIFFER,
            Link.LABELS,
            node,
            f"it has {told}, and its pool declares {key}={value}.",
            f"kubectl label node {{node}} --overwrite {key}={value}",
            f"metadata.labels {writer_of(node.object, 'f:metadata', 'f:labels', f'f:{key}')}"
            if has is not None
            else "metadata.labels",
            names=(f"{key}={value}",),
        )


def _taints(node: LiveNode, plan: PoolPlan) -> Iterator[NodeFault]:
    declared = {NodeTaint(taint.key, taint.value, taint.effect) for taint in plan.taints}
    there = set(node.taints)
    for taint, other in _changed(declared - there, there - declared):
        declared, there = declared - {taint}, there - {other}
        fix = f"kubectl taint node {{node}} {taint} --overwrite"
        if taint.effect != other.effect:  # of one key there may be one of each effect
            fix = f"kubectl taint node {{node}} {taint}; kubectl taint node {{node}} {other}-"
        yield NodeFault(
            rules.TAINTS_DIFFER,
            Link.TAINTS,
            node,
            f"its taint {other} was {taint}, which its pool declares.",
            fix,
            taint_evidence(node, other),
            names=(str(other),),
        )
    for taint in sorted(there - declared):
        if taint.key.startswith(_OF_KUBERNETES) or not lasts(taint.key) or passes(taint.key):
            continue
        suffix = f"={taint.value}" if taint.value else ""
        yield NodeFault(
            rules.TAINTS_DIFFER,
            Link.TAINTS,
            node,
            f"it has the taint {taint}, which its pool does not declare.",
            f"kubectl taint node {{node}} {taint.key}{suffix}:{taint.effect}-",
            taint_evidence(node, taint),
            names=(str(taint),),
        )
    for taint in sorted(declared - there):
        if not lasts(taint.key):
            continue
        yield NodeFault(
            rules.TAINTS_DIFFER,
            Link.TAINTS,
            node,
            f"it lacks the taint {taint} of its pool, so that pods without a share may come.",
            f"kubectl taint node {{node}} {taint}",
            f"spec.taints {writer_of(node.object, 'f:spec', 'f:taints')}".rstrip(),
            severity="warning",
        )


def _changed(
    declared: Collection[NodeTaint], there: Collection[NodeTaint]
) -> Iterator[tuple[NodeTaint, NodeTaint]]:
    """Taints that are declared and that somebody gave another value or effect, with what is."""
    for taint in sorted(declared):
        others = [other for other in there if other.key == taint.key]
        own = [other for other in declared if other.key == taint.key]
        if len(others) == 1 and len(own) == 1 and lasts(taint.key):
            yield taint, others[0]


def missing_nodes(
    nodes: Sequence[LiveNode], plans: Mapping[str, PoolPlan]
) -> Iterator[ClusterFault]:
    """Pools that have fewer nodes than they always should."""
    for name, plan in plans.items():
        there = [
            node for node in nodes if node.pool == name
        ]  # the next of one that goes is to come
        least = plan.scaling.least if plan.scaling is not None else plan.sizes.min
        if len(there) >= least:
            continue
        finding = rules.NODES_MISSING.finding(
            ("pools", name),
            f"pools.{name}: {len(there)} of at least {least} nodes are there.",
            "See the health of its node group: aws eks describe-nodegroup, health.issues; a lack "
            "of capacity, a quota and a broken launch template are told there.",
        )
        yield ClusterFault(finding, Link.NODE, frozenset({pool_mark(name)}))


def configuration_drift(
    objects: ClusterObjects, cluster: ReadCluster, stack: Stack, nodes: Sequence[LiveNode]
) -> Iterator[ClusterFault]:
    """Keys of the device plugin's ConfigMap that hold something else than the stack declares."""
    from eks_gpushare.sharing.device_plugin_config import config_map_data

    declared = _declared_data(stack, config_map_data)
    for workload in daemon_sets(cluster):
        name = _map_of(workload)
        found = name and _config_map(objects, name, str(workload.namespace))
        if not found:
            continue
        for pool, text in declared.items():
            of_pool = frozenset(
                node.name for node in nodes if node.labels.get(CONFIG_LABEL) == pool
            )
            has = at(found, "data", pool)
            if not of_pool or (isinstance(has, str) and _same(has, text)):
                continue
            yield _map_fault(found, pool, has, of_pool)
        return  # that of the first plugin; two of them are told elsewhere


def _declared_data(stack: Stack, config_map_data: Any) -> Mapping[str, str]:
    from eks_gpushare.config.additions import catalog_of
    from eks_gpushare.sharing.bottlerocket import pools_of_chart
    from eks_gpushare.sharing.closed_runtime import closed_pools

    environment = stack.environment
    if environment is None:
        return {}
    served = pools_of_chart(closed_pools(environment))
    if not served:
        return {}
    catalog, _ = catalog_of(environment.catalog, None)
    found: Mapping[str, str] = config_map_data(served, catalog)
    return found


def _map_of(workload: Workload) -> str | None:
    """The ConfigMap that the config-manager of a device plugin's pods reads."""
    from eks_gpushare.inventory.daemons import role_of

    if role_of(workload.spec) != _PLUGIN_ROLES:
        return None
    manager = config_manager(workload.spec)
    folder = plugin_settings(manager).get("config-file-srcdir", "")
    named = file_of_map(workload, manager, f"{folder}/any") if folder else None
    return str(named[0]) if named is not None and named[0] else None


def _config_map(objects: ClusterObjects, name: str, namespace: str) -> Object | None:
    return next(
        (
            found
            for found in objects.of("ConfigMap")
            if name_of(found) == name and namespace_of(found) == namespace
        ),
        None,
    )


def _same(one: str, other: str) -> bool:
    try:
        return bool(first_document(one) == first_document(other))
    except ValueError:  # of what is in the cluster: the stack's is one
        return False


def _map_fault(found: Object, pool: str, has: Any, nodes: frozenset[str]) -> ClusterFault:
    called = f"{namespace_of(found)}/{name_of(found)}"
    what = "has no such key" if has is None else "holds something else there"
    finding = rules.CONFIG_MAP_DIFFERS.finding(
        ("configMaps", called, "data", pool),
        f"{counted_names(nodes)}: the ConfigMap {called} {what} than the stack declares for "
        f"pools.{pool}."
        if has is not None
        else f"{counted_names(nodes)}: the ConfigMap {called} has no key {pool}, which the stack "
        f"declares for pools.{pool}.",
        "Run pulumi up --refresh, which makes the ConfigMap anew, and see who writes to it.",
    )
    evidence = f"data.{pool} {writer_of(found, 'f:data', f'f:{pool}')}".rstrip()
    return ClusterFault(finding, Link.CONFIGURATION, nodes, evidence=(evidence,))


def chart_drift(objects: ClusterObjects, stack: Stack) -> Iterator[ClusterFault]:
    """Charts of another version than the stack's."""
    from eks_gpushare.inventory.items import Release

    versions = {
        item.chart: str(item.version)
        for item in stack.items
        if isinstance(item, Release) and item.version is not UNKNOWN
    }
    told: set[str] = set()
    for given in objects.of("DaemonSet"):
        label = str(at(given, "metadata", "labels", _CHART_LABEL) or "")
        for chart, version in versions.items():
            has = label.removeprefix(f"{chart}-")
            if has == label or has.lstrip("v") == version.lstrip("v") or chart in told:
                continue
            told.add(chart)
            called = f"{namespace_of(given)}/{name_of(given)}"
            finding = rules.CHART_DIFFERS.finding(
                ("charts", chart),
                f"DaemonSet {called} is of {chart} {has}, and the stack declares {version}.",
                "Run pulumi up --refresh, and see who else installs the chart.",
            )
            evidence = f"label {_CHART_LABEL}={label}"
            yield ClusterFault(
                finding, Link.CONFIGURATION, evidence=(evidence,), is_cause_only=True
            )
