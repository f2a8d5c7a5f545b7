"""What boards show, computed by Prometheus' own engine: how many series, and whose loads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.monitoring_scenes import (
    MIG_NODE,
    SHARED,
    SMALL,
    STACK,
    Scene,
    SceneNode,
    ScenePod,
    stack,
    timeline,
)

from eks_gpushare.sharing.monitoring.boards import boards, boards_json
from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document
from eks_gpushare_lab.simulated_node.dcgm_exporter import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Promtool

BY_PROCESS = SceneNode().exporter or Options()
MOST_OF_A_QUERY, MOST_OF_A_SHARE = 40, 60
MPS_NODE = SceneNode("elastic-0", "elastic", "g5.xlarge", {SHARED: 2, "nvidia.com/gpu": 0})
FULL = Scene(
    (SceneNode(), SceneNode("slices-1"), MIG_NODE, replace(MIG_NODE, name="mig-1"), MPS_NODE),
    (
        *(ScenePod(f"s{n}", node=f"slices-{n % 2}", namespace=f"team-{n}") for n in range(8)),
        *(ScenePod(f"m{n}", SMALL, f"mig-{n % 2}", "vision", load=10) for n in range(112)),
        *(ScenePod(f"e{n}", node="elastic-0") for n in range(2)),
    ),
)
"""Every share of two nodes of each pool taken."""
CHOSEN = {
    "pool": ("slices", "mig", "elastic"),
    "node": ("slices-0", "mig-0", "elastic-0"),
    "tenant": ("vision",),
}


def asked() -> Iterator[str]:
    """Every query of a board, with whatever there is to choose."""
    for board in boards():
        for panel in board.panels:
            for query, _ in panel.queries:
                chosen = next((name for name in CHOSEN if f"${name}" in query), None)
                for given in CHOSEN.get(chosen or "", ("",)):
                    yield query.replace(f"${chosen}", given)


def by_engine(scene: Scene, *expected: dict[str, Any]) -> dict[str, Any]:
    """A test of promtool: what queries give after ten minutes of a scene."""
    return {
        "interval": "1m",
        "input_series": timeline((11, scene)),
        "promql_expr_test": [{"eval_time": "10m", "exp_samples": [], **each} for each in expected],
    }


@pytest.fixture(scope="module")
def rules() -> dict[str, Any]:
    return rules_document(rule_groups(*stack()))


def test_no_query_of_a_board_has_more_series_than_can_be_read(
    rules: dict[str, Any], promtool: Promtool
) -> None:
    queries = [*asked()]
    above = [f"count by (pool) ({query}) > {MOST_OF_A_QUERY}" for query in queries]

    assert len(queries) > 40
    assert (
        promtool.failure_of_alerts(rules, by_engine(FULL, *({"expr": each} for each in above)))
        == ""
    )


def shown(board: str, title: str, **chosen: str) -> str:
    """The first query of a panel."""
    (panel,) = (
        panel
        for each in boards()
        if each.name == board
        for panel in each.panels
        if panel.title == title
    )
    query = panel.queries[0][0]
    for name, given in chosen.items():
        query = query.replace(f"${name}", given)
    return query


def by_pod(query: str, values: dict[str, float], label: str = "pod") -> dict[str, Any]:
    """That a query gives these values, by a label."""
    samples = [{"labels": f'{{{label}="{name}"}}', "value": each} for name, each in values.items()]
    return {"expr": f"sum by ({label}) ({query})", "exp_samples": samples}


IN_TURN = Scene(
    (SceneNode(),),
    (
        ScenePod("a", load=10, memory=1000),
        ScenePod("b", load=20, memory=2000),
        ScenePod("c", load=30, memory=3000),
    ),
)
ON_MIG = Scene((MIG_NODE,), (ScenePod("m", SMALL, "mig-0", load=25, memory=1200),))
ACTIVE, MEMORY = "Time in which pods compute", "GPU memory by pod"
UNSEEN = {"a": 0.0, "b": 0.0, "c": 0.0}


@pytest.mark.parametrize(
    ("scene", "pool", "active", "memory"),
    [
        (IN_TURN, "slices", {"a": 0.1, "b": 0.2, "c": 0.3}, {"a": 1000, "b": 2000, "c": 3000}),
        (ON_MIG, "mig", {"m": 0.25}, {"m": 1200}),
        # The exporter says 0 of each, which is what GpuPodsUnmapped is for.
        (IN_TURN.node(exporter=replace(BY_PROCESS, host_pid=False)), "slices", UNSEEN, UNSEEN),
    ],
    ids=["time slicing", "MIG", "without hostPID"],
)
def test_a_board_shows_the_loads_that_were_put_in(
    scene: Scene,
    pool: str,
    active: dict[str, float],
    memory: dict[str, float],
    rules: dict[str, Any],
    promtool: Promtool,
) -> None:
    """By the exporter that the lab stands in with, which tells pods' loads as NVIDIA's does."""
    expected = [
        by_pod(shown("pool", ACTIVE, pool=pool), active),
        by_pod(shown("pool", MEMORY, pool=pool), memory),
    ]

    assert promtool.failure_of_alerts(rules, by_engine(scene, *expected)) == ""


def test_nowhere_else_is_anything_said_of_pods(promtool: Promtool) -> None:
    """Pods that take turns on a MIG instance: their memory is known, and not what they compute."""
    turns = {"mode": "mig", "layout": "all-1g.5gb", "timeSlicing": {"replicas": 2}}
    pool = {"instanceTypes": ["p4d.24xlarge"], "nodes": {"desired": 1}, "sharing": turns}
    twice = rules_document(rule_groups(*stack(pools={**STACK["pools"], "mig": pool})))
    expected = [
        by_pod(shown("pool", ACTIVE, pool="mig"), {}),
        by_pod(shown("pool", MEMORY, pool="mig"), {"m": 1200}),
    ]

    assert promtool.failure_of_alerts(twice, by_engine(ON_MIG, *expected)) == ""


def test_a_gpu_has_the_loads_of_all_its_pods_once(
    rules: dict[str, Any], promtool: Promtool
) -> None:
    query = shown("gpu", "Time in which it computes", node="slices-0")
    test = by_engine(IN_TURN, by_pod(query, {"0": 0.6}, "gpu"))

    assert promtool.failure_of_alerts(rules, test) == ""


def test_a_share_has_few_series_of_ours(rules: dict[str, Any], promtool: Promtool) -> None:
    ours, shares = 'count({__name__=~"gpushare:.+"})', "sum(gpushare:shares_advertised)"
    above = f"{ours} > {MOST_OF_A_SHARE} * {shares}"
    there = {"expr": f"{shares} > 100", "exp_samples": [{"labels": "{}", "value": 122}]}

    assert promtool.failure_of_alerts(rules, by_engine(FULL, {"expr": above}, there)) == ""


GRAFANA_UNITS = {
    *("short", "percentunit", "currencyUSD", "celsius", "watt"),
    *("mbytes", "rotmhz"),  # MiB and MHz; decmbytes is MB
}
"""Of packages/grafana-data/src/valueFormats/categories.ts of Grafana, which shows what it does not
know as a word behind the number."""


def test_units_are_those_of_grafana_and_of_the_series() -> None:
    for panel in every_panel():
        unit = panel["fieldConfig"]["defaults"]["unit"]
        asked = " ".join(target["expr"] for target in panel["targets"])
        assert unit in GRAFANA_UNITS, panel["title"]
        assert (unit == "mbytes") == ("_mib" in asked), panel["title"]
        assert (unit == "currencyUSD") == ("_usd_" in asked), panel["title"]
        assert (unit == "percentunit") == ("_ratio" in asked or "_pressure" in asked)


def every_panel() -> list[dict[str, Any]]:
    """Those of the boards that have queries."""
    _, plans = stack()
    return [
        panel
        for board in boards_json(plans).values()
        for panel in board["panels"]
        if panel.get("targets")
    ]
