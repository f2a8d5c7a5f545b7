"""Why one pod does not run, where its status does not say it: events, its end, its kubelet."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import (
    HEALTHY,
    LONG_AGO,
    NOW,
    codes,
    following,
    objects_of,
    plugin,
    plugin_pod,
    pod,
    running,
    shares,
    verdict,
    without,
)
from tests.live.test_reading import FakeServer

from eks_gpushare.live.checks.placed import held_faults
from eks_gpushare.live.kinds import LISTED, cluster_role
from eks_gpushare.live.listing import read_cluster
from eks_gpushare.live.one_pod import of_pod
from eks_gpushare.live.stuck_pods import is_of_gpus, is_stuck, is_uncreated, said_of, warnings_of
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from tests.live.test_faults import Cluster, Object

SANDBOX = (
    'Failed to create pod sandbox: rpc error: no runtime for "nvidia" is configured',
    "FailedCreatePodSandBox",
)


def started(name: str = "x", *waits: str, **status: Any) -> Object:
    made = pod(name, nodeName="gpu-0")
    listed = [{"name": "main", "ready": False, "state": {"waiting": {"reason": r}}} for r in waits]
    made["status"] = {"phase": "Pending", "containerStatuses": listed, **status}
    return made


def warning(message: str, reason: str, name: str = "x", last: str = LONG_AGO) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{len(message)}", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": name, "namespace": "default"},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": last,
    }


def told(*added: Object, name: str = "x") -> str:
    objects = objects_of([*copy.deepcopy(HEALTHY), *added])
    found = of_pod(verdict_of(objects), objects, f"default/{name}")
    return found.said or " ".join(cause.fault.finding.message for cause in found.causes)


def test_a_warning_of_kubelet_says_why_containers_are_not_created() -> None:
    said = told(started("x", "ContainerCreating"), warning(*SANDBOX))

    assert said == (
        "Pod default/x: 1 pod does not run and holds 1 nvidia.com/gpu: ContainerCreating: "
        'FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: no runtime for "nvidia" '
        "is configured."
    )


@pytest.mark.parametrize(
    "event",
    [
        warning("of its scheduler", "FailedScheduling"),
        warning("of another", "FailedMount", "y"),
        {**warning("no warning", "Pulling"), "type": "Normal"},
        {**warning("of a node", "FailedMount"), "involvedObject": {"kind": "Node", "name": "x"}},
    ],
)
def test_other_events_do_not(event: Object) -> None:
    assert "nvidia.com/gpu: ContainerCreating." in told(started("x", "ContainerCreating"), event)


def test_the_last_warning_counts() -> None:
    objects = objects_of(
        [
            warning("first", "FailedMount", last="2026-11-26T17:40:00Z"),
            warning("last.", "FailedAttachVolume", last="2026-11-26T17:55:00Z"),
            warning("between", "FailedMount", last="2026-11-26T17:45:00Z"),
            warning("as late", "FailedMount", last="2026-11-26T17:55:00Z"),
        ]
    )

    made = started("x", "ContainerCreating")
    assert said_of(warnings_of(objects), made, NOW) == "FailedAttachVolume: last"
    assert said_of(warnings_of(objects), started("x", "ErrImagePull"), NOW) == ""


@pytest.mark.parametrize(
    ("given", "is_it"),
    [
        (started("x", "ContainerCreating"), True),
        (started("x", "PodInitializing"), True),
        (started("x"), True),
        (started("x", "ImagePullBackOff"), False),
        (started("x", "ContainerCreating", phase="Running"), False),
        (started("x", initContainerStatuses=[{"state": {"running": {}}}]), False),
        (pod("x"), False),
    ],
)
def test_a_pod_is_stuck_as_long_as_no_container_is_created(given: Object, *, is_it: bool) -> None:
    made = datetime(2026, 11, 26, 17, 30, tzinfo=UTC)

    assert is_uncreated(given) is is_it
    assert is_stuck(given, NOW) is is_it
    assert not is_stuck(given, made + timedelta(seconds=119))
    assert is_stuck(given, made + timedelta(seconds=120)) is is_it
    given["metadata"]["deletionTimestamp"] = LONG_AGO
    assert not is_stuck(given, NOW)


@pytest.mark.parametrize(("reason", "asked"), [("ContainerCreating", 1), ("ErrImagePull", 0)])
def test_events_are_asked_for_where_a_pod_is_stuck(reason: str, asked: int) -> None:
    made = started("x", reason)
    made["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    server = FakeServer(pods=[made], events=[warning(*SANDBOX)])
    found = read_cluster(server)

    assert server.asked.count("/api/v1/events") == asked
    assert len(found.of("Event")) == asked


def test_warnings_are_read_for_pods_that_are_looked_at() -> None:
    plain = started("x")
    del plain["spec"]["containers"][0]["resources"]
    assert is_of_gpus(started("x"))
    assert not is_of_gpus(plain)

    plain["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "x"}]
    assert not is_of_gpus(plain)
    plain["metadata"]["ownerReferences"].append({"kind": "DaemonSet", "name": "x"})
    assert is_of_gpus(plain)


def test_events_of_both_kinds_are_one_right() -> None:
    rules: Any = cluster_role("x")["rules"]
    core = next(rule["resources"] for rule in rules if rule["apiGroups"] == [""])

    assert core.count("events") == 1
    assert [each.kind for each in LISTED].count("Event") == 2


@pytest.mark.parametrize(
    "reason",
    ["Preempted", "Evicted", "DeadlineExceeded"],
)
def test_a_pod_that_has_failed_says_by_what(reason: str) -> None:
    made = started("x")
    made["status"] = {"phase": "Failed", "reason": reason, "message": "by another."}

    assert told(made) == f"default/x: it has failed, {reason}: by another."


def test_a_pod_whose_container_failed_says_so() -> None:
    made = started("x")
    ended = {"reason": "OOMKilled", "exitCode": 137}
    made["status"] = {
        "phase": "Failed",
        "containerStatuses": [{"name": "main", "state": {"terminated": ended}}],
    }

    assert told(made) == "default/x: it has failed, OOMKilled."


@pytest.mark.parametrize("reason", ["TopologyAffinityError", "NodeAffinity", "OutOfcpu"])
def test_whatever_a_kubelet_does_not_admit_is_refused(reason: str) -> None:
    made = started("x")
    made["status"] = {"phase": "Failed", "reason": reason}

    assert f"the kubelet of gpu-0 refused 1 pod: {reason}" in told(made)


def test_a_pod_that_runs_and_is_not_ready_says_what_of_it_is_not() -> None:
    made = running("x")
    message = 'pod readiness gate "target-health" does not exist'
    made["status"]["conditions"] = [{"type": "Ready", "status": "False", "message": message}]

    assert told(made) == (
        "default/x: it has its share on gpu-0 and does not run: its containers run and it is not "
        f"ready, {message}."
    )


def ending(made: Object, *finalizers: str) -> Object:
    made["metadata"]["deletionTimestamp"] = "2026-11-26T17:40:00Z"
    made["metadata"]["finalizers"] = list(finalizers)
    return made


def test_a_pod_that_does_not_go_says_who_keeps_it() -> None:
    assert "its finalizer is example.com/keep" in told(ending(running("x"), "example.com/keep"))
    assert told(ending(pod("x", 2), "example.com/keep")) == (
        "default/x: it is about to go, and kept by its finalizer example.com/keep."
    )
    assert told(ending(pod("x", 2))) == "default/x: it is about to go."


def without_plugin(cluster: Cluster) -> None:
    without(cluster, plugin(cluster), plugin_pod(cluster))
    shares(cluster, 0)


def test_pods_wait_for_the_plugin_where_nodes_advertise_nothing() -> None:
    cluster = copy.deepcopy(HEALTHY)
    without_plugin(cluster)
    found = verdict([*cluster, pod("x")], with_stack=False)

    assert codes(found) == ["GPU1102"]
    assert "GPU1340" in following(found)

    partly = copy.deepcopy(HEALTHY)
    shares(partly, 4)
    found = verdict([*partly, pod("x", 9)], with_stack=False)
    assert "GPU1340" in following(found)  # of what it asks for, which no node ever had


def test_claims_may_be_of_gpus() -> None:
    made = pod("x", resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
    del made["spec"]["containers"][0]["resources"]
    said = {"type": "PodScheduled", "status": "False", "message": "waiting for resourceclaim one"}
    made["status"]["conditions"] = [said]

    assert told(made) == "default/x: it waits: waiting for resourceclaim one"


@pytest.mark.parametrize(
    ("since", "phase", "held"),
    [
        ("2026-11-26T17:57:07Z", "Running", True),
        ("2026-11-26T17:57:08Z", "Running", False),
        ("2026-11-26T17:40:00Z", "Failed", False),
    ],
)
def test_a_pod_that_ends_holds_its_share_for_nothing_after_five_minutes(
    since: str, phase: str, *, held: bool
) -> None:
    made = ending(running("x"))
    made["metadata"]["deletionTimestamp"] = since
    made["status"]["phase"] = phase

    assert bool(list(held_faults(objects_of([made])))) is held
