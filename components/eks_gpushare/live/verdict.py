"""Whether a cluster is as its stack declares it, and if not, what the causes are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import is_at_least
from eks_gpushare.inventory.advertised import is_gpu_resource, offers
from eks_gpushare.inventory.edges.daemonsets import given_by_claims
from eks_gpushare.inventory.inventory import Inventory
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.live.checks.aws_health import aws_faults
from eks_gpushare.live.checks.controllers import (
    controller_faults,
    node_claim_faults,
    scaled_object_faults,
)
from eks_gpushare.live.checks.idle import idle_faults
from eks_gpushare.live.checks.labelling import declared_labellers, labelling_faults
from eks_gpushare.live.checks.machines import machine_faults
from eks_gpushare.live.checks.node_pools import is_at_limit, node_pool_drift, unready_faults
from eks_gpushare.live.checks.placed import held_faults, refused_faults
from eks_gpushare.live.checks.programs import program_faults, programs_of
from eks_gpushare.live.checks.room import LaunchablePool, Room, free_of_all, waiting_of
from eks_gpushare.live.checks.shares import share_faults
from eks_gpushare.live.checks.tenants import tenant_faults, unread_kinds
from eks_gpushare.live.checks.uncreated import not_created_faults
from eks_gpushare.live.checks.vcpu_quotas import quota_demands
from eks_gpushare.live.checks.versions import version_faults
from eks_gpushare.live.checks.waiting import waiting_faults
from eks_gpushare.live.cluster_inventory import inventory_faults, read, with_unseen_layouts
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.drawn_nodes import drawn_pools
from eks_gpushare.live.drift import chart_drift, configuration_drift, missing_nodes, node_drift
from eks_gpushare.live.faults import Cause, ClusterFault, causes_of, folded
from eks_gpushare.live.node_pool_limits import reached_limit, room_of
from eks_gpushare.live.nodes import gpu_nodes_of, is_unregistered
from eks_gpushare.live.objects import name_of
from eks_gpushare.live.same_cluster import refuse_another_cluster
from eks_gpushare.live.silencing import without_silenced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.nodes import NodeKind
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.aws_side import AwsSide
    from eks_gpushare.live.checks.programs import NodePrograms
    from eks_gpushare.live.cluster_inventory import ReadCluster
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.silencing import SilencedCause
    from eks_gpushare.reports.share_map import MapPool
    from eks_gpushare.sharing.plan import PoolPlan


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool and one resource of it, as a row of the table."""

    pool: str
    resource: str
    nodes_declared: int | None
    """Fewest that there should be; None without a stack."""
    nodes: int
    ready: int
    declared: int | None
    """Shares that the stack says its nodes advertise; None without a stack."""
    advertised: int
    used: int
    waiting: int
    """Pods that wait for the resource."""

    def as_json(self) -> dict[str, Any]:
        """As `verify --json` prints it."""
        return {
            "pool": self.pool,
            "resource": self.resource,
            "nodes": {"declared": self.nodes_declared, "there": self.nodes, "ready": self.ready},
            "declared": self.declared,
            "advertised": self.advertised,
            "used": self.used,
            "waiting": self.waiting,
        }


@dataclass(frozen=True, slots=True)
class ClusterVerdict:
    """What was seen of a cluster."""

    whence: str
    at: datetime
    """When the cluster was read."""
    stack: str
    """Its file; empty without one."""
    pools: tuple[PoolRow, ...]
    causes: tuple[Cause, ...]
    unknown: Mapping[str, str]
    """Kinds of objects that could not be read, with why."""
    joining: tuple[str, ...]
    """Nodes that are too young to be judged, or whose device plugin has just been started."""
    drawn: tuple[MapPool, ...] = ()
    """Its pools with their nodes and whose pods are on them, if that was asked for."""
    silenced: tuple[SilencedCause, ...] = ()
    """What comments of the stack's file let be, with all that follows from it."""
    said: str = ""
    """The answer to a question about one pod, where nothing is wrong with it."""

    def ok(self, fails_on: Severity = "error") -> bool:
        """Whether no cause is as bad as a severity."""
        return not any(is_at_least(c.fault.finding.severity, fails_on) for c in self.causes)

    def as_json(self) -> dict[str, Any]:
        """As `verify --json` prints it."""
        return {
            "cluster": self.whence,
            "at": self.at.isoformat(timespec="seconds"),
            "stack": self.stack or None,
            "ok": self.ok(),
            "pools": [row.as_json() for row in self.pools],
            "findings": [cause.as_json() for cause in self.causes],
            "silenced": [silenced.as_json() for silenced in self.silenced],
            "unknown": [{"kind": kind, "why": why} for kind, why in self.unknown.items()],
            "joining": list(self.joining),
        }


def verdict_of(
    objects: ClusterObjects,
    stack: Stack | None = None,
    *,
    aws: AwsSide | None = None,
    namespace: str | None = None,
    pool: str | None = None,
    drawn: bool = False,
) -> ClusterVerdict:
    """What is wrong with a cluster.

    Args:
        objects: What was read of it.
        stack: What it should be. Default: only what is wrong whatever it should be.
        aws: What AWS says of it. Default: AWS is not asked.
        namespace: Of whose pods to speak. Default: all.
        pool: Of whose nodes to speak. Default: all.
        drawn: Whether to draw its nodes. Default: not, since that keeps names of all pods.

    Raises:
        CannotLookError: If nothing of the stack is in the cluster, or it has no such pool or
            namespace.
    """
    plans = stack.plans if stack is not None else {}
    nodes = gpu_nodes_of(objects, plans)
    if stack is not None:
        refuse_another_cluster(objects, stack, nodes)
    # Of nodes that nothing declares it is not known how many there may be.
    most = {node.name: _most(plans, node.pool) for node in nodes}
    there = {node.pool for node in nodes if not (node.is_leaving or is_unregistered(node.object))}
    to_come = [
        item
        for item in (stack.items if stack is not None else ())
        if isinstance(item, NodeSet) and item.name not in there
    ]
    gone = (node for node in nodes if node.is_leaving and node.pool not in plans)
    last = {node.name for node in gone if node.pool not in there}
    of_plans = _declared(nodes, plans)
    cluster = with_unseen_layouts(read(objects, most, to_come, last), nodes, of_plans)
    chosen = [node for node in nodes if pool is None or node.pool == pool]
    if pool is not None and not chosen and pool not in plans:
        known = ", ".join(dict.fromkeys(node.pool for node in nodes)) or "none"
        raise CannotLookError(f"{objects.whence} has no pool {pool}; its pools are {known}.")
    spaces = [name_of(given) for given in objects.of("Namespace")]
    if namespace is not None and spaces and namespace not in spaces:
        raise CannotLookError(f"{objects.whence} has no namespace {namespace}.")
    programs = programs_of(objects)
    settling = programs.settling(objects) | {node.name for node in nodes if node.is_joining}
    declared = {node.name: of_plans[node.name] for node in chosen if node.name in of_plans}
    rows = tuple(_rows(objects, chosen, stack, pool))
    of_aws = aws_faults(aws, chosen, plans, quota_demands(stack)) if aws is not None else ()
    of_cluster = _faults(objects, chosen, cluster, stack, declared, programs, settling, namespace)
    faults = [*of_aws, *of_cluster]
    causes, silenced = without_silenced(
        sorted(causes_of(_once(faults)), key=_rank), stack, nodes, objects.at.date()
    )
    unread = unread_kinds(objects, stack) if stack is not None else {}
    return ClusterVerdict(
        objects.whence,
        objects.at,
        stack.name if stack is not None else "",
        rows,
        tuple(causes),
        {**objects.unread, **unread, **(aws.unread if aws is not None else {})},
        tuple(node.name for node in chosen if node.name in settling),
        tuple(drawn_pools(dict.fromkeys(row.pool for row in rows), chosen, declared))
        if drawn
        else (),
        silenced,
    )


def _rank(cause: Cause) -> tuple[int, int]:
    severities = ("error", "warning", "info")
    return severities.index(cause.fault.finding.severity), -len(cause.follows)


def _once(faults: Sequence[ClusterFault]) -> Iterator[ClusterFault]:
    """The faults, each once: what is wrong with a config is found at each place that reads it."""
    seen: set[tuple[str, str, FieldPath]] = set()
    for fault in faults:
        # Of the same words about several objects each is told, where the others follow the first.
        place = fault.finding.at if fault.gist == fault.finding.message else ()
        key = fault.finding.code, fault.finding.message, place
        if key not in seen:
            seen.add(key)
            yield fault


def _most(plans: Mapping[str, Any], pool: str) -> int | None:
    from eks_gpushare.sharing.capacity import most_nodes

    plan = plans.get(pool)
    return None if plan is None else most_nodes(plan)


def _faults(
    objects: ClusterObjects,
    nodes: Sequence[LiveNode],
    cluster: ReadCluster,
    stack: Stack | None,
    declared: Mapping[str, Mapping[str, int]],
    programs: NodePrograms,
    settling: Collection[str],
    namespace: str | None,
) -> Iterator[ClusterFault]:
    plans = stack.plans if stack is not None else {}
    kinds = _kinds(cluster)
    offered = {
        name: offer
        for offer in offers(cluster.inventory, "").every
        for name in cluster.nodes.get(str(offer.kind.nodes.name), ())
    }
    launches = tuple(_launches(objects, cluster, stack, nodes))
    yield from controller_faults(objects, nodes, [launch.pool for launch in launches])
    yield from unready_faults(objects)
    yield from node_pool_drift(objects, plans)
    yield from node_claim_faults(objects)  # before the nodes that are missing for it
    yield from folded(machine_faults(nodes))
    yield from version_faults(objects, stack, nodes)
    if stack is not None:
        yield from missing_nodes(nodes, plans)
        yield from folded(node_drift(nodes, plans))
        yield from configuration_drift(objects, cluster, stack, nodes)
        yield from chart_drift(objects, stack)
        yield from tenant_faults(objects, stack)
    yield from inventory_faults(cluster, nodes)
    by_claims = given_by_claims(cluster.inventory, "")
    yield from folded(program_faults(objects, nodes, programs, kinds, by_claims=by_claims))
    named = (node.name for node in nodes if node.pool in plans)
    labellers = dict.fromkeys(named, declared_labellers(stack))
    yield from folded(labelling_faults(objects, nodes, programs, kinds, labellers))
    # Those of an operating system's own plugin have no pod that could be looked for.
    served = {node for node, kind in kinds.items() if kind.serves_itself} | programs.served()
    yield from folded(share_faults(nodes, declared, offered, served, settling))
    labels = {node.name: dict(plans[node.pool].labels) for node in nodes if node.pool in plans}
    queued = [
        each
        for kind in ("Workload", "LocalQueue", "ClusterQueue")
        for each in objects.of(kind)
        if str(each.get("apiVersion")).startswith("kueue.")
    ]
    missing = tuple(_missing(stack, nodes))
    room = Room(nodes, free_of_all(objects, nodes), labels, launches, missing, settling, queued)
    yield from held_faults(objects, namespace)  # before those that wait for what these hold
    yield from waiting_faults(objects, room, namespace)
    yield from refused_faults(objects, namespace)
    yield from not_created_faults(objects, namespace)
    yield from scaled_object_faults(objects)
    yield from idle_faults(nodes)


def _launches(
    objects: ClusterObjects, cluster: ReadCluster, stack: Stack | None, nodes: Sequence[LiveNode]
) -> Iterator[LaunchablePool]:
    """Nodes that autoscalers may add: of the stack's pools, else of the NodePools."""
    pools = {name_of(given): given for given in objects.of("NodePool")}
    full = {name for name, given in pools.items() if is_at_limit(given)}
    if stack is None:
        for offer in offers(cluster.inventory, "").every:
            if offer.kind.nodes.provisioner in {"karpenter", "autoMode"}:
                name = str(offer.kind.nodes.name)
                yield LaunchablePool(name, offer, 0 if name in full else None)
        return
    for offer in offers(Inventory(stack.items), "").every:
        name = str(offer.kind.nodes.name)
        plan = stack.plans.get(name)
        if plan is None or plan.scaling is None:
            continue
        most, there = _most(stack.plans, name), sum(node.pool == name for node in nodes)
        rooms = {kind: room_of(kind, shares) for kind, shares in plan.per_node.items()}
        is_full = name in full or reached_limit(pools.get(name, {}), rooms) is not None
        is_full = is_full and plan.pool.provisioner == "karpenter"
        left = None if most is None else most - there
        yield LaunchablePool(name, offer, 0 if is_full else left)


def _missing(stack: Stack | None, nodes: Sequence[LiveNode]) -> Iterator[LaunchablePool]:
    """Pools of a stack that no autoscaler serves, and that have fewer nodes than they should."""
    for offer in offers(Inventory(stack.items), "").every if stack is not None else ():
        name = str(offer.kind.nodes.name)
        plan = stack.plans.get(name) if stack is not None else None
        if plan is None or plan.scaling is not None:
            continue
        lacking = plan.sizes.min - sum(node.pool == name for node in nodes)
        if lacking > 0:
            yield LaunchablePool(name, offer, lacking)


def _declared(
    nodes: Sequence[LiveNode], plans: Mapping[str, PoolPlan]
) -> dict[str, dict[str, int]]:
    """What nodes of a stack's pools and types advertise by its plan, by name."""
    return {
        node.name: _gpus_of(plans[node.pool].per_node[node.type_name])
        for node in nodes
        if node.pool in plans and node.type_name in plans[node.pool].per_node
    }


def _gpus_of(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if is_gpu_resource(name) and count}


def _kinds(cluster: ReadCluster) -> dict[str, NodeKind]:
    """How the inventory has each node with GPUs."""
    from eks_gpushare.inventory.nodes import gpu_nodes

    return {
        name: kind
        for kind in gpu_nodes(cluster.inventory, "")
        for name in cluster.nodes.get(str(kind.nodes.name), ())
    }


def _rows(
    objects: ClusterObjects, nodes: Sequence[LiveNode], stack: Stack | None, pool: str | None
) -> Iterator[PoolRow]:
    plans = stack.plans if stack is not None else {}
    names = list(dict.fromkeys([*plans, *(node.pool for node in nodes)]))
    waiting: dict[str, int] = {}
    for found in waiting_of(objects, None):
        for resource in found.asked:
            waiting[resource] = waiting.get(resource, 0) + len(found.pods)
    for name in names:
        if pool is not None and name != pool:
            continue
        of_pool = [node for node in nodes if node.pool == name]
        plan = plans.get(name)
        declared: dict[str, int] = {}
        for node in of_pool:
            counts = plan.per_node.get(node.type_name, {}) if plan is not None else {}
            for resource, count in _gpus_of(counts).items():
                declared[resource] = declared.get(resource, 0) + count
        advertised = {key for node in of_pool for key in node.advertised}
        of_plan = _gpus_of(plan.at(1)) if plan is not None else {}
        least = None
        if plan is not None:
            least = plan.scaling.least if plan.scaling is not None else plan.sizes.min
        for resource in sorted({*declared, *advertised, *of_plan}) or [""]:
            yield PoolRow(
                pool=name,
                resource=resource,
                nodes_declared=least,
                nodes=len(of_pool),
                ready=sum(node.is_ready for node in of_pool),
                declared=None if plan is None else declared.get(resource, 0),
                advertised=sum(node.advertised.get(resource, 0) for node in of_pool),
                used=sum(node.used.get(resource, 0) for node in of_pool),
                waiting=waiting.get(resource, 0),
            )
