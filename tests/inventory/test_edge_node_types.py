"""Types of one node group have GPUs all, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from inventory_of import PRESENT, nodes, plugin, problems, said

from eks_gpushare.inventory.edges import node_types
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "one of two": ("GPU1183", (nodes("g6.xlarge", "m6i.large", labels=PRESENT), plugin())),
    "of one's own group": (
        "GPU1183",
        (nodes("c7i.large", "p4d.24xlarge", provisioner="selfManaged", labels=PRESENT), plugin()),
    ),
    "beside a type of no catalog": (
        "GPU1183",
        (nodes("g6.xlarge", "x99.large", "m6i.large", labels=PRESENT), plugin()),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "GPUs all": (nodes("g6.xlarge", "g5.xlarge", labels=PRESENT), plugin()),
    "none": (nodes("m6i.large", "c7i.large"),),
    "one": (nodes("g6.xlarge", labels=PRESENT), plugin()),
    "a type of no catalog": (nodes("g6.xlarge", "x99.large", labels=PRESENT), plugin()),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(name: str) -> None:
    code, items = BROKEN[name]

    assert [each.rule.id for each in problems(*items, of=[node_types.MIXED])] == [code]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not(name: str) -> None:
    assert said(node_types.alike, *RIGHT[name]) == []


def test_both_kinds_are_listed() -> None:
    (found,) = problems(
        nodes("g6.xlarge", "m6i.large", "g5.xlarge", "c7i.large"), of=[node_types.MIXED]
    )

    assert found.message == (
        "The node group gpu has types with GPUs (g6.xlarge, g5.xlarge) and without (m6i.large, "
        "c7i.large)."
    )
    assert found.fix == (
        "Take m6i.large and c7i.large out, or make a node group of their own for them."
    )


@pytest.mark.parametrize(
    "item",
    [
        # Karpenter takes the type that has what pods ask for.
        nodes("g6.xlarge", "m6i.large", provisioner="karpenter"),
        nodes("g6.xlarge", "m6i.large", provisioner="byHand"),
        nodes(instance_types=UNKNOWN),
        nodes(instance_types=()),
    ],
)
def test_who_chooses_by_the_pod_may_have_both(item: Item) -> None:
    assert said(node_types.alike, item) == []
