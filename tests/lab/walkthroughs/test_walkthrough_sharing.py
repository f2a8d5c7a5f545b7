"""The first walkthrough on the real scheduler: whole GPUs, then shares of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Run

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Shortly = Any
Messages = Any
Desired = Any

GPU = "nvidia.com/gpu"
DEPLOYMENT = "gpu-demo/tensorflow-cifar10-deployment"


@pytest.mark.parametrize(
    "stack", ["exclusive", pytest.param("exclusive-v100", marks=pytest.mark.at_length)]
)
def test_four_of_five_pods_run_on_four_whole_gpus(walk: Walk, shortly: Shortly, stack: str) -> None:
    walk.install(stack)
    walk.apply("exclusive/cifar10.yaml")

    report = walk.see(tensorflow_cifar10_deployment=4)
    workload = report["workloads"][DEPLOYMENT]
    reasons = workload.pop("reasons")
    assert list(report["pools"]) == ["gpu"]
    whole = {"nodes": 1, "declared": {GPU: 4}, "advertised": {GPU: 4}}
    assert shortly(report["pools"]["gpu"]) == whole
    assert workload == {
        "kind": "Deployment",
        "desired": 5,
        "running": 4,
        "pending": 1,
        "peak": 4,
    }
    assert reasons[0].startswith("1 pod: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")
    assert reasons[1:] == [
        "gpu-0: 0 of 4 nvidia.com/gpu free, 1 asked for",
        "2 nodes of system: no nvidia.com/gpu, 1 asked for",
    ]
    assert report["findings"] == []


@pytest.mark.parametrize(
    "stack", ["time-slicing", pytest.param("time-slicing-v100", marks=pytest.mark.at_length)]
)
def test_twenty_pods_run_on_forty_shares(walk: Walk, stack: str) -> None:
    walk.install(stack)
    walk.apply("exclusive/cifar10.yaml")
    five = walk.see()["workloads"][DEPLOYMENT]
    walk.scale("tensorflow-cifar10-deployment", 20)

    report = walk.see(tensorflow_cifar10_deployment=20)
    assert report["pools"]["gpu"]["advertised"] == {GPU: 40}
    assert (five["desired"], five["running"], five["pending"]) == (5, 5, 0)
    assert report["workloads"][DEPLOYMENT] == {
        "kind": "Deployment",
        "desired": 20,
        "running": 20,
        "pending": 0,
        "peak": 20,
        "reasons": [],
    }
    assert report["nodes"]["gpu-0"]["used"] == {GPU: 20}
    assert report["nodes"]["gpu-0"]["free"] == {GPU: 20}
    assert report["findings"] == []


@pytest.mark.at_length
def test_as_many_pods_run_as_the_bound_of_cpu_says(walk: Walk, run: Run) -> None:
    asked = run("shares", "time-slicing", "--cpu", "1500m", "--memory", "2GiB", "--json").json
    (kind,) = asked["pools"][0]["instanceTypes"]
    bounds = {each["name"]: each["podsPerNode"] for each in kind["bounds"]}
    walk.install("time-slicing")
    walk.apply("sizing/embedder.yaml")

    workload = walk.see()["workloads"]["default/embedder"]
    assert (workload["running"], workload["pending"]) == (bounds["cpu"], 40 - bounds["cpu"])
    assert bounds["cpu"] == 31


def test_fewer_replicas_on_a_live_lab_evict_nobody(walk: Walk) -> None:
    walk.install("time-slicing")
    walk.apply("exclusive/cifar10.yaml")
    walk.scale("tensorflow-cifar10-deployment", 20)
    walk.install("fewer-replicas")
    walk.scale("tensorflow-cifar10-deployment", 21)

    report = walk.see(tensorflow_cifar10_deployment=20)
    workload = report["workloads"][DEPLOYMENT]
    assert report["pools"]["gpu"]["advertised"] == {GPU: 16}
    assert (workload["running"], workload["pending"]) == (20, 1)
    assert report["nodes"]["gpu-0"]["used"] == {GPU: 20}
    assert report["nodes"]["gpu-0"]["free"] == {GPU: 0}
    assert report["findings"] == []


@pytest.mark.at_length
def test_a_change_of_replicas_replaces_the_config_map(walk: Walk) -> None:
    names = []
    for stack in ("time-slicing", "fewer-replicas"):
        walk.install(stack)
        names.append(
            [
                each["metadata"]["name"]
                for each in walk.session.watches.config_maps.all()
                if each["metadata"]["name"].startswith("nvidia-device-plugin-config")
            ]
        )

    assert [len(each) for each in names] == [1, 1]
    assert names[0] != names[1]


def test_labels_say_what_gpu_feature_discovery_would(walk: Walk) -> None:
    walk.install("time-slicing-v100")

    labels = walk.session.watches.nodes.get("gpu-0")["metadata"]["labels"]
    found = {key: value for key, value in labels.items() if key.startswith("nvidia.com/gpu.")}
    assert found == {
        "nvidia.com/gpu.compute.major": "7",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gpu.count": "4",
        "nvidia.com/gpu.family": "volta",
        "nvidia.com/gpu.machine": "p3.8xlarge",
        "nvidia.com/gpu.memory": "16384",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "Tesla-V100-SXM2-16GB-SHARED",
        "nvidia.com/gpu.replicas": "10",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
    }


def test_nodes_are_as_eks_would_have_them(walk: Walk) -> None:
    walk.install("time-slicing-v100")

    node = walk.session.watches.nodes.get("gpu-0")
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "p3.8xlarge"
    assert labels["topology.kubernetes.io/zone"] == "us-west-2a"
    assert labels["eks.amazonaws.com/capacityType"] == "ON_DEMAND"
    assert labels["eks-node"] == "gpu"
    assert node["spec"]["taints"] == [{"key": GPU, "value": "true", "effect": "NoSchedule"}]
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.8-eks-lab"
    assert node["status"]["allocatable"]["cpu"] == "31850m"


@pytest.mark.at_length
def test_mps_shares_come_with_the_daemon_that_discovery_lets_in(walk: Walk) -> None:
    walk.install("mps")

    report = walk.see()
    daemon = report["daemonsets"]["nvidia-device-plugin/nvidia-device-plugin-mps-control-daemon"]
    assert report["pools"]["gpu"]["advertised"] == {GPU: 4}
    assert daemon["pools"]["gpu"] == {"nodes": 1, "desired": 1, "ready": 1}
    assert report["findings"] == []


def test_mps_without_discovery_advertises_nothing(
    walk: Walk, desired: Desired, messages_of: Messages
) -> None:
    (release,) = desired("mps").releases
    without = replace(release, values={**release.values, "gfd": {"enabled": False}})
    walk.install(replace(desired("mps"), releases=(without,)))

    assert messages_of(walk.see(), "GPU913") == [
        (
            "nvidia.com/gpu: 4 declared, nothing advertised: the MPS control daemon is not on it, "
            "and the device plugin waits for it. On gpu-0: nodeSelector wants "
            "nvidia.com/mps.capable=true and the node has no label nvidia.com/mps.capable."
        )
    ]


def deployment(name: str, replicas: int, context: str, kind: str = "Deployment") -> str:
    """A workload on the shares of the stack `mps`, with a security context of its pods."""
    container = f"{{name: app, image: app, resources: {{limits: {{{GPU}: 1}}}}}}"
    restarts = "restartPolicy: Never, " if kind == "Job" else ""
    of_pods = f"{{{restarts}securityContext: {context}, containers: [{container}]}}"
    labels = f"{{app: {name}}}"
    group, wanted = ("batch/v1", f"parallelism: {replicas}, completions: {replicas}")
    if kind == "Deployment":
        group, wanted = "apps/v1", f"replicas: {replicas}, selector: {{matchLabels: {labels}}}"
    template = f"{{metadata: {{labels: {labels}}}, spec: {of_pods}}}"
    return (
        f"---\nkind: {kind}\napiVersion: {group}\nmetadata: {{name: {name}}}\n"
        f"spec: {{{wanted}, template: {template}}}\n"
    )


def test_mps_serves_the_pods_of_one_user_and_lets_the_others_wait(
    walk: Walk, messages_of: Messages
) -> None:
    walk.install("mps")
    walk.apply(text=deployment("root", 2, "{}"))
    walk.apply(text=deployment("people", 2, "{runAsUser: 1000}"))

    report = walk.see()
    people = report["workloads"]["default/people"]
    assert report["workloads"]["default/root"]["running"] == 2
    assert (people["running"], people["pending"], people["peak"]) == (0, 2, 0)
    why = (
        "the pod runs as user 1000, and the MPS server of the node serves user 0 until all pods "
        "of that user have ended"
    )
    assert people["reasons"] == [f"2 pods: {why}"]
    pods = {
        name: sorted(
            pod["metadata"]["name"]
            for pod in walk.session.watches.pods.all()
            if pod["metadata"]["labels"].get("app") == name
        )
        for name in ("root", "people")
    }
    assert messages_of(report, "GPU953") == [
        (
            f"On gpu-0, {', '.join(pods['people'])} cannot use the GPU: {why}. Served: "
            f"{', '.join(pods['root'])}. Where no runAsUser is set, the image decides; root is "
            "assumed."
        )
    ]

    severities = {each["severity"] for each in walk.see(root=2, people=0)["findings"]}
    assert severities == {"warning"}, "it is no error where none was expected to run"

    walk.scale("root", 0)
    report = walk.see(root=0, people=2)
    assert report["findings"] == []


@pytest.mark.at_length
def test_mps_serves_pods_that_all_run_as_one_user(walk: Walk) -> None:
    walk.install("mps")
    one = deployment("one", 2, "{runAsUser: 1000}")
    walk.apply(text=one + deployment("two", 2, "{runAsUser: 1000, runAsNonRoot: true}"))

    report = walk.see(one=2, two=2)
    assert report["findings"] == []


@pytest.mark.at_length
def test_a_job_of_another_user_is_not_taken_for_done(walk: Walk, messages_of: Messages) -> None:
    walk.install("mps")
    walk.apply(text=deployment("root", 1, "{runAsUser: 0}"))
    walk.apply(text=deployment("job", 1, "{runAsUser: 1000}", "Job"))

    assert len(messages_of(walk.see(), "GPU953")) == 1
