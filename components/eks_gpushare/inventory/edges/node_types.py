"""The instance types of one node group: with GPUs all, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.facts.index import rule_of
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.nodes import CATALOG
from eks_gpushare.inventory.problem import Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.wording import at_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

MIXED = rule_of("GPU1183")
_GROUPS = ("managed", "selfManaged")
"""Karpenter chooses the type by what pods ask for."""


@edge(MIXED)
def alike(inventory: Inventory) -> Iterator[Judgement]:
    """Of types that the catalog knows."""
    for nodes in inventory.of(NodeSet):
        if nodes.provisioner not in _GROUPS or nodes.instance_types is UNKNOWN:
            continue
        known = {
            str(name): found
            for name in nodes.instance_types
            if (found := CATALOG.find(str(name))) is not None
        }
        having = [name for name, found in known.items() if found.gpu_count]
        lacking = [name for name, found in known.items() if not found.gpu_count]
        if having and lacking:
            yield Problem(
                MIXED,
                nodes.source,
                (),
                f"{at_start(nodes.source.name)} has types with GPUs ({', '.join(having)}) and "
                f"without ({', '.join(lacking)}).",
                f"Take {' and '.join(lacking)} out, or make a node group of their own for them.",
            )
