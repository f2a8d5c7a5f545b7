"""Karpenter is told of what its nodes register with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import codes, nodes, problems

from eks_gpushare.inventory.booted import booted
from eks_gpushare.inventory.items import NodeTaint

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

TAINT = "echo --register-with-taints=team=ml:NoSchedule"
LABEL = "echo --node-labels=tier=gold"


def pool(user_data: str, provisioner: str = "karpenter", **more: Any) -> Item:
    """Nodes as they are once they have registered."""
    (made,) = booted([nodes("m5.large", provisioner=provisioner, user_data=user_data, **more)])
    return made


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "a taint": ("GPU1144", (pool(TAINT),)),
    "a taint of another effect": (
        "GPU1144",
        (pool(TAINT, taints=(("team", "ml", "NoExecute"),)),),
    ),
    "a label": ("GPU1145", (pool(LABEL),)),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "a taint of the pool": (pool(TAINT, taints=(("team", "ml", "NoSchedule"),)),),
    "a startup taint": (pool(TAINT, startup_taints=(NodeTaint("team", "ml", "NoSchedule"),)),),
    "a label of the pool": (pool(LABEL, labels={"tier": "silver"}),),
    "a node group, which EKS launches as it is": (
        pool(f"{TAINT}\n{LABEL}", "managed"),
        pool(f"{TAINT}\n{LABEL}", "selfManaged", name="own", ami="ami-0123456789abcdef0"),
    ),
    "taints that say where a node is on its way": (
        pool("echo --register-with-taints=karpenter.sh/unregistered:NoExecute"),
    ),
    "labels of the kubelet and of feature discovery": (
        pool("echo --node-labels=node.kubernetes.io/lifecycle=spot,nvidia.com/gpu.present=true"),
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_it_is_not_told_of_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_what_it_knows_is_not(case: str) -> None:
    assert codes(*RIGHT[case]) == []


def test_the_message_names_pool_and_taint() -> None:
    (found,) = problems(pool(TAINT))

    assert found.message == (
        "The node group gpu has nodes that register with the taint team=ml:NoSchedule, by their "
        "user data, and the NodePool has none such."
    )
