"""Broken agreements between an autoscaler and the nodes of its pool, and right ones like them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.scaling_by_hand import (
    GPU,
    SHARED,
    YES,
    Lab,
    claim,
    group,
    karpenter,
    karpenter_lab,
    overlay,
)

from eks_gpushare_lab.observing.autoscalers import AUTOSCALER, KARPENTER
from eks_gpushare_lab.observing.declared_pools import DeclaredPool
from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.reporting.agreements import agreement_findings, expected_nodes
from eks_gpushare_lab.reporting.scaling import pool_reports

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare_lab.client import Object

LABEL = "k8s.amazonaws.com/accelerator"
OTHER = "A node of g5.xlarge advertises other than a NodeOverlay says"
OTHER_PLAN = "A node of g5.xlarge is to advertise other than a NodeOverlay says"


@pytest.mark.parametrize("pods", [1, 9, 10, 11, 25, 100])
@pytest.mark.parametrize("by", ["karpenter", "group"])
def test_as_many_nodes_as_needed_are_no_finding(by: str, pods: int) -> None:
    lab = karpenter_lab() if by == "karpenter" else Lab(group())
    needed = -(-pods // 10)
    resource = next(iter(lab.pool.resources))
    for number in range(needed):
        lab.node(f"n{number}", {resource: 10})
        lab.pods(min(10, pods - 10 * number), f"n{number}")

    lab.watch_for(10)
    assert lab.codes() == []
    assert lab.scaling.needed["gpu"] == needed
    assert lab.scaling.endless == {}
    assert list(expected_nodes(lab.session, {"gpu": needed})) == []


def test_another_number_of_nodes_than_expected() -> None:
    lab = karpenter_lab()
    lab.gone(lab.node("n0", {SHARED: 10}))
    lab.node("n1", {SHARED: 10})

    found = list(expected_nodes(lab.session, {"gpu": 3, "cpu": 1}))
    assert [(each.code, each.path, each.message) for each in found] == [
        (
            "GPU960",
            "pools.gpu.nodes",
            "3 nodes were expected: 2 came in all, 1 are there.",
        ),
        ("GPU960", "pools.cpu", "No GPU pool is called cpu; there are gpu."),
    ]


def test_a_node_that_waits_for_what_its_overlay_promised_is_never_initialised() -> None:
    lab = karpenter_lab()
    text = f'Resource "{SHARED}" was requested but not registered'
    why = ("Unknown", "ResourceNotRegistered", text)
    lab.told.given["claims"] = [
        claim("gpu-abcde", "n1", Launched=YES, Registered=YES, Initialized=why)
    ]
    lab.node("n1", {GPU: 10})
    lab.pods(2)

    assert lab.told.stuck()
    assert lab.message("GPU961") == (
        'never initialised: n1: Resource "nvidia.com/gpu.shared" was requested but not registered. '
        "What is advertised is nvidia.com/gpu; Karpenter keeps such nodes, and they are billed."
    )
    assert "GPU965" in lab.codes()


def test_a_node_whose_plugin_has_not_spoken_yet_is_on_its_way() -> None:
    lab = karpenter_lab()
    why = ("Unknown", "ResourceNotRegistered", "not registered")
    lab.told.given["claims"] = [
        claim("gpu-abcde", "n1", Launched=YES, Registered=YES, Initialized=why)
    ]
    lab.node("n1")

    assert lab.told.stuck() == []
    assert lab.scaling.coming(30.0) == "NodeClaim gpu-abcde is not initialised: not registered"


@pytest.mark.parametrize(("asked", "stuck"), [(SHARED, False), (GPU, True)])
def test_what_a_node_has_by_now_karpenter_sees_in_a_moment(asked: str, stuck: bool) -> None:
    lab = karpenter_lab()
    why = ("Unknown", "ResourceNotRegistered", f'Resource "{asked}" was requested')
    given = claim("gpu-abcde", "n1", Launched=YES, Registered=YES, Initialized=why)
    given["spec"] = {"resources": {"requests": {asked: "2", "pods": "9"}}}
    lab.told.given["claims"] = [given]
    lab.node("n1", {SHARED: 10})

    assert bool(lab.told.stuck()) == stuck
    assert ("GPU961" in lab.codes()) == stuck


@pytest.mark.parametrize(("seconds", "found"), [(5.0, False), (90.0, True)])
def test_a_machine_that_never_joins(seconds: float, found: bool) -> None:
    lab = karpenter_lab()
    why = ("Unknown", "NodeNotFound", "Node not registered with cluster")
    given = claim("gpu-abcde", "", Launched=YES, Registered=why)
    lab.told.given["claims"] = [given]
    lab.scaling.history.on_claim("ADDED", given)
    lab.scaling.history.records[0].launched -= seconds

    assert ("GPU961" in lab.codes()) == found


def test_a_node_that_is_initialised_is_no_finding() -> None:
    lab = karpenter_lab()
    lab.told.given["claims"] = [
        claim("gpu-abcde", "n1", Launched=YES, Registered=YES, Initialized=YES)
    ]
    lab.node("n1", {SHARED: 10})

    assert lab.codes() == []
    assert lab.scaling.coming(0.0) == ""


@pytest.mark.parametrize(
    ("told", "has", "message"),
    [
        (
            {GPU: 0, SHARED: 10},
            {SHARED: 4},
            (f"{OTHER}: nvidia.com/gpu.shared: 10 promised, 4 advertised."),
        ),
        (
            {GPU: 0, SHARED: 10},
            {GPU: 1},
            (
                f"{OTHER}: nvidia.com/gpu: "
                "0 promised, 1 advertised; nvidia.com/gpu.shared: 10 promised, 0 advertised."
            ),
        ),
        (
            {},
            {SHARED: 10},
            (
                f"{OTHER}: nvidia.com/gpu.shared: "
                "0 promised, 10 advertised. There is no NodeOverlay for it."
            ),
        ),
        (
            {GPU: 10},
            {},
            (
                f"{OTHER_PLAN}: nvidia.com/gpu: "
                "10 promised, 0 declared; nvidia.com/gpu.shared: 0 promised, 10 declared."
            ),
        ),
    ],
)
def test_an_overlay_that_promises_something_else(
    told: dict[str, int], has: dict[str, int], message: str
) -> None:
    lab = karpenter_lab()
    lab.told.given["overlays"] = [overlay(told)] if told else []
    if has:
        lab.node("n1", has)

    assert lab.message("GPU965") == message


@pytest.mark.parametrize(
    "overlays",
    [
        [overlay({GPU: 0, SHARED: 10})],
        [overlay({GPU: 0, SHARED: 4}), overlay({GPU: 0, SHARED: 10}, weight=10)],
        [overlay({GPU: 0, SHARED: 10}), overlay({SHARED: 4}, pool="other")],
        [{"metadata": {"name": "all"}, "spec": {"capacity": {GPU: "0", SHARED: "10"}}}],
        [overlay({GPU: 0, SHARED: 10, "cpu": 3})],
    ],
)
def test_overlays_that_say_what_nodes_have(overlays: list[Object]) -> None:
    lab = karpenter_lab()
    lab.told.given["overlays"] = overlays
    lab.node("n1", {SHARED: 10})

    assert lab.codes() == []


def test_an_overlay_that_karpenter_has_dropped_promises_nothing() -> None:
    """Of two of equal weight, of which the other counts."""
    conflict = {"type": "Ready", "status": "False", "reason": "Conflict"}
    dropped = {**overlay({SHARED: 4}), "status": {"conditions": [conflict]}}
    lab = karpenter_lab()
    lab.told.given["overlays"] = [overlay({GPU: 0, SHARED: 10}), dropped]
    lab.node("n1", {SHARED: 10})

    assert lab.codes() == []


def test_whole_gpus_of_one_a_node_need_no_overlay() -> None:
    lab = Lab(karpenter(1, GPU))
    lab.node("n1", {GPU: 1})

    assert lab.codes() == []


@pytest.mark.parametrize(("told", "wrong"), [(10, 0), (4, 1), (0, 1)])
def test_tags_of_a_node_group(told: int, wrong: int) -> None:
    lab = Lab(group(promised={GPU: told} if told else {}))
    lab.node("n1", {GPU: 10})

    assert lab.codes() == ["GPU965"] * wrong


def test_more_nodes_than_needed_that_are_half_empty() -> None:
    lab = karpenter_lab(told=4)
    for number in range(7):
        lab.node(f"n{number}", {SHARED: 10})
        lab.pods(4 if number < 6 else 1, f"n{number}")

    assert lab.message("GPU966") == (
        "7 nodes with 70 shares run 25 pods; 3 nodes would do. Karpenter is told of g5.xlarge: "
        "0 nvidia.com/gpu, 4 nvidia.com/gpu.shared; a node advertises 10 nvidia.com/gpu.shared."
    )


@pytest.mark.parametrize(
    ("nodes", "pods", "least", "static"),
    [(3, 25, 0, False), (2, 13, 0, False), (3, 0, 0, False), (5, 2, 5, False), (5, 2, 5, True)],
)
def test_nodes_that_are_meant_to_be_there(nodes: int, pods: int, least: int, static: bool) -> None:
    lab = Lab(karpenter(least=least, static=static))
    lab.told.given["overlays"] = [overlay({GPU: 0, SHARED: 10})]
    for number in range(nodes):
        lab.node(f"n{number}", {SHARED: 10})
    lab.pods(pods, "n0")

    assert lab.codes() == []


def node_pool(limits: Mapping[str, str], used: Mapping[str, str]) -> Object:
    return {
        "metadata": {"name": "gpu"},
        "spec": {"limits": dict(limits)},
        "status": {"resources": dict(used)},
    }


@pytest.mark.parametrize(
    ("limits", "used", "message"),
    [
        (
            {SHARED: "25"},
            {SHARED: "20"},
            (
                "nvidia.com/gpu.shared is limited to 25: 0 nodes have 20, and one more of "
                "g5.xlarge would make it 30."
            ),
        ),
        (
            {SHARED: "5"},
            {},
            (
                "nvidia.com/gpu.shared is limited to 5: 0 nodes have 0, and one more of g5.xlarge "
                "would make it 10."
            ),
        ),
        ({SHARED: "30"}, {SHARED: "20"}, None),
        ({GPU: "2"}, {}, None),
        ({"nodes": "2"}, {"nodes": "2"}, None),
        ({}, {}, None),
    ],
)
def test_which_limit_is_reached(
    limits: Mapping[str, str], used: Mapping[str, str], message: str | None
) -> None:
    lab = karpenter_lab()
    lab.told.given["pools"] = [node_pool(limits, used)]
    lab.pods(6)

    if message is None:
        assert "GPU967" not in lab.codes()
    else:
        assert lab.message("GPU967") == message
        assert "GPU968" not in lab.codes()


def test_a_limit_that_nothing_waits_for_is_not_reached() -> None:
    lab = karpenter_lab()
    lab.told.given["pools"] = [node_pool({SHARED: "20"}, {SHARED: "20"})]
    lab.node("n1", {SHARED: 10})
    lab.pods(2, "n1")

    assert lab.codes() == []


def test_a_node_group_at_its_maximum() -> None:
    lab = Lab(group(most=1))
    lab.node("n1", {GPU: 10})
    lab.pods(10, "n1")
    lab.pods(2)
    lab.says(
        AUTOSCALER,
        "NotTriggerScaleUp",
        "pod didn't trigger scale-up: 1 max node group size reached",
    )

    assert lab.message("GPU967") == (
        "max is 1 and 1 are there; Cluster Autoscaler: pod didn't trigger scale-up: 1 max node "
        "group size reached."
    )


def test_no_node_at_all_and_the_words_of_karpenter() -> None:
    lab = karpenter_lab()
    lab.pods(3)
    text = 'Failed to schedule pod, incompatible with nodepool "gpu", no instance type fits'
    for pod in ("waits-0", "waits-1"):
        lab.says(KARPENTER, "FailedScheduling", text, pod)

    assert lab.message("GPU968") == (
        f"No node was launched for 3 pods that wait: 2 pods: Karpenter: {text}."
    )
    assert pool_reports(lab.session)["gpu"].why_not == (f"2 pods: Karpenter: {text}",)


def test_no_node_since_there_is_no_autoscaler() -> None:
    lab = karpenter_lab()
    lab.told.there = False
    lab.pods(3)

    assert "There is no Karpenter in the cluster" in lab.message("GPU968")
    (found,) = [e for e in agreement_findings(lab.session) if e.code == "GPU968"]
    assert found.severity == "warning", "somebody may install one that the stack does not know of"


def test_pods_that_were_expected_to_wait_are_no_finding() -> None:
    lab = karpenter_lab()
    lab.pods(3)
    (app,) = {workload_of(pod) for pod in lab.watches.pods.all()}

    assert lab.codes() == ["GPU968"]
    assert list(agreement_findings(lab.session, {app})) == []


def test_pods_that_another_pool_runs_are_no_concern_of_this_one() -> None:
    other = DeclaredPool("spot", "spot", {"g5.xlarge": {SHARED: 10}}, "karpenter")
    lab = Lab(karpenter(), other)
    lab.told.given["overlays"] = [
        overlay({GPU: 0, SHARED: 10}),
        overlay({GPU: 0, SHARED: 10}, pool="spot"),
    ]
    lab.node("n1", {SHARED: 10}, labels={"eks-gpushare/pool": "spot"})
    lab.pods(10, "n1")
    lab.pods(1)

    assert "GPU968" not in lab.codes()


@pytest.mark.parametrize("key", ["eks-gpushare/pool", "example.com/team"])
def test_pods_that_select_this_pool_are_not_served_by_another(key: str) -> None:
    other = DeclaredPool("spot", "spot", {"g5.xlarge": {SHARED: 10}}, "karpenter")
    lab = Lab(karpenter(), other)
    lab.told.given["overlays"] = [
        overlay({GPU: 0, SHARED: 10}),
        overlay({GPU: 0, SHARED: 10}, pool="spot"),
    ]
    lab.node("n1", {SHARED: 10}, labels={"eks-gpushare/pool": "spot", "example.com/team": "spot"})
    lab.pods(10, "n1")
    lab.pods(2, nodeSelector={key: "gpu"})
    lab.gone(lab.node("n2", {SHARED: 10}, labels={"eks-gpushare/pool": "spot"}))

    assert lab.message("GPU968").startswith("No node was launched for 2 pods that wait: ")


@pytest.mark.parametrize("adds", ["NoActivity", "", "InProgress"])
def test_pods_that_wait_while_cluster_autoscaler_believes_there_is_room(adds: str) -> None:
    lab = Lab(group())
    lab.told.published = {"clusterWide": {"scaleUp": {"status": adds}}}
    for number in range(3):
        lab.node(f"n{number}", {GPU: 4})
        lab.pods(4, f"n{number}")
    lab.pods(13)
    lab.says(AUTOSCALER, "TriggeredScaleUp", "pod triggered scale-up: [{gpu 0->3 (max: 10)}]")

    if adds == "InProgress":
        assert "GPU964" not in lab.codes()
    else:
        assert lab.message("GPU964") == (
            "believes there is room: 13 pods wait, and Cluster Autoscaler adds no node "
            f"({adds or 'it says nothing'}). Cluster Autoscaler is told of g5.xlarge: "
            "10 nvidia.com/gpu; a node advertises 4 nvidia.com/gpu."
        )


@pytest.mark.parametrize("adds", ["NoActivity", "InProgress"])
def test_shares_of_nodes_that_count_as_yet_to_start(adds: str) -> None:
    lab = Lab(group(promised={SHARED: 4}, per_node={"g5.xlarge": {SHARED: 4}}))
    lab.told.published = {"clusterWide": {"scaleUp": {"status": adds}}}
    for number in range(2):
        lab.node(f"n{number}", {SHARED: 4}, labels={LABEL: "nvidia-a10g"})
        lab.pods(4, f"n{number}")
    lab.pods(1)

    assert lab.message("GPU964") == (
        "believes there is room: 1 pod waits, and Cluster Autoscaler takes n0, n1 for nodes that "
        "are yet to start, and empty, by the label k8s.amazonaws.com/accelerator: what is "
        "advertised is not nvidia.com/gpu."
    )


@pytest.mark.parametrize(
    ("has", "labels"),
    [
        ({SHARED: 4}, {}),
        ({SHARED: 4, GPU: 1}, {LABEL: "nvidia-a10g"}),
        ({GPU: 4}, {LABEL: "nvidia-a10g"}),
        ({}, {LABEL: "nvidia-a10g"}),
    ],
)
def test_nodes_that_start_or_have_started(has: dict[str, int], labels: dict[str, str]) -> None:
    """While nodes come, pods wait of which nothing is said: that alone is no finding."""
    lab = Lab(group(promised=has, per_node={"g5.xlarge": has or {SHARED: 4}}))
    lab.told.published = {"clusterWide": {"scaleUp": {"status": "InProgress"}}}
    lab.node("n0", has, labels=labels)
    lab.pods(1)

    assert "GPU964" not in lab.codes()


def test_shares_that_count_as_yet_to_start_but_are_enough() -> None:
    lab = Lab(group(promised={SHARED: 4}, per_node={"g5.xlarge": {SHARED: 4}}))
    lab.node("n0", {SHARED: 4}, labels={LABEL: "nvidia-a10g"})
    lab.pods(4, "n0")

    assert lab.codes() == []
