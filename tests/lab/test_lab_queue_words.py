"""What the lab makes of Kueue's words, and of refusals, for workloads and tenants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from eks_gpushare.live.kueue_words import words_of
from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.observing.queues import borrowed, in_queue, is_behind
from eks_gpushare_lab.reporting.tenants import TenantReport, tenant_reports

if TYPE_CHECKING:
    from eks_gpushare_lab.session import Session

SMALL = "nvidia.com/mig-1g.5gb"
FULL = (
    "couldn't assign flavors to pod set main: insufficient unused quota for "
    f"{SMALL} in flavor slices, 1 more needed"
)


def workload(*conditions: tuple[str, str, str]) -> dict[str, Any]:
    """A Workload as Kueue 0.16 writes it."""
    listed = [{"type": t, "status": s, "message": m} for t, s, m in conditions]
    return {"status": {"conditions": listed}}


def pod(name: str = "p", *gates: str, phase: str = "Pending", **limits: int) -> dict[str, Any]:
    container = {"name": "c", "resources": {"limits": {SMALL: 1, **limits}}}
    conditions = [{"type": "Ready", "status": "True"}] if phase == "Running" else []
    node = {"nodeName": "n"} if phase == "Running" else {}
    return {
        "metadata": {"name": name, "namespace": "research", "uid": f"uid-{name}"},
        "spec": {
            "containers": [container],
            "schedulingGates": [{"name": gate} for gate in gates],
            **node,
        },
        "status": {"phase": phase, "conditions": conditions},
    }


GATE = "kueue.x-k8s.io/admission"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (workload(("QuotaReserved", "False", FULL)), FULL),
        (
            workload(
                ("QuotaReserved", "False", FULL),
                ("Evicted", "True", "Preempted to accommodate a workload"),
            ),
            "Preempted to accommodate a workload",
        ),
        (workload(("QuotaReserved", "True", "x"), ("Admitted", "False", "checks")), "checks"),
        (workload(("Evicted", "False", "x"), ("QuotaReserved", "False", FULL)), FULL),
        (workload(), ""),
        ({}, ""),
    ],
)
def test_why_a_workload_waits_is_what_kueue_says(given: dict[str, Any], says: str) -> None:
    assert words_of(given) == says


def test_a_workload_of_which_kueue_has_said_nothing_is_told_so() -> None:
    found = in_queue(pod("p", GATE), lambda _: {"items": [workload()]})

    assert found is not None
    assert found.what == "Kueue: it has not said why"


def test_the_workload_of_a_pod_is_found_by_its_uid() -> None:
    asked = []

    def get(path: str) -> dict[str, Any]:
        asked.append(path)
        return {"items": [workload(("QuotaReserved", "False", FULL))]}

    found = in_queue(pod("p", GATE), get)

    assert found is not None
    assert found.what == f"Kueue: {FULL}"
    path, _, query = asked[0].partition("?")
    assert path == "/apis/kueue.x-k8s.io/v1beta2/namespaces/research/workloads"
    assert query == "labelSelector=kueue.x-k8s.io%2Fjob-uid%3Duid-p"


def test_a_pod_that_kueue_has_no_workload_of_is_told_as_such() -> None:
    found = in_queue(pod("p", GATE), lambda _: None)

    assert found is not None
    assert found.what == "Kueue has not looked at it yet, or has no queue for it"


@pytest.mark.parametrize("gates", [(), ("example.com/other",)])
def test_pods_that_others_hold_are_none_of_its_business(gates: tuple[str, ...]) -> None:
    assert in_queue(pod("p", *gates), lambda _: None) is None


def queue(name: str, **lent: Any) -> dict[str, Any]:
    resources = [{"name": SMALL, "total": 5, **lent}]
    reservation = [{"name": "slices", "resources": resources}]
    return {"metadata": {"name": name}, "status": {"flavorsReservation": reservation}}


@pytest.mark.parametrize(
    ("lent", "expected"), [({"borrowed": "2"}, 2), ({"borrowed": 0}, 0), ({}, 0)]
)
def test_what_a_queue_has_of_others(lent: dict[str, Any], expected: int) -> None:
    assert borrowed([queue("a", **lent)]) == ({SMALL: expected} if expected else {})


class Lab:
    """What a session reads, as lists by path."""

    def __init__(self, pods: list[dict[str, Any]], refusals: list[str], **lists: Any) -> None:
        self.lists, self.get = lists, lambda _: {"items": [lists["workload"]]}
        self.client = self
        events = [{"metadata": {"namespace": "research"}, "message": m} for m in refusals]
        self.watches = SimpleNamespace(
            pods=SimpleNamespace(all=lambda: pods), refusals=SimpleNamespace(all=lambda: events)
        )

    def list(self, path: str, **_: str) -> tuple[list[Any], str]:
        name = path.rpartition("/")[2]
        if name not in self.lists:
            raise ApiError(404, "NotFound", "no such kind")
        return self.lists[name], "1"


DENIED = (
    'Error creating: pods "x-1" is forbidden: ValidatingAdmissionPolicy '
    "'eks-gpushare-tenants-pods' with binding 'b' denied request: tenant research: may not"
)
QUOTA = (
    'Error creating: pods "x-1" is forbidden: exceeded quota: gpu-shares, requested: '
    f"requests.{SMALL}=1, used: requests.{SMALL}=3, limited: requests.{SMALL}=3"
)


def test_a_tenant_is_told_by_what_the_api_server_has() -> None:
    labels = {"eks-gpushare.io/tenant": "research"}
    spaces = [
        {"metadata": {"name": "research", "labels": labels}},
        {"metadata": {"name": "default"}},
    ]
    preempted = {
        "involvedObject": {"kind": "Workload"},
        "message": "Preempted to accommodate a workload (UID: 1, JobUID: 2) due to reclamation "
        "within the cohort; preemptor path: /a",
        "count": 2,
    }
    lab = Lab(
        [pod("a", phase="Running"), pod("b", GATE), pod("c", GATE)],
        [DENIED, DENIED, QUOTA, "Error creating: something else"],
        namespaces=spaces,
        workload=workload(("QuotaReserved", "False", FULL)),
        localqueues=[{"spec": {"clusterQueue": "research"}}],
        clusterqueues=[queue("research", borrowed="2"), queue("vision", borrowed="9")],
        events=[preempted, {"involvedObject": {"kind": "Pod"}, "message": "x due to y"}],
    )
    found = tenant_reports(cast("Session", lab))

    assert found == {
        "research": TenantReport(
            namespaces=("research",),
            running=1,
            has={SMALL: 1},
            borrowed={SMALL: 2},
            waiting={FULL: 2},
            reclaimed={"reclamation within the cohort": 2},
            refused={
                "the policy eks-gpushare-tenants-pods": ("tenant research: may not",),
                "the quota gpu-shares": (QUOTA.partition("exceeded quota: ")[2],),
                "the API server": ("something else",),
            },
        )
    }
    assert found["research"].lines() == [
        "1 running with 1 mig-1g.5gb, of which 2 mig-1g.5gb borrowed",
        f"2 pods waiting: {FULL}",
        "2 pods gave way: reclamation within the cohort",
        "refused by the policy eks-gpushare-tenants-pods: tenant research: may not",
        f"refused by the quota gpu-shares: {QUOTA.partition('exceeded quota: ')[2]}",
        "refused by the API server: something else",
    ]


def test_without_kueue_and_tenants_nothing_is_said() -> None:
    none = Lab([], [], namespaces=[{"metadata": {"name": "default"}}], workload={})
    alone = Lab(
        [],
        [],
        namespaces=[{"metadata": {"name": "a", "labels": {"eks-gpushare.io/tenant": "a"}}}],
        workload={},
    )

    assert tenant_reports(cast("Session", none)) == {}
    assert tenant_reports(cast("Session", alone)) == {"a": TenantReport(("a",), 0, {}, {})}


def known_workload(
    *conditions: tuple[str, str],
    pod: str = "p",
    queue: str = "default",
    asks: int = 1,
    **spec: Any,
) -> dict[str, Any]:
    owner = {"kind": "Pod", "name": pod, "uid": f"uid-{pod}"}
    listed = [{"type": kind, "status": status} for kind, status in conditions]
    requests = [{"name": "main", "resources": {SMALL: str(asks)}}]
    has_some = ("QuotaReserved", "True") in conditions
    reserved = {"admission": {"clusterQueue": "research"}} if has_some else {}
    return {
        "metadata": {"name": f"pod-{pod}", "namespace": "research", "ownerReferences": [owner]},
        "spec": {"queueName": queue, **spec},
        "status": {"conditions": listed, "resourceRequests": requests, **reserved},
    }


def local_queue(**status: str) -> dict[str, Any]:
    conditions = [{"type": kind, "status": is_so} for kind, is_so in status.items()]
    return {
        "metadata": {"name": "default", "namespace": "research"},
        "spec": {"clusterQueue": "research"},
        "status": {"conditions": conditions},
    }


def cluster_queue(
    name: str = "research", used: int = 4, reserving: int = 0, **quota: int
) -> dict[str, Any]:
    """Sure of 4; others of the cohort of what is said."""
    given = {"name": SMALL, "nominalQuota": 4, **quota}
    flavor = {"name": "slices", "resources": [given]}
    of = [{"name": "slices", "resources": [{"name": SMALL, "total": str(used)}]}]
    return {
        "metadata": {"name": name},
        "spec": {
            "cohortName": "tenants",
            "preemption": {"reclaimWithinCohort": "Any"},
            "resourceGroups": [{"coveredResources": [SMALL], "flavors": [flavor]}],
        },
        "status": {"reservingWorkloads": reserving, "flavorsReservation": of},
    }


NO_QUOTA = (("QuotaReserved", "False"),)
RESERVED = (("QuotaReserved", "True"),)
ADMITTED = (*RESERVED, ("Admitted", "True"))
FINISHED = (*ADMITTED, ("Finished", "True"))
PART = {"kueue.x-k8s.io/pod-group-name": "whole"}


def labelled(given: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    return {**given, "metadata": {**given["metadata"], "labels": labels}}


def is_behind_with(
    pods: list[Any],
    workloads: list[Any],
    queues: list[Any] | None = None,
    local: Any = None,
    cohorts: list[Any] | None = None,
) -> bool:
    reserving = sum(workload["status"]["conditions"][:1] == [RIGHT] for workload in workloads)
    lists = {
        "workloads": workloads,
        "clusterqueues": [cluster_queue(reserving=reserving)] if queues is None else queues,
        "localqueues": [local or local_queue()],
        "cohorts": cohorts or [],
    }
    return is_behind(pods, lists.__getitem__)


RIGHT = {"type": "QuotaReserved", "status": "True"}


@pytest.mark.parametrize(
    ("pods", "workloads", "behind"),
    [
        pytest.param([], [], False, id="nothing is there"),
        pytest.param([pod("p")], [], False, id="a pod that is not its own"),
        pytest.param([pod("p", GATE)], [], True, id="a pod not looked at"),
        pytest.param([labelled(pod("p", GATE), PART)], [], False, id="a part of a group"),
        pytest.param([pod("p", GATE)], [known_workload()], True, id="not tried yet"),
        pytest.param([pod("p", GATE)], [known_workload(*NO_QUOTA)], False, id="no room"),
        pytest.param(
            [pod("p", GATE)], [known_workload(queue="elsewhere")], False, id="no such queue"
        ),
        pytest.param([pod("p", GATE)], [known_workload(active=False)], False, id="switched off"),
        pytest.param([pod("p", GATE)], [known_workload(*ADMITTED)], True, id="admitted, and held"),
        pytest.param([pod("p", GATE)], [known_workload(*RESERVED)], False, id="checks are open"),
        pytest.param([pod("p", phase="Running")], [known_workload(*ADMITTED)], False, id="it runs"),
        pytest.param(
            [pod("p", phase="Succeeded")], [known_workload(*ADMITTED)], True, id="it has ended"
        ),
        pytest.param([], [known_workload(*ADMITTED)], True, id="it is gone"),
        pytest.param([], [known_workload(*NO_QUOTA)], False, id="gone, and held nothing"),
    ],
)
def test_whether_kueue_has_something_to_do_yet(
    pods: list[Any], workloads: list[Any], *, behind: bool
) -> None:
    assert is_behind_with(pods, workloads) is behind


def test_what_is_over_holds_nothing() -> None:
    assert not is_behind_with([], [known_workload(*FINISHED)], [cluster_queue()])


def test_a_queue_that_counts_otherwise_has_not_seen_all() -> None:
    assert is_behind_with([], [], [cluster_queue(reserving=1)])
    assert not is_behind_with([], [], [{**cluster_queue(), "status": {}}])


@pytest.mark.parametrize(
    "local", [local_queue(Active="False"), {**local_queue(), "spec": {"clusterQueue": "gone"}}]
)
def test_what_waits_in_a_queue_that_is_not_served_is_not_waited_for(local: dict[str, Any]) -> None:
    assert is_behind_with([pod("p", GATE)], [known_workload()], local=local_queue(Active="True"))
    assert not is_behind_with([pod("p", GATE)], [known_workload()], local=local)


LENDS = {
    "metadata": {"name": "tenants"},
    "spec": {"resourceGroups": cluster_queue()["spec"]["resourceGroups"]},
}


def alone(queue: dict[str, Any]) -> dict[str, Any]:
    return {**queue, "spec": {**queue["spec"], "cohortName": ""}}


def never_back(queue: dict[str, Any]) -> dict[str, Any]:
    preemption = {"reclaimWithinCohort": "Never"}
    return {**queue, "spec": {**queue["spec"], "preemption": preemption}}


@pytest.mark.parametrize(
    ("asks", "queues", "cohorts", "room"),
    [
        pytest.param(1, [cluster_queue(used=3)], [], True, id="of its own"),
        pytest.param(2, [cluster_queue(used=3)], [], False, id="more than is left"),
        pytest.param(0, [cluster_queue(used=3)], [], True, id="none of it"),
        pytest.param(1, [cluster_queue(), cluster_queue("b", 3)], [], True, id="another's"),
        pytest.param(1, [cluster_queue(), cluster_queue("b", 4)], [], False, id="nobody has any"),
        pytest.param(
            1, [cluster_queue(borrowingLimit=0), cluster_queue("b", 3)], [], False, id="no loan"
        ),
        pytest.param(
            2,
            [cluster_queue(borrowingLimit=2), cluster_queue("b", 1)],
            [],
            True,
            id="up to its most",
        ),
        pytest.param(
            1, [alone(cluster_queue()), alone(cluster_queue("b", 3))], [], False, id="no cohort"
        ),
        pytest.param(1, [alone(cluster_queue(used=3))], [LENDS], True, id="alone, of its own"),
        pytest.param(1, [cluster_queue()], [LENDS], True, id="what no queue is sure of"),
        pytest.param(
            1, [cluster_queue(used=3), cluster_queue("b", 5)], [], True, id="lent, and taken back"
        ),
        pytest.param(
            1,
            [never_back(cluster_queue(used=3)), cluster_queue("b", 5)],
            [],
            False,
            id="lent, and left",
        ),
        pytest.param(1, [cluster_queue(used=3, lendingLimit=1)], [], False, id="limits of lending"),
    ],
)
def test_what_waits_is_tried_again_where_there_is_room(
    asks: int, queues: list[Any], cohorts: list[Any], *, room: bool
) -> None:
    waiting = known_workload(*NO_QUOTA, asks=asks)

    assert is_behind_with([pod("p", GATE)], [waiting], queues, cohorts=cohorts) is room


def test_what_kueue_has_not_counted_is_not_judged_by_its_quota() -> None:
    waiting = known_workload(*NO_QUOTA)
    del waiting["status"]["resourceRequests"]

    assert not is_behind_with([pod("p", GATE)], [waiting], [cluster_queue(used=0)])


def test_a_workload_has_all_its_resources_of_one_flavor() -> None:
    two = cluster_queue(used=3)
    (group,) = two["spec"]["resourceGroups"]
    group["coveredResources"] = [SMALL, "memory"]
    group["flavors"] = [
        {"name": "slices", "resources": [{"name": SMALL, "nominalQuota": 4}]},
        {"name": "others", "resources": [{"name": "memory", "nominalQuota": "1Gi"}]},
    ]
    waiting = known_workload(*NO_QUOTA)
    both = [{"name": "main", "resources": {SMALL: "1", "memory": "1Mi"}}]

    assert is_behind_with([pod("p", GATE)], [waiting], [two])
    waiting["status"]["resourceRequests"] = both
    assert not is_behind_with([pod("p", GATE)], [waiting], [two])
