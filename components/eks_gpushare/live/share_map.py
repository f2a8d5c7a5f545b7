"""A verdict as a map of shares: which node has how many, and whose pods hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.findings.pages import page_of
from eks_gpushare.reports.share_map import (
    HeldShares,
    MapCause,
    MapNode,
    MapPool,
    MapShares,
    ShareMap,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.live.faults import Cause
    from eks_gpushare.live.nodes import LiveNode
    from eks_gpushare.live.verdict import ClusterVerdict

_REGION_LABEL: Final = "topology.kubernetes.io/region"


def share_map_of(verdict: ClusterVerdict) -> ShareMap:
    """The map of a cluster; which GPU of its node a pod is on, no API says."""
    pools: dict[str, list[LiveNode]] = {row.pool: [] for row in verdict.pools}
    for node in verdict.nodes:
        pools.setdefault(node.pool, []).append(node)
    wrong = sum(cause.fault.finding.severity == "error" for cause in verdict.causes)
    said = "as declared" if verdict.stack else "nothing is wrong"
    if wrong:
        said = f"{wrong} cause{'' if wrong == 1 else 's'} of errors"
    return ShareMap(
        "GPU shares",
        verdict.stack or verdict.whence,
        f"{verdict.whence}, read at {verdict.at:%Y-%m-%d %H:%M:%S} UTC",
        said + (" as far as is known" if verdict.unknown else ""),
        tuple(
            MapPool(name, tuple(_folded(_node(node, verdict.declared) for node in nodes)))
            for name, nodes in pools.items()
        ),
        tuple(_cause(cause) for cause in verdict.causes),
        tuple(f"{kind}: {why}" for kind, why in verdict.unknown.items()),
    )


def _node(node: LiveNode, declared: Mapping[str, Mapping[str, int]]) -> MapNode:
    expected = declared.get(node.name)
    resources = sorted({*node.advertised, *node.used, *(expected or ())})
    return MapNode(
        (node.name,),
        node.type_name,
        None if node.type is None else node.type.gpu_count,
        None if node.type is None else node.type.price(node.labels.get(_REGION_LABEL, "")),
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


def _cause(cause: Cause) -> MapCause:
    finding = cause.fault.finding
    return MapCause(
        finding.severity,
        finding.code,
        page_of(finding.code),
        finding.path,
        finding.message,
        finding.fix,
        cause.fault.evidence,
        tuple(fault.in_short or fault.finding.message for fault in cause.follows),
    )
