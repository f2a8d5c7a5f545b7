"""What a run says of nodes that come and go, on a real API server with Karpenter's definitions.

A controller's part is played by hand: NodeClaims, nodes and events are what it would write.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.lab.walkthroughs.test_walkthrough_command import given

from eks_gpushare.sharing.warm_room import NAMESPACE
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.controllers import karpenter
from eks_gpushare_lab.controllers.shorter_waits import NODE_POOLS
from eks_gpushare_lab.install.nodes import POOL, nodes_of
from eks_gpushare_lab.reporting.idle import until_idle
from eks_gpushare_lab.reporting.report import report_of
from eks_gpushare_lab.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster
    from eks_gpushare_lab.session import Session

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Desired = Any

GPU = "nvidia.com/gpu"
APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: default}
spec:
  replicas: 25
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: app, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
KINDS = ("/apis/karpenter.sh/v1/nodeclaims", "/apis/karpenter.sh/v1alpha1/nodeoverlays")


@pytest.fixture(scope="module")
def defined(empty_lab: Lab) -> Iterator[None]:
    """The definitions of Karpenter's kinds."""
    client = Client(empty_lab.url, empty_lab.ca, empty_lab.client_cert, empty_lab.client_key)
    karpenter.define(client)
    yield
    for each in karpenter.definitions():
        client.delete(client.path_of(each))
    client.close()


@pytest.fixture
def by_hand(walk: Walk, desired: Desired, defined: None) -> Iterator[ByHand]:
    assert defined is None
    played = ByHand(walk, desired("time-slicing"))
    yield played
    for kind in KINDS:
        for each in walk.session.client.list(kind)[0]:
            walk.session.client.delete(f"{kind}/{each['metadata']['name']}")


class ByHand:
    """A stack whose pool of ten shares a node Karpenter scales, with no Karpenter."""

    def __init__(self, walk: Walk, stack: DesiredCluster) -> None:
        self.walk = walk
        self.session: Session = walk.session
        (pool,) = [pool for pool in stack.pools if pool.is_gpu_pool]
        shares = {"g6.xlarge": {GPU: 10}}
        self.machines = replace(pool, nodes=9, instance_types=("g6.xlarge",), declared=shares)
        declared = replace(
            stack.gpu_pools["gpu"], per_node=shares, scaled_by="karpenter", least=0, most=10
        )
        others = tuple(each for each in stack.pools if not each.is_gpu_pool)
        walk.install(replace(stack, pools=others, gpu_pools={"gpu": declared}))
        walk.session.client.apply(
            {
                "apiVersion": "karpenter.sh/v1alpha1",
                "kind": "NodeOverlay",
                "metadata": {"name": "gpu-g6-xlarge"},
                "spec": {
                    "requirements": [
                        {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["gpu"]}
                    ],
                    "capacity": {GPU: "10"},
                },
            }
        )

    def launch(self, number: int) -> Object:
        """A NodeClaim with an instance, whose node has not joined."""
        node = list(nodes_of(self.machines))[number].object
        node["metadata"]["labels"] |= {"karpenter.sh/nodepool": "gpu"}
        del node["metadata"]["annotations"][POOL]
        labels = {"karpenter.sh/nodepool": "gpu", "node.kubernetes.io/instance-type": "g6.xlarge"}
        claim = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": f"gpu-abcd{number}", "labels": labels},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "g"},
                "requirements": [
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
                ],
            },
        }
        self.session.client.apply(claim)
        self.reach(number, node, "Launched")
        return node

    def reach(self, number: int, node: Object, *steps: str) -> None:
        """Say how far a NodeClaim has come."""
        said = [
            {
                "type": step,
                "status": "True",
                "reason": step,
                "message": "",
                "lastTransitionTime": "2026-11-22T12:00:00Z",
            }
            for step in steps
        ]
        status = {
            "providerID": node["spec"]["providerID"],
            "nodeName": node["metadata"]["name"],
            "conditions": said,
        }
        path = f"{KINDS[0]}/gpu-abcd{number}/status"
        self.session.client.patch(path, {"status": status})

    def join(self, number: int, node: Object) -> None:
        self.session.client.create(node)
        self.reach(number, node, "Launched", "Registered", "Initialized")

    def remove(self, number: int, node: Object) -> None:
        self.session.client.delete(f"/api/v1/nodes/{node['metadata']['name']}")
        self.session.client.delete(f"{KINDS[0]}/gpu-abcd{number}")

    def says(self, reason: str, text: str, pod: str) -> None:
        self.session.client.request(
            "POST",
            "/api/v1/namespaces/default/events",
            body={
                "metadata": {"name": f"{pod}.{reason.lower()}", "namespace": "default"},
                "involvedObject": {"kind": "Pod", "name": pod, "namespace": "default"},
                "reason": reason,
                "message": text,
                "source": {"component": "karpenter"},
                "type": "Warning",
            },
        )

    def report(self, **nodes: int) -> dict[str, Any]:
        return report_of(self.session, {}, [], nodes).as_json()


@pytest.fixture
def codes(codes_of: Callable[..., list[str]]) -> Callable[..., list[str]]:
    return codes_of


def test_nodes_are_waited_for_told_of_and_go_again(
    by_hand: ByHand, walk: Walk, codes: Callable[..., list[str]], eventually: Callable[..., bool]
) -> None:
    nodes = [by_hand.launch(number) for number in range(3)]
    walk.session.scaling.autoscalers.look()
    assert not walk.session.settle(0.2, longest=1.0), "three NodeClaims have no node yet"
    for number, node in enumerate(nodes):
        by_hand.join(number, node)
    walk.apply(text=APP)

    report = by_hand.report(gpu=3)
    pool = report["pools"]["gpu"]
    assert codes(report) == []
    assert report["workloads"]["default/app"]["running"] == 25
    assert [node["instanceType"] for node in pool["nodes"]] == ["g6.xlarge"] * 3
    assert {node["name"] for node in pool["nodes"]} == {"gpu-0", "gpu-1", "gpu-2"}
    for node in pool["nodes"]:
        assert 0 <= node["launchedAfterSeconds"] <= node["readyAfterSeconds"]
        assert node["removedAfterSeconds"] is None
        assert node["advertised"] == {GPU: 10}
    assert pool["usdPerHour"] == round(3 * pool["nodes"][0]["usdPerHour"], 4)
    scaling = pool["scaling"]
    assert (scaling["launched"], scaling["mostAtOnce"], scaling["leastPossible"]) == (3, 3, 3)
    assert codes(by_hand.report(gpu=4)) == ["GPU960"]

    def karpenter_takes_empty_nodes_away() -> None:
        if not walk.session.observer.counts[walk.session.find("app")]["running"]:
            for number, node in enumerate(nodes):
                by_hand.remove(number, node)
            nodes.clear()

    idle, found = until_idle(walk.session, 30.0, karpenter_takes_empty_nodes_away)
    assert found == []
    assert idle.nodes == {"gpu": 0}
    assert eventually(lambda: not walk.session.scaling.autoscalers.claims())
    left = by_hand.report()["pools"]["gpu"]
    assert None not in [node["removedAfterSeconds"] for node in left["nodes"]]
    assert (left["scaling"]["removed"], left["advertised"]) == (3, {})


def test_no_node_and_what_karpenter_says_of_it(
    by_hand: ByHand, walk: Walk, codes: Callable[..., list[str]]
) -> None:
    walk.session.scaling.autoscalers.look()
    pod = {**yaml.safe_load(APP)["spec"]["template"], "apiVersion": "v1", "kind": "Pod"}
    pod["metadata"] = {"name": "alone", "namespace": "default"}
    walk.session.client.apply(pod)
    text = 'Failed to schedule pod, incompatible with nodepool "gpu", no instance type fits'
    by_hand.says("FailedScheduling", text, "alone")
    walk.session.touch()
    walk.settle()

    report = by_hand.report(gpu=0)
    assert "GPU968" in codes(report)
    assert report["pools"]["gpu"]["scaling"]["whyNot"] == [f"1 pod: Karpenter: {text}"]
    assert f"1 pod: Karpenter: {text}" in report["workloads"]["default/alone"]["reasons"]


@pytest.mark.at_length
def test_workloads_of_the_stack_go_too_and_warm_room_stays(by_hand: ByHand, walk: Walk) -> None:
    node = by_hand.launch(0)
    by_hand.join(0, node)
    client, mine = walk.session.client, yaml.safe_load(APP)
    mine["spec"]["replicas"] = 2
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for space in ("default", NAMESPACE):
        client.apply({**mine, "metadata": {"name": "mine", "namespace": space}})
    walk.settle()

    until_idle(walk.session, 0.5)
    wanted = {
        space: client.get(f"/apis/apps/v1/namespaces/{space}/deployments/mine")
        for space in ("default", NAMESPACE)
    }
    replicas = {space: each["spec"]["replicas"] for space, each in wanted.items() if each}
    assert replicas == {"default": 0, NAMESPACE: 2}


def test_nodes_that_stay_are_told_with_what_runs_there(by_hand: ByHand, walk: Walk) -> None:
    node = by_hand.launch(0)
    by_hand.join(0, node)
    walk.settle()

    idle, (found,) = until_idle(walk.session, 0.5)
    assert (idle.after, idle.nodes) == (None, {"gpu": 1})
    assert (found.code, found.path) == ("GPU969", "pools.gpu.nodes")
    assert "1 nodes are left 0 s after the workloads were scaled to nothing" in found.message


@pytest.mark.at_length
def test_node_pools_wait_for_less_when_nodes_are_to_go(by_hand: ByHand, walk: Walk) -> None:
    spec: dict[str, Any] = {
        "disruption": {
            "budgets": [{"nodes": "100%", "reasons": ["Empty"]}],
            "consolidateAfter": "300s",
            "consolidationPolicy": "WhenEmpty",
        },
        "limits": {"cpu": "1000"},
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "g"},
                "requirements": [
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
                ],
            }
        },
    }
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}}
    node = by_hand.launch(0)
    by_hand.join(0, node)
    walk.session.client.apply({**pool, "spec": spec})
    walk.settle()
    before = walk.session.client.get(f"{NODE_POOLS}/gpu")
    assert before is not None
    told: list[str] = []

    def taken() -> None:
        there = walk.session.client.get(f"{NODE_POOLS}/gpu")
        if told and there["spec"]["disruption"]["consolidateAfter"] == "1s":
            by_hand.remove(0, node)

    idle, (found,) = until_idle(walk.session, 30.0, taken, told.append)
    after = walk.session.client.get(f"{NODE_POOLS}/gpu")
    walk.session.client.delete(f"{NODE_POOLS}/gpu")
    assert (idle.nodes, found.code) == ({"gpu": 0}, "GPU970")
    assert "gpu 1s instead of 300s" in found.message
    assert told[0].startswith("pool gpu has 1 node: Karpenter looks every ten seconds for nodes")
    assert after is not None
    before["spec"]["disruption"]["consolidateAfter"] = "1s"
    assert after["spec"] == before["spec"]


@pytest.mark.at_length
def test_a_workload_that_is_named_twice_is_scaled_twice(
    empty_lab: Lab,
    client: Client,
    emptied: Callable[[Client], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Any,
) -> None:
    monkeypatch.setattr("eks_gpushare_lab.run.control_plane", lambda: nullcontext(empty_lab))
    file = tmp_path / "app.yaml"
    file.write_text(APP.replace("replicas: 25", "replicas: 1"), encoding="utf-8")
    words = {"scale": ["app=5", "app=8"], "expect": [], "expect_nodes": ["gpu=1"]}
    with emptied(client):
        code = run(given(stack="time-slicing", apply=[str(file)], json=True, **words))
    report = json.loads(capsys.readouterr().out)

    assert code == 0
    assert report["steps"] == [
        {"scaled": {"app": 5}, "running": {"app": 5}, "nodes": {"gpu": 1}},
        {"scaled": {"app": 8}, "running": {"app": 8}, "nodes": {"gpu": 1}},
    ]
    assert "scaling" not in report["pools"]["gpu"]
    assert "idle" not in report


def test_two_numbers_of_one_pool_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(given(stack="exclusive", expect_nodes=[("gpu", 1), ("gpu", 2)])) == 2
    assert capsys.readouterr().err == "eks-gpushare: --expect-nodes says two numbers of gpu\n"
