"""Whether Karpenter can launch nodes of a pool, and would launch what the stack declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live import rules
from eks_gpushare.live.amounts import quantity
from eks_gpushare.live.faults import ClusterFault, Link, pool_mark
from eks_gpushare.live.nodes import NODEPOOL_LABEL, TYPE_LABEL, writer_of
from eks_gpushare.live.objects import name_of
from eks_gpushare.live.pods import condition
from eks_gpushare.sharing.labels import MIG_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object
    from eks_gpushare.sharing.plan import PoolPlan

_PATIENCE: Final = 120.0
"""Seconds that Karpenter may take to look at an object of its own."""
_PLACES: Final = {
    "NodePool": "nodePools",
    "EC2NodeClass": "ec2NodeClasses",
    "NodeOverlay": "nodeOverlays",
}
_TEMPLATE: Final = ("spec", "template")


def is_at_limit(node_pool: Object) -> bool:
    """Whether a NodePool has all of a resource that it may."""
    has = at(node_pool, "status", "resources")
    return any(
        quantity(at(has, name) or 0) >= quantity(limit)
        for name, limit in (at(node_pool, "spec", "limits") or {}).items()
    )


def unready_faults(objects: ClusterObjects) -> Iterator[ClusterFault]:
    """NodePools, EC2NodeClasses and NodeOverlays of which Karpenter says that they are not ready.

    Of a NodePool whose EC2NodeClass is not, the class is told.
    """
    pools_of: dict[str, list[str]] = {}
    for node_pool in objects.of("NodePool"):
        used = str(at(node_pool, *_TEMPLATE, "spec", "nodeClassRef", "name") or "")
        pools_of.setdefault(used, []).append(name_of(node_pool))
    told: set[str] = set()
    for given in objects.of("EC2NodeClass"):
        pools = pools_of.get(name_of(given), [])
        for fault in _unready(objects, given, pools):
            told.update(pools)
            yield fault
    for given in objects.of("NodePool"):
        if name_of(given) not in told:
            yield from _unready(objects, given, [name_of(given)])
    for given in objects.of("NodeOverlay"):
        yield from _unready(objects, given, _pools_of_overlay(given))


def _unready(objects: ClusterObjects, given: Object, pools: list[str]) -> Iterator[ClusterFault]:
    ready = condition(given, "Ready")
    since = objects.seconds_since(at(ready, "lastTransitionTime"))
    if at(ready, "status") != "False" or (since is not None and since < _PATIENCE):
        return
    kind, name = str(given["kind"]), name_of(given)
    said = "; ".join(filter(None, map(_said, _behind(given) or [ready or {}])))
    finding = rules.KARPENTER_UNREADY.finding(
        (_PLACES[kind], name),
        f"Karpenter cannot work with the {kind} {name}{f': {said}' if said else ''}.",
        f"See kubectl describe {kind.lower()} {name}.",
    )
    about = frozenset(pool_mark(pool) for pool in pools)
    evidence = f"status.conditions Ready is False since {at(ready, 'lastTransitionTime')}"
    yield ClusterFault(finding, Link.NODE, about, evidence=(evidence,))


def _behind(given: Object) -> list[Object]:
    """The conditions for which an object is not ready: `Ready` only names them."""
    found = items(at(given, "status", "conditions"))
    return [each for each in found if at(each, "status") == "False" and at(each, "type") != "Ready"]


def _said(found: Object | None) -> str:
    """The reason and message of a condition."""
    parts = (str(at(found, part) or "").rstrip(".") for part in ("reason", "message"))
    return ", ".join(filter(None, parts))


def _pools_of_overlay(overlay: Object) -> list[str]:
    return [
        str(name)
        for wanted in items(at(overlay, "spec", "requirements"))
        if at(wanted, "key") == NODEPOOL_LABEL
        for name in items(at(wanted, "values"))
    ]


def node_pool_drift(
    objects: ClusterObjects, plans: Mapping[str, PoolPlan]
) -> Iterator[ClusterFault]:
    """NodePools that are missing, or whose next nodes are other than their pool declares.

    Args:
        objects: The cluster.
        plans: Pools of the stack.
    """
    if "NodePool" in objects.unread or "NodePool" not in objects.by_kind:
        return  # of a dump without them nothing is known, and Karpenter itself may be to come
    there = {name_of(given): given for given in objects.of("NodePool")}
    for name, plan in plans.items():
        if plan.pool.provisioner != "karpenter":
            continue
        given = there.get(name)
        differs = ["is not there"] if given is None else list(_differences(given, plan))
        if not differs:
            continue
        finding = rules.NODE_POOL_DIFFERS.finding(
            ("pools", name),
            f"The NodePool {name} {', and '.join(differs)}: so are the nodes that come."
            if given is not None
            else f"The NodePool {name} is not there, so that no node of pools.{name} comes.",
            "Run pulumi up --refresh, and see who writes to it.",
        )
        wrote = writer_of(given, "f:spec") if given is not None else ""
        yield ClusterFault(
            finding,
            Link.NODE,
            frozenset({pool_mark(name)}),
            evidence=(f"spec {wrote}",) if wrote else (),
            parts=(f"NodePool {name}",),
        )


def _differences(given: Object, plan: PoolPlan) -> Iterator[str]:
    labels = at(given, *_TEMPLATE, "metadata", "labels") or {}
    for key, value in plan.labels.items():
        if key != MIG_LABEL and at(labels, key) != value:  # its boot writes that one
            yield f"gives {key}={at(labels, key)} where the stack declares {key}={value}"
    declared = {NodeTaint(taint.key, taint.value, taint.effect) for taint in plan.taints}
    has = {_taint(taint) for taint in items(at(given, *_TEMPLATE, "spec", "taints"))}
    for taint in sorted(has - declared):
        yield f"gives the taint {taint}, which the stack does not declare"
    for taint in sorted(declared - has):
        yield f"lacks the taint {taint}"
    types = [
        str(name)
        for wanted in items(at(given, *_TEMPLATE, "spec", "requirements"))
        if at(wanted, "key") == TYPE_LABEL and at(wanted, "operator") == "In"
        for name in items(at(wanted, "values"))
    ]
    others = [name for name in types if name not in plan.pool.instance_types]
    if others and plan.pool.instance_types:
        yield (
            f"launches {', '.join(others)} where the stack declares "
            f"{', '.join(plan.pool.instance_types)}"
        )


def _taint(given: Any) -> NodeTaint:
    return NodeTaint(*(str(at(given, part) or "") for part in ("key", "value", "effect")))
