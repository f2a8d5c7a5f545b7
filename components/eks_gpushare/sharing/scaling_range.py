"""How far an autoscaler takes a pool: its fewest and most nodes, with their shares and price."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.scaling import limits_by_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare.catalog import Catalog
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.documents.windows import ZonedWindow
    from eks_gpushare.sharing.nodes import Sizes

Autoscaler: TypeAlias = Literal["karpenter", "clusterAutoscaler"]

_MIB = 1024.0**2
_SEEN_BY_KARPENTER = 0.925
"""Part of an instance's memory that Karpenter counts: VM_MEMORY_OVERHEAD_PERCENT is 0.075
(https://karpenter.sh/docs/reference/settings/, read in November 2026)."""


@dataclass(frozen=True, slots=True)
class ScalingRange:
    """From how many nodes to how many an autoscaler takes a pool."""

    by: Autoscaler
    """Who adds and removes the nodes."""
    static: bool
    """Whether their number stays, whatever pods need."""
    least: int
    """Nodes that stay when no pod wants any."""
    most: int | None
    """Nodes at most; None where the stack file limits them by nothing that nodes have."""
    by_type: Mapping[str, int] = field(default_factory=dict)
    """Nodes at most if all are of one type, by that, where limits are in what nodes have."""
    scheduled: int = 0
    """Nodes that stay besides the least while a window of the warm room is open."""
    windows: frozenset[ZonedWindow] = frozenset()
    """Those windows."""

    @property
    def hours_per_week(self) -> float:
        """For how many hours of a week one of its windows is open."""
        if not self.scheduled:
            return 0.0
        from eks_gpushare.documents.windows import hours_per_week

        return hours_per_week(self.windows)


def scaled_by(pool: Pool) -> Autoscaler | None:
    """Who adds and removes nodes of a pool; None where it is the stack, or somebody else."""
    if pool.provisioner == "karpenter":
        return "karpenter"
    if pool.provisioner == "managedNodeGroup" and pool.scaled_by == "autoscaler":
        return "clusterAutoscaler"
    return None


def scaling_range(
    pool: Pool,
    sizes: Sizes,
    nodes: Mapping[str, Mapping[str, int]],
    resource: str,
    catalog: Catalog,
) -> ScalingRange | None:
    """The range of a pool that an autoscaler scales; None for others.

    Args:
        pool: The pool.
        sizes: Its sizes, with defaults filled in.
        nodes: What a node advertises, by instance type.
        resource: What a pod asks for to get one share.
        catalog: Where the instance types are looked up.
    """
    by, warm = scaled_by(pool), _warm(pool, nodes, resource)
    if by is None:
        return None
    windows = _windows(pool)
    always = 0 if windows else warm
    if by == "clusterAutoscaler":
        least = min(max(sizes.min, always), sizes.max)
        more = max(0, min(warm, sizes.max) - max(least, sizes.desired)) if windows else 0
        return ScalingRange(
            by, static=False, least=least, most=sizes.max, scheduled=more, windows=windows
        )
    if pool.is_static:
        return ScalingRange(by, static=True, least=sizes.desired, most=sizes.desired)
    by_type = _most_within_limits(pool, nodes, catalog)
    most = max(by_type.values()) if by_type else None
    # Karpenter knows no minimum: nodes stay for pods alone, those of the warm room among them.
    kept = warm if most is None else min(warm, most)
    least, more = (0, kept) if windows else (kept, 0)
    return ScalingRange(
        by,
        static=False,
        least=least,
        most=most,
        by_type=by_type,
        scheduled=more,
        windows=windows,
    )


def range_json(
    found: ScalingRange,
    shares: Callable[[int], Mapping[str, int]],
    prices: Mapping[str, float] | None,
) -> dict[str, Any]:
    """The range with its shares and its price, as `preview --json` shows it.

    Args:
        found: The range.
        shares: What a number of nodes advertise.
        prices: USD per hour of a node by instance type, if they are known. Of types that differ
            the dearest counts, of each as many nodes as there may be.
    """

    def at(nodes: int) -> dict[str, Any]:
        usd = [
            round(min(nodes, found.by_type.get(name, nodes)) * price, 4)
            for name, price in (prices or {}).items()
        ]
        return {
            "nodes": nodes,
            "shares": dict(shares(nodes)),
            "usdPerHour": max(usd, default=None),
        }

    most = None if found.most is None else at(found.most)
    if most is not None and len({*found.by_type.values()}) > 1:
        most["nodesByType"] = dict(found.by_type)
    between: dict[str, Any] = {}
    if found.scheduled:
        hours = {"hoursPerWeek": found.hours_per_week}
        between["scheduled"] = {**at(found.scheduled), **hours}
    return {
        "by": found.by,
        "static": found.static,
        "min": at(found.least),
        **between,
        "max": most,
    }


def _windows(pool: Pool) -> frozenset[ZonedWindow]:
    """When the warm room is there; none where it always is."""
    if pool.warm is None or not pool.warm.schedule:
        return frozenset()
    from eks_gpushare.sharing.schedules import zoned

    return zoned(pool.warm.schedule)


def _warm(pool: Pool, nodes: Mapping[str, Mapping[str, int]], resource: str) -> int:
    """Nodes that the warm room keeps: those it names, or what its shares need."""
    if pool.warm is None:
        return 0
    on_a_node = max((node.get(resource, 0) for node in nodes.values()), default=0)
    for_shares = -(-(pool.warm.shares or 0) // on_a_node) if on_a_node else 0
    return max(pool.warm.nodes or 0, for_shares)


def _most_within_limits(
    pool: Pool, nodes: Mapping[str, Mapping[str, int]], catalog: Catalog
) -> dict[str, int]:
    """Nodes that fit under a NodePool's limits, if all are of one type, by that.

    None are told where nothing limits those of some type.

    Karpenter launches no node with which the sum of any limited resource would be above its limit;
    a resource that nodes do not have limits nothing.
    """
    gpus = {
        kind: {name: count for name, count in node.items() if name != EFA}
        for kind, node in nodes.items()
    }
    limits, counts = limits_by_type(pool, gpus), dict[str, int]()
    for kind, node in gpus.items():
        has = {**_machine(kind, catalog), **node}
        fits = [
            int(amount // Fraction(has[resource]))
            for resource, given in limits.items()
            if has.get(resource) and (amount := quantity(given)) is not None
        ]
        if not fits:
            return {}
        counts[kind] = min(fits)
    return counts


def _machine(name: str, catalog: Catalog) -> dict[str, float]:
    """CPU cores and bytes of memory, as Karpenter counts them before a node is there."""
    found = catalog.find(name)
    if found is None:
        return {}
    return {"cpu": found.vcpus, "memory": found.memory_mib * _MIB * _SEEN_BY_KARPENTER}
