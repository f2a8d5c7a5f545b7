"""The nodes of a stack: those that were made with it, and those that have joined since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare_lab.install.nodes import LabNode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.scaling import Scaling


def nodes_now(made: Sequence[LabNode], scaling: Scaling, there: Sequence[Object]) -> list[LabNode]:
    """The nodes of the stack without those that have gone, and with those that were launched.

    Args:
        made: those that the lab made with the stack.
        scaling: what came and went of nodes.
        there: all nodes of the cluster.
    """
    known = {node.name for node in made}
    names = {node["metadata"]["name"] for node in there}
    gone = {record.name for record in scaling.history.records if record.gone} - names
    others = (node for node in there if node["metadata"]["name"] not in known)
    joined = (_launched(scaling, node) for node in others)
    return [
        *(node for node in made if node.name not in gone),
        *(node for node in joined if node is not None),
    ]


def _launched(scaling: Scaling, node: Object) -> LabNode | None:
    """A node that joined by itself, if it is of one of the stack's GPU pools."""
    name = node["metadata"]["name"]
    record = scaling.history.record_of(name)
    pool = scaling.pools.get(record.pool) if record is not None else None
    if record is None or pool is None:
        return None
    declared = pool.per_node.get(record.instance_type, {})
    return LabNode(name, pool.name, record.instance_type, declared, node)
