"""What the lab makes of Kueue's words, and of refusals, for workloads and tenants."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from eks_gpushare_lab.client import ApiError
from eks_gpushare_lab.observing.queues import borrowed, in_queue, words
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
        (workload(), "it has not said why"),
        ({}, "it has not said why"),
    ],
)
def test_why_a_workload_waits_is_what_kueue_says(given: dict[str, Any], says: str) -> None:
    assert words(given) == says


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
