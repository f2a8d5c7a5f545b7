"""Faults of a cluster: each is named alone, with what follows below it, and not once it is mended.

The cluster is what an API server with NVIDIA's DaemonSets printed of the stack `time-slicing`.
Here is what no lab does by itself: machines that break, kubelets that refuse, drivers that fail.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import sampled

from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.nodes import gpu_nodes_of
from eks_gpushare.live.objects import ClusterObjects
from eks_gpushare.live.one_pod import of_pod
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare.live.verdict import ClusterVerdict

ROOT = Path(__file__).parents[2]
STACK = read_stack(ROOT / "stacks" / "Pulumi.time-slicing.yaml")
HEALTHY = json.loads((ROOT / "examples" / "verify" / "cluster.json").read_text())["items"]
GPU = "nvidia.com/gpu"
NOW = datetime(2026, 11, 26, 18, 2, 7, tzinfo=UTC)
"""An hour after the cluster was made."""

PROGRAMS = (
    "nvidia-device-plugin-rc76m",
    "nvidia-device-plugin-gpu-feature-discovery-wwgvl",
    "nvidia-device-plugin-node-feature-discovery-worker-hxbbp",
)
"""Pods of NVIDIA's chart on the node."""

JUST_NOW, LONG_AGO = "2026-11-26T18:01:57Z", "2026-11-26T17:50:00Z"

Object = dict[str, Any]
Cluster = list[Object]


def get(cluster: Cluster, kind: str, name: str) -> Object:
    return next(
        each for each in cluster if each["kind"] == kind and each["metadata"]["name"] == name
    )


def gpu_node(cluster: Cluster) -> Object:
    return get(cluster, "Node", "gpu-0")


def plugin(cluster: Cluster) -> Object:
    return get(cluster, "DaemonSet", "nvidia-device-plugin")


def plugin_pod(cluster: Cluster) -> Object:
    return get(cluster, "Pod", PROGRAMS[0])


def config_map(cluster: Cluster) -> Object:
    return next(each for each in cluster if each["kind"] == "ConfigMap")


def called(cluster: Cluster, name: str) -> Cluster:
    """The node, and the pods of the DaemonSets on it, called otherwise."""
    text = json.dumps([gpu_node(cluster), *(get(cluster, "Pod", each) for each in PROGRAMS)])
    for each in PROGRAMS:
        text = text.replace(each, f"{each[:-5]}{name}")
    moved: Cluster = json.loads(text.replace("gpu-0", name))
    return moved


def objects_of(cluster: Cluster, **unread: str) -> ClusterObjects:
    kinds: dict[str, list[Object]] = {}
    for each in cluster:
        kinds.setdefault(each["kind"], []).append(each)
    by_kind = {kind: tuple(found) for kind, found in kinds.items() if kind not in unread}
    return ClusterObjects("a cluster", NOW, by_kind, unread)


def verdict(
    cluster: Cluster, *, with_stack: bool = True, pool: str | None = None
) -> ClusterVerdict:
    return verdict_of(objects_of(cluster), STACK if with_stack else None, pool=pool)


def worse(found: ClusterVerdict) -> list[tuple[str, str]]:
    return [
        (cause.fault.finding.code, cause.fault.finding.message)
        for cause in found.causes
        if cause.fault.finding.severity != "info"
    ]


def codes(found: ClusterVerdict) -> list[str]:
    return [code for code, _ in worse(found)]


def following(found: ClusterVerdict) -> set[str]:
    return {fault.finding.code for cause in found.causes for fault in cause.follows}


def condition(cluster: Cluster, kind: str, status: str, **more: str) -> None:
    listed = gpu_node(cluster)["status"]["conditions"]
    listed[:] = [each for each in listed if each["type"] != kind]
    listed.append({"type": kind, "status": status, **more})


def labels(cluster: Cluster, **given: str | None) -> None:
    found = gpu_node(cluster)["metadata"]["labels"]
    for key, value in given.items():
        if value is None:
            del found[key]
        else:
            found[key] = value


def shares(cluster: Cluster, allocatable: int, capacity: int | None = None) -> None:
    status = gpu_node(cluster)["status"]
    status["allocatable"][GPU] = str(allocatable)
    status["capacity"][GPU] = str(allocatable if capacity is None else capacity)


def taint(cluster: Cluster, key: str, value: str = "", effect: str = "NoSchedule") -> None:
    gpu_node(cluster)["spec"]["taints"].append({"key": key, "value": value, "effect": effect})


def without(cluster: Cluster, *gone: Object) -> None:
    cluster[:] = [each for each in cluster if all(each is not other for other in gone)]


def waiting(cluster: Cluster, reason: str, message: str) -> None:
    status = plugin_pod(cluster)["status"]
    status["conditions"] = [{"type": "Ready", "status": "False"}]
    status["containerStatuses"] = [
        {
            "name": "ctr",
            "ready": False,
            "state": {"waiting": {"reason": reason, "message": message}},
        }
    ]


def pod(name: str, count: int = 1, resource: str = GPU, **more: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "creationTimestamp": "2026-11-26T17:30:00Z",
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/main:1",
                    "resources": {
                        "limits": {resource: str(count)},
                        "requests": {resource: str(count)},
                    },
                }
            ],
            "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
            **more,
        },
        "status": {"phase": "Pending"},
    }


def running(name: str, count: int = 1) -> Object:
    made = pod(name, nodeName="gpu-0")
    made["metadata"]["ownerReferences"] = [
        {"kind": "ReplicaSet", "name": f"{name}-1", "controller": True, "uid": "x"}
    ]
    made["spec"]["containers"] *= count
    made["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return made


def refused(cluster: Cluster) -> None:
    made = running("late")
    made["status"] = {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": "Allocate failed due to requested number of devices unavailable",
    }
    cluster.append(made)


def deployment(name: str, message: str) -> Object:
    spec = pod(name)["spec"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
        "status": {
            "conditions": [{"type": "ReplicaFailure", "status": "True", "message": message}]
        },
    }


def second_plugin(cluster: Cluster) -> None:
    made = copy.deepcopy(plugin(cluster))
    made["metadata"].update(name="another-plugin", uid="another")
    cluster.append(made)


def another_map(cluster: Cluster) -> None:
    data = config_map(cluster)["data"]
    data["gpu"] = data["gpu"].replace("10", "4")
    assert "4" in data["gpu"]
    shares(cluster, 16)


def lost_gpu(cluster: Cluster) -> None:
    labels(cluster, **{"nvidia.com/gpu.count": "3"})
    shares(cluster, 30)


def workload(name: str, kind: str = "Deployment", **of_pod: Any) -> Object:
    made = deployment(name, "")
    made["kind"] = kind
    made["status"] = {}
    made["spec"]["template"]["spec"] = pod(name, **of_pod)["spec"]
    return made


def quota(**hard: str) -> Object:
    return about("ResourceQuota", "v1", hard=hard)


def about(kind: str, api: str, **spec: Any) -> Object:
    metadata = {"name": "one", "namespace": "default"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def plugin_spec(cluster: Cluster) -> Object:
    found: Object = plugin(cluster)["spec"]["template"]["spec"]
    return found


def nobodys_map(cluster: Cluster) -> None:
    for volume in plugin_spec(cluster)["volumes"]:
        if "configMap" in volume:
            volume["configMap"]["name"] = "nobodys"


def misspelt(cluster: Cluster) -> None:
    data = config_map(cluster)["data"]
    data["gpu"] = data["gpu"].replace("replicas", "replica")


def no_discovery(cluster: Cluster) -> None:
    found = get(cluster, "Pod", "nvidia-device-plugin-gpu-feature-discovery-wwgvl")
    state = {"terminated": {"reason": "Error", "exitCode": 1}}
    found["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{"name": "x", "state": state}],
    }


def not_started(cluster: Cluster) -> None:
    made = running("late")
    message = 'configmap "model" not found'
    state = {"waiting": {"reason": "CreateContainerConfigError", "message": message}}
    made["status"] = {"phase": "Running", "containerStatuses": [{"name": "x", "state": state}]}
    cluster.append(made)


def nowhere(cluster: Cluster) -> None:
    term = {"matchExpressions": [{"key": "x", "operator": "Exists"}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    plugin_spec(cluster)["affinity"] = {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}


def tainted_and_used(cluster: Cluster) -> None:
    taint(cluster, "dedicated", "x")
    cluster.append(workload("model"))


def budgeted(cluster: Cluster) -> None:
    cluster.append(workload("model"))
    selector = {"matchLabels": {"app": "model"}}
    cluster.append(about("PodDisruptionBudget", "policy/v1", minAvailable=3, selector=selector))


def much_memory(cluster: Cluster) -> None:
    made = pod("big")
    made["spec"]["containers"][0]["resources"]["requests"]["memory"] = "900Gi"
    cluster.append(made)


def node_claim(pool: str, message: str = "") -> Object:
    conditions = [{"type": "Launched", "status": "Unknown" if message else "True"}]
    conditions[0] |= {"message": message}
    metadata = {
        "name": f"{pool}-x",
        "labels": {"karpenter.sh/nodepool": pool},
        "creationTimestamp": "2026-11-26T17:30:00Z",
    }
    status = {"conditions": conditions}
    api = "karpenter.sh/v1"
    return {"apiVersion": api, "kind": "NodeClaim", "metadata": metadata, "status": status}


def not_scaled(cluster: Cluster) -> None:
    cluster.append(workload("model"))
    scaled = about(
        "ScaledObject", "keda.sh/v1alpha1", scaleTargetRef={"name": "model"}, triggers=[]
    )
    message = "failed to ensure HPA is correctly created for ScaledObject"
    scaled["status"] = {"conditions": [{"type": "Ready", "status": "False", "message": message}]}
    cluster.append(scaled)


@dataclass(frozen=True)
class Case:
    """A fault, and what is said of it."""

    name: str
    do: Callable[[Cluster], object]
    code: str
    follows: frozenset[str] = frozenset()
    alone: str = ""
    """The code without a stack, where it is another; `-` where nothing is wrong then."""


def case(
    name: str, do: Callable[[Cluster], object], code: str, *follows: str, alone: str = ""
) -> Case:
    return Case(name, do, code, frozenset(follows), alone)


def gone_plugin(cluster: Cluster) -> None:
    without(cluster, plugin(cluster), plugin_pod(cluster))
    shares(cluster, 0, 40)


def kubelet(cluster: Cluster, version: str) -> None:
    gpu_node(cluster)["status"]["nodeInfo"]["kubeletVersion"] = version


def crash(cluster: Cluster) -> None:
    waiting(cluster, "CrashLoopBackOff", "error: failed to initialize NVML: Driver Not Loaded")
    shares(cluster, 0)


def full(cluster: Cluster) -> None:
    cluster.append(running("many", 40))
    cluster.append(pod("one-more"))


def broken_and_full(cluster: Cluster) -> None:
    crash(cluster)
    cluster.append(pod("one-more"))


CASES = (
    case(
        "kubelet says no",
        lambda c: condition(
            c, "Ready", "False", reason="KubeletNotReady", message="container runtime is down"
        ),
        "GPU1301",
    ),
    case(
        "kubelet is silent",
        lambda c: condition(
            c,
            "Ready",
            "Unknown",
            reason="NodeStatusUnknown",
            message="Kubelet stopped posting node status.",
        ),
        "GPU1301",
    ),
    case(
        "XID 64",
        lambda c: condition(
            c,
            "AcceleratedHardwareReady",
            "False",
            reason="NvidiaXID64Error",
            message="row remapper failure",
        ),
        "GPU1302",
    ),
    case("cordoned", lambda c: gpu_node(c)["spec"].update(unschedulable=True), "GPU1303"),
    case("MIG manager's taint", lambda c: taint(c, "eks-gpushare/mig-layout"), "GPU1304"),
    case(
        "cloud's taint",
        lambda c: taint(c, "node.cloudprovider.kubernetes.io/uninitialized", "true"),
        "GPU1304",
    ),
    case(
        "a label of the pool's own",
        lambda c: labels(c, **{"eks-node": "other"}),
        "GPU1305",
        alone="-",
    ),
    case(
        "the pool's label", lambda c: labels(c, **{"eks-gpushare/pool": None}), "GPU1305", alone="-"
    ),
    case(
        "another type",
        lambda c: labels(c, **{"node.kubernetes.io/instance-type": "g5.12xlarge"}),
        "GPU1307",
        alone="-",
    ),
    case(
        "another release's kubelet",
        lambda c: kubelet(c, "v1.35.4-eks-1a2b3c4"),
        "GPU1308",
        alone="-",
    ),
    case(
        "a taint",
        lambda c: taint(c, "dedicated", "x"),
        "GPU1306",
        "GPU1100",
        "GPU1103",
        alone="GPU1100",
    ),
    case("a taint too few", lambda c: gpu_node(c)["spec"].update(taints=[]), "GPU1306", alone="-"),
    case("no plugin", gone_plugin, "GPU1102", "GPU1124", "GPU1310", "GPU1320"),
    case("a plugin that stops", crash, "GPU1311", "GPU1320", alone="GPU1311"),
    case(
        "an image that is not there",
        lambda c: waiting(c, "ImagePullBackOff", "not found"),
        "GPU1311",
    ),
    case(
        "a boot that failed",
        lambda c: labels(c, **{"eks-gpushare/mig": "failed", "eks-gpushare/mig-reason": "in-use"}),
        "GPU1313",
    ),
    case("stale shares", lambda c: shares(c, 30), "GPU1320", alone="GPU1321"),
    case("sick devices", lambda c: shares(c, 30, 40), "GPU1322"),
    case(
        "3 of 4 GPUs",
        lost_gpu,
        "GPU1323",
        "GPU1320",
    ),
    case(
        "another configuration",
        another_map,
        "GPU1330",
        "GPU1320",
        alone="-",
    ),
    case(
        "no key",
        lambda c: config_map(c).update(data={"other": config_map(c)["data"]["gpu"]}),
        "GPU1330",
        alone="-",
    ),
    case(
        "another chart",
        lambda c: plugin(c)["metadata"]["labels"].update(
            {"helm.sh/chart": "nvidia-device-plugin-0.17.4"}
        ),
        "GPU1331",
        alone="-",
    ),
    case("two plugins", second_plugin, "GPU1185"),
    case(
        "nobody's resource",
        lambda c: c.append(pod("odd", resource="nvidia.com/mig-1g.5gb")),
        "GPU1110",
        "GPU1340",
    ),
    case(
        "nobody's node",
        lambda c: c.append(pod("away", nodeSelector={"no": "where"})),
        "GPU1112",
        "GPU1340",
    ),
    case("all is taken", full, "GPU1341"),
    case("refused by kubelet", refused, "GPU1342"),
    case(
        "refused by a quota",
        lambda c: c.append(
            deployment("notebooks", 'pods "notebooks-1" is forbidden: exceeded quota: gpus')
        ),
        "GPU1343",
    ),
    case(
        "a gate",
        lambda c: c.append(pod("queued", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])),
        "GPU1344",
    ),
    case("no plugin and a pod", broken_and_full, "GPU1311", "GPU1320", "GPU1340"),
    case(
        "a quota that counts nothing",
        lambda c: c.append(quota(**{f"limits.{GPU}": "4"})),
        "GPU1008",
    ),
    case(
        "a quota on nobody's resource",
        lambda c: c.append(quota(**{"requests.nvidia.com/gpu.shared": "4"})),
        "GPU1150",
    ),
    case(
        "a quota beyond all nodes",
        lambda c: c.append(quota(**{f"requests.{GPU}": "400"})),
        "GPU1151",
        alone="-",
    ),
    case("a budget that holds all", budgeted, "GPU1195"),
    case(
        "a scaler of nothing",
        lambda c: c.append(
            about("ScaledObject", "keda.sh/v1alpha1", scaleTargetRef={"name": "gone"}, triggers=[])
        ),
        "GPU1191",
    ),
    case(
        "an autoscaler of nothing",
        lambda c: c.append(
            about(
                "HorizontalPodAutoscaler",
                "autoscaling/v2",
                scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"},
            )
        ),
        "GPU1191",
    ),
    case("more shares than a node has", lambda c: c.append(pod("m", 50)), "GPU1113", "GPU1115"),
    case("two shares in a container", lambda c: c.append(workload("model", count=2)), "GPU1113"),
    case("no ConfigMap", lambda c: without(c, config_map(c)), "GPU1127", "GPU1127"),
    case("another ConfigMap's name", nobodys_map, "GPU1127"),
    case("a key that nobody reads", misspelt, "GPU1330", "GPU1020", alone="GPU1020"),
    case("a discovery that stops", no_discovery, "GPU1311"),
    case(
        "a plugin for other nodes",
        lambda c: plugin_spec(c).update(nodeSelector={"no": "where"}),
        "GPU1102",
    ),
    case("a plugin for no node", nowhere, "GPU1102"),
    case(
        "a taint and a workload",
        tainted_and_used,
        "GPU1306",
        "GPU1100",
        "GPU1111",
        alone="GPU1100 GPU1111",
    ),
    case(
        "a StatefulSet for nobody's resource",
        lambda c: c.append(workload("s", "StatefulSet", resource="nvidia.com/gpu.shared")),
        "GPU1110",
    ),
    case(
        "a Job for nobody's resource",
        lambda c: c.append(workload("j", "Job", resource="nvidia.com/gpu.shared")),
        "GPU1110",
    ),
    case("a pod that holds a share", not_started, "GPU1346"),
    case("memory that no node has", much_memory, "GPU1340"),
    case(
        "a layout without a manager",
        lambda c: labels(c, **{"nvidia.com/mig.config": "all-1g.5gb"}),
        "GPU1130 GPU1132",
    ),
    case(
        "a node that never came", lambda c: c.append(node_claim("others", "no capacity")), "GPU1352"
    ),
    case("a scaler that KEDA cannot take", not_scaled, "GPU1353"),
)


def test_a_healthy_cluster_is_as_declared() -> None:
    found = verdict(HEALTHY)

    assert worse(found) == []
    assert worse(verdict(HEALTHY, with_stack=False)) == []
    (row,) = found.pools
    assert (row.pool, row.nodes, row.ready, row.declared, row.advertised) == ("gpu", 1, 1, 40, 40)


@pytest.mark.parametrize("broken", CASES, ids=lambda each: each.name)
def test_a_fault_is_named_alone(broken: Case) -> None:
    cluster = copy.deepcopy(HEALTHY)
    broken.do(cluster)
    found = verdict(cluster)
    alone = verdict(cluster, with_stack=False)

    assert codes(found) == broken.code.split(), worse(found)
    assert following(found) >= broken.follows
    expected = broken.alone or broken.code
    assert codes(alone) == ([] if expected == "-" else expected.split()), worse(alone)


@pytest.mark.parametrize(
    ("state", "severity"), [("failed", "error"), ("pending", "warning"), ("rebooting", "warning")]
)
def test_a_layout_that_mig_manager_does_not_make(state: str, severity: str) -> None:
    cluster = copy.deepcopy(HEALTHY)
    manager = copy.deepcopy(plugin(cluster))
    manager["metadata"].update(name="nvidia-mig-manager", uid="manager")
    manager["spec"]["template"]["spec"]["containers"] = [
        {"name": "manager", "image": "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.15.0"}
    ]
    cluster.append(manager)
    typed = {"node.kubernetes.io/instance-type": "p4d.24xlarge", "nvidia.com/gpu.count": "8"}
    layout = {"nvidia.com/mig.config": "all-1g.5gb", "nvidia.com/mig.config.state": state}
    labels(cluster, **typed, **layout)
    shares(cluster, 0)
    data = config_map(cluster)["data"]
    data["gpu"] = data["gpu"].replace("migStrategy: none", "migStrategy: mixed")

    (cause,) = [
        each
        for each in verdict(cluster, with_stack=False).causes
        if each.fault.finding.severity != "info"
    ]
    assert (cause.fault.finding.code, cause.fault.finding.severity) == ("GPU1313", severity)
    assert {each.finding.code for each in cause.follows} == {"GPU1321"}


@pytest.mark.parametrize(
    "added",
    [
        lambda c: taint(c, "karpenter.sh/disrupted"),
        lambda c: taint(c, "ToBeDeletedByClusterAutoscaler", "1"),
        lambda c: taint(c, "node.kubernetes.io/disk-pressure"),
        lambda c: gpu_node(c)["metadata"].update(deletionTimestamp="2026-11-26T18:00:00Z"),
        lambda c: labels(c, **{"nvidia.com/gpu.product": "NVIDIA-L4"}),
        lambda c: c.append(young()),
        lambda c: c.append(running("notebook", 40)),
        lambda c: c.append(workload("model")),
        lambda c: c.append(quota(**{f"requests.{GPU}": "12"})),
    ],
)
def test_what_is_usual_is_no_fault(added: Callable[[Cluster], object]) -> None:
    cluster = copy.deepcopy(HEALTHY)
    added(cluster)

    assert worse(verdict(cluster)) == []
    assert worse(verdict(cluster, with_stack=False)) == []


def ended(cluster: Cluster, at: str) -> None:
    """An update of the DaemonSet ends the plugin's pod, and the kubelet takes its shares away."""
    plugin_pod(cluster)["metadata"]["deletionTimestamp"] = at
    shares(cluster, 0, 40)


def started(cluster: Cluster, at: str, *, ready: bool = False) -> None:
    """The next pod of the plugin is there, and has not registered yet."""
    made = plugin_pod(cluster)
    made["metadata"]["creationTimestamp"] = at
    ready_at = {"type": "Ready", "status": str(ready), "lastTransitionTime": at}
    state = {"running": {}} if ready else {"waiting": {"reason": "ContainerCreating"}}
    made["status"] = {
        "phase": "Running" if ready else "Pending",
        "conditions": [ready_at],
        "containerStatuses": [{"name": "ctr", "ready": ready, "state": state}],
    }
    shares(cluster, 0, 40)


def written_just_now(cluster: Cluster) -> None:
    without(cluster, plugin_pod(cluster))
    plugin(cluster)["metadata"]["generation"] = 2
    plugin(cluster)["status"]["observedGeneration"] = 1


@pytest.mark.parametrize(
    ("do", "later"),
    [
        (lambda c: ended(c, "2026-11-26T18:01:57Z"), lambda c: ended(c, "2026-11-26T17:50:00Z")),
        (
            lambda c: started(c, "2026-11-26T18:01:57Z"),
            lambda c: started(c, "2026-11-26T17:50:00Z"),
        ),
        (
            lambda c: started(c, "2026-11-26T18:01:57Z", ready=True),
            lambda c: started(c, "2026-11-26T17:50:00Z", ready=True),
        ),
        (written_just_now, lambda c: without(c, plugin_pod(c))),
    ],
)
def test_a_plugin_that_is_updated_is_no_fault_unless_it_takes_too_long(
    do: Callable[[Cluster], object], later: Callable[[Cluster], object]
) -> None:
    for change, wrong in ((do, False), (later, True)):
        cluster = copy.deepcopy(HEALTHY)
        cluster.append(pod("waits"))
        change(cluster)
        if change is do and plugin_pod_is_there(cluster):
            assert verdict(cluster).joining == ("gpu-0",)
        for with_stack in (True, False):
            found = worse(verdict(cluster, with_stack=with_stack))
            errors = [code for code, _ in found if code != "GPU1341"]
            assert bool(errors) is wrong, found


def plugin_pod_is_there(cluster: Cluster) -> bool:
    return any(each["metadata"]["name"].startswith("nvidia-device-plugin-rc") for each in cluster)


def test_pods_wait_for_a_node_that_joins() -> None:
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["metadata"]["creationTimestamp"] = "2026-11-26T18:01:00Z"
    shares(cluster, 0)
    cluster.append(pod("waits"))

    assert worse(verdict(cluster)) == worse(verdict(cluster, with_stack=False)) == []


def crashing(number: int, message: str) -> Object:
    """A pod that stops again and again; the kubelet says so with the pod's own name."""
    made = running("chat")
    made["metadata"]["name"] = f"chat-{number}"
    loop = {"reason": "CrashLoopBackOff", "message": f"back-off 5m0s restarting chat-{number}"}
    last = {"terminated": {"reason": "OOMKilled", "exitCode": 137, "message": message}}
    status = {"name": "main", "state": {"waiting": loop}, "lastState": last}
    made["status"] = {"phase": "Running", "containerStatuses": [status]}
    return made


def test_pods_of_one_workload_that_crash_are_one_finding() -> None:
    cluster = copy.deepcopy(HEALTHY)
    cluster += [crashing(number, "") for number in range(5)]

    ((code, message),) = worse(verdict(cluster))
    assert code == "GPU1346"
    assert message == (
        "ReplicaSet default/chat-1: 5 pods do not run and hold 5 nvidia.com/gpu: CrashLoopBackOff: "
        "OOMKilled, exit code 137."
    )


def test_workloads_that_wait_for_the_same_shares_are_one_finding() -> None:
    cluster = copy.deepcopy(HEALTHY)
    cluster += [running("many", 40), *(pod(name) for name in ("a", "b", "c"))]

    (cause,) = verdict(cluster).causes
    assert cause.fault.finding.code == "GPU1341"
    assert [fault.in_short for fault in cause.follows] == [
        f"Pod default/{name}: it waits for 1 nvidia.com/gpu." for name in ("b", "c")
    ]
    found = of_pod(verdict(cluster), objects_of(cluster), "default/c")
    assert codes(found) == ["GPU1341"]


def test_a_daemon_set_that_several_nodes_keep_off_is_one_finding() -> None:
    cluster = copy.deepcopy(HEALTHY)
    plugin_spec(cluster)["tolerations"] = []
    other = on_another_node(copy.deepcopy(cluster))
    other[0]["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "g6e.12xlarge"

    assert codes(verdict([*cluster, *other], with_stack=False)) == ["GPU1100"]


def test_what_a_kubelet_refuses_comes_of_what_was_asked_for() -> None:
    cluster = copy.deepcopy(HEALTHY)
    cluster.append(workload("two", count=2))
    refused(cluster)
    labels_of_pod = {"pod-template-hash": "1"}
    cluster[-1]["metadata"] |= {"name": "two-1-x", "labels": labels_of_pod}
    cluster[-1]["metadata"]["ownerReferences"][0]["name"] = "two-1"
    found = verdict(cluster)

    assert codes(found) == ["GPU1113"]
    assert following(found) == {"GPU1342"}


def test_a_node_with_the_label_of_another_pool_is_of_its_node_group() -> None:
    stack = read_stack(ROOT / "stacks" / "Pulumi.multi-tenant.yaml")
    given = {
        "eks-gpushare/pool": "whole",
        "nvidia.com/device-plugin.config": "notebooks",
        "eks.amazonaws.com/nodegroup": "gpushare-notebooks-d94b716",
    }
    cluster = copy.deepcopy(HEALTHY)
    labels(cluster, **given)

    (node,) = gpu_nodes_of(objects_of(cluster), stack.plans)
    assert node.pool == "notebooks"


def test_plugins_that_crash_on_several_nodes_are_one_finding() -> None:
    cluster = copy.deepcopy(HEALTHY)
    for number, name in enumerate(("gpu-0", "gpu-1")):
        made = crashing(number, "no NVML")
        node, old = copy.deepcopy(gpu_node(cluster)), copy.deepcopy(plugin_pod(cluster))
        node["metadata"]["name"] = old["spec"]["nodeName"] = name
        old["metadata"]["name"] = f"nvidia-device-plugin-{number}"
        cluster += [node, {**old, "status": made["status"]}]
    without(cluster, gpu_node(cluster), plugin_pod(cluster))

    ((code, message),) = worse(verdict(cluster))
    assert code == "GPU1311"
    assert message.startswith("gpu-0, gpu-1: the device plugin of nvidia-device-plugin/")
    assert "CrashLoopBackOff: OOMKilled, exit code 137: no NVML" in message


@pytest.mark.parametrize(
    "more",
    [
        {"labels": {"eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "gpu"}},
        {"nodeInfo": {"osImage": "Bottlerocket OS 1.65.0 (aws-k8s-1.35-nvidia)"}},
    ],
)
def test_a_node_whose_system_brings_the_plugin_needs_no_daemon_set(more: Object) -> None:
    """The NodePool is called as a pool of the stack, and is none of its."""
    amounts = {GPU: "1"}
    labels = {"node.kubernetes.io/instance-type": "g6.xlarge", **more.pop("labels", {})}
    made = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "own-0", "labels": labels},
        "spec": {},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            **more,
        },
    }

    assert worse(verdict([*copy.deepcopy(HEALTHY), made])) == []
    assert worse(verdict([made], with_stack=False)) == []


def test_devices_of_a_layout_that_nothing_here_makes_may_be_asked_for() -> None:
    """Its boot has cut it, which no object shows; Karpenter has been told so by an overlay."""
    cluster = copy.deepcopy(HEALTHY)
    mig = "nvidia.com/mig-1g.5gb"
    labels(
        cluster,
        **{
            "node.kubernetes.io/instance-type": "p4d.24xlarge",
            "nvidia.com/gpu.count": "8",
            "karpenter.sh/nodepool": "instances",
            f"{mig}.count": "56",
        },
    )
    data = config_map(cluster)["data"]
    data["gpu"] = "version: v1\nflags:\n  migStrategy: mixed\n"
    amounts = {"cpu": "90", mig: "56"}
    gpu_node(cluster)["status"].update(allocatable=amounts, capacity=amounts)
    cluster.append(workload("model", resource=mig))

    for made in (LONG_AGO, "2026-11-26T18:01:00Z"):
        gpu_node(cluster)["metadata"]["creationTimestamp"] = made
        assert worse(verdict(cluster, with_stack=False)) == []
    asks_more = workload("other", resource="nvidia.com/mig-2g.10gb")
    assert codes(verdict([*cluster, asks_more], with_stack=False)) == ["GPU1110"]


def test_gpus_that_are_given_by_claims_need_no_plugin() -> None:
    cluster = copy.deepcopy(HEALTHY)
    gone_plugin(cluster)
    gpu_node(cluster)["status"]["capacity"] = {"cpu": "48"}
    for name in ("gpu-feature-discovery", "mps-control-daemon"):
        without(cluster, get(cluster, "DaemonSet", f"nvidia-device-plugin-{name}"))
    worker = "nvidia-device-plugin-node-feature-discovery-worker"
    driver = copy.deepcopy(get(cluster, "DaemonSet", worker))
    driver["metadata"]["name"] = "nvidia-dra-driver-gpu-kubelet-plugin"
    image = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v26.4.0"
    driver["spec"]["template"]["spec"]["containers"] = [{"name": "gpus", "image": image}]
    cluster.append(driver)

    assert "GPU1310" not in codes(verdict(cluster, with_stack=False))


def test_pods_that_wait_for_something_else_are_none_of_ours() -> None:
    cluster = copy.deepcopy(HEALTHY)
    made = pod("one")
    said = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": said}]
    cluster.append(made)

    assert worse(verdict(cluster)) == []
    (cause,) = of_pod(verdict(cluster), objects_of(cluster), "default/one").causes
    assert cause.fault.finding.code == "GPU1372"
    assert said in cause.fault.evidence[0]


def test_what_is_wrong_with_several_objects_is_told_of_each() -> None:
    pools = []
    for name in ("a", "b"):
        wanted = {
            "key": "node.kubernetes.io/instance-type",
            "operator": "In",
            "values": ["g5.xlarge"],
        }
        one = about("NodePool", "karpenter.sh/v1", template={"spec": {"requirements": [wanted]}})
        one["metadata"] = {"name": name}
        pools.append(one)
    (cause,) = [
        each
        for each in verdict([*HEALTHY, *pools], with_stack=False).causes
        if each.fault.finding.code == "GPU1078"
    ]

    told = [cause.fault.finding, *(fault.finding for fault in cause.follows)]
    assert [finding.path.split(".")[:2] for finding in told] == [
        ["NodePool", "a"],
        ["NodePool", "b"],
    ]


def young() -> Object:
    made = pod("young")
    made["metadata"]["creationTimestamp"] = "2026-11-26T18:02:00Z"
    return made


def test_a_young_node_is_joining() -> None:
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["metadata"]["creationTimestamp"] = "2026-11-26T18:01:00Z"
    condition(cluster, "Ready", "False")
    shares(cluster, 0)

    found = verdict(cluster)
    assert worse(found) == []
    assert found.joining == ("gpu-0",)


def test_nodes_that_are_alike_are_one_finding() -> None:
    cluster = copy.deepcopy(HEALTHY)
    shares(cluster, 30)
    for number in range(1, 5):
        cluster += called(cluster, f"gpu-{number}")

    (cause,) = [each for each in verdict(cluster).causes if each.fault.finding.severity != "info"]
    assert cause.fault.finding.message.startswith(
        "gpu-0 and 4 more: it advertises 30 nvidia.com/gpu"
    )
    assert len(cause.fault.nodes) == 5


OF_NODES = [
    each
    for each in CASES
    if each.code in {f"GPU13{number:02}" for number in (1, 2, 3, 4, 5, 6, 7, 13, 20, 22, 23)}
    and each.name not in {"the pool's label", "a taint and a workload"}
]
ELSEWHERE = [each for each in CASES if each.code in {"GPU1331", "GPU1110", "GPU1343", "GPU1008"}]


def on_another_node(cluster: Cluster) -> Cluster:
    """The node and the pods of its programs, called otherwise."""
    return called(cluster, "gpu-1")


@pytest.mark.parametrize(
    ("one", "other"),
    sampled([*combinations(OF_NODES, 2), *((a, b) for a in OF_NODES for b in ELSEWHERE)], 4),
    ids=lambda each: each.name.replace(" ", "-"),
)
def test_of_two_faults_both_are_named(one: Case, other: Case) -> None:
    there, cluster = copy.deepcopy(HEALTHY), copy.deepcopy(HEALTHY)
    one.do(there)
    other.do(cluster)

    found = codes(verdict([*cluster, *on_another_node(there)]))
    assert set(found) == {one.code, other.code}
    assert len(found) == (1 if one.code == other.code and one.name == other.name else 2)


OF_ALL_NODES = {"GPU1102", "GPU1127", "GPU1185", "GPU1330", "GPU1341"}
"""What is wrong with programs, configurations or room of every node may explain that of one."""
OTHERS = [each for each in CASES if each not in OF_NODES]
RANDOM_PAIRS = random.Random(25).sample([(a, b) for a in OF_NODES for b in OTHERS], 200)  # noqa: S311  (no secret)


@pytest.mark.parametrize(
    ("one", "other"), sampled(RANDOM_PAIRS, 4), ids=lambda each: each.name.replace(" ", "-")
)
def test_of_two_faults_drawn_by_lot_both_are_named(one: Case, other: Case) -> None:
    there, cluster = copy.deepcopy(HEALTHY), copy.deepcopy(HEALTHY)
    one.do(there)
    other.do(cluster)

    found = verdict([*cluster, *on_another_node(there)])
    causes, expected = set(codes(found)), {one.code, *other.code.split()}
    assert causes | following(found) >= expected, worse(found)
    assert causes == expected or (causes < expected and expected & OF_ALL_NODES), worse(found)


def test_what_karpenter_says_is_why_nodes_are_missing() -> None:
    cluster = copy.deepcopy(HEALTHY)
    without(cluster, gpu_node(cluster), plugin_pod(cluster))
    cluster.append(node_claim("gpu", "insufficient capacity for g6.12xlarge"))

    found = verdict(cluster)
    assert codes(found) == ["GPU1352"]
    assert following(found) >= {"GPU1300"}


def test_what_kueue_says_is_the_evidence_of_its_gate() -> None:
    cluster = copy.deepcopy(HEALTHY)
    cluster.append(pod("queued", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]))
    said = about("Workload", "kueue.x-k8s.io/v1beta2")
    said["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "queued"}]
    message = "couldn't assign flavors: insufficient unused quota for nvidia.com/gpu"
    said["status"] = {
        "conditions": [{"type": "QuotaReserved", "status": "False", "message": message}]
    }
    cluster.append(said)

    (cause,) = [each for each in verdict(cluster).causes if each.fault.finding.severity != "info"]
    assert cause.fault.evidence == (f"Kueue says of the Workload one: {message}",)


def test_who_wrote_it_is_told() -> None:
    cluster = copy.deepcopy(HEALTHY)
    taint(cluster, "dedicated", "x")
    gpu_node(cluster)["metadata"]["managedFields"] = [
        {
            "manager": "old",
            "time": "2026-11-26T16:00:00Z",
            "fieldsV1": {"f:spec": {"f:taints": {}}},
        },
        {
            "manager": "kubectl-taint",
            "time": "2026-11-26T17:50:00Z",
            "fieldsV1": {"f:spec": {"f:taints": {}}},
        },
    ]

    (cause,) = [each for each in verdict(cluster).causes if each.fault.finding.severity != "info"]
    assert cause.fault.evidence == ("spec.taints[1] set by kubectl-taint at 2026-11-26T17:50:00Z",)


@pytest.mark.parametrize(
    ("added", "named", "said"),
    [
        (lambda c: c.append(running("notebook")), "default/notebook", "it runs on gpu-0"),
        (
            lambda c: c.append(pod("odd", resource="nvidia.com/mig-1g.5gb")),
            "default/odd",
            "GPU1110",
        ),
        (full, "one-more", "GPU1341"),
        (broken_and_full, "default/one-more", "GPU1311"),
        (
            lambda c: c.append(pod("queued", schedulingGates=[{"name": "kueue"}])),
            "queued",
            "GPU1344",
        ),
        (lambda c: c.append(pod("cpu", resource="cpu")), "default/cpu", "nothing that is wrong"),
    ],
)
def test_of_one_pod_it_is_said_why(
    added: Callable[[Cluster], object], named: str, said: str
) -> None:
    cluster = copy.deepcopy(HEALTHY)
    added(cluster)
    found = of_pod(verdict(cluster), objects_of(cluster), named)

    assert said in found.said if not said.startswith("GPU") else codes(found) == [said]


def test_a_pod_that_is_not_there_is_wrong_usage() -> None:
    with pytest.raises(CannotLookError, match="There is no pod x in the namespace default"):
        of_pod(verdict(HEALTHY), objects_of(HEALTHY), "x")


def test_another_cluster_is_not_compared() -> None:
    cluster = copy.deepcopy(HEALTHY)
    labels(cluster, **{"eks-gpushare/pool": "a", "nvidia.com/device-plugin.config": "a"})
    gpu_node(cluster)["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = "others"
    config_map(cluster)["data"] = {}

    with pytest.raises(CannotLookError, match="another cluster, or the stack was never applied"):
        verdict(cluster)


def test_no_such_pool_is_wrong_usage() -> None:
    with pytest.raises(CannotLookError, match="has no pool x; its pools are gpu"):
        verdict(HEALTHY, pool="x")


def test_what_cannot_be_read_is_unknown_and_no_pass() -> None:
    found = verdict_of(objects_of(HEALTHY, DaemonSet="not allowed"), STACK)

    assert found.unknown == {"DaemonSet": "not allowed"}
    assert found.as_json()["unknown"] == [{"kind": "DaemonSet", "why": "not allowed"}]
    assert worse(found) == []  # that no plugin is there is not known


def test_an_idle_node_is_told_with_its_price() -> None:
    (cause,) = verdict(HEALTHY).causes

    assert cause.fault.finding.code == "GPU1345"
    assert "at 4.60 USD an hour by list" in cause.fault.finding.message


@pytest.mark.parametrize(
    ("label", "value", "priced"),
    [
        ("karpenter.sh/capacity-type", "spot", False),
        ("eks.amazonaws.com/capacityType", "SPOT", False),
        ("eks.amazonaws.com/capacityType", "CAPACITY_BLOCK", False),
        ("eks.amazonaws.com/capacityType", "ON_DEMAND", True),
        ("karpenter.sh/capacity-type", "reserved", True),
    ],
)
def test_no_list_has_the_price_of_a_spot_node(label: str, value: str, *, priced: bool) -> None:
    cluster = copy.deepcopy(HEALTHY)
    labels(cluster, **{label: value})
    idle = next(c for c in verdict(cluster).causes if c.fault.finding.code == "GPU1345")

    assert ("USD an hour by list" in idle.fault.finding.message) is priced


def test_pods_wait_for_a_node_that_is_missed() -> None:
    cluster = copy.deepcopy(HEALTHY)
    without(cluster, gpu_node(cluster), plugin_pod(cluster))
    cluster.append(pod("one", nodeSelector={"eks-gpushare/pool": "gpu"}))

    found = verdict(cluster)
    assert codes(found)[0] == "GPU1300"
