"""Nodes of a running cluster as a map of shares has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.reports.share_map import HeldShares, MapNode, MapPool, MapShares

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.live.nodes import LiveNode


def drawn_pools(
    names: Iterable[str], nodes: Sequence[LiveNode], declared: Mapping[str, Mapping[str, int]]
) -> Iterator[MapPool]:
    """Pools with their nodes; which GPU of its node a pod is on, no API says.

    Args:
        names: Of the pools, those without a node among them.
        nodes: All their nodes.
        declared: What the stack says that each node advertises, by its name and resource.
    """
    for name in names:
        of_pool = (_node(node, declared) for node in nodes if node.pool == name)
        yield MapPool(name, tuple(_folded(of_pool)))


def _node(node: LiveNode, declared: Mapping[str, Mapping[str, int]]) -> MapNode:
    expected = declared.get(node.name)
    resources = sorted({*node.advertised, *node.used, *(expected or ())})
    return MapNode(
        (node.name,),
        node.type_name,
        None if node.type is None else node.type.gpu_count,
        node.usd_per_hour,
        tuple(
            MapShares(
                resource,
                node.advertised.get(resource, 0),
                None if expected is None else expected.get(resource, 0),
                tuple(
                    HeldShares(str(holder.owner), holder.pod, holder.shares)
                    for holder in node.holders
                    if holder.resource == resource
                ),
            )
            for resource in resources
        ),
        ", ".join(_state(node)),
    )


def _state(node: LiveNode) -> Iterator[str]:
    if not node.is_ready:
        yield "not ready"
    if node.is_cordoned:
        yield "cordoned"


def _folded(nodes: Iterable[MapNode]) -> Iterator[MapNode]:
    """Nodes that are alike and hold no pod, as one."""
    alike: dict[object, list[MapNode]] = {}
    for number, node in enumerate(nodes):
        key = node.type_name, node.usd_per_hour, node.shares, node.state
        held = any(shares.held for shares in node.shares)
        alike.setdefault(number if held else key, []).append(node)
    for group in alike.values():
        names = tuple(name for node in group for name in node.names)
        first = group[0]
        yield MapNode(
            names, first.type_name, first.gpus, first.usd_per_hour, first.shares, first.state
        )
