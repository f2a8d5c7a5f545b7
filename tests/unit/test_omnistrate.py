"""Service plans of Omnistrate, as its documentation shows them, become pools and workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from finding_examples import base, checked, stack_file_text

from eks_gpushare.sharing.omnistrate import environment_parts

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Provisioner

SERVICE = """
services:
  gpuinfo:
    image: ghcr.io/omnistrate-community/gpu-slicing-example:0.0.3
    ports:
      - 5000:5000
    platform: linux/amd64
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
      serverlessConfiguration:
        targetPort: 5000
        enableAutoStop: true
        minimumNodesInPool: 1
"""
WAKE = "sum(rate(requests_total[1m]))"


def compose(gpu: dict[str, Any], **scaling: Any) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load(SERVICE)
    made["x-internal-integrations"] = {"multiTenantGpu": gpu}
    made["services"]["gpuinfo"]["x-omnistrate-capabilities"]["autoscaling"] |= scaling
    return made


SLICED = compose({"instanceType": "g4dn.xlarge", "timeSlicingReplicas": 2})
MIG = compose({"instanceType": "p4d.24xlarge", "migProfile": "1g.5gb"}, maxReplicas=5)
IMPOSSIBLE = compose(
    {"instanceType": "g4dn.xlarge", "timeSlicingReplicas": 2, "migProfile": "1g.5gb"}
)


def errors(
    plan: dict[str, Any], *, wake: str | None = WAKE, processes: bool = True, **prometheus: str
) -> dict[str, str]:
    """Errors of the whole stack file, by path."""
    parts = environment_parts(plan, wake=wake, provisioner="managedNodeGroup")
    asked = {"url": "http://prometheus:9090", "processMetrics": processes, **prometheus}
    text = stack_file_text({**base(), **parts, "keda": {"prometheus": asked}})
    return {each.path: each.code for each in checked(text).findings if each.severity == "error"}


def test_the_sample_with_time_slicing() -> None:
    assert environment_parts(SLICED, wake=WAKE) == {
        "pools": {
            "gpu": {
                "provisioner": "karpenter",
                "instanceTypes": ["g4dn.xlarge"],
                "sharing": {"mode": "timeSlicing", "replicas": 2},
                "nodes": {"max": 2},
                "warm": {"nodes": 1},
            }
        },
        "workloads": {
            "gpuinfo": {
                "pool": "gpu",
                "image": "ghcr.io/omnistrate-community/gpu-slicing-example:0.0.3",
                "port": 5000,
                "resources": {
                    "requests": {"cpu": "100m", "memory": "50Mi"},
                    "limits": {"cpu": "1", "memory": "100Mi"},
                },
                "replicas": {"min": 1, "max": 3},
                "idle": {"threshold": 20, "minutes": 2},
                "overUse": {"threshold": 80, "minutes": 3},
                "autoStop": True,
                "wake": {"query": WAKE},
            }
        },
    }


def test_the_sample_with_mig() -> None:
    parts = environment_parts(MIG, wake=WAKE)

    pool = parts["pools"]["gpu"]
    assert pool["sharing"] == {"mode": "mig", "layout": "all-1g.5gb"}
    assert pool["nodes"] == {"max": 1}
    assert parts["workloads"]["gpuinfo"]["replicas"] == {"min": 1, "max": 5}


@pytest.mark.parametrize("plan", [SLICED, MIG], ids=["time-slicing", "mig"])
def test_a_sample_makes_a_whole_stack(plan: dict[str, Any]) -> None:
    assert errors(plan) == {}


def test_mig_on_a_gpu_without_it_is_refused_with_the_fix() -> None:
    """Omnistrate's own page shows the two together."""
    parts = environment_parts(IMPOSSIBLE, wake=WAKE, provisioner="managedNodeGroup")
    text = stack_file_text({**base(), **parts})
    (found,) = [each for each in checked(text).findings if each.code == "GPU203"]

    assert found.path == "pools.gpu.sharing.mode"
    assert found.message == "The T4 in g4dn.xlarge has no MIG."
    assert found.fix.startswith("Use timeSlicing or mps")


def test_a_service_that_nothing_wakes_is_refused() -> None:
    assert errors(SLICED, wake=None) == {"workloads.gpuinfo.autoStop": "GPU825"}


def test_time_slices_that_nobody_measures_are_refused() -> None:
    assert errors(SLICED, processes=False) == {"workloads.gpuinfo.useQuery": "GPU832"}
    assert errors(MIG, processes=False) == {"keda.prometheus.exporter": "GPU851"}
    assert errors(MIG, processes=False, exporter="existing") == {}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("100M", "100Mi"),
        ("1g", "1Gi"),
        ("2GB", "2Gi"),
        ("512mb", "512Mi"),
        ("64k", "64Ki"),
        ("300b", "300"),
        (1024, "1024"),
    ],
)
def test_memory_of_compose_is_in_powers_of_two(given: object, made: str) -> None:
    plan = compose({"instanceType": "g4dn.xlarge"})
    plan["services"]["gpuinfo"]["deploy"]["resources"]["limits"]["memory"] = given

    workload = environment_parts(plan)["workloads"]["gpuinfo"]
    assert workload["resources"]["limits"]["memory"] == made


@pytest.mark.parametrize("provisioner", ["karpenter", "managedNodeGroup"])
def test_nodes_come_from_none_for_as_many_pods_as_there_may_be(provisioner: Provisioner) -> None:
    plan = compose({"instanceType": "g4dn.xlarge", "timeSlicingReplicas": 4}, maxReplicas=9)

    pool = environment_parts(plan, provisioner=provisioner)["pools"]["gpu"]
    assert pool["nodes"]["max"] == 3
    assert (pool.get("scaledBy") == "autoscaler") is (provisioner == "managedNodeGroup")


def test_several_services_share_a_pool() -> None:
    plan = compose({"instanceType": "g4dn.xlarge", "timeSlicingReplicas": 2})
    plan["services"]["Chat_Bot"] = {
        "image": "chat:1",
        "environment": ["MODEL=small", "EMPTY"],
        "ports": [{"target": 8080, "published": 80}],
    }
    parts = environment_parts(plan)

    assert parts["pools"]["gpu"]["nodes"] == {"max": 2}
    assert parts["workloads"]["chat-bot"] == {
        "pool": "gpu",
        "image": "chat:1",
        "port": 8080,
        "env": {"MODEL": "small", "EMPTY": ""},
    }


def test_a_plan_without_a_gpu_is_none() -> None:
    with pytest.raises(ValueError, match="instanceType"):
        environment_parts({"services": {}})
