"""NFD and GPU feature discovery: missed where labels or a stack tell of them, and nowhere else.

Also what KEDA says of workloads that it scales by nothing, or by some of their triggers.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import (
    HEALTHY,
    JUST_NOW,
    LONG_AGO,
    STACK,
    Cluster,
    about,
    codes,
    deployment,
    following,
    get,
    gpu_node,
    no_discovery,
    objects_of,
    shares,
    verdict,
    workload,
    worse,
)
from tests.live.test_more_faults import event

from eks_gpushare.live.checks.controllers import controller_faults
from eks_gpushare.live.checks.labelling import declared_labellers, labelling_faults
from eks_gpushare.live.checks.programs import programs_of
from eks_gpushare.live.faults import pool_mark
from eks_gpushare.live.nodes import gpu_nodes_of
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.live.test_faults import Object

    from eks_gpushare.inventory.nodes import NodeKind

DISCOVERY, NFD = "gpu-feature-discovery", "node-feature-discovery"
BY_NFD = "nfd.node.kubernetes.io/feature-labels"
BY_DISCOVERY = ("nvidia.com/gfd.timestamp", "nvidia.com/gpu.machine")


def without_any(*parts: str, kinds: tuple[str, ...] = ("DaemonSet", "Pod")) -> Cluster:
    """The sound cluster without what has one of these in its name."""
    gone = [
        each
        for each in HEALTHY
        if each["kind"] in kinds and any(part in each["metadata"]["name"] for part in parts)
    ]
    assert gone
    return copy.deepcopy([each for each in HEALTHY if each not in gone])


def only(cluster: Cluster, *, with_stack: bool = False) -> tuple[str, str]:
    ((code, message),) = worse(verdict(cluster, with_stack=with_stack))
    return code, message


def test_a_discovery_that_is_gone_is_missed_by_its_labels() -> None:
    code, message = only(without_any(DISCOVERY))

    assert code == "GPU1377"
    assert message == (
        "gpu-0: no DaemonSet runs GPU feature discovery, so its labels stay as they are, whatever "
        "changes, and the next node gets none."
    )


@pytest.mark.parametrize("label", BY_DISCOVERY)
def test_each_label_that_nobody_else_writes_tells_of_it(label: str) -> None:
    cluster = without_any(DISCOVERY)
    given = gpu_node(cluster)["metadata"]["labels"]
    for each in BY_DISCOVERY:
        given.pop(each, None)

    assert worse(verdict(cluster, with_stack=False)) == []  # as where all are written by hand
    given[label] = "1785000000"
    assert only(cluster)[0] == "GPU1377"


def test_nfd_is_missed_by_what_it_remembers_of_itself() -> None:
    cluster = without_any(NFD)
    assert worse(verdict(cluster, with_stack=False)) == []  # a label by hand stands for it

    gpu_node(cluster)["metadata"]["annotations"][BY_NFD] = "pci-10de.present"
    assert "no DaemonSet runs the NFD worker" in only(cluster)[1]


@pytest.mark.parametrize("part", [DISCOVERY, NFD])
def test_what_a_stack_installs_is_an_error_where_it_is_not(part: str) -> None:
    cluster = without_any(part)
    (cause,) = (each for each in verdict(cluster).causes if each.fault.finding.severity != "info")

    assert (cause.fault.finding.code, cause.fault.finding.severity) == ("GPU1377", "error")


def test_a_daemon_set_that_makes_no_pods_is_told_with_why() -> None:
    cluster = without_any(DISCOVERY, kinds=("Pod",))
    name = f"nvidia-device-plugin-{DISCOVERY}"
    refusal = event("DaemonSet", name, 'pods "x" is forbidden: exceeded quota: pods')
    get(cluster, "DaemonSet", name)["status"].update(desiredNumberScheduled=1, numberReady=0)

    code, message = only([*cluster, refusal])
    assert code == "GPU1377"
    assert "exceeded quota" in message


def test_one_that_is_kept_off_by_a_label_is_meant_so() -> None:
    """As the GPU Operator's `nvidia.com/gpu.deploy.gpu-feature-discovery: "false"` does it."""
    cluster = without_any(DISCOVERY, kinds=("Pod",))
    found = get(cluster, "DaemonSet", f"nvidia-device-plugin-{DISCOVERY}")
    found["spec"]["template"]["spec"]["nodeSelector"] = {"deploy": "true"}

    assert "GPU1377" not in codes(verdict(cluster, with_stack=False))


def test_it_follows_where_the_plugin_is_gone_too_and_explains_no_shares() -> None:
    cluster = without_any("nvidia-device-plugin")
    assert codes(verdict(cluster)) == ["GPU1102"]
    assert "GPU1377" in following(verdict(cluster))

    stale = without_any(DISCOVERY)
    shares(stale, 30)
    assert set(codes(verdict(stale))) == {"GPU1320", "GPU1377"}


def labelled(cluster: Cluster, **kinds: NodeKind) -> list[str]:
    objects = objects_of(cluster)
    nodes = gpu_nodes_of(objects)
    found = labelling_faults(objects, nodes, programs_of(objects), kinds_of(kinds), {})
    return [each.node.name for each in found]


def kinds_of(given: dict[str, NodeKind]) -> dict[str, NodeKind]:
    return {name.replace("_", "-"): kind for name, kind in given.items()}


@pytest.mark.parametrize("system", [True, False])
def test_an_operating_system_of_its_own_labels_its_nodes(*, system: bool) -> None:
    kind: Any = SimpleNamespace(serves_itself=system)
    cluster = without_any(DISCOVERY)

    assert labelled(cluster) == ["gpu-0"]
    assert labelled(cluster, gpu_0=kind) == ([] if system else ["gpu-0"])


def leaving(node: Object) -> None:
    node["metadata"]["deletionTimestamp"] = LONG_AGO


def joining(node: Object) -> None:
    node["metadata"]["creationTimestamp"] = JUST_NOW


def silent(node: Object) -> None:
    node["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]


@pytest.mark.parametrize("do", [leaving, joining, silent])
def test_a_node_that_is_not_there_for_good_has_no_labels_yet(do: Callable[[Object], None]) -> None:
    cluster = without_any(DISCOVERY)
    do(gpu_node(cluster))

    assert labelled(cluster) == []


def test_a_stack_declares_what_its_chart_installs() -> None:
    assert declared_labellers(STACK) == {"nfd", "discovery"}
    assert declared_labellers(None) == frozenset()


def test_nothing_is_said_of_what_was_not_read() -> None:
    cluster = without_any(DISCOVERY)
    found = verdict_of(objects_of(cluster, DaemonSet="forbidden"), STACK)

    assert "GPU1377" not in codes(found)


def master(command: str) -> Object:
    made = deployment(command, "")
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "registry.k8s.io/nfd/node-feature-discovery:v0.18.3"
    container["command"] = [command]
    del container["resources"]
    made["status"] = {"conditions": [{"type": "Available", "status": "False"}]}
    return made


def test_a_master_of_nfd_that_is_down_labels_nothing() -> None:
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["metadata"]["annotations"][BY_NFD] = "pci-10de.present"

    assert only([*cluster, master("nfd-master")]) == (
        "GPU1375",
        "NFD's master does not run: no pod is ready of the Deployment default/nfd-master.",
    )
    assert worse(verdict([*cluster, master("nfd-gc")])) == []
    assert worse(verdict([*copy.deepcopy(HEALTHY), master("nfd-master")])) == []


def scaled(annotations: dict[str, str], *conditions: dict[str, str], **status: Any) -> Cluster:
    made = about("ScaledObject", "keda.sh/v1alpha1", scaleTargetRef={"name": "m"}, triggers=[])
    made["metadata"]["annotations"] = annotations
    made["spec"]["fallback"] = {"failureThreshold": 3, "replicas": 6}
    made["status"] = {"conditions": [*conditions], **status}
    return [*copy.deepcopy(HEALTHY), workload("m"), made]


def of_keda(cluster: Cluster) -> list[tuple[str, str]]:
    return [
        (cause.fault.finding.severity, cause.fault.finding.message)
        for cause in verdict(cluster).causes
        if cause.fault.finding.code == "GPU1378"
    ]


@pytest.mark.parametrize(
    ("end", "value", "harm"),
    [
        ("", "true", "its workload keeps the pods and the shares that it has, whatever waits"),
        ("", "yes", "its workload keeps the pods and the shares that it has, whatever waits"),
        ("-replicas", "0", "its workload has 0 pods, whatever waits"),
        ("-scale-out", "true", "its workload gets no further pods, whatever waits"),
        ("-scale-in", "true", "its workload gives no share back while it has nothing to do"),
    ],
)
def test_a_pause_is_told_and_is_no_fault(end: str, value: str, harm: str) -> None:
    """KEDA takes any value but false for a pause: `NeedToBePausedByAnnotation`."""
    key = f"autoscaling.keda.sh/paused{end}"
    found = of_keda(scaled({key: value}))

    assert found == [
        ("info", f"The ScaledObject default/one is paused by {key}: {value}, so {harm}.")
    ]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"autoscaling.keda.sh/paused": "false"},
        {"autoscaling.keda.sh/paused-for-ever": "true"},
        {"autoscaling.keda.sh/paused-replicas": "none"},
        {"autoscaling.keda.sh/paused-replicas": "\u0663"},
        {"paused": "true"},
        {"-replicas": "3"},
    ],
)
def test_what_pauses_nothing_is_none(given: dict[str, str]) -> None:
    assert of_keda(scaled(given)) == []


def test_what_helps_is_told_of_each() -> None:
    key = "autoscaling.keda.sh/paused"
    fallen = scaled({}, {"type": "Fallback", "status": "True"})

    asked = f"kubectl annotate scaledobject -n default one {key}- {key}-replicas-"
    found = fixes(scaled({key: "true", f"{key}-replicas": "2"}))
    assert found == [f"Once it shall be scaled again: {asked}"]
    assert fixes(fallen) == ["See kubectl describe scaledobject -n default one."]


def fixes(cluster: Cluster) -> list[str]:
    found = (cause.fault.finding for cause in verdict(cluster).causes)
    return [str(each.fix) for each in found if each.code == "GPU1378"]


def test_of_programs_only_the_plugin_explains_that_labels_stay() -> None:
    cluster = copy.deepcopy(HEALTHY)
    gpu_node(cluster)["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] = "mps"
    no_discovery(cluster)

    assert {"GPU1310", "GPU1311"} <= set(codes(verdict(cluster, with_stack=False)))


def test_a_trigger_that_cannot_be_read_is_a_warning() -> None:
    health = {"s0-prometheus": {"numberOfFailures": 9, "status": "Failing"}}
    fallen = scaled({}, {"type": "Fallback", "status": "True"}, health=health)
    partly = scaled(
        {},
        {
            "type": "Ready",
            "status": "Unknown",
            "reason": "PartialTriggerError",
            "message": "Some triggers defined in ScaledObject are not working correctly",
        },
    )
    well = scaled({}, {"type": "Fallback", "status": "False"}, {"type": "Ready", "status": "True"})

    said = (
        "KEDA cannot read a trigger of the ScaledObject default/one (s0-prometheus) and falls "
        "back to 6 replicas."
    )
    assert of_keda(fallen) == [("warning", said)]
    said = (
        "KEDA scales the ScaledObject default/one by some of its triggers only: Some triggers "
        "defined in ScaledObject are not working correctly."
    )
    assert of_keda(partly) == [("warning", said)]
    assert of_keda(well) == []


def controller(image: str, since: str = LONG_AGO) -> Object:
    made = deployment("controller", "")
    made["spec"]["template"]["spec"]["containers"] = [{"name": "c", "image": image}]
    available = {"type": "Available", "status": "False", "lastTransitionTime": since}
    made["status"] = {"conditions": [available]}
    return made


@pytest.mark.parametrize(
    ("image", "about"),
    [
        ("public.ecr.aws/karpenter/controller:1.14.1", {pool_mark("gpu")}),
        ("nvcr.io/nvidia/gpu-operator:v26.7.0", set()),
    ],
)
def test_pools_wait_for_an_autoscaler_and_for_no_other_controller(
    image: str, about: set[str]
) -> None:
    objects = objects_of([*HEALTHY, controller(image)])
    (found,) = controller_faults(objects, gpu_nodes_of(objects), ["gpu"])

    assert found.nodes == about


@pytest.mark.parametrize(
    ("since", "told"), [("2026-11-26T17:57:06Z", 1), ("2026-11-26T17:57:07Z", 0)]
)
def test_a_controller_may_be_down_for_five_minutes(since: str, told: int) -> None:
    objects = objects_of([*HEALTHY, controller("nvcr.io/nvidia/gpu-operator:v26.7.0", since)])

    assert len([*controller_faults(objects, gpu_nodes_of(objects), [])]) == told
