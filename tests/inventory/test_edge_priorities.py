"""Priorities of pods with GPUs, and of what hands GPUs out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, daemon_set, nodes, plugin, pods, problems

from eks_gpushare.inventory.edges.priorities import ABOVE_DAEMONS, NOT_TAKEN
from eks_gpushare.inventory.items import Pointer
from eks_gpushare.inventory.source import UNKNOWN, Source

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

RULES = (NOT_TAKEN, ABOVE_DAEMONS)
PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"


def priority(name: Any = "urgent", value: Any = 1000, **more: Any) -> Pointer:
    spec = {"value": value, **more}
    return Pointer(
        source=Source(f"the PriorityClass {name}"), kind="PriorityClass", name=name, spec=spec
    )


def work(named: Any = "urgent", **spec: Any) -> Item:
    containers = [{"name": "main", "resources": {"limits": {GPU: 1}}}]
    return pods(name="train", spec={"containers": containers, "priorityClassName": named, **spec})


def written(**spec: Any) -> Item:
    return daemon_set(PLUGIN, **spec)


THERE = (nodes(), written())
BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    "a value of the system's": ("GPU1270", (priority(value=2_000_000_000),)),
    "one too many": ("GPU1270", (priority(value=1_000_000_001),)),
    "a name of the system's": ("GPU1270", (priority("system-gpu"),)),
    "above a plugin without a class": ("GPU1271", (*THERE, priority(), work())),
    "a class of the system's above it": ("GPU1271", (*THERE, work("system-cluster-critical"))),
    "above a plugin with one that is lower": (
        "GPU1271",
        (nodes(), written(priorityClassName="low"), priority("low", 10), priority(), work()),
    ),
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "the highest that there may be": (priority(value=1_000_000_000),),
    "a name that is not known": (priority(UNKNOWN, 2_000_000),),
    "the system's own": (priority("system-node-critical", 2_000_001_000),),
    "the plugin is critical": (
        *(nodes(), written(priorityClassName="system-node-critical")),
        *(priority(), work(), work("system-cluster-critical")),
    ),
    "it pushes nobody aside": (*THERE, priority(preemptionPolicy="Never"), work()),
    "nor by the pod's own word": (*THERE, priority(), work(preemptionPolicy="Never")),
    "the system's, which pushes nobody aside": (
        *THERE,
        work("system-cluster-critical", preemptionPolicy="Never"),
    ),
    "both have none": (*THERE, work(None)),
    "a class that is not here": (*THERE, work("other")),
    "the chart's plugin": (nodes(labels=PRESENT), plugin(), priority(), work()),
    "a class for everybody": (
        *THERE,
        priority("all", 5000, globalDefault=True),
        priority(),
        work(),
    ),
    "not known which": (*THERE, priority(), work(UNKNOWN)),
    "not known how much": (*THERE, priority(value=UNKNOWN), work()),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_would_be_refused_or_push_aside_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert [each.rule.id for each in problems(*items, of=RULES)] == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_what_keeps_its_place_is_not(case: str) -> None:
    assert [each.message for each in problems(*RIGHT[case], of=RULES)] == []


def test_messages_name_both_priorities() -> None:
    said = [
        f"{each.message} {each.fix}"
        for items in ((*THERE, priority(), work()), (priority(value=2_000_000_000),))
        for each in problems(*items, of=RULES)
    ]

    assert said == [
        (
            "The Deployment train has the class urgent with the priority 1000, and the device "
            "plugin of the DaemonSet daemon 0 with no class: where a node is full, the device "
            "plugin gives way to it, and the node's GPUs go with it. Write `priorityClassName: "
            "system-node-critical` in the DaemonSet daemon, or `preemptionPolicy: Never` in the "
            "class urgent."
        ),
        (
            "The PriorityClass urgent has the value 2000000000, and 1000000000 is the highest "
            "that there may be: the API server refuses it. Lower it to 1000000000 or less."
        ),
    ]


def test_of_several_plugins_it_is_not_known_which_one_gives_way() -> None:
    other = written(priorityClassName="system-node-critical")

    assert problems(*THERE, other, priority(), work(), of=RULES) == []
