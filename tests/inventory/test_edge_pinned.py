"""Pods that ask for no GPU and select nodes by labels are held against these nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import (
    ANY_GPU_TAINT,
    GPU,
    PRESENT,
    USUAL,
    nodes,
    plugin,
    pods,
    problems,
    said,
)

from eks_gpushare.inventory.edges import pinned
from eks_gpushare.inventory.items import PART_OF_POD
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

OURS = "eks-gpushare/pool"
TEAM = ("team", "ml", "NoSchedule")
POOL = nodes(taints=[USUAL], labels={**PRESENT, "pool": "gpu", OURS: "a"})
SYSTEM = nodes("m6i.large", name="system", labels={"pool": "system"})
NODE_POOL = nodes(
    name="karpenter", provisioner="karpenter", taints=[USUAL, TEAM], labels={**PRESENT, OURS: "b"}
)


def placed(selector: Any, *tolerations: dict[str, Any], **more: Any) -> Item:
    return pods({"cpu": 1}, nodeSelector=selector, tolerations=list(tolerations), **more)


BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "no toleration": ("GPU1118", (POOL, SYSTEM, plugin(), placed({"pool": "gpu"}))),
    "none at all": (
        "GPU1118",
        (POOL, plugin(), pods({"cpu": 1}, nodeSelector={OURS: "a"})),
    ),
    "of another effect": (
        "GPU1118",
        (POOL, plugin(), placed({OURS: "a"}, {**ANY_GPU_TAINT, "effect": "NoExecute"})),
    ),
    "of another key": (
        "GPU1118",
        (POOL, plugin(), placed({OURS: "a"}, {"key": "nvidia.com/gpus", "operator": "Exists"})),
    ),
    "of one taint of two": (
        "GPU1118",
        (NODE_POOL, plugin(), placed({OURS: "b"}, ANY_GPU_TAINT)),
    ),
    "a Job": ("GPU1118", (POOL, plugin(), placed({"pool": "gpu"}, kind="Job"))),
    "a node that somebody made has it too": (
        "GPU1118",
        (
            POOL,
            nodes("m6i.large", provisioner="byHand", labels={"pool": "gpu"}, taints=[TEAM]),
            plugin(),
            placed({"pool": "gpu"}),
        ),
    ),
    "a pool that is not there": (
        "GPU1118",
        (POOL, NODE_POOL, plugin(), placed({OURS: "c"}, ANY_GPU_TAINT)),
    ),
    "a label of ours that is misspelt": (
        "GPU1118",
        (POOL, plugin(), placed({"eks-gpushare/polo": "a"}, ANY_GPU_TAINT)),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "it tolerates the taint": (POOL, SYSTEM, plugin(), placed({"pool": "gpu"}, ANY_GPU_TAINT)),
    "it tolerates everything": (POOL, plugin(), placed({OURS: "a"}, {"operator": "Exists"})),
    "another pool": (POOL, SYSTEM, plugin(), placed({"pool": "system"})),
    "nothing is selected": (POOL, SYSTEM, plugin(), placed({})),
    "one node group of two": (
        POOL,
        nodes("m6i.large", name="b", labels={"pool": "gpu"}),
        plugin(),
        placed({"pool": "gpu"}),
    ),
    "a label of everybody": (POOL, plugin(), placed({"kubernetes.io/arch": "amd64"})),
    "a label of nodes elsewhere": (POOL, plugin(), placed({"role": "apps"})),
    "another value of it": (POOL, plugin(), placed({"pool": "apps"})),
    "a label beside one of AWS": (
        POOL,
        plugin(),
        placed({"pool": "gpu", "topology.kubernetes.io/zone": "us-west-2a"}, ANY_GPU_TAINT),
    ),
    "a taint that is taken off": (
        nodes(
            "m6i.large",
            taints=[("eks-gpushare/mig-layout", "pending", "NoSchedule")],
            labels={"pool": "a"},
        ),
        placed({"pool": "a"}),
    ),
    "a node that somebody made": (
        POOL,
        nodes("m6i.large", name="c", provisioner="byHand", labels={"pool": "gpu"}),
        plugin(),
        placed({"pool": "gpu"}),
    ),
    "a label of ours that a boot gives": (
        POOL,
        plugin(),
        placed({OURS: "a", "kubernetes.io/os": "linux"}, ANY_GPU_TAINT),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(name: str) -> None:
    code, items = BROKEN[name]

    assert [each.rule.id for each in problems(*items, of=[pinned.PINNED])] == [code]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not(name: str) -> None:
    assert said(pinned.pinned, *RIGHT[name]) == []


def test_what_keeps_them_off_is_named_and_added() -> None:
    (found,) = problems(NODE_POOL, placed({OURS: "b"}, ANY_GPU_TAINT), of=[pinned.PINNED])
    (bare,) = problems(
        POOL, pods({"cpu": 1}, nodeSelector={"pool": "gpu"}), complete=False, of=[pinned.PINNED]
    )

    place = ("spec", "template", "spec", "tolerations")
    assert found.message == (
        "The Deployment app selects nodes with eks-gpushare/pool=b and does not tolerate the taint "
        "team=ml:NoSchedule of the node group karpenter, which are such."
    )
    assert found.fix == "Add {key: team, operator: Exists, effect: NoSchedule} to its tolerations."
    missing = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}
    assert (found.path, found.severity) == (place, None)
    assert found.edits == (Edit("append", place, missing),)
    assert bare.severity == "warning"
    assert bare.edits == (Edit("set", place, [{**missing, "key": GPU}]),)


def test_the_pools_that_are_there_are_listed() -> None:
    (found,) = problems(POOL, NODE_POOL, placed({OURS: "c"}), of=[pinned.PINNED])

    assert found.path == ("spec", "template", "spec", "nodeSelector", OURS)
    assert found.message == (
        "The Deployment app selects nodes with eks-gpushare/pool=c, and none has that label; "
        "eks-gpushare/pool is one of a, b."
    )


@pytest.mark.parametrize(
    "items",
    [
        # Of files, pools may stand in others.
        (POOL, placed({OURS: "c"}, ANY_GPU_TAINT)),
        (SYSTEM, placed({OURS: "c"})),
    ],
)
def test_of_files_a_pool_may_be_in_others(items: tuple[Item, ...]) -> None:
    assert said(pinned.pinned, *items, complete=False) == []


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ((POOL, placed(UNKNOWN)), ["?GPU1118"]),
        ((POOL, placed({"pool": UNKNOWN})), ["?GPU1118"]),
        ((POOL, pods({"cpu": 1}, nodeSelector={"pool": "gpu"}, tolerations=UNKNOWN)), ["?GPU1118"]),
        ((POOL, pods(spec=UNKNOWN)), []),
        ((nodes(taints=UNKNOWN, labels={"pool": "gpu"}), placed({"pool": "gpu"})), []),
        ((nodes(taints=[USUAL], labels=UNKNOWN), placed({"pool": "gpu"})), []),
        ((nodes(labels=UNKNOWN), POOL, placed({OURS: "c"})), []),
        (
            (POOL, nodes("m6i.large", name="b", labels=UNKNOWN), placed({"pool": "gpu"})),
            ["?GPU1118"],
        ),
        (
            (POOL, nodes(name="b", taints=[TEAM], labels=UNKNOWN), placed({"pool": "gpu"})),
            ["GPU1118"],
        ),
        ((POOL, pods(spec={"nodeSelector": {"pool": "gpu"}, "containers": UNKNOWN})), []),
        ((SYSTEM, placed({OURS: "c"})), []),
        ((POOL, placed({"pool": "gpu"}, nodeName="here")), []),
        ((POOL, placed({"pool": "gpu"}, kind="DaemonSet")), []),
        ((POOL, placed({"pool": "gpu"}, kind=PART_OF_POD)), []),
        # Held against what nodes advertise, by another check.
        ((POOL, pods({GPU: 1}, nodeSelector={"pool": "gpu"})), []),
        ((placed({OURS: "c"}),), []),
    ],
)
def test_what_is_not_known_or_said_elsewhere(items: tuple[Item, ...], found: list[str]) -> None:
    assert [code for code, _ in said(pinned.pinned, *items)] == found
