"""Omnistrate's two samples as stacks: they scale, stop and wake with KEDA's own programs.

EKS_GPUSHARE_TEST_SCALING=1 runs the second test; test_walkthrough_scaling.py says what that takes.
The objects are those that the stack registers, with their times divided by sixty: use below 20 %
for two minutes is two seconds here, above 80 % for three minutes is three. The nodes are there from
the beginning, since what makes nodes is tried elsewhere.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.sharing.omnistrate import environment_parts
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.controllers.shorter_times import VARIABLE as VARIABLE_OF_LAB
from eks_gpushare_lab.session import Session
from eks_gpushare_lab.simulated_node.exporters import SERIES
from eks_gpushare_lab.simulated_node.load import GPU_DEMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.control_plane.state import Lab

VARIABLE = "EKS_GPUSHARE_TEST_SCALING"

scaling = pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} is not set")

# What conftest.py offers.
Desired = Any
Emptied = Any

ROOT = Path(__file__).parents[3]
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/{}"

SERVICE = """
image: ghcr.io/omnistrate-community/gpu-slicing-example:0.0.3
ports: ['5000:5000']
deploy:
  resources:
    limits: {cpus: '1', memory: 100M}
    reservations: {cpus: '100m', memory: 50M}
x-omnistrate-capabilities:
  autoscaling:
    maxReplicas: 3
    minReplicas: 1
    idleMinutesBeforeScalingDown: 2
    idleThreshold: 20
    overUtilizedMinutesBeforeScalingUp: 3
    overUtilizedThreshold: 80
  serverlessConfiguration: {targetPort: 5000, enableAutoStop: true, minimumNodesInPool: 1}
"""
SAMPLES: dict[str, tuple[dict[str, Any], int]] = {
    "slices": ({"instanceType": "g4dn.xlarge", "timeSlicingReplicas": 2}, 3),
    "instances": ({"instanceType": "p4d.24xlarge", "migProfile": "1g.5gb"}, 5),
}


def test_the_walkthrough_is_what_the_samples_become() -> None:
    """But for the nodes: those are there from the beginning."""
    file = ROOT / "examples" / "lab" / "use" / "Pulumi.use.yaml"
    stack = yaml.safe_load(file.read_text(encoding="utf-8"))
    environment = stack["config"]["eks-gpushare:environment"]
    for name, (gpu, most) in SAMPLES.items():
        service = yaml.safe_load(SERVICE)
        service["x-omnistrate-capabilities"]["autoscaling"]["maxReplicas"] = most
        plan = {"x-internal-integrations": {"multiTenantGpu": gpu}, "services": {name: service}}
        wake = f'requests_waiting{{service="{name}"}}'
        parts = environment_parts(plan, wake=wake, pool=name)
        pool, ours = parts["pools"][name], environment["pools"][name]

        assert environment["workloads"][name] == parts["workloads"][name]
        assert {key: ours[key] for key in ("instanceTypes", "sharing")} == {
            key: pool[key] for key in ("instanceTypes", "sharing")
        }
        assert ours["nodes"]["max"] == pool["nodes"]["max"]


@pytest.fixture
def session(empty_lab: Lab, emptied: Emptied, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv(VARIABLE_OF_LAB, "60")
    lab = empty_lab
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    with emptied(client), Session(client, lab) as session:
        yield session


def note(session: Session, name: str, key: str, text: str | None) -> None:
    session.client.patch(DEPLOYMENT.format(name), {"metadata": {"annotations": {key: text}}})


@scaling
def test_both_samples(session: Session, desired: Desired) -> None:
    steps: dict[str, list[int]] = {name: [] for name in SAMPLES}

    def reach(**wanted: int) -> None:
        deadline = time.monotonic() + 120
        replicas: dict[str, int] = {}
        while replicas != wanted:
            assert time.monotonic() < deadline, steps
            for name, seen in steps.items():
                found = session.client.get(DEPLOYMENT.format(name))
                assert found is not None
                replicas[name] = found["spec"]["replicas"]
                if seen[-1:] != [replicas[name]]:
                    seen.append(replicas[name])
            time.sleep(0.1)

    session.install(desired("use"))
    assert not [each for each in session.findings if each.severity == "error"]
    note(session, "slices", GPU_DEMAND, "200")
    note(session, "instances", GPU_DEMAND, "390")
    reach(slices=3, instances=5)
    for name in SAMPLES:
        note(session, name, GPU_DEMAND, None)
    reach(slices=0, instances=0)
    for name in SAMPLES:
        note(session, name, SERIES, f'requests_waiting{{service="{name}"}} 2')
    reach(slices=1, instances=1)

    assert steps["slices"][-6:] == [2, 3, 2, 1, 0, 1]
    assert steps["instances"][-10:] == [2, 3, 4, 5, 4, 3, 2, 1, 0, 1]


@scaling
def test_pods_that_share_a_gpu_are_over_used_together(session: Session, desired: Desired) -> None:
    """Two that want all of one GPU use half of it each."""
    client = session.client

    def pods() -> list[dict[str, Any]]:
        found, _ = client.list(PODS, labelSelector="app.kubernetes.io/name=slices")
        return [each for each in found if each["spec"].get("nodeName")]

    def wait_for(reached: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 60
        while not reached():
            assert time.monotonic() < deadline, what
            time.sleep(0.1)

    def replicas() -> int:
        found = client.get(DEPLOYMENT.format("slices"))
        assert found is not None
        return int(found["spec"]["replicas"])

    session.install(desired("use"))
    wait_for(lambda: len(pods()) == 1, "the first pod runs")
    (first,) = (each["spec"]["nodeName"] for each in pods())
    nodes, _ = client.list(NODES, labelSelector="eks-gpushare/pool=slices")
    (other,) = {each["metadata"]["name"] for each in nodes} - {first}
    client.patch(f"{NODES}/{other}", {"spec": {"unschedulable": True}})
    note(session, "slices", GPU_DEMAND, "200")

    wait_for(lambda: replicas() == 3, "a third pod is asked for")
    assert [each["spec"]["nodeName"] for each in pods()] == [first, first]
    client.patch(f"{NODES}/{other}", {"spec": {"unschedulable": None}})
    wait_for(lambda: {each["spec"]["nodeName"] for each in pods()} == {first, other}, "it runs")
