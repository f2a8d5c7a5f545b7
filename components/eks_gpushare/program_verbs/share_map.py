"""A preview as a map of shares: the nodes that are kept, and the stack's pods on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.reports.share_map import (
    HeldShares,
    MapNode,
    MapPool,
    MapShares,
    ShareMap,
    map_cause,
)
from eks_gpushare.sharing.workloads import pools_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.config.workloads import Workload
    from eks_gpushare.program.preview import Preview


def share_map_of(previewed: Preview) -> ShareMap:
    """The map of what will be, with as many pods of each workload as there are at the least."""
    nodes = {name: _Nodes(pool) for name, pool in previewed.pools.items()}
    environment = previewed.report.environment
    workloads = (environment.workloads if environment is not None else None) or {}
    notes = tuple(_placed(nodes, workloads))
    return ShareMap(
        "GPU shares to come",
        previewed.stack,
        "",
        "with the nodes that are kept when nobody asks for more" if previewed.ok else "refused",
        tuple(MapPool(name, tuple(each.drawn())) for name, each in nodes.items()),
        tuple(map(map_cause, previewed.findings)),
        notes,
    )


class _Nodes:
    """The nodes of a pool that are kept, of its smallest type where types differ."""

    def __init__(self, pool: Mapping[str, Any]) -> None:
        each: Mapping[str, Mapping[str, int]] = pool["perNode"]
        resources = dict.fromkeys(name for counts in each.values() for name in counts)
        self.per_node = {
            name: min(counts.get(name, 0) for counts in each.values()) for name in resources
        }
        kept = [
            pool["atDesired"].get(name, 0) // count
            for name, count in self.per_node.items()
            if count
        ]
        self.count = max(kept, default=0)
        self.request: Mapping[str, int] = pool["request"]
        self.types = ", ".join(pool["instanceTypes"])
        gpus = {*pool["gpusPerNode"].values()}
        self._gpus = gpus.pop() if len(gpus) == 1 else None
        cost = (pool["usdPerHour"] or {}).get("atDesired")
        self._price = cost / self.count if cost is not None and self.count else None
        self.held: list[list[tuple[str, HeldShares]]] = [[] for _ in range(self.count)]

    def takes(self, resource: str, owner: str, shares: int) -> bool:
        """Put a pod on the first node that has room for it, if one has."""
        for held in self.held:
            used = sum(one.shares for name, one in held if name == resource)
            if used + shares <= self.per_node.get(resource, 0):
                held.append((resource, HeldShares(owner, "", shares)))
                return True
        return False

    def drawn(self) -> Iterator[MapNode]:
        """Nodes that are alike as one."""
        alike: dict[tuple[MapShares, ...], list[str]] = {}
        for number, held in enumerate(self.held, 1):
            shares = tuple(
                MapShares(name, count, count, tuple(one for of, one in held if of == name))
                for name, count in self.per_node.items()
                if count
            )
            alike.setdefault(shares, []).append(f"node {number}")
        for shares, names in alike.items():
            yield MapNode(tuple(names), self.types, self._gpus, self._price, shares)


def _placed(nodes: Mapping[str, _Nodes], workloads: Mapping[str, Workload]) -> Iterator[str]:
    """Place the pods of workloads, and say which find no share."""
    for name, workload in workloads.items():
        pools = [nodes[pool] for pool in pools_of(workload) if pool in nodes]
        if not pools:
            continue
        resource = workload.share or next(iter(pools[0].request))
        owner = f"{workload.namespace}/{name}"
        wanted = workload.replicas.min
        placed = sum(
            any(pool.takes(resource, owner, workload.shares) for pool in pools)
            for _ in range(wanted)
        )
        if placed < wanted:
            yield f"{owner}: {wanted - placed} of {wanted} pods find no share on the nodes kept"
