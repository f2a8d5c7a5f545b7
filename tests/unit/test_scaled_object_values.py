"""What the queries of a workload come to, by Prometheus' own engine, on series of the exporter."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.catalog import Catalog
from eks_gpushare.config.pools import Pool
from eks_gpushare.config.workloads import Workload
from eks_gpushare.sharing.keda import PrometheusServer
from eks_gpushare.sharing.plan import plan_pool
from eks_gpushare.sharing.scaled_object import scaled_object
from eks_gpushare.sharing.workloads import placement

# What conftest.py offers.
Promtool = Any

POOLS: dict[str, dict[str, Any]] = {
    "exclusive": {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}},
    "slices": {
        "instanceTypes": ["g4dn.xlarge"],
        "sharing": {"mode": "timeSlicing", "replicas": 2},
    },
    "instances": {
        "instanceTypes": ["p4d.24xlarge"],
        "sharing": {"mode": "mig", "layout": "all-1g.5gb"},
    },
}
# As in Omnistrate's samples: below 20 % for two minutes, above 80 % for three.
WORKLOAD = {
    "pool": "gpu",
    "image": "model:1",
    "replicas": {"min": 1, "max": 5},
    "idle": {"threshold": 20, "minutes": 2},
    "overUse": {"threshold": 80, "minutes": 3},
    "autoStop": True,
    "wake": {"query": "requests_waiting"},
}
UTIL, ENGINE = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
FIRST, SECOND = "model-5d8f7c9b4-abcde", "model-5d8f7c9b4-fghij"


def queries(mode: str) -> dict[str, str]:
    given = Workload.model_validate(WORKLOAD)
    plan = plan_pool("gpu", Pool.model_validate(POOLS[mode]), Catalog())
    where = placement(given, [plan])
    made = scaled_object("model", given, where, PrometheusServer("http://prometheus:9090"))
    assert made is not None
    return {
        each["name"]: each["metadata"]["query"]
        for each in made["spec"]["triggers"]
        if each["type"] == "prometheus"
    }


def series(
    metric: str, pod: str, values: str, *, prefix: str = "", more: str = ""
) -> dict[str, str]:
    labels = f'{prefix}namespace="default",{prefix}pod="{pod}"{more}'
    return {"series": f"{metric}{{{labels}}}", "values": values}


def unit_test(mode: str, given: list[dict[str, str]], at: str, **expected: int) -> dict[str, Any]:
    """Series of a value every 30 seconds, and what queries come to at a time."""
    asked = queries(mode)
    return {
        "interval": "30s",
        "input_series": given,
        "promql_expr_test": [
            {
                "expr": asked[name],
                "eval_time": at,
                "exp_samples": [{"labels": "{}", "value": value}],
            }
            for name, value in expected.items()
        ],
    }


@pytest.mark.parametrize("mode", POOLS)
def test_prometheus_reads_every_query(promtool: Promtool, mode: str) -> None:
    assert promtool.refusal(*queries(mode).values()) == ""


def test_prometheus_refuses_what_is_none(promtool: Promtool) -> None:
    assert "unclosed left parenthesis" in promtool.refusal("sum(up")


def test_use_over_its_whole_window(promtool: Promtool) -> None:
    high, low = "90+0x40", "5+0x40"
    middle = "50+0x40"
    dip = "90+0x8 50 90+0x30"
    device = series(UTIL, "dcgm-exporter-xyz12", high)
    assert (
        promtool.failure(
            unit_test("slices", [series(UTIL, FIRST, high)], "10m", busy=1, idle=0),
            unit_test("slices", [series(UTIL, FIRST, low)], "10m", busy=0, idle=1),
            unit_test("slices", [series(UTIL, FIRST, middle)], "10m", busy=0, idle=0),
            # Not before the whole window was seen.
            unit_test("slices", [series(UTIL, FIRST, high)], "1m", busy=0),
            unit_test("slices", [series(UTIL, FIRST, low)], "30s", idle=0),
            unit_test("slices", [series(UTIL, FIRST, high)], "3m", busy=1),
            unit_test("slices", [series(UTIL, FIRST, low)], "2m", idle=1),
            # One moment of less ends it, for as long as it is in the window.
            unit_test("slices", [series(UTIL, FIRST, dip)], "6m", busy=0),
            unit_test("slices", [series(UTIL, FIRST, dip)], "9m", busy=1),
            # The average of the pods counts, and nothing of the device or of others.
            unit_test(
                "slices", [series(UTIL, FIRST, high), series(UTIL, SECOND, low)], "10m", busy=0
            ),
            unit_test("slices", [series(UTIL, FIRST, low), device], "10m", busy=0, idle=1),
            unit_test("slices", [series(UTIL, "models-5d8f7c9b4-abcde", high)], "10m", busy=0),
            # Nothing is measured: neither.
            unit_test("slices", [], "10m", busy=0, idle=0, wake=0),
        )
        == ""
    )


def test_use_by_mode_and_by_the_labels_of_either_kind(promtool: Promtool) -> None:
    ratio, other = "0.9+0x40", "0.05+0x40"
    instance = ',GPU_I_ID="7",GPU_I_PROFILE="1g.5gb"'
    exported = {"prefix": "exported_", "more": ',pod="dcgm-exporter-xyz12"'}
    assert (
        promtool.failure(
            unit_test(
                "instances", [series(ENGINE, FIRST, ratio, more=instance)], "10m", busy=1, idle=0
            ),
            unit_test("instances", [series(ENGINE, FIRST, other)], "10m", busy=0, idle=1),
            # What does not exist on MIG is not looked at.
            unit_test("instances", [series(UTIL, FIRST, "90+0x40")], "10m", busy=0),
            unit_test("exclusive", [series(UTIL, FIRST, "90+0x40", **exported)], "10m", busy=1),
            unit_test("slices", [series(UTIL, FIRST, "5+0x40", **exported)], "10m", idle=1),
        )
        == ""
    )


def test_waiting_requests_are_added_up(promtool: Promtool) -> None:
    given = [{"series": f'requests_waiting{{path="/{n}"}}', "values": f"{n}+0x40"} for n in (1, 2)]

    assert promtool.failure(unit_test("slices", given, "5m", wake=3)) == ""


def test_a_wrong_expectation_fails(promtool: Promtool) -> None:
    """Else the tests above would say nothing."""
    failed = promtool.failure(unit_test("slices", [], "10m", busy=1))

    assert "FAILED" in failed
