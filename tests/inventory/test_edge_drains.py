"""Disruption budgets let pods go when their node has to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from inventory_of import codes, problems

from eks_gpushare.facts.disruption_budgets import is_number_of_pods, lets_go
from eks_gpushare.inventory.edges.drains import STUCK
from eks_gpushare.inventory.items import PART_OF_POD, Pointer, Workload
from eks_gpushare.inventory.source import UNKNOWN, Source

if TYPE_CHECKING:
    from eks_gpushare.inventory.items import Item

LABELS = {"app": "model"}


def work(replicas: Any = 2, name: Any = "model", **more: Any) -> Workload:
    more = {"kind": "Deployment", "labels": LABELS, **more}
    return Workload(source=Source(f"the Deployment {name}"), name=name, replicas=replicas, **more)


def budget(**spec: Any) -> Pointer:
    return pointer("PodDisruptionBudget", {"selector": {"matchLabels": LABELS}, **spec})


def pointer(kind: str, spec: Any) -> Pointer:
    return Pointer(source=Source(f"the {kind} model"), kind=kind, name="model", spec=spec)


SCALER = pointer(
    "HorizontalPodAutoscaler", {"scaleTargetRef": {"kind": "Deployment", "name": "model"}}
)
ANY = {"matchLabels": LABELS, "matchExpressions": [{"key": "app", "operator": "Exists"}]}
_HELD: dict[str, tuple[Item, ...]] = {
    "none may be away": (work(), budget(maxUnavailable=0)),
    "none of a hundred": (work(), budget(maxUnavailable="0%")),
    "all of a hundred": (work(UNKNOWN), budget(minAvailable="100%")),
    "as many as there are": (work(), budget(minAvailable=2)),
    "more than there are": (work(), budget(minAvailable=3)),
    "the only one": (work(1), budget(minAvailable=1)),
    "half of one, rounded up": (work(1), budget(minAvailable="50%")),
    "of two workloads": (work(), work(1, "other"), budget(minAvailable=3)),
    "beside other pods": (
        *(work(), work(1, "x", labels={"app": "x"}), work(1, namespace="a")),
        budget(minAvailable=2),
    ),
    "by an expression": (work(), budget(minAvailable=2, selector=ANY)),
    "every pod": (work(), budget(minAvailable=2, selector={})),
    "scaled, and none ever": (work(), SCALER, budget(maxUnavailable=0)),
}
BROKEN: dict[str, tuple[str, tuple[Item, ...]]] = {
    case: ("GPU1195", items) for case, items in _HELD.items()
}
RIGHT: dict[str, tuple[Item, ...]] = {
    "one may be away": (work(1), budget(maxUnavailable=1)),
    "a share of a hundred, rounded up": (work(1), budget(maxUnavailable="1%")),
    "one less than there are": (work(), budget(minAvailable=1)),
    "half of two": (work(), budget(minAvailable="50%")),
    "none has to stay": (work(1), budget(minAvailable=0)),
    "of two workloads": (work(), work(1, "other"), budget(minAvailable=2)),
    "of other pods": (
        work(),
        work(1, "x", labels={"app": "x"}),
        work(1, namespace="a"),
        budget(minAvailable=1),
    ),
    "how many is not known": (work(UNKNOWN), budget(minAvailable=2)),
    "how many is up to nodes": (work(None, kind="DaemonSet"), budget(minAvailable=2)),
    "one of two is not known": (work(), work(UNKNOWN, "b"), budget(minAvailable=2)),
    "labels are not known": (work(labels=UNKNOWN), budget(minAvailable=2)),
    "an autoscaler decides": (work(), SCALER, budget(minAvailable=2)),
    "who is scaled is not known": (
        work(),
        pointer("HorizontalPodAutoscaler", {"scaleTargetRef": {"name": UNKNOWN}}),
        budget(minAvailable=2),
    ),
    "part of a pod": (work(), work(UNKNOWN, "x", kind=PART_OF_POD), budget(minAvailable=1)),
    "neither key": (work(), budget()),
    "what is no number": (work(), budget(minAvailable="some")),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_budget_that_lets_nothing_go_is_found(case: str) -> None:
    code, items = BROKEN[case]

    assert codes(*items) == [code]


@pytest.mark.parametrize("case", RIGHT)
def test_a_budget_that_lets_a_pod_go_is_not(case: str) -> None:
    assert "GPU1195" not in codes(*RIGHT[case])


@pytest.mark.parametrize("spec", [UNKNOWN, {"minAvailable": UNKNOWN}, {"maxUnavailable": UNKNOWN}])
def test_what_is_not_known_is_said(spec: Any) -> None:
    assert "?GPU1195" in codes(work(), pointer("PodDisruptionBudget", spec))


def test_the_message_says_of_how_many() -> None:
    (several,) = problems(work(), budget(minAvailable=2))
    (one,) = problems(work(1), budget(minAvailable="50%"))

    assert several.path == ("spec", "minAvailable")
    assert several.message.startswith(
        "The PodDisruptionBudget model has minAvailable 2 of 2, so that none of its pods may be "
    )
    assert " has minAvailable 50% of one, so that " in one.message


@pytest.mark.parametrize("pods", [0, 1, 2, 3, 7, 100])
@pytest.mark.parametrize("share", range(0, 101, 7))
def test_shares_are_as_kubernetes_computes_them(pods: int, share: int) -> None:
    """`ALLOWED DISRUPTIONS` of the disruption controller, pkg/controller/disruption (1.35)."""
    healthy = pods
    desired = -(-pods * share // 100)
    away = -(-pods * share // 100)

    if share and pods:
        assert lets_go(pods, f"{share}%", None) is (healthy - desired > 0)
        assert lets_go(pods, None, f"{share}%") is (healthy - (pods - away) > 0)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        *((number, number >= 0) for number in (-1, 0, 3)),
        *((share, True) for share in ("0%", "25%", "100%")),
        *((other, False) for other in ("101%", "5", "", "%", "-1%")),
    ],
)
def test_what_kubernetes_takes(given: int | str, *, taken: bool) -> None:
    assert is_number_of_pods(given) is taken


def test_of_pods_without_gpus_it_is_a_note() -> None:
    asking = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    (of_gpus,) = (
        each for each in problems(work(spec=asking), budget(minAvailable=2)) if each.rule is STUCK
    )
    (of_others,) = problems(work(), budget(minAvailable=2))

    assert [of_gpus.severity, of_others.severity] == [None, "info"]
