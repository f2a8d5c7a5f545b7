"""Faults that engineers tell of in public, as somebody put them in who had not read the checks.

Each is what an API server holds then: the node, the DaemonSet or the pods, not what the checks ask.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
from tests.live.test_faults import (
    HEALTHY,
    LONG_AGO,
    codes,
    condition,
    following,
    gpu_node,
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


def test_an_event_of_what_is_over_counts_for_nothing() -> None:
    cluster = cluster_with(event("DaemonSet", "nvidia-device-plugin", "Error creating: quota"))

    assert worse(verdict(cluster)) == []


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
