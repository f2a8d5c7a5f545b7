"""Amounts of GPUs that pods ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import GPU, PRESENT, codes, nodes, plugin, pods, problems

from eks_gpushare.inventory.edges import amounts
from eks_gpushare.inventory.problem import Edit
from eks_gpushare.inventory.source import UNKNOWN

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

SHARED = f"{GPU}.shared"
MIG = "nvidia.com/mig-1g.5gb"
POOL = nodes("g5.12xlarge", labels=PRESENT)


def sliced(**more: Any) -> Item:
    block = {"resources": [{"name": GPU, "replicas": 4}], **more}
    return plugin({"config": {"map": {"default": {"sharing": {"timeSlicing": block}}}}})


def shared_by_mps() -> Item:
    document = {"sharing": {"mps": {"resources": [{"name": "gpu", "replicas": 3}]}}}
    return plugin({"gfd": {"enabled": True}, "config": {"map": {"a": document}}})


def container(kind: str, count: int, **more: Any) -> dict[str, Any]:
    return {"name": kind, "resources": {"limits": {GPU: count}}, **more}


WRONG_AMOUNTS = [
    pods({GPU: 0.5}),
    pods({GPU: "500m"}),
    pods({GPU: "half"}),
    pods({GPU: -1}),
    pods({GPU: True}),
    pods({GPU: 1}, {GPU: 2}),
    pods({GPU: 2}, {GPU: 1}),
    pods({}, {GPU: 1}),
    pods({}, {MIG: "1"}),
    pods({SHARED: "0.25"}),
]
RIGHT_AMOUNTS = [
    pods({GPU: 1}),
    pods({GPU: "1"}),
    pods({GPU: "1"}, {GPU: 1}),
    pods({GPU: 1.0}),
    pods({GPU: "1e0"}),
    pods({GPU: 0}),
    pods({GPU: UNKNOWN}),
    pods({GPU: 1}, {"cpu": "500m"}),
    pods({"cpu": 0.5}),
    pods({"example.com/fpga": 0.5}),
]


@pytest.mark.parametrize("pod", WRONG_AMOUNTS)
def test_amounts_that_the_api_server_refuses_are_found(pod: Item) -> None:
    assert codes(pod, complete=False) == ["GPU1114"]


@pytest.mark.parametrize("pod", RIGHT_AMOUNTS)
def test_amounts_that_it_takes_are_not(pod: Item) -> None:
    assert codes(pod, complete=False) == []


def test_the_limit_that_is_missing_is_written() -> None:
    (found,) = problems(pods({}, {GPU: 2}), complete=False)

    place = ("spec", "template", "spec", "containers", 0, "resources", "limits", GPU)
    assert found.edits == (Edit("set", place, 2),)


@pytest.mark.parametrize(
    ("config", "pod", "severity"),
    [
        (sliced(failRequestsGreaterThanOne=True), pods({GPU: 2}), None),
        (sliced(), pods({GPU: 2}), "warning"),
        (sliced(renameByDefault=True), pods({SHARED: 3}), "warning"),
        (
            shared_by_mps(),
            pods({GPU: 2}),
            None,
        ),
    ],
)
def test_several_shares_are_found(config: Item, pod: Item, severity: str | None) -> None:
    (found,) = problems(POOL, config, pod)

    assert (found.rule, found.severity) == (amounts.SEVERAL_SHARES, severity)


def test_the_name_of_a_share_tells_without_any_pool() -> None:
    (found,) = problems(pods({SHARED: 2}), complete=False)

    assert (found.rule, found.severity) == (amounts.SEVERAL_SHARES, "warning")


def test_several_whole_gpus_are_no_shares() -> None:
    assert codes(POOL, plugin(), pods({GPU: 4})) == []
    assert codes(POOL, sliced(), pods({GPU: 1})) == []
    assert codes(pods({GPU: 4}), complete=False) == []


def test_more_than_a_node_has_is_found() -> None:
    assert codes(POOL, plugin(), pods({GPU: 5})) == ["GPU1115"]
    assert (
        codes(POOL, nodes("p4d.24xlarge", name="b", labels=PRESENT), plugin(), pods({GPU: 5})) == []
    )
    assert codes(nodes(labels=PRESENT), plugin(), pods({GPU: 2})) == ["GPU1115"]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"containers": [container("a", 2), container("b", 2)]}, []),
        ({"containers": [container("a", 3), container("b", 2)]}, ["GPU1115"]),
        ({"containers": [container("a", 4)], "initContainers": [container("b", 4)]}, []),
        ({"containers": [container("a", 1)], "initContainers": [container("b", 5)]}, ["GPU1115"]),
        (
            {
                "containers": [container("a", 3)],
                "initContainers": [container("b", 2, restartPolicy="Always")],
            },
            ["GPU1115"],
        ),
    ],
)
def test_containers_of_a_pod_count_together(spec: dict[str, Any], found: list[str]) -> None:
    assert codes(POOL, plugin(), pods(spec=spec)) == found


def test_more_shares_than_a_node_has_are_found_in_containers_of_one_each() -> None:
    spec = {"containers": [container(str(number), 1) for number in range(17)]}

    assert codes(POOL, sliced(), pods(spec=spec)) == ["GPU1115"]
    spec["containers"].pop()
    assert codes(POOL, sliced(), pods(spec=spec)) == []
