"""Faults that engineers tell of in public, as somebody put them in who had not read the checks.

Each is what an API server holds then: the node, the DaemonSet or the pods, not what the checks ask.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import (
    GPU,
    HEALTHY,
    LONG_AGO,
    STACK,
    about,
    codes,
    condition,
    following,
    get,
    gpu_node,
    objects_of,
    plugin_pod,
    pod,
    running,
    shares,
    taint,
    verdict,
    waiting,
    without,
    workload,
    worse,
)

from eks_gpushare.live.claims import names_claims
from eks_gpushare.live.connection import CannotLookError
from eks_gpushare.live.pods import PodOwner
from eks_gpushare.live.refusals import is_short_of_pods, refusal_said, refusals_of
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.live.test_faults import Cluster, Object

    from eks_gpushare.live.verdict import ClusterVerdict


def cluster_with(*added: Object, do: Callable[[Cluster], object] = len) -> Cluster:
    cluster = copy.deepcopy(HEALTHY)
    do(cluster)
    return [*cluster, *added]


def waits(message: str = "0/3 nodes are available: 1 Insufficient nvidia.com/gpu.") -> Object:
    made = pod("waits")
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": message}]
    return made


def only(found: ClusterVerdict) -> str:
    ((_, message),) = worse(found)
    return message


def all_codes(found: ClusterVerdict) -> list[str]:
    return [cause.fault.finding.code for cause in found.causes]


def fix_of(found: ClusterVerdict) -> str:
    (cause,) = (each for each in found.causes if each.fault.finding.severity != "info")
    return str(cause.fault.finding.fix)


@pytest.mark.parametrize(
    ("kind", "status", "key"),
    [
        ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
        ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
        ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
        ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
        ("KernelReady", "False", ""),
        ("NetworkingReady", "False", ""),
        ("StorageReady", "False", ""),
        ("ContainerRuntimeReady", "False", ""),
    ],
)
def test_what_kubelet_and_its_watcher_say_of_a_node_comes_before_pods_that_wait(
    kind: str, status: str, key: str
) -> None:
    cluster = cluster_with(*([waits()] if key else []))
    condition(cluster, kind, status, reason="Why", message="so it is.")
    if key:
        taint(cluster, key)

    found = verdict(cluster)

    assert only(found) == f"gpu-0: {kind} is {status}: Why, so it is."
    assert codes(found)[0] == "GPU1371"
    assert following(found) == ({"GPU1340"} if key else set())


def test_conditions_of_a_sound_node_are_none() -> None:
    cluster = cluster_with()
    for kind, status in {"DiskPressure": "False", "KernelReady": "True", "Other": "True"}.items():
        condition(cluster, kind, status)
    condition(cluster, "MemoryPressure", "Unknown")

    assert worse(verdict(cluster)) == []


@pytest.mark.parametrize(
    "key", ["node.cilium.io/agent-not-ready", "ebs.csi.aws.com/agent-not-ready"]
)
def test_a_taint_that_an_agent_takes_away_is_for_its_agent_to_take_away(key: str) -> None:
    cluster = cluster_with(waits())
    taint(cluster, key, effect="NoExecute")

    found = verdict(cluster)

    assert only(found) == f"gpu-0: the startup taint {key}:NoExecute is still there."
    assert "kubectl taint" not in fix_of(found)
    assert following(found) == {"GPU1340"}


@pytest.mark.parametrize("with_stack", [True, False])
@pytest.mark.parametrize(
    ("key", "effect"),
    [
        ("ToBeDeletedByClusterAutoscaler", "NoSchedule"),
        ("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule"),
        ("karpenter.sh/disrupted", "NoSchedule"),
        ("aws-node-termination-handler/spot-itn", "NoSchedule"),
    ],
)
def test_the_last_node_of_a_pool_that_is_about_to_go_is_one_with_gpus(
    key: str, effect: str, *, with_stack: bool
) -> None:
    cluster = cluster_with(workload("model"), running("model"))
    taint(cluster, key, effect=effect)

    assert worse(verdict(cluster, with_stack=with_stack)) == []


def test_pods_that_wait_for_a_node_that_goes_are_told_so() -> None:
    cluster = cluster_with(waits())
    taint(cluster, "ToBeDeletedByClusterAutoscaler")

    assert only(verdict(cluster)) == (
        "Pod default/waits: it waits for 1 nvidia.com/gpu, and gpu-0 is about to go."
    )


def test_a_node_that_may_go_is_as_any_other_but_for_being_without_use() -> None:
    cluster = cluster_with()
    taint(cluster, "DeletionCandidateOfClusterAutoscaler", effect="PreferNoSchedule")
    assert all_codes(verdict(cluster)) == []

    shares(cluster, 30)
    assert codes(verdict(cluster)) == ["GPU1320"]


def gone(cluster: Cluster) -> None:
    on_it = (
        each
        for each in cluster
        if each["kind"] == "Pod" and each["spec"].get("nodeName") == "gpu-0"
    )
    without(cluster, gpu_node(cluster), *list(on_it))


def test_pods_wait_for_a_node_that_is_missing_though_nothing_scales_it() -> None:
    found = verdict(cluster_with(waits(), do=gone))

    assert only(found) == "pools.gpu: 0 of at least 1 nodes are there."
    assert following(found) == {"GPU1340"}


def test_pods_that_the_missing_node_would_not_help_are_told_for_themselves() -> None:
    elsewhere = waits()
    elsewhere["spec"]["nodeSelector"] = {"disk": "fast"}

    found = verdict(cluster_with(elsewhere, do=gone))

    assert {"GPU1300", "GPU1112"} <= set(codes(found))
    assert "GPU1340" not in {
        each.finding.code
        for cause in found.causes
        if cause.fault.finding.code == "GPU1300"
        for each in cause.follows
    }


def unplaced(cluster: Cluster) -> None:
    found = plugin_pod(cluster)
    found["spec"].pop("nodeName")
    field = {"key": "metadata.name", "operator": "In", "values": ["gpu-0"]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    found["spec"]["affinity"] = {"nodeAffinity": {required: terms}}
    said = "0/3 nodes are available: 1 Insufficient cpu."
    found["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "message": said}],
    }
    shares(cluster, 0)


def test_a_device_plugin_for_which_its_node_has_no_room_is_told_by_the_scheduler() -> None:
    found = verdict(cluster_with(do=unplaced))

    assert (
        "its pod waits, and the scheduler says: 0/3 nodes are available: 1 Insufficient cpu."
        in (only(found))
    )
    assert "kubectl describe pod -n nvidia-device-plugin" in fix_of(found)
    assert following(found) == {"GPU1320"}


def event(kind: str, name: str, message: str, at: str = LONG_AGO, **more: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{len(message)}", "namespace": "nvidia-device-plugin"},
        "involvedObject": {"kind": kind, "name": name},
        "reason": "FailedCreate",
        "message": message,
        "lastTimestamp": at,
        **more,
    }


@pytest.mark.parametrize(
    "why",
    [
        "insufficient quota to match these scopes: [{PriorityClass In [system-node-critical]}]",
        'pods "nvidia-device-plugin-" is forbidden: violates PodSecurity "restricted:latest"',
        'pods "x-" is forbidden: error looking up service account nvidia/x: not found',
        'pods "x-" is forbidden: pod rejected: RuntimeClass "nvidia" not found',
    ],
)
def test_who_refuses_the_pods_of_the_device_plugin_is_told(why: str) -> None:
    cluster = cluster_with(
        event("DaemonSet", "nvidia-device-plugin", "of yesterday", "2026-11-26T17:00:00Z"),
        event("DaemonSet", "nvidia-device-plugin", f"Error creating: {why}"),
        event("DaemonSet", "nvidia-device-plugin", "said twice", "2026-11-26T17:10:00Z"),
        event("DaemonSet", "another", "of another"),
    )
    without(cluster, plugin_pod(cluster))
    shares(cluster, 0)

    found = verdict(cluster)

    assert only(found).endswith(f": its pods cannot be created: {why}.")
    assert following(found) == {"GPU1320"}


def test_what_is_refused_of_one_daemon_set_is_told_once_for_all_pools() -> None:
    cluster = cluster_with(event("DaemonSet", "nvidia-device-plugin", "Error creating: quota"))
    without(cluster, plugin_pod(cluster))
    shares(cluster, 0)
    other = copy.deepcopy(gpu_node(cluster))
    other["metadata"]["name"] = "other-0"
    for key in ("eks-gpushare/pool", "eks.amazonaws.com/nodegroup"):
        other["metadata"]["labels"][key] = "other"

    found = verdict([*cluster, other])

    told = [message for code, message in worse(found) if code == "GPU1310"]
    assert len(told) == 1
    assert "GPU1310" in following(found)


def test_an_event_of_what_is_over_counts_for_nothing() -> None:
    cluster = cluster_with(event("DaemonSet", "nvidia-device-plugin", "Error creating: quota"))

    assert worse(verdict(cluster)) == []


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([event("Job", "model", "one"), event("Job", "model", "two")], "one"),
        ([event("Job", "model", "one", ""), event("Job", "model", "two")], "two"),
        ([event("Job", "model", "one"), event("Job", "model", "two", "")], "one"),
        ([event("Job", "model", "one") | {"reason": "BackoffLimitExceeded"}], None),
        ([event("Job", "model", "one") | {"message": 5}], None),
        ([event("Job", "", "one")], None),
    ],
    ids=[
        "of one time",
        "without a time",
        "with a time",
        "of another reason",
        "of no text",
        "of none",
    ],
)
def test_the_last_reason_of_events_counts(events: list[Object], said: str | None) -> None:
    found = refusals_of(objects_of(events))

    assert found.get(PodOwner("nvidia-device-plugin", "Job", "model")) == said
    assert len(found) == (said is not None)


@pytest.mark.parametrize(
    "message",
    [
        "quota",
        "quota.",
        "Error creating: quota",
        "(combined from similar events): Error creating: quota",
    ],
)
def test_what_an_event_says_is_without_what_says_that_it_is_one(message: str) -> None:
    """client-go puts events of which there are too many together, and says so before the words."""
    assert refusal_said(message) == "quota"


def test_who_is_short_of_pods() -> None:
    wants = {"kind": "DaemonSet", "status": {"desiredNumberScheduled": 1}}

    assert is_short_of_pods(wants)
    assert not is_short_of_pods({"kind": "Deployment", "spec": {"replicas": 3}})
    wants["status"] = {"desiredNumberScheduled": 1, "currentNumberScheduled": 1}
    assert not is_short_of_pods(wants)


def made(kind: str, **status: object) -> Object:
    found = workload("model", kind)
    found["metadata"] |= {"creationTimestamp": LONG_AGO, "namespace": "nvidia-device-plugin"}
    found["spec"] |= {"parallelism": 2, "replicas": 2}
    found["status"] = status
    return found


@pytest.mark.parametrize("kind", ["Job", "StatefulSet"])
def test_a_quota_that_refuses_pods_of_what_has_no_condition_is_told_of_its_event(kind: str) -> None:
    why = 'pods "model-x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1'
    cluster = cluster_with(made(kind), event(kind, "model", f"Error creating: {why}"))

    found = verdict(cluster)

    assert codes(found)[0] == "GPU1343"
    assert only(found) == f"{kind} nvidia-device-plugin/model: its pods cannot be created: {why}."


@pytest.mark.parametrize(
    "fine",
    [
        made("Job", active=2),
        made("Job", conditions=[{"type": "Complete", "status": "True"}]),
        made("StatefulSet", replicas=2),
        {**made("Job"), "spec": {**made("Job")["spec"], "suspend": True}},
        {**made("StatefulSet"), "spec": {**made("StatefulSet")["spec"], "replicas": 0}},
    ],
    ids=["active", "ended", "there", "suspended", "none wanted"],
)
def test_workloads_that_have_what_they_want_are_not_refused(fine: Object) -> None:
    said = event(fine["kind"], "model", "Error creating: quota")

    assert worse(verdict(cluster_with(fine, said))) == []


def test_an_image_that_is_not_there_has_no_log() -> None:
    cluster = cluster_with()
    waiting(cluster, "ImagePullBackOff", "Back-off pulling image x")
    shares(cluster, 0)

    assert "kubectl describe pod" in fix_of(verdict(cluster))
    assert "kubectl logs" not in fix_of(verdict(cluster))


def never_ends(name: str, count: int, *finalizers: str) -> Object:
    found = running(name, count)
    found["metadata"] |= {"deletionTimestamp": LONG_AGO, "finalizers": [*finalizers]}
    return found


@pytest.mark.parametrize(
    ("holds", "why"),
    [
        (never_ends("old", 40), "Terminating: its node's kubelet has not ended it"),
        (never_ends("old", 40, "a.b/c"), "Terminating: its finalizer is a.b/c"),
    ],
)
def test_pods_wait_for_shares_of_pods_that_do_not_end(holds: Object, why: str) -> None:
    found = verdict(cluster_with(holds, waits()))

    assert only(found).endswith(f"1 pod does not run and holds 40 nvidia.com/gpu: {why}.")
    assert following(found) == {"GPU1341"}


def test_a_pod_that_is_ended_just_now_is_none() -> None:
    ending = never_ends("old", 40)
    ending["metadata"]["deletionTimestamp"] = "2026-11-26T18:02:37Z"

    assert codes(verdict(cluster_with(ending, waits()))) == ["GPU1341"]


def creating(since: str) -> Object:
    found = running("model")
    found["metadata"]["creationTimestamp"] = since
    state = {"waiting": {"reason": "ContainerCreating"}}
    found["status"] = {"phase": "Pending", "containerStatuses": [{"name": "x", "state": state}]}
    return found


def test_containers_that_are_created_for_half_an_hour_hold_their_shares_for_nothing() -> None:
    assert worse(verdict(cluster_with(creating("2026-11-26T17:32:30Z")))) == []
    assert codes(verdict(cluster_with(creating("2026-11-26T17:32:00Z")))) == ["GPU1346"]


def test_pods_wait_where_a_node_has_as_many_as_it_may() -> None:
    cluster = cluster_with(waits())
    there = sum(
        each["kind"] == "Pod" and each["spec"].get("nodeName") == "gpu-0" for each in cluster
    )
    gpu_node(cluster)["status"]["allocatable"]["pods"] = str(there)

    assert only(verdict(cluster)) == (
        "Pod default/waits: it waits for room, and gpu-0 has as many pods as may."
    )

    gpu_node(cluster)["status"]["allocatable"]["pods"] = str(there + 1)
    assert worse(verdict(cluster)) == []


def test_memory_that_is_taken_and_memory_that_no_node_has_are_told_apart() -> None:
    big = waits()
    big["spec"]["containers"][0]["resources"]["requests"]["memory"] = "900Gi"
    cluster = cluster_with(big)
    assert codes(verdict(cluster))[0] == "GPU1340"

    gpu_node(cluster)["status"]["allocatable"]["memory"] = "900Gi"
    other = running("other")
    other["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
    assert codes(verdict([*cluster, other])) == ["GPU1341"]


@pytest.mark.parametrize(
    "message",
    [
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        '0/3 nodes are available: persistentvolumeclaim "models" not found.',
        "0/3 nodes are available: 1 node(s) had volume node affinity conflict.",
        "0/3 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints.",
        "0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    ],
)
def test_what_else_a_pod_waits_for_is_told_and_is_no_fault_of_gpus(message: str) -> None:
    found = verdict(cluster_with(waits(message)))

    assert worse(found) == []
    assert "GPU1372" in all_codes(found)


def test_a_scheduler_that_is_not_there_is_told_by_name() -> None:
    waiting_for_it = waits()
    waiting_for_it["spec"]["schedulerName"] = "volcano"
    waiting_for_it["status"].pop("conditions")
    found = verdict(cluster_with(waiting_for_it))
    told = [cause.fault.finding.message for cause in found.causes]

    assert any("the scheduler volcano, which has said nothing" in message for message in told)

    waiting_for_it["spec"].pop("schedulerName")
    assert "GPU1372" not in all_codes(verdict(cluster_with(waiting_for_it)))


def test_shares_that_have_just_become_free_are_waited_for_by_nobody() -> None:
    assert all_codes(verdict(cluster_with(waits()))) == ["GPU1345"]


def test_what_somebody_changed_by_hand_is_found_by_pulumi_once_it_asks() -> None:
    cluster = cluster_with()
    data = next(each for each in cluster if "gpu" in (each.get("data") or {}))["data"]
    data["gpu"] = data["gpu"].replace("10", "4")
    shares(cluster, 16)

    assert "pulumi up --refresh" in fix_of(verdict(cluster))


def overlay(**capacity: str) -> Object:
    types = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["p4d.24xlarge"],
    }
    spec = {"requirements": [types], "capacity": capacity}
    return about("NodeOverlay", "karpenter.sh/v1alpha1", **spec)


def claim() -> Object:
    """What Karpenter makes of a NodePool: it does not say which layout its node's boot cuts."""
    labels = {
        "node.kubernetes.io/instance-type": "p4d.24xlarge",
        "karpenter.sh/nodepool": "cut",
        "kubernetes.io/os": "linux",
    }
    taint = {"key": GPU, "value": "true", "effect": "NoSchedule"}
    found = about("NodeClaim", "karpenter.sh/v1", taints=[taint], requirements=[])
    owner = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "cut", "uid": "x"}
    found["metadata"] |= {"labels": labels, "ownerReferences": [owner]}
    steps = ("Launched", "Registered", "Initialized")
    found["status"] = {"conditions": [{"type": step, "status": "True"} for step in steps]}
    return found


def test_a_node_claim_is_judged_by_its_node_and_its_node_pool() -> None:
    operator = workload("operator")
    operator["spec"]["template"]["spec"] |= {"tolerations": []}
    operator["spec"]["template"]["spec"]["containers"][0].pop("resources")
    operator["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/os": "linux"}
    promised = overlay(**{GPU: "0", "nvidia.com/mig-1g.5gb": "56"})

    assert worse(verdict(cluster_with(promised, claim(), operator))) == []


def other_node(cluster: Cluster, name: str, **labels: str) -> Object:
    made = copy.deepcopy(gpu_node(cluster))
    made["metadata"] = {"name": name, "labels": labels, "creationTimestamp": LONG_AGO}
    made["spec"]["taints"] = [{"key": "virtual-kubelet.io/provider", "effect": "NoSchedule"}]
    cluster.append(made)
    return made


def test_nodes_of_other_clouds_that_advertise_gpus_have_a_plugin_of_their_own() -> None:
    cluster = cluster_with()
    other_node(cluster, "gke", **{"node.kubernetes.io/instance-type": "g2-standard-4"})
    other_node(cluster, "virtual", type="virtual-kubelet")

    assert worse(verdict(cluster)) == []

    silent = other_node(cluster, "silent", **{"nvidia.com/gpu.present": "true"})
    silent["status"]["allocatable"].pop(GPU)
    assert codes(verdict(cluster)) == ["GPU1310"]


def test_nodes_of_windows_have_none_of_nvidias_programs() -> None:
    cluster = cluster_with()
    machine = {"node.kubernetes.io/instance-type": "g4dn.xlarge", "kubernetes.io/os": "windows"}
    other_node(cluster, "windows", **machine)["status"]["allocatable"].pop(GPU)

    assert worse(verdict(cluster)) == []


def test_a_workload_of_no_pods_in_a_cluster_of_no_nodes_may_be_asleep() -> None:
    asleep = workload("model")
    asleep["spec"]["replicas"] = 0

    assert worse(verdict(cluster_with(asleep, do=gone), with_stack=False)) == []
    assert codes(verdict(cluster_with(workload("model"), do=gone), with_stack=False)) == ["GPU1110"]


def claiming() -> dict[str, Any]:
    uses = workload("model")
    uses["spec"]["template"]["spec"]["resourceClaims"] = [
        {"name": "gpu", "resourceClaimTemplateName": "one"}
    ]
    return uses


def claim_of_devices(kind: str, name: str, **metadata: Any) -> dict[str, Any]:
    devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}
    spec = {"devices": devices}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


def test_claims_that_are_not_read_are_not_missing() -> None:
    other = claim_of_devices("ResourceClaim", "another")

    assert worse(verdict(cluster_with(claiming()))) == []
    assert worse(verdict(cluster_with(claiming(), other))) == []


def test_who_names_claims() -> None:
    pod_of = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}
    cron = {"spec": {"jobTemplate": {"spec": {"template": {"spec": pod_of}}}}}

    assert names_claims(claiming())
    assert names_claims({"kind": "Pod", "spec": pod_of})
    assert names_claims({"kind": "CronJob", **cron})
    assert not any(map(names_claims, HEALTHY))
    assert not names_claims({"kind": "Pod", "spec": {"resourceClaims": []}})


def test_a_claim_that_nobody_makes_is_missing_where_claims_are_read() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "model-0", "controller": True}
    made = claim_of_devices("ResourceClaim", "model-0-gpu-x", ownerReferences=[owner])
    other, one = (claim_of_devices("ResourceClaimTemplate", name) for name in ("other", "one"))

    assert "GPU1148" in codes(verdict(cluster_with(claiming(), made, other)))
    assert "GPU1148" not in codes(verdict(cluster_with(claiming(), made, one)))


def of_kueue(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": "default"} if kind == "LocalQueue" else {})
    api = "kueue.x-k8s.io/v1beta2"
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def test_a_link_of_kueue_that_is_missing_is_told_where_its_kind_is_read() -> None:
    job = workload("model")
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "users"}
    flavors = [{"name": "shared", "resources": [{"name": GPU, "nominalQuota": 1}]}]
    queue = of_kueue("ClusterQueue", "team", resourceGroups=[{"flavors": flavors}])
    local, flavor = of_kueue("LocalQueue", "users", clusterQueue="team"), "ResourceFlavor"
    other = of_kueue("LocalQueue", "others", clusterQueue="teams")

    assert codes(verdict(cluster_with(job, queue))) == []
    assert codes(verdict(cluster_with(job, queue, local))) == []
    assert codes(verdict(cluster_with(job, queue, local, of_kueue(flavor, "shared")))) == []
    found = codes(verdict(cluster_with(job, queue, other, of_kueue(flavor, "others"))))
    assert found == ["GPU1266", "GPU1267", "GPU1268"]


def test_a_flavor_of_nodes_that_may_come_is_right_and_one_of_others_is_not() -> None:
    flavors = [{"name": "shared", "resources": [{"name": GPU, "nominalQuota": 1}]}]
    queue = of_kueue("ClusterQueue", "team", resourceGroups=[{"flavors": flavors}])
    cluster = cluster_with(queue, of_kueue("ResourceFlavor", "shared", nodeLabels={"team": "a"}))

    assert codes(verdict(cluster)) == []
    plain = other_node(
        cluster, "plain", team="a", **{"node.kubernetes.io/instance-type": "m5.large"}
    )
    plain["status"]["allocatable"].pop(GPU)
    assert "GPU1269" in codes(verdict(cluster))


@pytest.mark.parametrize(
    ("image", "called"),
    [
        ("nvcr.io/nvidia/gpu-operator:v26.3.0@sha256:0", "The GPU Operator"),
        ("registry.example.com:5000/kueue/kueue:v0.16.2", "Kueue"),
    ],
)
def test_a_controller_without_a_pod_is_told(image: str, called: str) -> None:
    controller = workload("controller")
    spec = controller["spec"]["template"]["spec"]
    spec["containers"] = [{"name": "manager", "image": image}]
    queue = about("ClusterQueue", "kueue.x-k8s.io/v1beta2")
    condition = {"type": "Available", "status": "False", "lastTransitionTime": LONG_AGO}
    cluster = cluster_with(controller, queue)

    controller["status"] = {"conditions": [condition]}
    assert only(verdict(cluster)) == (
        f"{called} does not run: no pod is ready of the Deployment default/controller."
    )

    controller["status"] = {"conditions": [{**condition, "status": "True"}]}
    assert worse(verdict(cluster)) == []
    controller["status"] = {
        "conditions": [condition | {"lastTransitionTime": "2026-11-26T18:00:00Z"}]
    }
    assert worse(verdict(cluster)) == []
    controller["spec"]["replicas"] = 0
    assert codes(verdict(cluster)) == ["GPU1375"]


def gated() -> Object:
    made = pod("waits", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "one"}
    return made


def test_pods_at_the_gate_of_a_queue_that_is_held_are_told_by_the_queue() -> None:
    local = about("LocalQueue", "kueue.x-k8s.io/v1beta2", clusterQueue="one")
    queue = about("ClusterQueue", "kueue.x-k8s.io/v1beta2", stopPolicy="Hold")
    queue["metadata"].pop("namespace")
    said = {"type": "Active", "status": "False", "message": "is stopped"}
    queue["status"] = {"conditions": [said]}

    (cause,) = (
        each
        for each in verdict(cluster_with(gated(), local, queue)).causes
        if each.fault.finding.code == "GPU1344"
    )
    assert cause.fault.evidence == ("Kueue says of the ClusterQueue one: is stopped",)

    queue["status"] = {"conditions": [{**said, "status": "True"}]}
    again = verdict(cluster_with(gated(), local, queue)).causes
    assert [each.fault.evidence for each in again if each.fault.finding.code == "GPU1344"] == [()]


def initialising(cluster: Cluster) -> None:
    for name in ("nvidia-device-plugin-rc76m", "nvidia-device-plugin-gpu-feature-discovery-wwgvl"):
        get(cluster, "Pod", name)["status"] = {
            "phase": "Pending",
            "conditions": [{"type": "Ready", "status": "False"}],
            "initContainerStatuses": [
                {"name": "toolkit-validation", "ready": False, "state": {"running": {}}}
            ],
            "containerStatuses": [
                {"name": "x", "ready": False, "state": {"waiting": {"reason": "PodInitializing"}}}
            ],
        }
    shares(cluster, 0)


def validator(*, ready: bool) -> Object:
    made = running("validator")
    owner = {"kind": "DaemonSet", "name": "nvidia-operator-validator", "controller": True}
    made["metadata"]["ownerReferences"] = [owner | {"uid": "x"}]
    made["spec"]["containers"] = [{"name": "validator", "image": "x"}]
    made["spec"]["initContainers"] = [{"name": "driver-validation", "image": "x"}]
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    made["status"] |= {"initContainerStatuses": [{"name": "driver-validation", "state": state}]}
    made["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    return made


@pytest.mark.parametrize("ready", [True, False])
def test_programs_that_wait_for_the_operators_validator_are_one_finding(*, ready: bool) -> None:
    found = verdict(cluster_with(validator(ready=ready), do=initialising))
    (cause,) = (each for each in found.causes if each.fault.finding.severity != "info")

    assert "its init container toolkit-validation has not come to its end" in only(found)
    assert following(found) == {"GPU1311", "GPU1320"}
    told = (
        "the validator default/validator is not ready, CrashLoopBackOff" in cause.fault.evidence[0]
    )
    assert told is not ready


def shared_by_mps(cluster: Cluster) -> None:
    gpu_node(cluster)["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] = "mps"


def test_gpus_that_mps_shares_need_its_control_daemon() -> None:
    found = verdict(cluster_with(do=shared_by_mps))

    assert "GPU1310" in codes(found)
    assert any("of MPS" in message for _, message in worse(found))


def test_a_namespace_that_is_not_there_has_no_pods_that_are_well() -> None:
    cluster = cluster_with()

    with pytest.raises(CannotLookError, match="has no namespace tema-a"):
        verdict_of(objects_of(cluster), STACK, namespace="tema-a")
    assert verdict_of(objects_of(cluster), STACK, namespace="default").ok()
    without_any = [each for each in cluster if each["kind"] != "Namespace"]
    assert verdict_of(objects_of(without_any), STACK, namespace="tema-a").ok()


def uncut(cluster: Cluster) -> None:
    gpu_node(cluster)["metadata"]["labels"]["eks-gpushare/mig"] = "failed"
    shares(cluster, 0)


def test_what_a_stack_declares_stands_for_what_a_node_lost_that_was_cut() -> None:
    """Who asks for it is right, though no node has it now."""
    found = verdict(cluster_with(workload("model"), do=uncut))

    assert codes(found) == ["GPU1313"]
