"""Nodes that nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.live import rules
from eks_gpushare.live.faults import ClusterFault, Link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.live.nodes import LiveNode

_IDLE_SECONDS: Final = 15 * 60.0


def idle_faults(nodes: Sequence[LiveNode]) -> Iterator[ClusterFault]:
    """Nodes on which nobody uses a GPU, by pool, with what they cost."""
    pools: dict[str, list[LiveNode]] = {}
    for node in nodes:
        is_old = node.age is None or node.age > _IDLE_SECONDS
        if node.is_ready and is_old and not (node.used or node.is_leaving or node.is_spare):
            pools.setdefault(node.pool, []).append(node)
    for name, idle in pools.items():
        count = len(idle)
        finding = rules.IDLE.finding(
            ("pools", name),
            f"{name}: {count} node{'' if count == 1 else 's'} of {idle[0].type_name} "
            f"ha{'s' if count == 1 else 've'} no pod that uses a GPU{_price(idle)}.",
            "Let an autoscaler take them away, or declare fewer.",
        )
        yield ClusterFault(finding, Link.PODS, is_cause_only=True)


def _price(nodes: Sequence[LiveNode]) -> str:
    """What nodes cost by the hour, by AWS's list; empty where it is not known."""
    prices = [node.usd_per_hour for node in nodes]
    known = [price for price in prices if price is not None]
    return f", at {sum(known):.2f} USD an hour by list" if len(known) == len(prices) else ""
