"""Smaller parts of a verdict: one pod, one node, and what of an object is written otherwise."""

from __future__ import annotations

import copy
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.test_faults import (
    GPU,
    HEALTHY,
    NOW,
    STACK,
    broken_and_full,
    codes,
    config_map,
    crashing,
    gpu_node,
    labels,
    objects_of,
    plugin,
    pod,
    running,
    taint,
    verdict,
)
from tests.live.test_reading import FakeServer

from eks_gpushare.live.connection import ApiResponse, CannotLookError
from eks_gpushare.live.drift import chart_drift, node_drift
from eks_gpushare.live.faults import ClusterFault, Link, NodeFault, folded
from eks_gpushare.live.json_lists import read_json
from eks_gpushare.live.listing import read_cluster
from eks_gpushare.live.metrics import metrics
from eks_gpushare.live.nodes import counted_names, gpu_nodes_of
from eks_gpushare.live.one_pod import of_pod
from eks_gpushare.live.placement import mismatches, shortages
from eks_gpushare.live.pods import PodOwner
from eks_gpushare.live.rules import (
    CONFIG_MAP_DIFFERS,
    NODE_GROUP_UNSOUND,
    NODES_MISSING,
    OTHER_TYPE,
)
from eks_gpushare.live.shapes import in_shape
from eks_gpushare.live.silencing import without_silenced
from eks_gpushare.live.slim import slim
from eks_gpushare.live.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.live.test_faults import Cluster

    from eks_gpushare.findings.rule import Rule
    from eks_gpushare.live.verdict import ClusterVerdict


@pytest.fixture
def cluster() -> Cluster:
    found: Cluster = copy.deepcopy(HEALTHY)
    return found


def about_pod(cluster: Cluster, named: str) -> ClusterVerdict:
    return of_pod(verdict(cluster), objects_of(cluster), named)


def test_the_pods_of_the_same_namespace_are_named_where_one_is_not_there(cluster: Cluster) -> None:
    cluster += [running("a"), running("b")]

    with pytest.raises(CannotLookError, match=r"in the namespace default; pods there are a, b\.$"):
        about_pod(cluster, "x")
    with pytest.raises(CannotLookError, match=r"in the namespace empty; pods there are none\.$"):
        about_pod(cluster, "empty/a")


def test_a_pod_is_another_one_in_another_namespace(cluster: Cluster) -> None:
    cluster += [running("a"), running("a")]
    cluster[-1]["metadata"]["namespace"] = "other"
    cluster[-1]["spec"]["nodeName"] = "another-node"

    assert about_pod(cluster, "other/a").said == "other/a: it runs on another-node."
    assert about_pod(cluster, "a").said == "default/a: it runs on gpu-0."


def test_pools_are_told_of_a_pod_where_its_cause_is_one_of_nodes(cluster: Cluster) -> None:
    cluster.append(pod("odd", resource="nvidia.com/mig-1g.5gb"))
    assert about_pod(cluster, "odd").causes
    assert about_pod(cluster, "odd").pools == ()
    broken_and_full(cluster)
    assert about_pod(cluster, "one-more").pools == verdict(cluster).pools


def test_what_is_said_of_one_pod_of_a_workload_is_said_of_each(cluster: Cluster) -> None:
    cluster += [crashing(number, "") for number in range(3)]
    found = [about_pod(cluster, f"chat-{number}").causes for number in range(3)]

    assert [[cause.fault.finding.code for cause in causes] for causes in found] == [["GPU1346"]] * 3


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        (None, "its containers start"),
        ({"reason": "ContainerCreating"}, "ContainerCreating"),
        ({"reason": "Waits", "message": "for a volume"}, "Waits: for a volume"),
    ],
)
def test_a_pod_that_is_placed_says_what_its_containers_wait_for(
    cluster: Cluster, waiting: Any, said: str
) -> None:
    made = pod("slow", resource="cpu", nodeName="gpu-0")
    if waiting is not None:
        made["status"]["containerStatuses"] = [{"name": "main", "state": {"waiting": waiting}}]
    cluster.append(made)

    assert about_pod(cluster, "slow").said == (
        f"default/slow: it has its share on gpu-0 and does not run: {said}."
    )


NODE: dict[str, Any] = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2"}}}


@pytest.mark.parametrize(
    ("amount", "used", "said"),
    [
        ("2", "0", []),
        ("1", "1", []),
        ("2", "1", [("cpu", "1 of 2 cpu free, 2 asked for")]),
        ("1", "3", [("cpu", "0 of 2 cpu free, 1 asked for")]),
    ],
)
def test_what_is_free_is_enough_for_as_much(amount: str, used: str, said: Any) -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": amount}}}]}

    assert shortages(spec, NODE, {"cpu": Decimal(used)}) == said


def test_what_a_node_has_not_at_all_is_said_so() -> None:
    spec = {"containers": [{"resources": {"limits": {GPU: "1"}}}]}

    assert shortages(spec, NODE, {}) == [(GPU, f"no {GPU}, 1 asked for")]


def affinity(**term: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [term]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"affinity": {"nodeAffinity": required}}


def test_a_node_is_wanted_by_its_name() -> None:
    def by_name(name: str) -> dict[str, Any]:
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        return affinity(matchFields=[field])

    assert mismatches(by_name("n"), NODE) == []
    assert mismatches(by_name("m"), NODE) == ["affinity wants metadata.name In m"]
    assert mismatches(affinity(), NODE) == ["affinity wants no node, by an empty term"]


def drifted(cluster: Cluster) -> list[tuple[str, str, str]]:
    nodes = gpu_nodes_of(objects_of(cluster), STACK.plans)
    return [(each.what, each.fix, each.evidence) for each in node_drift(nodes, STACK.plans)]


def test_a_label_that_is_missing_is_told_otherwise_than_another_value(cluster: Cluster) -> None:
    assert drifted(cluster) == []
    key = "eks-node"
    value = gpu_node(cluster)["metadata"]["labels"][key]
    labels(cluster, **{key: "other"})
    ((what, _, evidence),) = drifted(cluster)
    assert what == f"it has {key}=other, and its pool declares {key}={value}."
    assert evidence.startswith("metadata.labels ")
    labels(cluster, **{key: None})
    ((what, fix, evidence),) = drifted(cluster)

    assert what == f"it has no label {key}, and its pool declares {key}={value}."
    assert fix.endswith(f" --overwrite {key}={value}")
    assert evidence == "metadata.labels"


@pytest.mark.parametrize(("value", "word"), [("", "mine"), ("x", "mine=x")])
def test_a_taint_is_taken_away_as_it_stands(cluster: Cluster, value: str, word: str) -> None:
    taint(cluster, "mine", value)
    ((_, fix, _),) = drifted(cluster)

    assert fix == f"kubectl taint node {{node}} {word}:NoSchedule-"


def test_a_configuration_without_a_key_is_told_otherwise_than_another_one(cluster: Cluster) -> None:
    def told() -> str:
        messages = (each.fault.finding.message for each in verdict(cluster).causes)
        (found,) = [each for each in messages if "ConfigMap" in each and "stack declares" in each]
        return found

    data = config_map(cluster)["data"]
    kept = data.pop("gpu")
    assert " has no key gpu, which the stack declares for pools.gpu." in told()
    data["gpu"] = kept.replace("10", "4")
    assert " holds something else there than the stack declares for pools.gpu." in told()


def test_the_version_of_a_chart_is_nothing_that_follows(cluster: Cluster) -> None:
    plugin(cluster)["metadata"].setdefault("labels", {})["helm.sh/chart"] = (
        "nvidia-device-plugin-0.0.1"
    )
    (found,) = chart_drift(objects_of(cluster), STACK)

    assert found.is_cause_only
    assert " is of nvidia-device-plugin 0.0.1, and the stack declares " in found.finding.message


def test_rows_have_no_waiting_pod_where_none_waits() -> None:
    assert [row.waiting for row in verdict(HEALTHY).pools] == [0]


def test_three_names_are_told_and_of_more_the_first() -> None:
    assert counted_names(["c", "a", "b"]) == "a, b, c"
    assert counted_names(["c", "a", "b", "d"]) == "a and 3 more"


@pytest.mark.parametrize(
    ("amount", "kept"),
    [
        ("4", True),
        (4, True),
        ("999999999999999999", True),
        ("1000000000000000000", False),
        (True, False),
        ([], False),
        ("four", False),
    ],
)
def test_an_amount_is_one_of_kubernetes(amount: object, kept: bool) -> None:
    given = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {GPU: amount}}}
    (node,), odd = in_shape("Node", [given])

    assert (GPU in node["status"]["allocatable"]) is kept
    assert bool(odd) is not kept


def test_a_node_without_a_status_is_kept_as_it_is() -> None:
    assert slim({"kind": "Node"}) == {"kind": "Node"}


def test_half_a_character_at_the_end_is_no_text() -> None:
    with pytest.raises(UnicodeDecodeError):
        read_json([b'{"a": 1}\xc3'], lambda item: item)


def samples(found: ClusterVerdict, name: str) -> list[str]:
    lines = metrics(found, NOW.replace(microsecond=123456)).splitlines()
    return [line.removeprefix(name) for line in lines if line.startswith(name)]


def test_a_cause_is_counted_for_its_pool_and_others_for_none(cluster: Cluster) -> None:
    cluster.append(pod("odd", resource="nvidia.com/mig-1g.5gb"))
    gpu_node(cluster)["spec"]["unschedulable"] = True
    found = verdict(cluster)
    whole = replace(found.causes[0].fault.finding, at=("pools",))
    cause = replace(found.causes[0], fault=replace(found.causes[0].fault, finding=whole))
    failed = samples(replace(found, causes=(*found.causes, cause)), "gpushare_check_failed")

    assert {line.partition('pool="')[2].partition('"')[0] for line in failed} == {"", "gpu"}
    assert all('pool=""' in line for line in failed if "GPU1110" in line)


def test_metrics_say_what_is_unknown_and_when_it_was_to_the_millisecond() -> None:
    found = verdict_of(objects_of(HEALTHY, CronJob="forbidden"), STACK)

    assert samples(found, "gpushare_check_unknown") == ['{kind="CronJob"} 1']
    (seen,) = samples(found, "gpushare_verify_last_success_timestamp_seconds")
    assert seen == f" {NOW.timestamp() + 0.123:.15g}"


def test_a_cause_of_two_pools_stays_unless_both_let_it_be(cluster: Cluster, tmp_path: Path) -> None:
    from tests.live.test_silencing import POOL, stack_with

    gpu_node(cluster)["spec"]["unschedulable"] = True
    stack = stack_with(tmp_path, "GPU1303", POOL)
    (cause,) = [one for one in verdict(cluster).causes if one.fault.finding.code == "GPU1303"]
    (node,) = gpu_nodes_of(objects_of(cluster), STACK.plans)
    other = replace(node, name="other-0", pool="other")

    def kept(*nodes: Any) -> int:
        finding = replace(cause.fault.finding, at=("nodes",))
        fault = replace(cause.fault, finding=finding, nodes=frozenset(one.name for one in nodes))
        rest, _ = without_silenced([replace(cause, fault=fault)], stack, nodes, NOW.date())
        return len(rest)

    assert kept(node) == 0
    assert kept(other) == 1
    assert kept(node, other) == 1


class Asked(FakeServer):
    """The same, which keeps what it is asked for."""

    queries: list[tuple[str, Mapping[str, str]]]

    def get(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = "application/json"
    ) -> ApiResponse:
        self.queries = [*getattr(self, "queries", []), (path, query or {})]
        return super().get(path, query, accept)


def test_only_some_kinds_are_asked_for_by_a_field() -> None:
    server = Asked()
    read_cluster(server)
    selected = {
        path: query.get("fieldSelector") for path, query in server.queries if "limit" in query
    }

    assert selected.pop("/api/v1/configmaps") == "metadata.name!=kube-root-ca.crt"
    assert len(selected) > 3
    assert set(selected.values()) == {None}


def test_an_object_has_the_version_that_its_list_has() -> None:
    server = FakeServer()
    page = {"apiVersion": "v9", "items": [{"metadata": {"name": "n"}}]}
    server.answers["/api/v1/configmaps"] = [ApiResponse(200, page)]
    assert [each["apiVersion"] for each in read_cluster(server).of("ConfigMap")] == ["v9"]
    server.answers["/api/v1/configmaps"] = [ApiResponse(200, {"items": page["items"]})]
    assert [each["apiVersion"] for each in read_cluster(server).of("ConfigMap")] == ["v1"]


def test_a_busy_server_is_given_twice_the_time_with_each_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from eks_gpushare.live import listing

    waits: list[float] = []
    monkeypatch.setattr(listing, "pause", waits.append)
    server = FakeServer()
    server.answers["/api/v1/nodes"] = [ApiResponse(429, "")] * 3
    assert read_cluster(server).of("Node")
    assert waits == [0.5, 1.0, 2.0]
    server.answers["/api/v1/configmaps"] = [ApiResponse(429, "")] * 4

    assert "ConfigMap" in read_cluster(server).unread
    assert waits[3:] == [0.5, 1.0, 2.0]


def fault(rule: Rule, link: Link, *nodes: str, **more: Any) -> ClusterFault:
    severity = more.pop("severity", None)
    finding = rule.finding(("pools", "gpu"), "It is so.", "Change it.", severity)
    return ClusterFault(finding, link, frozenset(nodes), **more)


def test_nodes_are_missing_for_what_is_said_of_why_alone() -> None:
    why, missing = fault(NODE_GROUP_UNSOUND, Link.NODE, "a"), fault(NODES_MISSING, Link.NODE, "a")
    other = fault(OTHER_TYPE, Link.NODE, "a")

    assert why.leads_to(missing)
    assert not why.leads_to(other)
    assert not other.leads_to(missing)
    assert not why.leads_to(fault(NODES_MISSING, Link.NODE, "b"))


@pytest.mark.parametrize("link", [Link.PLACEMENT, Link.TAINTS])
def test_what_keeps_off_the_plugin_explains_what_keeps_off_others(link: Link) -> None:
    error = fault(OTHER_TYPE, link, "a", severity="error")
    warning = fault(OTHER_TYPE, link, "a", severity="warning")

    assert error.leads_to(warning) is (link is Link.PLACEMENT)
    assert not warning.leads_to(error)
    assert not error.leads_to(error)


def test_a_workload_s_fault_leads_to_those_of_its_own_pods() -> None:
    one, other = PodOwner("a", "Deployment", "one"), PodOwner("a", "Deployment", "other")
    cause = fault(OTHER_TYPE, Link.PROGRAMS, is_cause_only=True, owner=one)

    assert cause.leads_to(fault(OTHER_TYPE, Link.PODS, owner=one))
    assert not cause.leads_to(fault(OTHER_TYPE, Link.PODS, owner=other))
    assert not cause.leads_to(fault(OTHER_TYPE, Link.SHARES, owner=one))


@pytest.mark.parametrize("number", [1, 2, 5])
def test_nodes_with_one_fault_are_told_as_one(cluster: Cluster, number: int) -> None:
    (node,) = gpu_nodes_of(objects_of(cluster), STACK.plans)
    names = [f"n{place}" for place in range(number)]
    given = [
        NodeFault(
            OTHER_TYPE, Link.NODE, replace(node, name=name), "it is.", "Mend {node}.", f"of {name}"
        )
        for name in names
    ]
    (found,) = folded(given)

    assert found.finding.fix == ("Mend n0." if number == 1 else "Mend NODE.")
    assert found.nodes == set(names)
    assert found.evidence == tuple(f"of {name}" for name in names[:3])


@pytest.mark.parametrize("text", ["a: [", "version: [v1"])
def test_a_configuration_that_is_no_yaml_is_another_than_the_stacks(
    cluster: Cluster, text: str
) -> None:
    config_map(cluster)["data"]["gpu"] = text

    assert CONFIG_MAP_DIFFERS.id in codes(verdict(cluster))
