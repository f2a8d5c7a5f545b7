"""Pods that wait, one reason at a time: what is said to the word, and at its borders."""

from __future__ import annotations

import copy
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_checks_alone import ago, node_of
from tests.live.test_faults import GPU, HEALTHY, objects_of, pod, running

from eks_gpushare.inventory.advertised import Offer
from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.mig_states import UNKNOWN_GPUS
from eks_gpushare.inventory.nodes import NodeKind
from eks_gpushare.inventory.source import Source
from eks_gpushare.live import rules
from eks_gpushare.live.checks.placed import held_faults, refused_faults
from eks_gpushare.live.checks.room import LaunchablePool, Room, waiting_of
from eks_gpushare.live.checks.waiting import waiting_faults
from eks_gpushare.live.kueue_words import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.live.test_faults import Object

    from eks_gpushare.live.faults import ClusterFault
    from eks_gpushare.live.nodes import LiveNode

FREE = {GPU: Decimal(40), "cpu": Decimal(8)}
SAID = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available."}


def node(name: str = "gpu-0", **changes: Any) -> LiveNode:
    """The node of the cluster, or one like it."""
    made = copy.deepcopy(node_of().object)
    made["metadata"]["name"] = name
    made["spec"].update(changes.pop("spec", {}))
    return replace(node_of(object=made), name=name, **changes)


def cordoned(name: str = "gpu-0") -> LiveNode:
    return node(name, spec={"unschedulable": True})


def not_ready(name: str = "gpu-0") -> LiveNode:
    return node(name, conditions={"Ready": {"status": "False"}})


def tainted(name: str) -> LiveNode:
    taints = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
    return node(name, spec={"taints": taints}, taints=[NodeTaint("team", "a", "NoSchedule")])


def room(
    *nodes: LiveNode, free: Mapping[str, Mapping[str, Decimal]] | None = None, **more: Any
) -> Room:
    every = {each.name: FREE for each in nodes} | dict(free or {})
    return Room(nodes, every, {}, **more)


def why(given: Room, *pods: Object, namespace: str | None = None) -> list[ClusterFault]:
    return list(waiting_faults(objects_of([*pods]), given, namespace))


def words(given: Room, *pods: Object) -> str:
    (found,) = why(given, *pods)
    return found.finding.message


def made_by(kind: str, number: int, **more: Any) -> Object:
    made = pod(f"chat-{number}", **more)
    owner = {"kind": kind, "name": "chat", "controller": True, "uid": "x"}
    made["metadata"]["ownerReferences"] = [owner]
    return made


# --- which pods ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "told"), [(29, 0), (30, 1), (None, 1)])
def test_a_pod_may_wait_half_a_minute(age: float | None, told: int) -> None:
    made = pod("late")
    made["metadata"]["creationTimestamp"] = None if age is None else ago(age)

    assert len(waiting_of(objects_of([made]), None)) == told


def test_a_pod_that_asks_for_no_gpu_waits_for_none() -> None:
    assert waiting_of(objects_of([pod("web", resource="cpu")]), None) == []


def test_pods_of_one_namespace_are_asked_for() -> None:
    mine, theirs = pod("mine"), pod("theirs")
    theirs["metadata"]["namespace"] = "other"
    found = waiting_of(objects_of([mine, theirs]), "other")

    assert [str(each.owner) for each in found] == ["other/theirs"]


# --- why -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((), "for 1 nvidia.com/gpu, and no node has a GPU."),
        ((cordoned(),), "for 1 nvidia.com/gpu, and gpu-0 is cordoned."),
        ((not_ready(),), "for 1 nvidia.com/gpu, and gpu-0 is not ready."),
        ((node("a"), not_ready("b")), None),
        (
            (cordoned("a"), not_ready("b")),
            "for 1 nvidia.com/gpu, and a, b are cordoned or not ready.",
        ),
        (
            (tainted("a"),),
            "for 1 nvidia.com/gpu; a has taints that they do not tolerate: team=a:NoSchedule.",
        ),
        (
            (tainted("a"), tainted("b")),
            "for 1 nvidia.com/gpu; a, b have taints that they do not tolerate: team=a:NoSchedule.",
        ),
        (
            (node("a", advertised={"nvidia.com/gpu.shared": 40}),),
            "for 1 nvidia.com/gpu, and a advertises 40 nvidia.com/gpu.shared.",
        ),
        ((node("a", advertised={GPU: 1}, used={}),), None),
    ],
)
def test_why_a_pod_never_lands(nodes: tuple[LiveNode, ...], said: str | None) -> None:
    found = [each.finding.message for each in why(room(*nodes), pod("one"))]

    assert found == ([] if said is None else [f"Pod default/one: it waits {said}"])


def test_as_many_as_a_node_has_land_on_it() -> None:
    assert words(room(node(advertised={GPU: 3})), pod("four", 4)).endswith(
        "advertises 3 nvidia.com/gpu."
    )
    assert why(room(node(advertised={GPU: 4})), pod("four", 4)) == []


def test_what_the_scheduler_says_is_shown_where_it_says_something() -> None:
    silent, told = pod("one"), pod("one")
    told["status"]["conditions"] = [SAID]

    (of_silent,), (of_told,) = why(room(), silent), why(room(), told)
    assert of_silent.evidence == ()
    assert of_told.evidence == ("its scheduler says: 0/3 nodes are available.",)


@pytest.mark.parametrize(("free", "said"), [(1, None), (0, "40 of 80 are taken on a, b.")])
def test_pods_wait_for_shares_that_are_taken(free: int, said: str | None) -> None:
    nodes = [node("a", used={GPU: 40}), node("b", used={})]
    left = {each.name: {**FREE, GPU: Decimal(free)} for each in nodes}
    found = [each.finding.message for each in why(room(*nodes, free=left), pod("one"))]

    wanted = f"Pod default/one: it waits for nvidia.com/gpu, of which {said}"
    assert found == ([] if said is None else [wanted])


def test_nodes_that_lack_a_resource_have_none_of_it() -> None:
    """One of two was added while its plugin starts anew."""
    nodes = [node("a", advertised={GPU: 40}, used={GPU: 40}), node("b", advertised={})]
    free = {"a": {GPU: Decimal()}, "b": {}}

    assert words(room(*nodes, free=free), pod("one")).endswith("40 of 40 are taken on a.")


def test_pods_wait_for_processors_beside_free_shares() -> None:
    made = pod("big")
    made["spec"]["containers"][0]["resources"]["requests"] |= {"cpu": "8", "memory": "1Gi"}
    left = {"gpu-0": {**FREE, "cpu": Decimal(7)}}
    (found,) = why(room(node(), free=left), made)

    assert found.finding.message == "Pod default/big: it waits for cpu, memory on gpu-0."
    assert found.finding.fix == "Request less of it, or use larger instances."
    exact = {"gpu-0": {**FREE, "memory": Decimal(2**30)}}
    assert why(room(node(), free=exact), made) == []
    both = {"gpu-0": {"memory": Decimal(2**30)}}
    assert "for nvidia.com/gpu, of which" in words(room(node(), free=both), made)


@pytest.mark.parametrize(
    ("count", "called", "short"),
    [
        (1, "1 pod waits for 1 nvidia.com/gpu,", "1 pod waits for 1 nvidia.com/gpu."),
        (2, "2 pods wait for 1 nvidia.com/gpu,", "2 pods wait for 1 nvidia.com/gpu each."),
        (3, "3 pods wait for 1 nvidia.com/gpu,", "3 pods wait for 1 nvidia.com/gpu each."),
    ],
)
def test_pods_of_one_maker_are_told_together(count: int, called: str, short: str) -> None:
    (found,) = why(room(), *(made_by("Job", number) for number in range(count)))

    assert found.finding.message.startswith(f"Job default/chat: {called}")
    assert found.in_short == f"Job default/chat: {short}"


# --- gates, and Kueue's words --------------------------------------------------------------------


def workload(owner: str, namespace: str = "default", message: str = "no quota") -> Object:
    said = {"type": "QuotaReserved", "status": "False", "message": message}
    return {
        "metadata": {
            "name": f"of-{owner}",
            "namespace": namespace,
            "ownerReferences": [{"kind": "Pod", "name": owner}],
        },
        "status": {"conditions": [said]},
    }


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("Evicted", "True", "why"),
        ("QuotaReserved", "False", "why"),
        ("Admitted", "False", "why"),
        ("Evicted", "False", ""),
        ("QuotaReserved", "True", ""),
        ("Finished", "True", ""),
    ],
)
def test_three_conditions_of_a_workload_say_why(kind: str, status: str, said: str) -> None:
    condition = {"type": kind, "status": status, "message": "why"}

    assert words_of({"status": {"conditions": [condition]}}) == said
    assert words_of({"status": {"conditions": [{**condition, "message": ""}]}}) == ""


@pytest.mark.parametrize(
    ("queued", "said"),
    [
        ([], ()),
        ([workload("one")], ("Kueue says of the Workload of-one: no quota",)),
        ([workload("one", "other")], ()),
        ([workload("two")], ()),
        ([workload("two", "other")], ()),
        ([workload("one", message="")], ()),
        ([{**workload("one"), "status": {}}], ()),
    ],
)
def test_what_kueue_says_of_a_pod_at_its_gate_is_shown(
    queued: list[Object], said: tuple[str, ...]
) -> None:
    gated = pod("one", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    (found,) = why(room(node(), queued=queued), gated)

    assert found.finding.message == (
        "Pod default/one: it waits at the gate kueue.x-k8s.io/admission."
    )
    assert found.evidence == said


# --- nodes that an autoscaler may add ------------------------------------------------------------


def launch(
    left: int | None = 2,
    *,
    resources: Mapping[str, int | None] | None = None,
    taints: Any = (),
    labels: Mapping[str, str] | None = None,
    pool: str = "gpu",
) -> LaunchablePool:
    nodes = NodeSet(
        source=Source("n"),
        name=pool,
        provisioner="karpenter",
        labels=labels or {},
        taints=taints,
    )
    offer = Offer(NodeKind(nodes, None), {GPU: 4} if resources is None else resources, UNKNOWN_GPUS)
    return LaunchablePool(pool, offer, left)


def old(seconds: float | None, name: str = "one", **more: Any) -> Object:
    made = pod(name, **more)
    made["metadata"]["creationTimestamp"] = None if seconds is None else ago(seconds)
    return made


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (599, None),
        (600, " for 10 minutes"),
        (660, " for 11 minutes"),
        (7200, " for 120 minutes"),
        (None, ""),
    ],
)
def test_a_node_may_take_ten_minutes_to_come(age: float | None, said: str | None) -> None:
    found = [each.finding for each in why(room(launches=[launch()]), old(age))]

    assert [each.code for each in found] == ([] if said is None else [rules.NOT_LAUNCHED.id])
    for each in found:
        assert f"for 1 nvidia.com/gpu{said}, and no node of gpu has come." in each.message


@pytest.mark.parametrize(
    ("left", "code"),
    [
        ([0], rules.LIMIT_REACHED.id),
        ([-1], rules.LIMIT_REACHED.id),
        ([1], rules.NOT_LAUNCHED.id),
        ([None], rules.NOT_LAUNCHED.id),
        ([0, 1], rules.NOT_LAUNCHED.id),
        ([0, 0], rules.LIMIT_REACHED.id),
    ],
)
def test_a_pool_may_have_all_its_nodes(left: list[int | None], code: str) -> None:
    launches = [launch(each) for each in left]
    (found,) = why(room(launches=launches), old(700))

    assert found.finding.code == code


KEPT_OFF = (NodeTaint("team", "a", "NoSchedule"),)


@pytest.mark.parametrize(
    ("given", "wanted", "comes"),
    [
        ({}, {}, True),
        ({"resources": {"nvidia.com/gpu.shared": 4}}, {}, False),
        ({"resources": {GPU: None}}, {}, True),
        ({"resources": {GPU: 0}}, {}, False),
        ({"taints": KEPT_OFF}, {}, False),
        ({"taints": KEPT_OFF, "resources": {"nvidia.com/gpu.shared": 4}}, {}, False),
        ({"labels": {"a": "b"}}, {"nodeSelector": {"a": "b"}}, True),
        ({"labels": {"a": "c"}}, {"nodeSelector": {"a": "b"}}, False),
    ],
)
def test_a_node_comes_for_pods_that_it_would_have(
    given: dict[str, Any], wanted: dict[str, Any], comes: bool
) -> None:
    (found,) = why(room(launches=[launch(**given)]), old(700, **wanted))

    assert found.finding.code == (rules.NOT_LAUNCHED.id if comes else rules.NEVER_LANDS.id)


def test_a_gate_is_told_whatever_may_be_launched() -> None:
    gated = old(700, schedulingGates=[{"name": "g"}])
    (found,) = why(room(launches=[launch()]), gated)

    assert "at the gate g" in found.finding.message


# --- refused, and held ---------------------------------------------------------------------------


def refused(name: str, reason: str = "UnexpectedAdmissionError", message: str = "") -> Object:
    made = made_by("Job", 0, nodeName="gpu-0")
    made["metadata"]["name"] = name
    made["status"] = {"phase": "Failed", "reason": reason, "message": message}
    return made


def test_pods_that_a_kubelet_refused_are_told_with_its_words() -> None:
    (found,) = refused_faults(objects_of([refused("a", message="Allocate failed")]))

    assert found.finding.message == (
        "Job default/chat: the kubelet of gpu-0 refused 1 pod: UnexpectedAdmissionError."
    )
    assert found.nodes == {"gpu-0"}
    assert found.evidence == ("Allocate failed",)
    (silent,) = refused_faults(objects_of([refused("a"), refused("b")]))
    assert "refused 2 pods" in silent.finding.message
    assert silent.evidence == ()


def test_pods_of_another_namespace_are_not_told() -> None:
    refusal = refused("a")
    held = running("chat")
    held["status"] = {"phase": "Pending"}
    held["status"]["containerStatuses"] = [{"state": {"waiting": {"reason": "ErrImagePull"}}}]
    for fault, given in ((refused_faults, refusal), (held_faults, held)):
        objects = objects_of([given])
        assert len(list(fault(objects))) == 1
        assert len(list(fault(objects, "default"))) == 1
        assert list(fault(objects, "other")) == []


@pytest.mark.parametrize(("age", "told"), [(299, 0), (300, 1), (None, 1)])
def test_a_pod_may_take_five_minutes_to_run(age: float | None, told: int) -> None:
    made = old(age, nodeName="gpu-0")
    made["status"] = {"phase": "Pending"}
    made["status"]["containerStatuses"] = [{"state": {"waiting": {"reason": "ErrImagePull"}}}]

    found = [each.finding.message for each in held_faults(objects_of([made]))]
    wanted = "Pod default/one: 1 pod does not run and holds 1 nvidia.com/gpu: ErrImagePull."
    assert found == [wanted] * told


def test_pods_that_hold_shares_together_are_told_together() -> None:
    made = [made_by("Job", number, nodeName="gpu-0") for number in range(2)]
    for each in made:
        each["status"] = {"phase": "Pending"}
        each["status"]["containerStatuses"] = [{"state": {"waiting": {"reason": "ErrImagePull"}}}]
    (found,) = held_faults(objects_of(made))

    assert "2 pods do not run and hold 2 nvidia.com/gpu" in found.finding.message


def test_the_healthy_cluster_has_no_pod_that_waits() -> None:
    assert why(room(node()), *copy.deepcopy(HEALTHY)) == []


def test_a_pod_wants_nodes_by_its_selector_or_its_affinity() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    term = {"matchExpressions": [{"key": "nobodys", "operator": "Exists"}]}
    affinity = {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}}
    there = room(node())

    assert there.candidates({}) == [there.nodes[0]]
    assert there.candidates({"affinity": affinity}) == []
    assert there.candidates({"nodeSelector": {"nobodys": "x"}}) == []
