"""Findings about disruption budgets beside each other."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import findings
from hypothesis import given
from hypothesis import strategies as st

from eks_gpushare.config.autoscaling import DisruptionBudget
from eks_gpushare.findings.defects import CHECK_FAILED
from eks_gpushare.rules.karpenter_budgets import _allowed, _smaller

NONE = {"min": None, "desired": None, "max": None}
DAY = {"schedule": "0 8 * * mon-fri", "duration": "10h"}
AT = "pools.gpu.karpenter.budgets"
REASONS = ["Empty", "Underutilized", "Drifted"]


def pool(*budgets: dict[str, Any], most: int | None = None, **keys: Any) -> dict[str, Any]:
    own = {"budgets": list(budgets), **keys}
    sizes = {**NONE, "max": most}
    return {"pools": {"gpu": {"provisioner": "karpenter", "nodes": sizes, "karpenter": own}}}


def found(fragment: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (code, path, message) for code in ("GPU798",) for path, message in findings(fragment, code)
    ]


def empty(nodes: int | str, **keys: Any) -> dict[str, Any]:
    return {"nodes": nodes, "reasons": ["Empty"], **keys}


def drifted(nodes: int | str, **keys: Any) -> dict[str, Any]:
    return {"nodes": nodes, "reasons": ["Drifted"], **keys}


@pytest.mark.parametrize(
    ("budgets", "never", "by"),
    [
        ([{"nodes": "10%"}, empty("100%")], 1, 0),
        ([empty("100%"), {"nodes": 1}], 0, 1),
        ([{"nodes": "10%"}, {"nodes": "20%"}], 1, 0),
        ([{"nodes": 1}, {"nodes": 5, **DAY}], 1, 0),
        ([{"nodes": 1, **DAY}, {"nodes": "10%"}, empty(2, **DAY)], 2, 0),
        ([{"nodes": "0%"}, drifted(1)], 1, 0),
        ([{"nodes": 1}, drifted("10%")], 1, 0),
        ([{"nodes": "10%"}, {"nodes": "10%"}], 1, 0),
        ([{"nodes": 3}, {"nodes": 3, "reasons": REASONS}], 1, 0),
        ([{"nodes": 3, "reasons": REASONS}, {"nodes": 3}], 1, 0),
    ],
)
def test_a_budget_beside_a_smaller_one_never_counts(
    budgets: list[dict[str, Any]], never: int, by: int
) -> None:
    message = f"budgets[{by}] holds whenever this one does and allows no more."
    assert found(pool(*budgets)) == [("GPU798", f"{AT}[{never}]", message)]


@pytest.mark.parametrize(
    "budgets",
    [
        [{"nodes": "10%"}],
        [{"nodes": "100%"}],
        [{"nodes": "100%"}, drifted(1)],
        [empty("100%"), drifted(1)],
        [{"nodes": "10%"}, drifted(0, **DAY)],
        [{"nodes": "20%"}, {"nodes": 5}],
        [{"nodes": 2}, drifted("50%")],
        [{"nodes": 5, **DAY}, {"nodes": 1, "schedule": "0 18 * * *", "duration": "14h"}],
        [{"nodes": 1, **DAY}, {"nodes": 5}],
        [empty(1), drifted(2)],
        [{"nodes": 3, "reasons": ["Empty", "Drifted"]}, {"nodes": 4, "reasons": ["Underutilized"]}],
        [{"nodes": 1, "schedule": "@daily", "duration": "24h"}],
        [{"nodes": 1, "schedule": "*/5 * * * *", "duration": "5m"}],
        [{"nodes": 1, "schedule": "0 0,12 * * *", "duration": "12h"}],
        [{"nodes": 1, "schedule": "0 0 * * *", "duration": "23h60m"}],
        [{"nodes": 1, "schedule": "0 0 * * *", "duration": "1440m"}],
        [{"nodes": 1, **DAY}, drifted("50%")],
        [{"nodes": "100%", **DAY}, drifted(10), empty(100)],
    ],
)
def test_budgets_that_all_count(budgets: list[dict[str, Any]]) -> None:
    assert found(pool(*budgets)) == []


def test_pools_that_others_make_have_no_budgets() -> None:
    fragment = pool({"nodes": 1}, empty(2))
    assert found(fragment) != []
    fragment["pools"]["gpu"] |= {"provisioner": "managedNodeGroup", "nodes": {"max": 4}}
    assert found(fragment) == []


def test_what_is_never_more_depends_on_how_many_nodes_there_are() -> None:
    budgets = ({"nodes": "10%"}, drifted(5))
    assert found(pool(*budgets, most=50)) != []
    assert found(pool(*budgets, most=51)) == []
    assert found(pool(*budgets)) == []


@pytest.mark.parametrize(
    "budgets",
    [
        [],
        [{"nodes": "many"}, empty(1)],
        [{"nodes": 1}, {"nodes": 2, "schedule": "@daily"}],
        [{"nodes": 1, "duration": "8h"}, empty(2)],
        [{"nodes": "\u0661%"}, empty(1)],
    ],
)
def test_what_other_rules_refuse_is_left_to_them(budgets: list[dict[str, Any]]) -> None:
    assert found(pool(*budgets)) == []
    assert findings(pool(*budgets), CHECK_FAILED.id) == []


@pytest.mark.parametrize(
    ("nodes", "of", "allowed"),
    [
        *(("10%", 10, 1), ("10%", 11, 2), ("1%", 100, 1), ("1%", 101, 2), ("100%", 7, 7)),
        *(("0%", 5, 0), ("1%", 1, 1), (3, 2, 2), (3, 7, 3), (0, 7, 0)),
    ],
)
def test_a_part_is_rounded_up(nodes: int | str, of: int, allowed: int) -> None:
    """As GetScaledValueFromIntOrPercent does for Karpenter."""
    assert _allowed(DisruptionBudget(nodes=nodes), of) == allowed


AMOUNTS = st.one_of(st.integers(0, 12), st.integers(0, 100).map("{}%".format))
BUDGETS = st.lists(
    st.builds(
        lambda nodes, reasons, timed: DisruptionBudget(
            nodes=nodes, reasons=reasons, **(DAY if timed else {})
        ),
        AMOUNTS,
        st.one_of(st.none(), st.lists(st.sampled_from(REASONS), min_size=1, unique=True)),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@given(BUDGETS, st.integers(1, 40))
def test_without_what_never_counts_as_many_nodes_may_go(
    budgets: list[DisruptionBudget], nodes: int
) -> None:
    """By Karpenter's own rule: the smallest of all that hold at a time for a reason."""
    for index in range(len(budgets)):
        if _smaller(budgets, index, 40) is None:
            continue
        left = [each for number, each in enumerate(budgets) if number != index]
        for reason in REASONS:
            for at_day in (True, False):
                assert least(budgets, reason, nodes, at_day) == least(left, reason, nodes, at_day)


def least(budgets: list[DisruptionBudget], reason: str, nodes: int, at_day: bool) -> int:
    holding = [
        _allowed(each, nodes)
        for each in budgets
        if (each.schedule is None or at_day) and reason in (each.reasons or REASONS)
    ]
    return min(holding, default=nodes)
