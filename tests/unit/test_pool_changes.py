"""What an edit means for those who use the pools: the words."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.program.edits.pools import pool_changes

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
TAINT = {"key": GPU, "operator": "Equal", "value": "true", "effect": "NoSchedule"}
OWN = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}


def pool(name: str = "gpu", **changes: Any) -> dict[str, Any]:
    resources = changes.pop("resources", {GPU: 4})
    return {
        "nodes": {"min": 0, "desired": 1, "max": 1},
        "perNode": {"g6.12xlarge": resources},
        "atDesired": resources,
        "atMax": resources,
        "usdPerHour": {"atDesired": 4.6, "perShare": 1.15},
        "request": {next(iter(resources)): 1},
        "shares": [{"resource": resource} for resource in resources],
        "nodeSelector": {"eks-gpushare/pool": name},
        "tolerations": [TAINT],
        **changes,
    }


def to_do(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [text for c in pool_changes({"gpu": before}, {"gpu": after}) for text in c.to_do]


PENDING = "Manifests written for pool gpu stay Pending from their next start on: change "


def test_nothing_changes_for_users_of_the_same_pool() -> None:
    assert pool_changes({"gpu": pool()}, {"gpu": pool()}) == []


@pytest.mark.parametrize(
    "after",
    [
        pool(resources={GPU: 2}),
        pool(usdPerHour=None),
        pool(nodes={"min": 1, "desired": 2, "max": 3}),
        pool(tolerations=[]),
        pool(tolerations=[TAINT, {**OWN, "effect": "PreferNoSchedule"}]),
        pool(resources={GPU: 2, "nvidia.com/mig-1g.5gb": 7}),
    ],
)
def test_manifests_that_still_run_are_left_alone(after: dict[str, Any]) -> None:
    (change,) = pool_changes({"gpu": pool()}, {"gpu": after})

    assert (change.change, change.to_do) == ("changed", ())


def test_a_renamed_share_needs_its_name_and_its_toleration() -> None:
    assert to_do(pool(), pool(resources={SHARED: 4})) == [
        (
            f"{PENDING}the limit {GPU}: 1 to {SHARED}: 1; tolerations, which need "
            f'{{key: {GPU}, operator: Equal, value: "true", effect: NoSchedule}} in the manifest '
            f"itself: EKS adds it to pods that ask for {GPU} alone."
        )
    ]


def test_the_way_back_needs_the_name_alone() -> None:
    assert to_do(pool(resources={SHARED: 4}), pool()) == [
        f"{PENDING}the limit {SHARED}: 1 to {GPU}: 1."
    ]


def test_a_size_that_goes_is_named_with_what_there_is() -> None:
    small, large = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb"
    before, after = pool(resources={small: 4, large: 1}), pool(resources={small: 7})

    assert to_do(before, after) == [f"{PENDING}the limit {large}: 1 to {small}: 1."]


@pytest.mark.parametrize(
    "given",
    [TAINT, {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
)
def test_another_taint_needs_its_toleration(given: dict[str, str]) -> None:
    assert to_do(pool(tolerations=[given]), pool(tolerations=[TAINT, OWN])) == [
        (
            f"{PENDING}tolerations, to which belong now {{key: team, operator: Exists, effect: "
            "NoSchedule}."
        )
    ]


def test_another_value_of_a_taint_needs_it_too() -> None:
    (said,) = to_do(pool(), pool(tolerations=[{**TAINT, "value": "mps"}]))

    assert "value: mps" in said


def test_a_pool_that_goes_names_where_its_pods_may_go() -> None:
    gone, come = pool_changes({"old": pool("old")}, {"new": pool("new")})

    assert (gone.pool, gone.change, come.pool, come.change) == ("old", "removed", "new", "added")
    assert gone.to_do == (
        (
            "Manifests with the nodeSelector {eks-gpushare/pool: old} stay Pending: no node has it "
            "any more. The same resources are on nodes with {eks-gpushare/pool: new}."
        ),
    )
    assert come.to_do == ()


def test_json_has_both_sides() -> None:
    (change,) = pool_changes({"gpu": pool()}, {"gpu": pool(resources={SHARED: 8})})
    document = change.as_json()

    assert (document["pool"], document["change"]) == ("gpu", "changed")
    assert document["request"] == {"before": {GPU: 1}, "after": {SHARED: 1}}
    assert document["atDesired"] == {"before": {GPU: 4}, "after": {SHARED: 8}}
    assert document["manifests"] == list(change.to_do)
