"""Rules about what guards tenants: Kueue's version, and taints."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings

from eks_gpushare.config.queues import KueueSpec
from eks_gpushare.rules.kueue import check_kueue
from eks_gpushare_lab.controllers.queueing import other_version
from eks_gpushare_lab.install.release import DeclaredRelease

SHARED: dict[str, Any] = {
    "instanceTypes": ["g6.2xlarge"],
    "nodes": {"min": 1, "desired": 1, "max": 1},
    "sharing": {"mode": "timeSlicing", "replicas": 4, "rename": True},
}
GPU = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


def told(
    code: str, *, queue: bool = True, taints: Any = None, pools: Any = ("gpu",), **charts: Any
) -> list[tuple[str, str]]:
    pool = {**SHARED, **({} if taints is None else {"taints": taints})}
    contract = {"namespaces": ["a"], "queue": queue, "pools": {}}
    contract["pools"] = {name: {"guaranteed": {"shares": 1}} for name in pools}
    given = {"pools": {"gpu": pool}, "tenants": {"a": contract}}
    return findings({**given, **({"charts": charts} if charts else {})}, code)


@pytest.mark.parametrize("version", ["0.16.3", "0.16.9"])
def test_the_minor_version_that_is_known(version: str) -> None:
    assert told("GPU891", kueue={"version": version}) == []


@pytest.mark.parametrize("charts", [{}, {"kueue": {"values": {}}}])
def test_no_version_is_the_one_that_is_known(charts: dict[str, Any]) -> None:
    assert told("GPU891", **charts) == []


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("0.19.2", "Queues are made for Kueue 0.16.6, and 0.19.2 may count otherwise."),
        ("1.16.2", "Queues are made for Kueue 0.16.6, and 1.16.2 may count otherwise."),
        (
            "0.15.2",
            "Kueue 0.15.2 does not know the API versions v1beta2 of the queues that are made.",
        ),
        (
            "0.16.2",
            (
                "Kueue 0.16.2 keeps from a tenant what it is sure of, where priorities differ and "
                "it has borrowed something else."
            ),
        ),
    ],
)
def test_another_version_of_kueue_is_told(version: str, message: str) -> None:
    assert told("GPU891", kueue={"version": version}) == [("charts.kueue.version", message)]
    assert told("GPU891", queue=False, kueue={"version": version}) == []


def test_the_component_says_the_same() -> None:
    spec = KueueSpec.model_validate(
        {"pools": {}, "tenants": {}, "chart": {"version": "0.15.2"}}, by_name=True, by_alias=True
    )
    found = [each for each in check_kueue(spec) if each.code == "GPU891"]

    assert [(each.path, each.severity) for each in found] == [("chart.version", "error")]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_keeps_others_away(effect: str) -> None:
    assert told("GPU892") == []
    assert told("GPU892", taints=[{**GPU, "effect": effect}]) == []


def test_a_pool_without_a_taint_is_told_once() -> None:
    assert told("GPU306", taints=[]) == []
    assert findings({"pools": {"gpu": {**SHARED, "taints": []}}}, "GPU306") != []


@pytest.mark.parametrize("taints", [[], [{**GPU, "effect": "PreferNoSchedule"}]])
def test_a_pool_of_tenants_without_a_taint_is_told(taints: list[dict[str, str]]) -> None:
    assert told("GPU892", taints=taints) == [
        (
            "pools.gpu.taints",
            "Pods of any namespace may be on these nodes, with shares of the tenant a.",
        )
    ]


def test_all_tenants_of_a_pool_without_a_taint_are_told_at_once() -> None:
    contracts = {
        name: {"namespaces": [name], "pools": {"gpu": {"guaranteed": {"shares": 1}}}}
        for name in ("a", "b")
    }
    given = {"pools": {"gpu": {**SHARED, "taints": []}}, "tenants": contracts}

    ((_, message),) = findings(given, "GPU892")
    assert message == (
        "Pods of any namespace may be on these nodes, with shares of the tenants a, b."
    )


def test_a_pool_of_nobody_is_anybody_s() -> None:
    assert told("GPU892", taints=[], pools=()) == []


@pytest.mark.parametrize(
    ("version", "messages"),
    [
        ("0.16.9", []),
        ("v0.16.2", []),
        ("", []),
        ("0.19.2", ["The release installs Kueue 0.19.2, and the lab runs 0.16.2."]),
    ],
)
def test_the_lab_says_that_it_runs_another(version: str, messages: list[str]) -> None:
    release = DeclaredRelease("kueue", "kueue-system", "kueue", version, {})

    assert [each.message for each in other_version(release, "v0.16.2")] == messages
