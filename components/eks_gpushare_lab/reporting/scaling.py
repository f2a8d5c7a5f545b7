"""What came and went of each GPU pool's nodes, and what it costs, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog
from eks_gpushare.live.pods import used_by_node
from eks_gpushare_lab.observing.node_history import GPU_PREFIX
from eks_gpushare_lab.reporting.autoscaler_words import why_not
from eks_gpushare_lab.reporting.comparing import advertised_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare_lab.install.nodes import LabNode
    from eks_gpushare_lab.observing.node_history import NodeRecord
    from eks_gpushare_lab.session import Session

_LISTED = ("on-demand", "reserved")
"""What is billed at the listed price: a reservation is so, used or not."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One machine of a run."""

    name: str
    """Name of its node; of its NodeClaim where none has joined."""
    instance_type: str
    """Instance type."""
    zone: str
    """Availability zone, or `""`."""
    capacity_type: str
    """on-demand, spot, reserved or capacity-block."""
    launched: float | None
    """Seconds after the stack was there; None for one that was launched and never joined."""
    ready: float | None
    """Seconds until its shares were there; None if they never were."""
    removed: float | None
    """Seconds until it had gone; None for one that is there."""
    usd: float | None
    """USD per hour; None where no price is listed."""
    advertised: Mapping[str, int]
    """What it gives out, or gave out last."""

    def as_json(self) -> dict[str, Any]:
        """The machine as JSON data."""
        return {
            "name": self.name,
            "instanceType": self.instance_type,
            "zone": self.zone,
            "capacityType": self.capacity_type,
            "launchedAfterSeconds": self.launched,
            "readyAfterSeconds": self.ready,
            "removedAfterSeconds": self.removed,
            "usdPerHour": self.usd,
            "advertised": dict(self.advertised),
        }


@dataclass(frozen=True, slots=True)
class PoolReport:
    """The nodes of one GPU pool in a run."""

    name: str
    """Its name."""
    nodes: Sequence[NodeReport] = ()
    """Every machine, in the order in which they came."""
    declared: Mapping[str, int] = field(default_factory=dict)
    """What the nodes that are there are to advertise together."""
    advertised: Mapping[str, int] = field(default_factory=dict)
    """What they advertise together."""
    used: int = 0
    """Shares that pods have asked for."""
    scaled_by: str = ""
    """Which autoscaler scales it, or `""`."""
    most: int = 0
    """The most nodes that there were at once."""
    least_possible: int = 0
    """The fewest that the pods could have done with, when they were most."""
    why_not: Sequence[str] = ()
    """Why there are no more, in the words of the autoscaler."""
    usd: float | None = 0.0
    """USD per hour of the nodes that are there; None where a price is not known."""

    @property
    def now(self) -> list[NodeReport]:
        """The machines that are there."""
        return [node for node in self.nodes if node.removed is None]

    @property
    def usd_at_most(self) -> float | None:
        """USD per hour when it was most; None where a price is not known."""
        if any(node.usd is None for node in self.nodes):
            return None
        came = [(node.launched or 0.0, 1, node.usd or 0.0) for node in self.nodes]
        # Of what comes and goes at one time, what goes is first: one node took the other's place.
        went = [(n.removed, 0, -(n.usd or 0.0)) for n in self.nodes if n.removed is not None]
        sums = accumulate(usd for _, _, usd in sorted([*came, *went]))
        return round(max(sums, default=0.0), 4)

    def usd_per_share(self) -> dict[str, float | None]:
        """USD per hour of one share that is there, and of one that is used."""
        shares = {
            "advertised": sum(n for name, n in self.advertised.items() if _is_gpu(name)),
            "used": self.used,
        }
        return {
            name: round(self.usd / count, 6) if self.usd is not None and count else None
            for name, count in shares.items()
        }

    def as_json(self) -> dict[str, Any]:
        """The pool as JSON data; `scaling` is there where an autoscaler scales it."""
        scaling = {
            "by": self.scaled_by,
            "launched": len(self.nodes),
            "removed": len(self.nodes) - len(self.now),
            "now": len(self.now),
            "mostAtOnce": self.most,
            "leastPossible": self.least_possible,
            "usdPerHourAtMost": self.usd_at_most,
            "whyNot": list(self.why_not),
        }
        return {
            "nodes": [node.as_json() for node in self.nodes],
            "declared": dict(self.declared),
            "advertised": dict(self.advertised),
            "usdPerHour": self.usd,
            "usdPerShareHour": self.usd_per_share(),
            **({"scaling": scaling} if self.scaled_by else {}),
        }


def pool_reports(session: Session) -> dict[str, PoolReport]:
    """Every GPU pool of the stack, those without a node among them."""
    nodes: dict[str, list[LabNode]] = {pool.name: [] for pool in session.scaling.scaled}
    for node in session.nodes:
        if node.declared:
            nodes.setdefault(node.pool, []).append(node)
    used = used_by_node(session.watches.pods.all())
    return {name: _report(session, name, there, used) for name, there in nodes.items()}


def _report(
    session: Session, name: str, there: Sequence[LabNode], used: Mapping[str, Counter[str]]
) -> PoolReport:
    scaling = session.scaling
    records = scaling.history.of_pool(name)
    joined = {record.name for record in records}
    declared: Counter[str] = Counter()
    advertised: Counter[str] = Counter()
    shares = 0
    for node in there:
        declared.update(node.declared)
        advertised.update(advertised_by(session.watches.nodes.get(node.name)))
        shares += sum(used.get(node.name, Counter()).values())
    pool = scaling.pools.get(name)
    nodes = (
        *(_of_record(record, scaling.began) for record in records),
        *(_never_joined(node) for node in there if node.name not in joined),
    )
    return PoolReport(
        name,
        nodes,
        dict(declared),
        dict(advertised),
        shares,
        pool.scaled_by if pool is not None else "",
        scaling.history.peaks[name],
        scaling.needed[name],
        tuple(why_not(session, pool)) if pool is not None and pool.scaled_by else (),
        _sum([node.usd for node in nodes if node.removed is None]),
    )


def _of_record(record: NodeRecord, began: float) -> NodeReport:
    return NodeReport(
        record.name,
        record.instance_type,
        record.zone,
        record.capacity_type,
        _seconds(record.launched, began),
        _seconds(record.ready, began),
        _seconds(record.removed, began),
        price_of(record.instance_type, record.region, record.capacity_type),
        record.advertised,
    )


def _never_joined(node: LabNode) -> NodeReport:
    """A machine of the stack that stopped while it booted."""
    labels = node.object["metadata"].get("labels") or {}
    region = labels.get("topology.kubernetes.io/region", "")
    zone = labels.get("topology.kubernetes.io/zone", "")
    usd = price_of(node.instance_type, region, "on-demand")
    return NodeReport(node.name, node.instance_type, zone, "on-demand", None, None, None, usd, {})


def price_of(instance_type: str, region: str, capacity_type: str) -> float | None:
    """USD per hour of an instance; None where no price is listed: spot, capacity blocks."""
    found = Catalog().find(instance_type) if capacity_type in _LISTED else None
    return found.price(region) if found is not None else None


def _seconds(at: float | None, began: float) -> float | None:
    """Seconds after the stack was there; what came with it is there from the start."""
    return None if at is None else round(max(0.0, at - began), 1)


def _sum(prices: Sequence[float | None]) -> float | None:
    known = [price for price in prices if price is not None]
    return round(sum(known), 4) if len(known) == len(prices) else None


def _is_gpu(resource: str) -> bool:
    return resource.startswith(GPU_PREFIX)
