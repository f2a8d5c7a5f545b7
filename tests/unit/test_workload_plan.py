"""The objects of workloads and of warm room."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.workloads import Workload
from eks_gpushare.sharing import warm_room, workloads
from eks_gpushare.sharing.capacity import most_nodes, most_pods
from eks_gpushare.sharing.plan import PoolPlan, plan_pool
from eks_gpushare.sharing.system_load import for_the_cluster
from eks_gpushare.validation.parse import parse

SLICED = {"mode": "timeSlicing", "replicas": 10}


def plan(name: str = "gpu", **given: Any) -> PoolPlan:
    made = {"instanceTypes": ["g5.xlarge"], "sharing": SLICED, **given}
    return plan_pool(name, Pool.model_validate(made), Catalog())


def pod(*plans: PoolPlan, **given: Any) -> dict[str, Any]:
    workload = Workload.model_validate({"image": "model:1", "pool": "gpu", **given})
    where = workloads.placement(workload, plans or [plan()])
    made = workloads.deployment("model", workload, where)
    spec: dict[str, Any] = made["spec"]["template"]["spec"]
    return spec


def container(**given: Any) -> dict[str, Any]:
    (only,) = pod(**given)["containers"]
    assert isinstance(only, dict)
    return only


def test_a_pod_asks_for_a_share_and_goes_where_it_is() -> None:
    found = pod(plan(sharing={**SLICED, "rename": True}))

    assert found["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu.shared": "1"}}
    assert found["nodeSelector"] == {"eks-gpushare/pool": "gpu"}
    assert found["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
    ]


def test_a_pod_may_do_nothing_that_it_need_not() -> None:
    found = pod()

    assert found["automountServiceAccountToken"] is False
    assert found["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert found["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_several_pools_are_preferred_in_their_order() -> None:
    spot = plan("spot", taints=[{"key": "spot", "effect": "NoSchedule"}])
    found = pod(spot, plan("ondemand"), pool=None, pools=["spot", "ondemand"])

    affinity = found["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["spot", "ondemand"]
    (preferred,) = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["preference"]["matchExpressions"][0]["values"] == ["spot"]
    assert [each["key"] for each in found["tolerations"]] == ["spot", "nvidia.com/gpu"]
    assert "nodeSelector" not in found


@pytest.mark.parametrize("count", [2, 3, 150])
def test_preferences_have_weights_that_kubernetes_takes(count: int) -> None:
    plans = [plan(f"p{index}") for index in range(count)]
    affinity = pod(*plans, pool=None, pools=["p0"])["affinity"]["nodeAffinity"]
    weights = [
        each["weight"] for each in affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    ]

    assert weights == sorted(weights, reverse=True)
    assert set(weights) <= set(range(1, 101))


def test_what_is_given_stands_in_the_pod() -> None:
    found = pod(
        command=["serve"],
        args=["--fast"],
        env={"A": "1"},
        secretEnv={"TOKEN": {"secret": "hub", "key": "token"}},
        port=8000,
        readinessPath="/healthz",
        resources={"requests": {"cpu": "500m"}, "limits": {"memory": "4Gi"}},
        sharedMemory="2Gi",
        serviceAccount="model",
        runAsNonRoot=True,
        capabilities=["SETUID"],
        priority="high",
        spreadZones=True,
        stopSeconds=120,
    )
    (main,) = found["containers"]

    assert main["command"] == ["serve"]
    assert main["args"] == ["--fast"]
    assert main["env"] == [
        {"name": "A", "value": "1"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
    ]
    assert main["ports"] == [{"name": "http", "containerPort": 8000}]
    assert main["readinessProbe"] == {"httpGet": {"path": "/healthz", "port": "http"}}
    assert main["resources"] == {
        "requests": {"cpu": "500m"},
        "limits": {"memory": "4Gi", "nvidia.com/gpu": "1"},
    }
    assert main["volumeMounts"] == [{"name": "shared-memory", "mountPath": "/dev/shm"}]  # noqa: S108
    assert found["volumes"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": "2Gi"}
    assert found["serviceAccountName"] == "model"
    assert found["automountServiceAccountToken"] is True
    assert found["securityContext"]["runAsNonRoot"] is True
    assert main["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["SETUID"]}
    assert found["priorityClassName"] == "eks-gpushare-high"
    assert found["topologySpreadConstraints"][0]["topologyKey"] == "topology.kubernetes.io/zone"
    assert found["terminationGracePeriodSeconds"] == 120


@pytest.mark.parametrize(
    ("given", "replicas", "waited"),
    [
        ({}, 1, True),
        ({"replicas": {"min": 3}}, 3, True),
        ({"replicas": {"min": 1, "max": 3}}, None, True),
        ({"autoStop": True, "wake": {"query": "x"}}, None, False),
    ],
)
def test_a_number_that_keda_sets_is_not_said(
    given: dict[str, Any], replicas: int | None, *, waited: bool
) -> None:
    workload = Workload.model_validate({"image": "model:1", "pool": "gpu", **given})
    made = workloads.deployment("model", workload, workloads.placement(workload, [plan()]))

    assert made["spec"].get("replicas") == replicas
    assert ("annotations" not in made["metadata"]) is waited


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        ({}, None),
        ({"replicas": {"min": 2}}, {"maxUnavailable": 1}),
        ({"disruptionBudget": {"minAvailable": "50%"}}, {"minAvailable": "50%"}),
        ({"disruptionBudget": {"maxUnavailable": 0}}, {"maxUnavailable": 0}),
    ],
)
def test_pods_may_be_away_one_at_a_time(given: dict[str, Any], spec: dict[str, Any] | None) -> None:
    workload = Workload.model_validate({"image": "model:1", "pool": "gpu", **given})
    made = workloads.disruption_budget("model", workload)

    found = None if made is None else {k: v for k, v in made["spec"].items() if k != "selector"}
    assert found == spec


def test_notebooks_are_left_alone_by_both_autoscalers() -> None:
    workload = Workload.model_validate({"image": "m:1", "pool": "gpu", "doNotDisrupt": True})
    made = workloads.deployment("nb", workload, workloads.placement(workload, [plan()]))

    assert made["spec"]["template"]["metadata"]["annotations"] == {
        "karpenter.sh/do-not-disrupt": "true",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    }


def test_warm_shares_are_held_together_and_warm_nodes_apart() -> None:
    found = warm_room.placeholders(plan(scaledBy="autoscaler", warm={"shares": 3, "nodes": 2}))

    shares, nodes = found["shares"]["spec"], found["nodes"]["spec"]
    assert (shares["replicas"], nodes["replicas"]) == (3, 2)
    held, kept = shares["template"]["spec"], nodes["template"]["spec"]
    assert held["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert "limits" not in kept["containers"][0]["resources"]
    assert "preferredDuringSchedulingIgnoredDuringExecution" in held["affinity"]["podAffinity"]
    apart = kept["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart[0]["topologyKey"] == "kubernetes.io/hostname"
    for each in (held, kept):
        assert each["priorityClassName"] == "eks-gpushare-placeholder"
        assert each["terminationGracePeriodSeconds"] == 0
        assert each["tolerations"]


OFFICE = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5"}


@pytest.mark.parametrize(
    ("given", "nodes"),
    [
        ({"scaledBy": "autoscaler", "warm": {"nodes": 2}, "nodes": {"desired": 0}}, 2),
        ({"scaledBy": "autoscaler", "warm": {"nodes": 2}, "nodes": {"desired": 1}}, 1),
        ({"scaledBy": "autoscaler", "warm": {"nodes": 9}, "nodes": {"desired": 1}}, 3),
        ({"provisioner": "karpenter", "warm": {"shares": 11}}, 2),
    ],
)
def test_room_by_the_time_is_beside_what_is_always_there(given: dict[str, Any], nodes: int) -> None:
    sizes = {"min": 0, **given.get("nodes", {}), "max": 4}
    if given.get("provisioner") == "karpenter":
        sizes = {"max": 4}
    warm = {**given["warm"], "schedule": [OFFICE]}
    found = plan(**{**given, "nodes": sizes, "warm": warm})

    assert found.kept == found.sizes.desired
    scheduled = found.as_json()["scaling"]["scheduled"]
    assert (scheduled["nodes"], scheduled["hoursPerWeek"]) == (nodes, 50)


def test_room_by_the_time_is_started_and_stopped_at_once() -> None:
    made = plan(scaledBy="autoscaler", warm={"shares": 3, "nodes": 2, "schedule": [OFFICE]})
    deployed, scaled = warm_room.placeholders(made), warm_room.schedules(made)

    assert {kept: scaled[kept]["spec"]["maxReplicaCount"] for kept in scaled} == {
        "shares": 3,
        "nodes": 2,
    }
    for kept, document in scaled.items():
        deployment = deployed[kept]
        assert document["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
        assert document["metadata"]["namespace"] == deployment["metadata"]["namespace"]
        assert document["spec"]["idleReplicaCount"] == 0
        # Else each update would set it back.
        assert "replicas" not in deployment["spec"]


def test_placeholders_give_way_to_all_and_push_nobody_out() -> None:
    made = warm_room.placeholder_class()

    assert made["value"] < min(workloads.PRIORITIES.values()) < 0
    assert made["value"] >= -10  # below, Cluster Autoscaler adds no node for them
    assert made["preemptionPolicy"] == "Never"


def test_an_image_of_ones_own_holds_the_room() -> None:
    found = warm_room.placeholders(plan(warm={"shares": 1, "image": "mirror.example/pause:1"}))

    (only,) = found["shares"]["spec"]["template"]["spec"]["containers"]
    assert only["image"] == "mirror.example/pause:1"


@pytest.mark.parametrize(
    ("pool", "shares", "nodes"),
    [
        ({"nodes": {"max": 3}}, 30, 3),
        ({"nodes": {"max": 3}, "instanceTypes": ["g5.xlarge", "g5.12xlarge"]}, 30, 3),
        ({"provisioner": "karpenter"}, None, None),
        ({"provisioner": "karpenter", "nodes": {"max": 3}}, 30, 3),
        (
            {
                "provisioner": "karpenter",
                "nodes": {"max": 3},
                "instanceTypes": ["g5.xlarge", "g5.12xlarge"],
            },
            120,
            3,
        ),
        (
            {"provisioner": "karpenter", "karpenter": {"limits": {"nvidia.com/gpu.shared": 25}}},
            20,
            None,
        ),
        ({"provisioner": "karpenter", "karpenter": {"limits": {"cpu": 8}}}, None, None),
    ],
)
def test_what_a_pool_holds(pool: dict[str, Any], shares: int | None, nodes: int | None) -> None:
    """Limits of a pool of Karpenter's count what nodes advertise, not nodes."""
    made = plan(**pool)

    assert most_pods(made, next(iter(made.request))) == shares
    assert most_nodes(made) == nodes


@pytest.mark.parametrize(("keda", "pods"), [({}, 4), ({"replicas": 1}, 3), ({"install": False}, 0)])
def test_keda_takes_its_part_of_the_system_nodes(keda: dict[str, Any], pods: int) -> None:
    given: dict[str, Any] = {
        "cluster": {"name": "demo", "version": "1.35"},
        "pools": {"gpu": {"instanceTypes": ["g5.xlarge"], "sharing": SLICED}},
    }
    prometheus = {"prometheus": {"url": "http://prometheus:9090"}}
    without, with_keda = (
        parse(each).environment for each in (given, {**given, "keda": {**keda, **prometheus}})
    )

    assert without is not None
    assert with_keda is not None
    before, after = for_the_cluster(without), for_the_cluster(with_keda)
    assert after.pods - before.pods == pods
    assert after.cpu_millis - before.cpu_millis == 100 * pods
    assert after.memory_mib - before.memory_mib == 100 * pods
