"""Manifests that do not come to run: each says why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.simulated_node import admission

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any
Messages = Any

GPU = "nvidia.com/gpu"


def deployment(name: str, limits: str, *, namespace: str = "gpu-demo", more: str = "") -> str:
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: app, image: app, resources: {{limits: {limits}}}}}]{more}
---
"""


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: gpu-demo}\n---\n"


def test_a_request_of_two_shares_is_refused_by_the_kubelet(
    walk: Walk, messages_of: Messages
) -> None:
    walk.install("time-slicing")
    walk.apply(text=NAMESPACE + deployment("greedy", "{nvidia.com/gpu: 2}"))

    report = walk.see()
    assert report["workloads"]["gpu-demo/greedy"]["running"] == 0
    assert report["workloads"]["gpu-demo/greedy"]["peak"] == 0
    assert messages_of(report, "GPU922") == [
        (
            "The kubelet refuses its pods: Allocate failed due to rpc error: code = Unknown desc = "
            "invalid allocation request for 'nvidia.com/gpu': invalid request: maximum request "
            "size for shared resources is 1; found 2, which is unexpected."
        )
    ]


POD = """
kind: Pod
apiVersion: v1
metadata: {name: two}
spec: {containers: [{name: app, image: app, resources: {limits: {nvidia.com/gpu: 2}}}]}
"""


def test_a_pod_that_the_kubelet_refuses_is_not_waited_for(
    walk: Walk, messages_of: Messages
) -> None:
    walk.install("time-slicing")
    walk.apply(text=POD)  # which wants the lab to come to rest

    assert len(messages_of(walk.see(), "GPU922")) == 1


@pytest.mark.at_length
def test_a_pod_that_is_refused_late_has_not_run_before(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = admission.refusal

    def late(pod: Any, configuration: Any) -> str | None:
        time.sleep(1.5)  # as on a machine with other work
        return decide(pod, configuration)

    monkeypatch.setattr(admission, "refusal", late)
    walk.install("time-slicing")
    walk.apply(text=POD)

    counts = walk.see()["workloads"]["default/two"]
    assert (counts["running"], counts["peak"]) == (0, 0)


@pytest.mark.at_length
def test_a_job_whose_pods_are_refused_is_never_done(
    walk: Walk, eventually: Callable[..., bool]
) -> None:
    walk.install("time-slicing")
    container = "{name: app, image: app, resources: {limits: {nvidia.com/gpu: 2}}}"
    template = f"{{spec: {{restartPolicy: Never, containers: [{container}]}}}}"
    walk.apply(
        text="kind: Job\napiVersion: batch/v1\nmetadata: {name: greedy}\n"
        f"spec: {{backoffLimit: 0, template: {template}}}\n"
    )

    def status() -> dict[str, Any]:
        job = walk.session.client.get("/apis/batch/v1/namespaces/default/jobs/greedy")
        found: dict[str, Any] = job["status"]
        return found

    assert eventually(lambda: "failed" in status())
    assert status().get("succeeded", 0) == 0


@pytest.mark.at_length
def test_a_request_of_two_whole_gpus_runs(walk: Walk) -> None:
    walk.install("exclusive")
    walk.apply(text=NAMESPACE + deployment("pairs", "{nvidia.com/gpu: 2}"))

    assert walk.see()["workloads"]["gpu-demo/pairs"]["running"] == 2


@pytest.mark.at_length
def test_a_resource_that_nobody_advertises(walk: Walk, messages_of: Messages) -> None:
    walk.install("time-slicing")
    walk.apply(text=NAMESPACE + deployment("slices", "{nvidia.com/mig-1g.5gb: 1}"))

    assert messages_of(walk.see(), "GPU923") == [
        (
            "It asks for nvidia.com/mig-1g.5gb, which no node advertises; of NVIDIA's there is "
            "nvidia.com/gpu."
        )
    ]


@pytest.mark.at_length
def test_a_namespace_that_is_missing(walk: Walk) -> None:
    walk.install("exclusive")
    walk.apply(text=deployment("lost", "{nvidia.com/gpu: 1}", namespace="nowhere"))

    (found,) = walk.see()["findings"]
    assert found["code"] == "GPU901"
    assert found["message"] == 'namespaces "nowhere" not found.'
    assert found["fix"] == ("Apply a Namespace nowhere first: put one at the top of the manifest.")


@pytest.mark.at_length
def test_a_container_without_an_image(walk: Walk, messages_of: Messages) -> None:
    walk.install("exclusive")
    pod = "kind: Pod\napiVersion: v1\nmetadata: {name: bare}\nspec: {containers: [{name: app}]}\n"
    walk.apply(text=pod)

    assert messages_of(walk.see(), "GPU901") == [
        'Pod "bare" is invalid: spec.containers[0].image: Required value.'
    ]


@pytest.mark.at_length
def test_a_field_that_kubernetes_does_not_know(walk: Walk, messages_of: Messages) -> None:
    walk.install("exclusive")
    limits = "{nvidia.com/gpu: 1}"
    walk.apply(text=NAMESPACE + deployment("odd", limits, more="\n      tolerationz: []"))

    (message,) = messages_of(walk.see(), "GPU901")
    assert message.endswith(".spec.template.spec.tolerationz: field not declared in schema.")


def test_pods_that_a_quota_refuses(walk: Walk, messages_of: Messages) -> None:
    walk.install("time-slicing")
    quota = f"""
apiVersion: v1
kind: ResourceQuota
metadata: {{name: one, namespace: gpu-demo}}
spec: {{hard: {{requests.{GPU}: "1"}}}}
---
"""
    walk.apply(text=NAMESPACE + quota)  # until it is known, the API server lets pods pass
    walk.apply(text=deployment("two", "{nvidia.com/gpu: 1}"))

    report = walk.see()
    assert report["workloads"]["gpu-demo/two"]["desired"] == 2
    assert report["workloads"]["gpu-demo/two"]["running"] == 1
    (message,) = messages_of(report, "GPU921")
    assert message == (
        "Pods are not created: pods is forbidden: exceeded quota: one, requested: "
        "requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=1, limited: "
        "requests.nvidia.com/gpu=1."
    )


@pytest.mark.at_length
def test_the_api_server_warns_of_a_privileged_daemon(walk: Walk, messages_of: Messages) -> None:
    walk.install("exclusive")
    walk.apply(
        text="""
apiVersion: v1
kind: Namespace
metadata: {name: guarded, labels: {pod-security.kubernetes.io/warn: restricted}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: free, namespace: guarded}
spec:
  selector: {matchLabels: {app: free}}
  template:
    metadata: {labels: {app: free}}
    spec: {containers: [{name: app, image: app, securityContext: {privileged: true}}]}
"""
    )

    (message,) = messages_of(walk.see(), "GPU903")
    assert message.startswith('would violate PodSecurity "restricted:latest": privileged')


@pytest.mark.at_length
def test_a_daemonset_whose_pods_are_refused(walk: Walk) -> None:
    walk.install("exclusive")
    walk.apply(  # which wants the lab to come to rest
        text="""
apiVersion: v1
kind: Namespace
metadata: {name: tight, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon, namespace: tight}
spec:
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec: {containers: [{name: app, image: app, securityContext: {privileged: true}}]}
"""
    )

    report = walk.see()
    (found,) = [each for each in report["findings"] if each["code"] == "GPU921"]
    assert found["path"] == 'daemonsets["tight/daemon"]'
    assert found["message"].startswith(
        'Pods are not created: pods is forbidden: violates PodSecurity "restricted:latest": '
    )
