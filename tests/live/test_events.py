"""Events of `verify --events`: which, on what, once for each cause, and nothing else written."""

from __future__ import annotations

import copy
import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import HEALTHY, NOW, STACK, objects_of, pod, taint

from eks_gpushare.cli import main
from eks_gpushare.findings.finding import Finding
from eks_gpushare.live.connection import ApiResponse
from eks_gpushare.live.events import MOST_EVENTS, object_of, planned_events, told_as_events
from eks_gpushare.live.faults import ClusterFault, Link
from eks_gpushare.live.kinds import cluster_role
from eks_gpushare.live.pods import PodOwner
from eks_gpushare.live.stuck_pods import warnings_of
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.verdict import ClusterVerdict

TAINT = "dedicated"
_JSON = "application/json"
RIGHTS = "eks-gpushare verify --rbac --events prints the rights"


class EventStore:
    """What keeps Events as an API server does, or refuses them."""

    whence = "https://api.example.com"

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.written: list[str] = []
        self.refusal: ApiResponse | None = None

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = _JSON
    ) -> ApiResponse:
        assert (path, accept) == ("/api/v1/events", _JSON)
        assert (query or {})["fieldSelector"] == "source=eks-gpushare-verify"
        return ApiResponse(200, {"items": copy.deepcopy(list(self.events.values()))})

    def write(self, method: str, path: str, body: Mapping[str, Any]) -> ApiResponse:
        if self.refusal is not None:
            return self.refusal
        self.written.append(method)
        if method == "POST":
            self.events[f"{path}/{body['metadata']['name']}"] = dict(body)
            return ApiResponse(201, body)
        if path not in self.events:
            return ApiResponse(404, {})
        self.events[path] |= body
        return ApiResponse(200, self.events[path])


def tainted() -> list[dict[str, Any]]:
    cluster: list[dict[str, Any]] = copy.deepcopy(HEALTHY)
    taint(cluster, TAINT, "x", "NoExecute")
    return cluster


def seen(cluster: list[dict[str, Any]], seconds: int = 0) -> tuple[ClusterVerdict, ClusterObjects]:
    objects = replace(objects_of(cluster), at=NOW + timedelta(seconds=seconds))
    return verdict_of(objects, STACK), objects


def tell(store: EventStore, cluster: list[dict[str, Any]], seconds: int = 0) -> ClusterVerdict:
    return told_as_events(*seen(cluster, seconds), store, nullcontext(store))


def test_a_cause_is_one_event_on_its_node() -> None:
    store = EventStore()
    tell(store, tainted())
    (event,) = store.events.values()
    (node,) = (each for each in HEALTHY if each["metadata"]["name"] == "gpu-0")

    assert event["involvedObject"]["kind"] == "Node"
    assert event["involvedObject"]["name"] == "gpu-0"
    assert event["involvedObject"].get("uid") == node["metadata"].get("uid")
    assert event["metadata"]["namespace"] == "default"
    # A name that another release gives otherwise would tell each cause twice for an hour.
    assert event["metadata"]["name"] == "gpu-0.4aed765ea45e376b"
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "GPU1306", 1)
    assert event["message"] == (
        "gpu-0: it has the taint dedicated=x:NoExecute, which its pool does not declare. "
        "Fix: kubectl taint node gpu-0 dedicated=x:NoExecute-"
    )


def test_a_cause_that_stays_is_counted_up_and_not_at_every_look() -> None:
    store = EventStore()
    for seconds in (0, 60, 239, 240, 600):
        tell(store, tainted(), seconds)
    (event,) = store.events.values()

    assert store.written == ["POST", "PATCH", "PATCH"]
    assert event["count"] == 3
    assert event["firstTimestamp"] < event["lastTimestamp"]


def test_a_cause_whose_words_change_is_the_same_event_at_once() -> None:
    store = EventStore()
    cluster = tainted()
    tell(store, cluster)
    taint(cluster, TAINT, "x", "NoSchedule")
    before = dict(store.events)
    tell(store, cluster, 15)

    assert set(before) <= set(store.events)
    assert {event["reason"] for event in store.events.values()} == {"GPU1306"}


def test_what_has_ended_is_told_no_more() -> None:
    store = EventStore()
    tell(store, tainted())
    tell(store, copy.deepcopy(HEALTHY), 300)

    assert store.written == ["POST"]


def test_an_event_that_went_meanwhile_is_made_anew() -> None:
    store = EventStore()
    tell(store, tainted())
    path, event = store.events.popitem()
    store.events["gone"] = event  # listed, and no more there when it is changed
    tell(store, tainted(), 300)

    assert store.written == ["POST", "PATCH", "POST"]
    assert store.events[path]["count"] == 1


def test_pods_are_told_where_they_are() -> None:
    cluster = [*copy.deepcopy(HEALTHY), pod("wants-a-gpu", 99)]
    (event,) = (each.document for each in planned_events(*seen(cluster)))

    assert event["metadata"]["namespace"] == event["involvedObject"]["namespace"] == "default"
    assert event["involvedObject"]["kind"] == "Pod"
    assert event["involvedObject"]["name"] == "wants-a-gpu"


def test_what_no_object_has_is_told_of_the_cluster() -> None:
    cluster = [each for each in HEALTHY if each["metadata"]["name"] != "gpu-0"]
    verdict, objects = seen(cluster)
    of_pool = [each.document for each in planned_events(verdict, objects)]

    assert {each["involvedObject"]["name"] for each in of_pool} == {"kube-system"}
    assert {each["metadata"]["namespace"] for each in of_pool} == {"default"}


NODE_AGENT = "nvidia-device-plugin"


def fault_at(
    *at: str, nodes: tuple[str, ...] = (), owner: PodOwner | None = None, **words: Any
) -> ClusterFault:
    found = Finding("GPU1306", "error", "", "It is wrong.", "Mend it.", "", at)
    return ClusterFault(replace(found, **words), Link.TAINTS, frozenset(nodes), owner)


@pytest.mark.parametrize(
    ("fault", "about"),
    [
        (fault_at("pools", "gpu", "nodes", "gpu-0"), "Node gpu-0"),
        (fault_at("nodes", "gpu-0"), "Node gpu-0"),
        (fault_at("nodes"), "Namespace kube-system"),
        (fault_at("pools", "gpu", "nodes"), "Namespace kube-system"),
        (fault_at("pools", "gpu", "nodes", "gone", nodes=("gone", "gpu-0")), "Node gpu-0"),
        (fault_at("gpuStack", nodes=("gone",)), "Namespace kube-system"),
        (fault_at(owner=PodOwner(NODE_AGENT, "DaemonSet", NODE_AGENT)), f"DaemonSet {NODE_AGENT}"),
        (fault_at(owner=PodOwner("other", "DaemonSet", NODE_AGENT)), "Namespace kube-system"),
        (
            fault_at("nodes", "gpu-0", owner=PodOwner(NODE_AGENT, "DaemonSet", "gone")),
            "Node gpu-0",
        ),
        (fault_at("daemonSets", f"{NODE_AGENT}/{NODE_AGENT}"), f"DaemonSet {NODE_AGENT}"),
        (fault_at("daemonSets", NODE_AGENT), f"DaemonSet {NODE_AGENT}"),
        (fault_at("daemonSets", f"other/{NODE_AGENT}"), "Namespace kube-system"),
    ],
)
def test_what_a_fault_is_about(fault: ClusterFault, about: str) -> None:
    found = object_of(fault, objects_of(HEALTHY))

    assert f"{found['kind']} {found['metadata']['name']}" == about


def test_the_namespace_of_the_cluster_has_its_uid() -> None:
    known = {"name": "kube-system", "uid": "0f"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": known}

    assert object_of(fault_at("gpuStack"), objects_of([*HEALTHY, space])) == space


def events_of(*faults: ClusterFault, cluster: list[dict[str, Any]] = HEALTHY) -> list[Any]:
    verdict, _ = seen(tainted())
    one = verdict.causes[0]
    verdict = replace(verdict, causes=tuple(replace(one, fault=fault) for fault in faults))
    return [each.document for each in planned_events(verdict, objects_of(cluster))]


def test_the_worst_are_told_first() -> None:
    warnings = [fault_at("nodes", "gpu-0", severity="warning") for _ in range(MOST_EVENTS)]
    told = events_of(*warnings, fault_at("nodes", "gpu-0", code="GPU1300"))

    assert len(told) == MOST_EVENTS
    assert [event["reason"] for event in told] == ["GPU1300", *["GPU1306"] * (MOST_EVENTS - 1)]
    assert len({event["metadata"]["name"] for event in told}) == MOST_EVENTS


def test_several_of_one_code_and_object_are_numbered() -> None:
    names = [each["metadata"]["name"] for each in events_of(*[fault_at("nodes", "gpu-0")] * 2)]

    assert names == ["gpu-0.4aed765ea45e376b", "gpu-0.ea944df56bd7c41e"]


@pytest.mark.parametrize(
    ("name", "begin"), [("a" * 253, "a" * 200 + "."), ("Pool_1", "pool-1."), ("_", "object.")]
)
def test_an_event_has_a_name_that_an_event_may_have(name: str, begin: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    (event,) = events_of(fault_at("nodes", name), cluster=[*HEALTHY, node])

    assert event["metadata"]["name"].startswith(begin)
    assert len(event["metadata"]["name"]) == len(begin) + 16


@pytest.mark.parametrize(("length", "end"), [(1024, "xx"), (1025, "x...")])
def test_long_words_are_cut_where_an_event_ends(length: int, end: str) -> None:
    fix = "x" * (length - len("It is wrong. Fix: "))
    (event,) = events_of(fault_at("nodes", "gpu-0", fix=fix))

    assert len(event["message"]) == 1024
    assert event["message"].endswith(end)


def test_events_of_a_large_cluster_are_listed_to_the_end() -> None:
    class Paged(EventStore):
        def get(
            self,
            path: str,
            query: Mapping[str, str] | None = None,
            accept: str = "application/json",
        ) -> ApiResponse:
            if "continue" not in (query or {}):
                return ApiResponse(200, {"items": [], "metadata": {"continue": "more"}})
            assert (query or {})["continue"] == "more"
            return super().get(path, query, accept)

    store = Paged()
    tell(store, tainted())
    tell(store, tainted(), 300)

    assert store.written == ["POST", "PATCH"]


def test_an_event_that_counts_nothing_begins_with_one() -> None:
    store = EventStore()
    tell(store, tainted())
    (event,) = store.events.values()
    del event["count"]
    tell(store, tainted(), 300)

    assert event["count"] == 1


def test_there_is_an_end_to_how_many_and_each_has_its_name() -> None:
    cluster = [*copy.deepcopy(HEALTHY), *(pod(f"p{n}", 99) for n in range(MOST_EVENTS + 20))]
    verdict, objects = seen(cluster)
    verdict = replace(verdict, causes=verdict.causes * (MOST_EVENTS + 20))
    planned = list(planned_events(verdict, objects))

    assert len(planned) == len({(each.namespace, each.name) for each in planned}) == MOST_EVENTS
    assert all(len(each.document["message"]) <= 1024 for each in planned)


def test_it_does_not_quote_itself() -> None:
    cluster = [*copy.deepcopy(HEALTHY), pod("wants-a-gpu", 99)]
    own = [each.document for each in planned_events(*seen(cluster))]

    assert warnings_of(objects_of([*cluster, *own])) == {}
    for each in own:
        each["source"] = {"component": "kubelet"}
    assert list(warnings_of(objects_of([*cluster, *own]))) == [("default", "wants-a-gpu")]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            ApiResponse(403, {"message": "events is forbidden."}),
            f"Events cannot be written: events is forbidden; {RIGHTS}",
        ),
        (ApiResponse(500, "etcd is gone"), "Events cannot be written: etcd is gone"),
        (ApiResponse(409, {}), None),
        (
            ApiResponse(403, {"details": {"causes": [{"reason": "NamespaceTerminating"}]}}),
            None,
        ),
    ],
)
def test_what_cannot_be_written_is_unknown(answer: ApiResponse, why: str | None) -> None:
    store = EventStore()
    store.refusal = answer
    verdict = tell(store, tainted())

    assert verdict.unknown.get("Event") == why


def test_the_right_is_to_write_events_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--rbac", "--events"]) == 0
    told: Any = json.loads(capsys.readouterr().out)
    read: Any = cluster_role(told["metadata"]["name"])

    assert told["rules"] == [
        *read["rules"],
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    assert all(rule["verbs"] == ["get", "list"] for rule in read["rules"])
