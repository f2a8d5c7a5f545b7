"""What was applied and does not run whole: how much of it runs, and why the rest does not.

All of it is applied at once to one lab, since each wait for rest takes a second or more.
"""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare_lab.session import NoWorkloadError

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any


def pod(name: str, spec: str = "", container: str = "", priority: str = "") -> str:
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n"
        f"  terminationGracePeriodSeconds: 0\n{priority}"
        f"  containers: [{{name: app, image: app{container}}}]\n{spec}"
    )


def controller(kind: str, name: str, replicas: int, spec: str = "", more: str = "") -> str:
    count = f"replicas: {replicas}, " if kind != "DaemonSet" else ""
    template = (
        f"{{metadata: {{labels: {{app: {name}}}}}, "
        f"spec: {{containers: [{{name: app, image: app}}]{spec}}}}}"
    )
    return (
        f"---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
        f"spec: {{{count}selector: {{matchLabels: {{app: {name}}}}}, template: {template}{more}}}\n"
    )


def work(resources: str) -> str:
    container = f"{{name: app, image: app{resources}}}"
    return f"template: {{spec: {{restartPolicy: Never, containers: [{container}]}}}}"


def job(name: str, more: str = "", resources: str = "") -> str:
    return (
        f"---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\n"
        f"spec: {{{work(resources)}{more}}}\n"
    )


def cron_job(name: str, more: str = "", resources: str = "") -> str:
    return (
        f"---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\n"
        f'spec: {{schedule: "0 0 1 1 *", jobTemplate: {{spec: {{{work(resources)}}}}}{more}}}\n'
    )


CLAIM = "  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"
ANTI = (
    ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: apart}}}]}}"
)
STORAGE = (
    ", serviceName: x, volumeClaimTemplates: [{metadata: {name: d}, spec: "
    "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]"
)
PORT = ", ports: [{containerPort: 80, hostPort: 8080}]"
ON_GPU = "  nodeSelector: {eks-node: gpu}\n  tolerations: [{operator: Exists}]\n"
MANY = ", resources: {limits: {nvidia.com/gpu: 5}}"
SHORT: dict[str, tuple[str, tuple[int, int], str]] = {
    "gated": (
        pod("gated", "  schedulingGates: [{name: example.com/quota}]\n"),
        (0, 1),
        "its scheduling gates hold it: example.com/quota",
    ),
    "astray": (
        pod("astray", "  nodeName: gone\n"),
        (0, 1),
        "it names the node gone, which is not there",
    ),
    "claim": (pod("claim", CLAIM), (0, 1), "the claim data does not exist"),
    "device": (
        pod("device", "  resourceClaims: [{name: g, resourceClaimName: gone}]\n"),
        (0, 1),
        "the ResourceClaim gone does not exist",
    ),
    "devices": (
        pod("devices", "  resourceClaims: [{name: g, resourceClaimTemplateName: gone}]\n"),
        (0, 1),
        "the ResourceClaimTemplate gone does not exist",
    ),
    "settings": (
        pod("settings", "", ", envFrom: [{configMapRef: {name: gone}}]"),
        (0, 1),
        "the ConfigMap gone is not there, which the environment of the container app names",
    ),
    "key": (
        pod(
            "key",
            "",
            ", env: [{name: A, valueFrom: {configMapKeyRef: {name: there, key: b}}}]",
        ),
        (0, 1),
        "the ConfigMap there has no key b, which the environment of the container app names",
    ),
    "secret": (
        controller("Deployment", "secret", 2, ", volumes: [{name: s, secret: {secretName: gone}}]"),
        (0, 2),
        "the Secret gone is not there, which the volume s names",
    ),
    "image": (
        pod("image").replace("image: app", "image: 'Registry/App:Latest Version'"),
        (0, 1),
        "the container app has an image that is no reference: 'Registry/App:Latest Version'",
    ),
    "port-2": (
        pod("port-1", ON_GPU, PORT) + pod("port-2", ON_GPU, PORT),
        (0, 1),
        "node(s) didn't have free ports for the requested pod ports",
    ),
    "stateful": (
        controller("StatefulSet", "stateful", 3, "", STORAGE),
        (0, 3),
        "the claim d-stateful-0 is not bound to a volume, and the lab provides none",
    ),
    "paused": (
        controller("Deployment", "paused", 3, "", ", paused: true"),
        (0, 3),
        "the Deployment is paused, so nobody makes its pods",
    ),
    "account": (
        controller("Deployment", "account", 1, ", serviceAccountName: gone"),
        (0, 1),
        'serviceaccount "gone" not found',
    ),
    "priority": (
        controller("Deployment", "priority", 1, ", priorityClassName: gone"),
        (0, 1),
        "no PriorityClass with name gone was found",
    ),
    "apart": (
        controller("Deployment", "apart", 5, ANTI),
        (2, 5),
        "the scheduler says: node(s) didn't match pod anti-affinity rules",
    ),
    "big": (job("big", "", MANY), (0, 1), "gpu-0: 4 of 4 nvidia.com/gpu free, 5 asked for"),
    "nightly": (cron_job("nightly", "", MANY), (0, 1), "4 of 4 nvidia.com/gpu free, 5 asked for"),
}
WHOLE = (
    controller("Deployment", "none", 0)
    + controller("Deployment", "two", 2)
    + controller("ReplicaSet", "set", 1)
    + controller("DaemonSet", "everywhere", 0)
    + controller("DaemonSet", "nowhere", 0, ", nodeSelector: {a: b}")
    + job("done", ", completions: 3, parallelism: 2")
    + job("later", ", suspend: true")
    + cron_job("hourly")
    + cron_job("suspended", ", suspend: true")
    + pod("late", "", ", envFrom: [{configMapRef: {name: late}}]")
    + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}\n"
    + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: there}, data: {a: b}}\n"
)


@pytest.fixture(scope="module")
def report(module_walk: Walk) -> dict[str, Any]:
    """Of one lab with all of it."""
    module_walk.install("exclusive")
    module_walk.apply(text=WHOLE + "".join(text for text, _, _ in SHORT.values()))
    return {**module_walk.see(), "walk": module_walk}


@pytest.mark.parametrize("name", SHORT)
def test_a_workload_that_is_short_says_by_how_much_and_why(
    name: str, report: dict[str, Any]
) -> None:
    _, (running, wanted), why = SHORT[name]
    short = report["short"][f"default/{name}"]
    (found,) = [
        each
        for each in report["findings"]
        if (each["code"], each["path"]) == ("GPU944", f'workloads["default/{name}"]')
    ]

    assert (short["running"], short["wanted"]) == (running, wanted)
    assert why in "; ".join(short["why"])
    assert found["severity"] == "error"
    assert found["message"].startswith(f"{running} of {wanted} pods of the {short['kind']} run: ")
    assert why in found["message"]
    assert "would fit now" not in "; ".join(report["workloads"][f"default/{name}"]["reasons"])


def test_what_runs_whole_or_is_to_run_later_is_no_finding(report: dict[str, Any]) -> None:
    assert set(report["short"]) == {f"default/{name}" for name in SHORT}
    assert "GPU932" not in {each["code"] for each in report["findings"]}, "it comes to rest"


def test_a_daemon_set_that_reaches_no_node_is_a_warning(report: dict[str, Any]) -> None:
    (found,) = [each for each in report["findings"] if each["code"] == "GPU945"]

    assert found["severity"] == "warning"
    assert found["path"] == 'workloads["default/nowhere"]'
    assert "nodeSelector wants a=b and the node has no label a" in found["message"]


def test_a_workload_is_found_by_each_of_its_names(report: dict[str, Any]) -> None:
    find = report["walk"].session.find

    for name in ("two", "default/two", "Deployment/two", "deploy/two", "deployment/default/two"):
        assert find(name).name == "two"
    with pytest.raises(NoWorkloadError, match="No workload is called other/two"):
        find("other/two")
    with pytest.raises(NoWorkloadError, match="No workload is called Job/two"):
        find("Job/two")


def test_expectations_say_otherwise(report: dict[str, Any]) -> None:
    walk: Walk = report["walk"]
    expected = {name: running for name, (_, (running, _), _) in SHORT.items()}
    found = walk.see(**{**expected, "done": 3, "nowhere": 0})["findings"]

    assert [each["code"] for each in found if each["severity"] == "error"] == []
    missed = walk.see(**{**expected, "apart": 5})["findings"]
    assert [each["code"] for each in missed if each["severity"] == "error"] == ["GPU931"]


PRIORITY = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
"""


@pytest.mark.at_length
def test_a_pod_that_was_evicted_for_another_is_short(walk: Walk) -> None:
    walk.install("exclusive")
    wants = ", resources: {limits: {nvidia.com/gpu: 4}}"
    walk.apply(text=PRIORITY + pod("first", "", wants))
    walk.apply(text=pod("second", "", wants, "  priorityClassName: urgent\n"))

    short = walk.see()["short"]
    assert list(short) == ["default/first"]
    assert "evicted for a pod of higher priority (Preempted by" in short["default/first"]["why"][0]


@pytest.mark.at_length
def test_two_of_one_name_are_told_apart_by_kind(walk: Walk) -> None:
    walk.install("exclusive")
    walk.apply(text=controller("Deployment", "twin", 1) + pod("twin"))
    find = walk.session.find

    assert find("pod/twin").kind == "Pod"
    assert find("deployment/default/twin").kind == "Deployment"
    with pytest.raises(
        NoWorkloadError, match="there are Deployment/default/twin, Pod/default/twin"
    ):
        find("twin")
