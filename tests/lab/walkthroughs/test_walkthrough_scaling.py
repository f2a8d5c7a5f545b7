"""Workloads that scale by the use of their shares, with KEDA's own programs and a real Prometheus.

EKS_GPUSHARE_TEST_SCALING=1 runs them. The programs are built first if they are not there, which
takes a quarter of an hour; then the tests take a minute. Thirty minutes pass in each minute here.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.client import Client
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.session import Session
from eks_gpushare_lab.simulated_node.exporters import SERIES
from eks_gpushare_lab.simulated_node.load import GPU_DEMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.control_plane.state import Lab

VARIABLE = "EKS_GPUSHARE_TEST_SCALING"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} is not set"),
]

# What conftest.py offers.
Desired = Any
Emptied = Any

PROMETHEUS = "http://prometheus-server.monitoring.svc:9090"
OBJECTS = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SHARED, INSTANCE = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"

# The blocks of the two samples of Omnistrate's documentation on GPU slicing.
SAMPLE = {"low": 20, "idle": 2, "high": 80, "over": 3}


def windows(use: str, low: int, idle: int, high: int, over: int) -> dict[str, str]:
    """Queries for too much and too little use, all the time for some minutes."""

    def beyond(extreme: str, minutes: int, compared: str, threshold: int) -> str:
        window = f"{use}[{minutes * 60}s:30s]"
        enough = minutes * 2 - 1
        return (
            f"({extreme}_over_time({window}) {compared} bool {threshold}) * "
            f"(count_over_time({window}) >= bool {enough}) or vector(0)"
        )

    return {"busy": beyond("min", over, ">", high), "idle": beyond("max", idle, "<", low)}


def scaled(name: str, use: str, most: int) -> Object:
    """A ScaledObject that scales a Deployment to none and to so many, one pod at a time."""
    queries = {
        **windows(use, **SAMPLE),
        "wake": f'sum(requests_waiting{{service="{name}"}}) or vector(0)',
    }
    triggers: list[Object] = [
        {
            "type": "prometheus",
            "name": key,
            "metadata": {"serverAddress": PROMETHEUS, "query": query, "threshold": "1"},
        }
        for key, query in queries.items()
    ]
    selector = {"podSelector": f"app={name}", "value": "1"}
    triggers.append({"type": "kubernetes-workload", "name": "pods", "metadata": selector})
    fewer = "pods > 1 ? 0.5 : (wake > 0 ? 1 : 0)"
    running = f"busy > 0 ? 2 : (idle > 0 ? ({fewer}) : 1)"
    behavior = {
        direction: {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60 * SAMPLE[minutes]}],
        }
        for direction, minutes in (("scaleUp", "over"), ("scaleDown", "idle"))
    }
    spec = {
        "scaleTargetRef": {"name": name},
        "pollingInterval": 15,
        "cooldownPeriod": 60 * SAMPLE["idle"],
        "minReplicaCount": 0,
        "maxReplicaCount": most,
        "advanced": {
            "scalingModifiers": {
                "formula": f"pods > 0 ? ({running}) : (wake > 0 ? 1 : 0)",
                "target": "1",
                "metricType": "Value",
            },
            "horizontalPodAutoscalerConfig": {"behavior": behavior},
        },
        "triggers": triggers,
    }
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": metadata,
        "spec": spec,
    }


def deployment(name: str, resource: str) -> Object:
    container = {"name": "main", "image": "x", "resources": {"limits": {resource: "1"}}}
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container], "tolerations": tolerations},
            },
        },
    }


def use_by_process(name: str) -> str:
    return f'avg(avg by (pod) (DCGM_FI_DEV_GPU_UTIL{{namespace="default",pod=~"{name}-.*"}}))'


def use_by_instance(name: str) -> str:
    pods = f'namespace="default",pod=~"{name}-.*"'
    return f"avg(100 * avg by (pod) (DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{pods}}}))"


class Workload:
    """A Deployment whose replicas are looked at all the time."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name
        self.steps: list[int] = []

    def look(self) -> int:
        found = self.client.get(f"{DEPLOYMENTS}/{self.name}")
        assert found is not None
        replicas: int = found["spec"]["replicas"]
        if self.steps[-1:] != [replicas]:
            self.steps.append(replicas)
        return replicas

    def note(self, **annotations: str | None) -> None:
        keys = {"demand": GPU_DEMAND, "series": SERIES}
        given = {keys[key]: text for key, text in annotations.items()}
        self.client.patch(f"{DEPLOYMENTS}/{self.name}", {"metadata": {"annotations": given}})


def reach(workloads: dict[Workload, int], seconds: float = 90) -> None:
    """Wait until workloads have as many replicas, in whatever order."""
    deadline = time.monotonic() + seconds
    while {each: each.look() for each in workloads} != workloads:
        assert time.monotonic() < deadline, {each.name: each.steps for each in workloads}
        time.sleep(0.1)


@contextmanager
def scaling(session: Session, objects: list[Object]) -> Iterator[None]:
    session.apply([Manifest("test", each) for each in objects])
    try:
        yield
    finally:
        for each in objects:
            if each["kind"] == "ScaledObject":
                session.client.delete(f"{OBJECTS}/{each['metadata']['name']}")


@pytest.fixture
def session(empty_lab: Lab, emptied: Emptied) -> Iterator[Session]:
    lab = empty_lab
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    with emptied(client), Session(client, lab) as session:
        yield session


def install(session: Session, desired: Desired, **exporter: object) -> None:
    """The stack of the GPU Operator, with an exporter that tells processes apart."""
    stack = desired("gpu-operator")
    (release,) = stack.releases
    env = [
        {"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"},
        {"name": "NVIDIA_RESOURCE_NAMES", "value": "nvidia.com/gpu.shared"},
    ]
    values = {**release.values, "dcgmExporter": {"env": env, "hostPID": True, **exporter}}
    session.install(replace(stack, releases=(replace(release, values=values),)))
    assert session.settle(0.4)


def test_both_samples_scale_up_and_down_stop_and_wake(
    session: Session, desired: Desired, eventually: Callable[..., bool]
) -> None:
    """One to three on time slices and one to five on MIG instances, from the same numbers."""
    install(session, desired)
    slices, instances = Workload(session.client, "slices"), Workload(session.client, "instances")
    objects = [
        deployment("slices", SHARED),
        scaled("slices", use_by_process("slices"), 3),
        deployment("instances", INSTANCE),
        scaled("instances", use_by_instance("instances"), 5),
    ]
    with scaling(session, objects):
        slices.note(demand="200")
        instances.note(demand="390")
        reach({slices: 3, instances: 5})
        for each in (slices, instances):
            each.note(demand=None)
        reach({slices: 0, instances: 0})
        slices.note(series='requests_waiting{service="slices"} 2')
        reach({slices: 1, instances: 0})

        assert slices.steps == [1, 2, 3, 2, 1, 0, 1]
        assert instances.steps == [1, 2, 3, 4, 5, 4, 3, 2, 1, 0]
    assert eventually(lambda: not session.client.list(OBJECTS)[0])
