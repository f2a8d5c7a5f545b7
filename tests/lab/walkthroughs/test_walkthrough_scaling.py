"""What goes wrong where workloads scale by their use, and Amazon's Prometheus by its address.

EKS_GPUSHARE_TEST_SCALING=1 runs this with KEDA's own programs and a real Prometheus. They are built
first if they are not there, which takes a quarter of an hour. An hour passes in each minute here.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.workloads import Workload
from eks_gpushare.live.pods import PodOwner
from eks_gpushare.sharing.keda import PrometheusServer
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.sharing.scaled_object import scaled_object
from eks_gpushare.sharing.workloads import placement
from eks_gpushare_lab.client import Client
from eks_gpushare_lab.controllers.shorter_times import VARIABLE as VARIABLE_OF_LAB
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

WORKSPACE = "https://aps-workspaces.us-east-1.amazonaws.com/workspaces/ws-1"
MINUTES = {"low": 20, "idle": 2, "high": 80, "over": 3}


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


def scaled(name: str, use: str, address: str = PROMETHEUS, **more: object) -> Object:
    """A ScaledObject that scales a Deployment to none and to two, one pod at a time."""
    metadata = {"serverAddress": address, "threshold": "1", "awsRegion": "us-east-1"}
    triggers: list[Object] = [
        {"type": "prometheus", "name": key, "metadata": {**metadata, "query": query}, **more}
        for key, query in windows(use, **MINUTES).items()
    ]
    selector = {"podSelector": f"app={name}", "value": "1"}
    triggers.append({"type": "kubernetes-workload", "name": "pods", "metadata": selector})
    running = "busy > 0 ? 2 : (idle > 0 ? (pods > 1 ? 0.5 : 0) : 1)"
    behavior = {
        direction: {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60 * MINUTES[minutes]}],
        }
        for direction, minutes in (("scaleUp", "over"), ("scaleDown", "idle"))
    }
    spec = {
        "scaleTargetRef": {"name": name},
        "pollingInterval": 15,
        "cooldownPeriod": 60 * MINUTES["idle"],
        "minReplicaCount": 0,
        "maxReplicaCount": 2,
        "advanced": {
            "scalingModifiers": {
                "formula": f"pods > 0 ? ({running}) : 0",
                "target": "1",
                "metricType": "Value",
            },
            "horizontalPodAutoscalerConfig": {"behavior": behavior},
        },
        "triggers": triggers,
    }
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": "default"},
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


AMAZON = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ClusterTriggerAuthentication",
    "metadata": {"name": "amazon"},
    "spec": {"podIdentity": {"provider": "aws"}},
}


@pytest.fixture
def session(empty_lab: Lab, emptied: Emptied, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setenv(VARIABLE_OF_LAB, "60")
    lab = empty_lab
    client = Client(lab.url, lab.ca, lab.client_cert, lab.client_key)
    with emptied(client), Session(client, lab) as session:
        yield session


def install(session: Session, desired: Desired) -> None:
    """The stack of the GPU Operator, with an exporter that is not let see processes."""
    stack = desired("gpu-operator")
    (release,) = stack.releases
    env = [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]
    values = {**release.values, "dcgmExporter": {"env": env}}
    session.install(replace(stack, releases=(replace(release, values=values),)))
    assert session.settle(0.4)


def test_what_does_not_scale_and_what_does(
    session: Session, desired: Desired, eventually: Callable[..., bool]
) -> None:
    install(session, desired)
    signed = {"kind": "ClusterTriggerAuthentication", "name": "amazon"}
    objects = [
        AMAZON,
        deployment("blind", SHARED),
        deployment("wrong", SHARED),
        deployment("amazon", INSTANCE),
        scaled("blind", use_by_process("blind")),
        scaled("wrong", "sum("),
        scaled("amazon", use_by_instance("amazon"), WORKSPACE, authenticationRef=signed),
    ]
    session.apply([Manifest("test", each) for each in objects])
    for name, load in (("blind", "90"), ("wrong", "high"), ("amazon", "150")):
        session.client.patch(
            f"{DEPLOYMENTS}/{name}", {"metadata": {"annotations": {GPU_DEMAND: load}}}
        )

    def found() -> dict[str, str]:
        return {each.code: each.message for each in session.findings}

    def steps(name: str) -> list[int]:
        workload = PodOwner("default", "Deployment", name)
        return [replicas for _, replicas in session.by_use.steps(workload)]

    assert eventually(lambda: "GPU982" in found())
    assert found()["GPU982"] == (
        "The use of GPUs by the pods of default/blind is not measured: the DCGM exporter has no "
        "hostPID: it measures 0 for every pod."
    )
    # It works, and is taken for idle.
    assert eventually(lambda: steps("blind") == [1, 0], 60)
    assert eventually(lambda: steps("amazon") == [1, 2], 60)
    assert session.by_use.scaling is not None
    assert session.by_use.scaling.proxy is not None
    assert session.by_use.scaling.proxy.asked == {PROMETHEUS, WORKSPACE}
    assert eventually(lambda: "GPU981" in found(), 60)
    assert found()["GPU981"].startswith("KEDA does not scale default/wrong: ")
    assert "is no load" in found()["GPU983"]
    assert "divided by 60" in found()["GPU980"]
    assert steps("wrong") == [1]
    for each in ("blind", "wrong", "amazon"):
        session.client.delete(f"{OBJECTS}/{each}")
    assert eventually(lambda: not session.client.list(OBJECTS)[0])


ASKED_IN_VAIN = 20
"""How often KEDA finds nothing before it counts as seen that nothing comes of it."""


def declared(name: str, **more: object) -> Object:
    """The ScaledObject that a stack has for a workload."""
    given = {"pool": "gpu", "image": "x", "replicas": {"min": 1, "max": 3}, **more}
    workload = Workload.model_validate({"useQuery": f"use_of_{name}", **given})
    pool = Pool.model_validate(
        {"instanceTypes": ["g4dn.xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 8}}
    )
    where = placement(workload, [plan_pool("gpu", pool, Catalog())])
    made = scaled_object(name, workload, where, PrometheusServer(PROMETHEUS))
    assert made is not None
    return made


def tell(session: Session, series: str | None) -> None:
    """Have an exporter of somebody's say something, or no longer."""
    path = "/api/v1/namespaces/default/configmaps/told"
    session.client.patch(path, {"metadata": {"annotations": {SERIES: series}}})


def test_what_nothing_measures_any_more_keeps_its_pods_and_is_said(
    session: Session, desired: Desired, eventually: Callable[..., bool]
) -> None:
    install(session, desired)
    noted = {"annotations": {SERIES: "use_of_kept 95"}}
    metadata = {"name": "told", "namespace": "default", **noted}
    told = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    often = {"idle": {"minutes": 1}, "overUse": {"minutes": 1}}
    objects = [told, deployment("kept", SHARED), declared("kept", **often)]
    session.apply([Manifest("test", each) for each in objects])

    def status() -> Object:
        found = session.client.get(f"{OBJECTS}/kept")
        assert found is not None
        return cast("Object", found["status"])

    def falls_back() -> str:
        every = {each["type"]: each["status"] for each in status().get("conditions", ())}
        return str(every.get("Fallback", ""))

    def asked_in_vain() -> bool:
        health = status().get("health", {}).values()
        return len(health) == 2 and all(
            each["numberOfFailures"] >= ASKED_IN_VAIN for each in health
        )

    def pods() -> int:
        found = session.client.get(f"{DEPLOYMENTS}/kept")
        assert found is not None
        return int(found["spec"]["replicas"])

    most = 3
    assert eventually(lambda: pods() == most and falls_back() == "False", 60)
    tell(session, None)
    assert eventually(lambda: falls_back() == "True", 60)
    assert eventually(asked_in_vain, 120)
    assert pods() == most
    # It goes on where it was measured again.
    tell(session, "use_of_kept 5")
    assert eventually(lambda: falls_back() == "False", 60)
    assert eventually(lambda: pods() == 1, 60)
    session.client.delete(f"{OBJECTS}/kept")
    assert eventually(lambda: not session.client.list(OBJECTS)[0])


def soon(replicas: int) -> dict[str, Any]:
    """A window of a minute, which opens at the next but one: KEDA knows no seconds."""
    opens = datetime.now(UTC) + timedelta(minutes=2)
    start, end = (f"{at.minute} {at.hour} * * *" for at in (opens, opens + timedelta(minutes=1)))
    return {"start": start, "end": end, "replicas": replicas}


def test_what_comes_by_the_time_comes_all_at_once_and_goes(
    session: Session, desired: Desired, eventually: Callable[..., bool]
) -> None:
    install(session, desired)
    noted = {"annotations": {SERIES: "use_of_both 50"}}
    metadata = {"name": "told", "namespace": "default", **noted}
    told = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    often = {"idle": {"minutes": 1}, "overUse": {"minutes": 1}}
    office = declared("office", replicas={"min": 0}, schedule=[soon(3)])
    both = declared("both", replicas={"min": 1, "max": 5}, schedule=[soon(4)], **often)
    objects = [told, deployment("office", SHARED), deployment("both", SHARED), office, both]
    session.apply([Manifest("test", each) for each in objects])

    def steps(name: str) -> list[int]:
        workload = PodOwner("default", "Deployment", name)
        return [replicas for _, replicas in session.by_use.steps(workload)]

    assert eventually(lambda: steps("office") == [1, 0, 3], 180)
    assert eventually(lambda: steps("both") == [1, 4], 60)
    assert eventually(lambda: steps("office") == [1, 0, 3, 0], 120)
    # What came by the time stays until it is idle, and goes one at a time.
    assert steps("both") == [1, 4]
    tell(session, "use_of_both 5")
    assert eventually(lambda: steps("both") == [1, 4, 3, 2, 1], 60)
    for name in ("office", "both"):
        session.client.delete(f"{OBJECTS}/{name}")
    assert eventually(lambda: not session.client.list(OBJECTS)[0])
