"""What platform teams meet: one fault of one node in eight, upgrades half done, and what is none.

The expected answers were written down before the checks were asked; each is named alone, by its
code and in words that name what is broken, or nothing is.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import (
    GPU,
    HEALTHY,
    JUST_NOW,
    PROGRAMS,
    STACK,
    about,
    called,
    config_map,
    deployment,
    get,
    gpu_node,
    node_claim,
    objects_of,
    plugin,
    plugin_pod,
    plugin_spec,
    pod,
    running,
    shares,
    without,
    workload,
    worse,
)

from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.live.test_faults import Cluster, Object

SERVER = "v1.35.4-eks-1a2b3c"


@dataclass(frozen=True)
class Scene:
    """A cluster, and what is to be said of it."""

    name: str
    do: Callable[[Cluster], object]
    code: str = ""
    """Empty of a cluster that is sound."""
    words: tuple[str, ...] = ()
    with_stack: bool = False


def scene(
    name: str,
    do: Callable[[Cluster], object],
    code: str = "",
    *words: str,
    with_stack: bool = False,
) -> Scene:
    return Scene(name, do, code, words, with_stack)


def of_eight(number: int, do: Callable[[Object], object]) -> Callable[[Cluster], None]:
    """Something that is so on one node of eight."""

    def made(cluster: Cluster) -> None:
        cluster += [each for n in range(1, 8) for each in called(cluster, f"gpu-{n}")]
        do(get(cluster, "Node", f"gpu-{number}"))

    return made


def of_nodes_plugin(number: int, status: Object) -> Callable[[Cluster], None]:
    """A plugin of one node of eight that is not well, and advertises nothing."""

    def made(cluster: Cluster) -> None:
        of_eight(number, advertises(None))(cluster)
        get(cluster, "Pod", f"{PROGRAMS[0][:-5]}gpu-{number}")["status"] = status

    return made


def runs(version: str = "v1.35.8-eks-1", system: str = "") -> Callable[[Object], None]:
    def made(node: Object) -> None:
        node["status"]["nodeInfo"]["kubeletVersion"] = version
        node["status"]["nodeInfo"]["osImage"] = system or "Amazon Linux 2023.9.20261012"

    return made


def advertises(count: int | None, seen: int = 4) -> Callable[[Object], None]:
    def made(node: Object) -> None:
        node["metadata"]["labels"]["nvidia.com/gpu.count"] = str(seen)
        for part in ("allocatable", "capacity"):
            node["status"][part].pop(GPU)
            node["status"][part] |= {} if count is None else {GPU: str(count)}

    return made


def labelled(key: str, value: str | None) -> Callable[[Object], None]:
    def made(node: Object) -> None:
        node["metadata"]["labels"].pop(key, None)
        node["metadata"]["labels"] |= {} if value is None else {key: value}

    return made


def tainted(*taints: Object) -> Callable[[Object], None]:
    return lambda node: node["spec"].update(taints=list(taints))


def stopping(message: str) -> Object:
    return {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [
            {
                "name": "x",
                "ready": False,
                "restartCount": 30,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"reason": "Error", "exitCode": 1, "message": message}},
            }
        ],
    }


def exporter(cluster: Cluster) -> None:
    containers = [{"name": "exporter", "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.8.2"}]
    made, own = copy.deepcopy(plugin(cluster)), copy.deepcopy(plugin_pod(cluster))
    made["metadata"].update(name="dcgm-exporter", uid="exporter")
    made["spec"]["template"]["spec"] = {
        "containers": containers,
        "tolerations": [{"operator": "Exists"}],
    }
    own["metadata"].update(name="dcgm-exporter-x", uid="x")
    own["metadata"]["ownerReferences"][0].update(name="dcgm-exporter", uid="exporter")
    own["spec"]["containers"] = containers
    own["status"] = stopping("failed to initialise DCGM")
    cluster += [made, own]


def exporter_beside_stale_shares(cluster: Cluster) -> None:
    exporter(cluster)
    shares(cluster, 20)


def add_on(cluster: Cluster) -> None:
    containers = [{"name": "ctr", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}]
    made = copy.deepcopy(plugin(cluster))
    made["metadata"].update(name="nvidia-device-plugin-daemonset", namespace="kube-system", uid="d")
    made["spec"]["template"]["spec"] = {
        "containers": containers,
        "tolerations": [{"key": GPU, "operator": "Exists"}],
    }
    cluster.append(made)


def old_name(cluster: Cluster) -> None:
    renamed(cluster)
    for part in ("allocatable", "capacity"):
        gpu_node(cluster)["status"][part] |= {"nvidia.com/gpu.shared": "40", GPU: "0"}
    cluster.append(workload("chat"))


def renamed(cluster: Cluster) -> None:
    data = config_map(cluster)["data"]
    before = data["gpu"]
    data["gpu"] = before.replace('"renameByDefault":false', '"renameByDefault":true')
    data["gpu"] = data["gpu"].replace("renameByDefault: false", "renameByDefault: true")
    assert data["gpu"] != before


def renamed_map(cluster: Cluster) -> None:
    config_map(cluster)["metadata"]["name"] = "renamed"


def edited(cluster: Cluster) -> None:
    data = config_map(cluster)["data"]
    data["gpu"] = data["gpu"].replace("10", "5")


def for_others(cluster: Cluster) -> None:
    plugin_spec(cluster)["nodeSelector"] = {"nvidia.com/gpu.deploy.device-plugin": "true"}
    labelled("nvidia.com/gpu.deploy.device-plugin", "false")(gpu_node(cluster))
    without(cluster, plugin_pod(cluster))
    shares(cluster, 0)


def added(*made: Object) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.extend(made)


def node_pool(name: str, *conditions: Object) -> Object:
    requirement = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["g6.12xlarge"],
    }
    group = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    spec = {
        "nodeClassRef": group,
        "requirements": [requirement],
        "taints": [{"key": GPU, "value": "true", "effect": "NoSchedule"}],
    }
    made = about("NodePool", "karpenter.sh/v1", template={"metadata": {}, "spec": spec})
    made["metadata"] = {"name": name}
    made["spec"] |= {
        "limits": {GPU: "8"},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
    }
    return {**made, "status": {"conditions": list(conditions)}}


def no_class(cluster: Cluster) -> None:
    said = {"reason": "NodeClassNotFound", "message": "NodeClass not found on cluster"}
    conditions = [
        {"type": "NodeClassReady", "status": "False", **said},
        {"type": "Ready", "status": "False", "reason": "UnhealthyDependents"},
    ]
    cluster.append(node_pool("big", *conditions))


def karpenter_down(cluster: Cluster) -> None:
    made = workload("karpenter")
    image = "public.ecr.aws/karpenter/controller:1.14.1@sha256:0"
    made["spec"]["template"]["spec"] = {"containers": [{"name": "controller", "image": image}]}
    made["spec"]["replicas"] = 0
    cluster += [made, node_pool("big", {"type": "Ready", "status": "True"})]


def unregistered(cluster: Cluster) -> None:
    made = node_claim("big")
    made["status"]["conditions"] = [
        {"type": "Launched", "status": "True"},
        {"type": "Registered", "status": "Unknown", "message": "Node not registered with cluster"},
    ]
    cluster.append(made)


def drifted(cluster: Cluster) -> None:
    made = node_claim("gpu")
    kinds = ("Launched", "Registered", "Initialized", "Ready", "Drifted")
    made["status"] = {
        "nodeName": "gpu-0",
        "conditions": [{"type": kind, "status": "True"} for kind in kinds],
    }
    cluster.append(made)


def held(cluster: Cluster) -> None:
    for number in range(40):
        made = running(f"held-{number}")
        made["metadata"]["ownerReferences"][0]["name"] = "held-1"
        state = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
        made["status"] = {"phase": "Pending", "containerStatuses": [{"name": "m", "state": state}]}
        cluster.append(made)
    cluster.append(pod("waits"))


def driver_too_old(cluster: Cluster) -> None:
    made = pod("train", nodeName="gpu-0")
    made["status"] = stopping("CUDA driver version is insufficient for CUDA runtime version")
    cluster.append(made)


def refused_job(cluster: Cluster) -> None:
    for number in range(3):
        made = pod(f"train-{number}", nodeName="gpu-0")
        owner = {"kind": "Job", "name": "train", "controller": True, "uid": "train"}
        made["metadata"]["ownerReferences"] = [owner]
        made["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
        cluster.append(made)


NOT_READY = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}


def silent(node: Object) -> None:
    kept = [each for each in node["status"]["conditions"] if each["type"] != "Ready"]
    node["status"]["conditions"] = [*kept, NOT_READY]


def by_raw_manifest(cluster: Cluster) -> None:
    gone = ("feature-discovery", "mps")
    without(
        cluster,
        config_map(cluster),
        *(each for each in cluster if any(part in each["metadata"]["name"] for part in gone)),
    )
    containers = [{"name": "ctr", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}]
    plugin(cluster)["spec"]["template"]["spec"] = {
        "containers": containers,
        "tolerations": [{"key": GPU, "operator": "Exists"}],
    }
    plugin_pod(cluster)["spec"]["containers"] = containers
    own = gpu_node(cluster)["metadata"]["labels"]
    for key in [key for key in own if key.startswith("nvidia.com/")]:
        del own[key]
    shares(cluster, 4)


def by_hand(cluster: Cluster) -> None:
    without(cluster, *(e for e in cluster if "feature-discovery" in e["metadata"]["name"]))
    own = gpu_node(cluster)["metadata"]["labels"]
    kept = {"nvidia.com/gpu.present", "nvidia.com/device-plugin.config"}
    for key in [key for key in own if key.startswith("nvidia.com/") and key not in kept]:
        del own[key]
    own |= {"nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.count": "4"}


def asleep(cluster: Cluster) -> None:
    sleeping = workload("model")
    sleeping["spec"]["replicas"] = 0
    scaled = about(
        "ScaledObject",
        "keda.sh/v1alpha1",
        scaleTargetRef={"name": "model"},
        minReplicaCount=0,
        maxReplicaCount=4,
        triggers=[{"type": "prometheus", "metadata": {}}],
    )
    said = {"Ready": "True", "Active": "False", "Fallback": "False", "Paused": "Unknown"}
    scaled["status"] = {"conditions": [{"type": k, "status": v} for k, v in said.items()]}
    cluster += [sleeping, scaled]


def just_made(cluster: Cluster) -> None:
    made = pod("new")
    made["metadata"]["creationTimestamp"] = JUST_NOW
    cluster += [made, *(running(f"busy-{number}", 10) for number in range(4))]


def ended(cluster: Cluster) -> None:
    for phase in ("Succeeded", "Failed"):
        cluster.append({**pod(phase.lower(), nodeName="gpu-0"), "status": {"phase": phase}})


GROWN = {"key": GPU, "value": "true", "effect": "NoExecute"}
OURS = {"key": GPU, "value": "true", "effect": "NoSchedule"}
OF_CLOUD = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}
SPOT = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoExecute"}
BOTTLEROCKET = "Bottlerocket OS 1.65.0 (aws-k8s-1.35-nvidia)"
WEBHOOK = 'failed calling webhook "mpod.kb.io": no endpoints available for service "kueue"'
NO_ACCOUNT = 'error looking up service account default/x: serviceaccount "x" not found'

SCENES = (
    scene("a kubelet four versions behind", of_eight(3, runs("v1.31.9-eks-1")), "GPU1308", "gpu-3"),
    scene(
        "an upgrade half done",
        of_eight(3, runs("v1.34.6-eks-1")),
        *("GPU1308", "gpu-3: its kubelet is 1.34.6"),
    ),
    scene(
        "an image of another family",
        of_eight(2, runs(system=BOTTLEROCKET)),
        *("GPU1308", f"gpu-2: it runs {BOTTLEROCKET}, and its pool declares al2023"),
        with_stack=True,
    ),
    scene(
        "a typing error in one label",
        of_eight(5, labelled("nvidia.com/device-plugin.config", "gup")),
        *("GPU1102", "gpu-5", "nvidia.com/device-plugin.config=gpu"),
    ),
    scene(
        "a pool's label that is gone",
        of_eight(4, labelled("eks-gpushare/pool", None)),
        *("GPU1305", "gpu-4"),
        with_stack=True,
    ),
    scene(
        "a taint of another effect",
        of_eight(2, tainted(GROWN)),
        *(
            "GPU1306",
            "gpu-2: its taint nvidia.com/gpu=true:NoExecute was nvidia.com/gpu=true:NoSch",
        ),
        with_stack=True,
    ),
    scene(
        "a taint of another value",
        of_eight(2, tainted({**OURS, "value": "false"})),
        *("GPU1306", "gpu-2: its taint nvidia.com/gpu=false:NoSchedule was"),
        with_stack=True,
    ),
    scene("a start that does not end", of_eight(3, tainted(OURS, OF_CLOUD)), "GPU1304", "gpu-3"),
    scene("a kubelet that is silent", of_eight(3, silent), "GPU1301", "gpu-3"),
    scene("a GPU that fell off", of_eight(1, advertises(30, seen=3)), "GPU1323", "gpu-1"),
    scene("a plugin that lost its kubelet", of_eight(4, advertises(0)), "GPU1321", "gpu-4"),
    scene(
        "an AMI without driver",
        of_nodes_plugin(7, stopping("failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND")),
        *("GPU1311", "gpu-7", "NVML"),
    ),
    scene("an exporter that stops", exporter, "GPU1311", "nothing measures its GPUs"),
    scene("two plugins, one an add-on", add_on, "GPU1185", "nvidia-device-plugin-daemonset"),
    scene("pods that ask by the old name", old_name, "GPU1110", "nvidia.com/gpu.shared"),
    scene("a resource renamed under its plugin", renamed, "GPU1321", "nvidia.com/gpu"),
    scene("a ConfigMap that was renamed", renamed_map, "GPU1127", "nvidia-device-plugin-config-"),
    scene("a ConfigMap that was edited", edited, "GPU1321", "gpu-0"),
    scene("a node that the operator leaves out", for_others, "GPU1102", "gpu-0"),
    scene("a NodePool without its class", no_class, "GPU1373", "big", "NodeClass not found"),
    scene("no Karpenter", karpenter_down, "GPU1375", "Karpenter does not run"),
    scene("a node that does not register", unregistered, "GPU1352", "not Registered"),
    scene("images that are not there hold all", held, "GPU1346", "ImagePullBackOff"),
    scene("a driver too old for CUDA", driver_too_old, "GPU1346", "CUDA driver version"),
    scene("a Job that ended by refusals", refused_job, "GPU1342", "3 pods"),
    scene("a webhook that is down", added(deployment("chat", WEBHOOK)), "GPU1343", "webhook"),
    scene("no account", added(deployment("chat", NO_ACCOUNT)), "GPU1343", "serviceaccount"),
    scene(
        "a namespace that ends",
        added(deployment("chat", "unable to create new content, it is being terminated")),
        *("GPU1343", "terminated"),
    ),
    scene(
        "a product without its suffix",
        added(workload("chat", nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L4"})),
        *("GPU1112", "nvidia.com/gpu.product=NVIDIA-L4"),
    ),
    scene("eight nodes", of_eight(3, runs())),
    scene("a plugin by a raw manifest", by_raw_manifest),
    scene("labels by hand", by_hand),
    scene("a spot node that goes", of_eight(2, tainted(OURS, SPOT))),
    scene("a workload asleep", asleep),
    scene("a node of Karpenter that will be replaced", drifted),
    scene("a pod of ten seconds", just_made),
    scene("pods of yesterday", ended),
    scene("a node without GPUs says so", of_eight(1, labelled("nvidia.com/vgpu.present", "false"))),
    scene("a NodePool that is not used yet", added(node_pool("big"))),
)


@pytest.mark.parametrize("given", SCENES, ids=lambda each: each.name)
def test_what_platform_teams_meet_is_named_alone(given: Scene) -> None:
    cluster = copy.deepcopy(HEALTHY)
    given.do(cluster)
    objects = replace(objects_of(cluster), version=SERVER)
    found = worse(verdict_of(objects, STACK if given.with_stack else None))

    assert [code for code, _ in found] == ([given.code] if given.code else []), found
    assert all(word in message for word in given.words for _, message in found), found


@pytest.mark.parametrize(
    ("taint", "fix"),
    [
        (GROWN, f"kubectl taint node gpu-2 {GPU}=true:NoSchedule; kubectl taint node gpu-2 "),
        ({**OURS, "value": "false"}, f"kubectl taint node gpu-2 {GPU}=true:NoSchedule --overwr"),
    ],
)
def test_a_taint_that_was_changed_is_put_back(taint: Object, fix: str) -> None:
    cluster = copy.deepcopy(HEALTHY)
    of_eight(2, tainted(taint))(cluster)
    (found,) = (
        cause.fault.finding
        for cause in verdict_of(objects_of(cluster), STACK).causes
        if cause.fault.finding.severity != "info"
    )

    assert str(found.fix).startswith(fix)


def test_an_exporter_explains_no_shares() -> None:
    cluster = copy.deepcopy(HEALTHY)
    exporter_beside_stale_shares(cluster)
    found: Any = verdict_of(objects_of(cluster))

    assert {code for code, _ in worse(found)} == {"GPU1311", "GPU1321"}
    severities = {c.fault.finding.code: c.fault.finding.severity for c in found.causes}
    assert severities["GPU1311"] == "warning"
