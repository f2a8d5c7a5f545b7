"""Workloads, KEDA and warm room, in an environment and alone."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

ARN = "arn:aws:aps:us-west-2:111122223333:workspace/ws-1a2b"
QUEUE = "arn:aws:sqs:us-west-2:111122223333:jobs"
BOUNDARY = "arn:aws:iam::111122223333:policy/Boundary"
POOL = {
    "instance_types": ["g6.2xlarge"],
    "nodes": {"min": 0, "desired": 0, "max": 4},
    "scaled_by": "autoscaler",
    "sharing": {"mode": "timeSlicing", "replicas": 2},
}
PROMETHEUS = {"url": "http://prometheus:9090", "process_metrics": True}
SCALED = {
    "pool": "gpu",
    "image": "model:1",
    "namespace": "models",
    "port": 8000,
    "replicas": {"min": 1, "max": 3},
    "auto_stop": True,
    "wake": {"query": "requests_waiting"},
    "priority": "low",
}


@pytest.fixture
def served(environment: Callable[..., Run]) -> Run:
    """An environment with all of it."""
    return environment(
        pools={"gpu": {**POOL, "warm": {"shares": 2, "nodes": 1}}},
        keda={"prometheus": PROMETHEUS},
        workloads={"model": SCALED, "fixed": {"pool": "gpu", "image": "fixed:1"}},
    )


def test_an_environment_has_what_its_workloads_need(served: Run) -> None:
    made = [each for each in served.urns if "Workload" in each or "warm" in each or "keda" in each]
    kinds = {(each.rsplit("::", 1)[0].rsplit("$", 1)[-1], each.rsplit("::", 1)[1]) for each in made}

    assert kinds == {
        ("eks-gpushare:index:Keda", "demo-keda"),
        ("kubernetes:core/v1:Namespace", "demo-keda-namespace"),
        ("kubernetes:helm.sh/v3:Release", "demo-keda-release"),
        ("kubernetes:core/v1:Namespace", "demo-warm-room"),
        ("kubernetes:scheduling.k8s.io/v1:PriorityClass", "demo-warm-room"),
        ("kubernetes:apps/v1:Deployment", "demo-warm-room-gpu-shares"),
        ("kubernetes:apps/v1:Deployment", "demo-warm-room-gpu-nodes"),
        ("eks-gpushare:index:SharedWorkload", "demo-workload-model"),
        ("kubernetes:apps/v1:Deployment", "demo-workload-model-deployment"),
        ("kubernetes:core/v1:Service", "demo-workload-model-service"),
        ("kubernetes:policy/v1:PodDisruptionBudget", "demo-workload-model-disruption-budget"),
        ("kubernetes:keda.sh/v1alpha1:ScaledObject", "demo-workload-model-scaled-object"),
        ("eks-gpushare:index:SharedWorkload", "demo-workload-fixed"),
        ("kubernetes:apps/v1:Deployment", "demo-workload-fixed-deployment"),
    }


def test_namespace_and_priority_are_made_where_they_are_asked_for(served: Run) -> None:
    namespace = served.inputs("Namespace", "demo-namespace-models")
    priority = served.inputs("PriorityClass", "demo-priority-low")

    assert namespace["metadata"]["name"] == "models"
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"
    assert (priority["metadata"]["name"], priority["value"]) == ("eks-gpushare-low", -1)
    pod = served.inputs("Deployment", "demo-workload-model-deployment")["spec"]["template"]["spec"]
    assert pod["priorityClassName"] == "eks-gpushare-low"


def test_it_goes_before_what_it_needs(served: Run) -> None:
    """What depends on something is made after it, and destroyed before it."""
    workload = set(served.depends("SharedWorkload", "demo-workload-model"))

    assert {"demo-keda-release", "demo-device-plugin-release"} <= workload
    assert {"demo-gpu", "demo-namespace-models"} <= workload
    assert {"demo-system"} <= set(served.depends("Keda", "demo-keda"))
    shares = served.depends("Deployment", "demo-warm-room-gpu-shares")
    assert {"demo-warm-room"} <= set(shares)
    scaled = served.depends("ScaledObject", "demo-workload-model-scaled-object")
    assert "demo-workload-model-deployment" in scaled


def test_objects_are_those_that_kubernetes_has(served: Run) -> None:
    """Names of fields in Python would be dropped by the API server without a word."""
    for kind in ("Deployment", "PodDisruptionBudget", "PriorityClass", "ScaledObject", "Service"):
        for each in served.all(kind):
            assert "_" not in " ".join(_keys(each.inputs)), each.name


def _keys(value: Any) -> list[str]:
    if isinstance(value, list):
        return [key for each in value for key in _keys(each)]
    if not isinstance(value, dict):
        return []
    return [*map(str, value), *(key for each in value.values() for key in _keys(each))]


def test_a_stack_without_them_imports_nothing_of_them(environment: Callable[..., Run]) -> None:
    mine = ("eks_gpushare.workload_parts", "eks_gpushare.keda", "eks_gpushare.shared_workload")
    for name in mine:
        sys.modules.pop(name, None)

    environment()

    assert not set(mine) & set(sys.modules)


def test_keda_runs_on_nodes_without_gpus(keda: Callable[..., Run]) -> None:
    release = keda(chart={"values": {"operator": {"replicaCount": 1}}}).inputs("Release")

    assert (release["chart"], release["version"]) == ("keda", versions.KEDA.version)
    assert release["repositoryOpts"] == {"repo": "https://kedacore.github.io/charts"}
    affinity = release["values"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "eks-gpushare/pool", "operator": "DoesNotExist"}]
    assert release["values"]["operator"] == {"replicaCount": 1}


def test_keda_may_query_one_workspace_and_nothing_else(keda: Callable[..., Run]) -> None:
    run = keda(prometheus={"workspace_arn": ARN}, cluster_name="demo", tags={"team": "ml"})

    (policy,) = run.all("RolePolicy")
    assert json.loads(policy.inputs["policy"])["Statement"] == [
        {"Effect": "Allow", "Action": ["aps:QueryMetrics"], "Resource": ARN}
    ]
    association = run.inputs("PodIdentityAssociation")
    assert (association["namespace"], association["serviceAccount"]) == ("keda", "keda-operator")
    assert association["tags"] == {"team": "ml"}
    trust = json.loads(run.inputs("Role")["assumeRolePolicy"])["Statement"][0]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    authentication = run.inputs("ClusterTriggerAuthentication")
    assert authentication["spec"] == {"podIdentity": {"provider": "aws"}}
    # A pod gets an identity as it starts.
    assert any("operator" in each for each in run.depends("Release"))


def test_keda_may_read_the_length_of_queues_and_nothing_else(keda: Callable[..., Run]) -> None:
    run = keda(queues=[QUEUE], cluster_name="demo", iam={"permissions_boundary": BOUNDARY})

    (policy,) = run.all("RolePolicy")
    assert json.loads(policy.inputs["policy"])["Statement"] == [
        {"Effect": "Allow", "Action": ["sqs:GetQueueAttributes"], "Resource": [QUEUE]}
    ]
    assert run.inputs("Role")["permissionsBoundary"] == BOUNDARY
    authentication = run.inputs("ClusterTriggerAuthentication")
    assert authentication["metadata"]["name"] == "eks-gpushare-queues"
    assert authentication["spec"] == {"podIdentity": {"provider": "aws"}}


def test_keda_has_a_role_for_each_thing_that_it_asks(keda: Callable[..., Run]) -> None:
    run = keda(prometheus={"workspace_arn": ARN}, queues=[QUEUE], cluster_name="demo")

    assert {each.name.removeprefix("demo") for each in run.all("RolePolicy")} == {
        "-operator-query",
        "-operator-queues",
    }
    assert len(run.all("Role")) == 1
    assert len(run.all("ClusterTriggerAuthentication")) == 2


WINDOW = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "time_zone": "Europe/Berlin"}


def test_by_the_time_alone_nothing_is_measured(environment: Callable[..., Run]) -> None:
    pool = {**POOL, "warm": {"nodes": 1, "schedule": [WINDOW]}}
    office = {
        "pool": "gpu",
        "image": "model:1",
        "replicas": {"min": 0},
        "schedule": [{**WINDOW, "replicas": 2}],
    }
    run = environment(
        pools={"gpu": pool}, cluster_autoscaler={}, keda={}, workloads={"office": office}
    )

    room = run.inputs("ScaledObject", "demo-warm-room-gpu-nodes-schedule")
    assert room["metadata"]["namespace"] == "eks-gpushare-warm-room"
    assert (room["spec"]["idleReplicaCount"], room["spec"]["maxReplicaCount"]) == (0, 1)
    assert "replicas" not in run.inputs("Deployment", "demo-warm-room-gpu-nodes")["spec"]
    after = run.depends("ScaledObject", "demo-warm-room-gpu-nodes-schedule")
    assert "demo-warm-room-gpu-nodes" in after
    assert "demo-keda-release" in after
    spec = run.inputs("ScaledObject", "demo-workload-office-scaled-object")["spec"]
    assert [trigger["type"] for trigger in spec["triggers"]] == ["cron"]
    assert "replicas" not in run.inputs("Deployment", "demo-workload-office-deployment")["spec"]
    assert run.all("ClusterTriggerAuthentication") == []


def test_a_prometheus_in_the_cluster_needs_no_role(keda: Callable[..., Run]) -> None:
    run = keda()

    assert run.all("Role") == run.all("PodIdentityAssociation") == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prometheus": {}}, "prometheus: Neither url nor workspace_arn is given."),
        ({"prometheus": {"workspace_arn": ARN}}, "cluster_name: Its operator gets a role"),
        ({"queues": [QUEUE]}, "cluster_name: Its operator gets a role for the queues"),
        ({"queues": ["jobs"], "cluster_name": "demo"}, 'queues[0]: "jobs" is not the ARN of a'),
        ({"namespace": "kube-system"}, "namespace: kube-system is not a namespace for KEDA."),
        ({"replicas": 0}, "replicas: "),
    ],
)
def test_wrong_arguments_of_keda(
    keda: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in keda(fails=True, **given).error


def test_a_workload_alone(shared_workload: Callable[..., Run]) -> None:
    run = shared_workload(
        replicas={"max": 5}, prometheus={"url": "http://p:9090"}, port=80, preview=False
    )

    pod = run.inputs("Deployment")["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"eks-gpushare/pool": "gpu"}
    assert run.inputs("ScaledObject")["spec"]["maxReplicaCount"] == 5
    (workload,) = run.all("SharedWorkload")
    assert workload.outputs == {"address": "model.default.svc:80"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"served": []}, "served: No pool is named."),
        ({"share": "nvidia.com/mig-1g.5gb"}, "share: Pool gpu advertises no"),
        ({"replicas": {"max": 2}}, "replicas: The number of pods of model follows their use"),
        ({"auto_stop": True}, "auto_stop: The workload is stopped when idle"),
        ({"schedule": [{"start": "0 8 * * *", "replicas": 2}]}, "schedule[0].end"),
        (
            {"schedule": [{"start": "@daily", "end": "0 8 * * *", "replicas": 2}]},
            'schedule[0].start: "@daily" is no schedule',
        ),
        ({"idle": {"minutes": 0}}, "idle.minutes: "),
        ({"imgae": "x"}, "imgae is not an argument"),
        ({"secret_env": {"A": {"secret": "s"}}}, "secret_env.A.key"),
    ],
)
def test_wrong_arguments_of_a_workload(
    shared_workload: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in shared_workload(fails=True, **given).error


def test_what_reaches_kubernetes_as_it_is_may_be_an_output(
    record: Callable[..., Run],
) -> None:
    def program() -> None:
        import pulumi
        import pulumi_kubernetes

        from eks_gpushare import SharedWorkload

        provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        late = pulumi_kubernetes.core.v1.Secret(
            "late", metadata={"name": "hub"}, opts=pulumi.ResourceOptions(provider=provider)
        )
        SharedWorkload(
            "model",
            {
                "name": "model",
                "image": late.id.apply(lambda each: f"model:{each}"),
                "env": {"A": late.id},
                "secret_env": {"TOKEN": {"secret": late.metadata.name, "key": "token"}},
                "served": [
                    {
                        "name": "gpu",
                        "instance_types": ["g5.xlarge"],
                        "sharing": {"mode": "exclusive"},
                    }
                ],
            },
            pulumi.ResourceOptions(providers=[provider]),
        )

    assert record(program).all("Deployment")
