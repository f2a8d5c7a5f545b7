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


def on_gpu(
    uuid: str, pods: dict[str, float], *, whole: float | None = None, exported: bool = False
) -> list[dict[str, str]]:
    """What the exporter tells of a GPU that pods share: its own use, and that of each pod."""
    prefix = "exported_" if exported else ""
    target = ',namespace="gpu-operator",pod="dcgm-exporter-xyz12"' if exported else ""
    gpu = f'gpu="0",UUID="{uuid}",hostname="node"'
    found = [
        series(
            UTIL,
            pod,
            f"{use}+0x40",
            prefix=prefix,
            more=f',{gpu}{target},vgpu="{n}",pod_uid="{pod}"',
        )
        for n, (pod, use) in enumerate(pods.items())
    ]
    used = min(100, sum(pods.values())) if whole is None else whole
    # With honorLabels the target's labels stay where the exporter has none of that name.
    labels = f'{gpu},namespace="gpu-operator",pod="dcgm-exporter-xyz12"'
    return [*found, {"series": f"{UTIL}{{{labels}}}", "values": f"{used}+0x40"}]


def unit_test(
    mode: str, given: list[dict[str, str]], at: str, **expected: int | None
) -> dict[str, Any]:
    """Series of a value every 30 seconds, and what queries come to at a time; None for nothing."""
    asked = queries(mode)
    return {
        "interval": "30s",
        "input_series": given,
        "promql_expr_test": [
            {
                "expr": asked[name],
                "eval_time": at,
                "exp_samples": [] if value is None else [{"labels": "{}", "value": value}],
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
    device = on_gpu("GPU-9", {}, whole=90)
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
            unit_test("slices", [series(UTIL, FIRST, low), *device], "10m", busy=0, idle=1),
            unit_test("slices", [series(UTIL, "models-5d8f7c9b4-abcde", high)], "10m", busy=None),
            # Nothing is measured: KEDA gets no number, and of requests that nobody counts none.
            unit_test("slices", [], "10m", busy=None, idle=None, wake=0),
            # What was measured and is no more: not busy any longer, then nothing.
            unit_test("slices", [series(UTIL, FIRST, "90+0x10 _x30")], "12m", busy=0),
            unit_test("slices", [series(UTIL, FIRST, "90+0x10 _x60")], "20m", busy=None, idle=None),
        )
        == ""
    )


OTHER, THIRD = "other-6c9d8b7f5-klmno", "model-5d8f7c9b4-pqrst"
PACKED: dict[str, tuple[list[dict[str, float]], dict[str, int]]] = {
    # Two that are busy have half of the GPU each.
    "packed": ([{FIRST: 50, SECOND: 50}], {"busy": 1, "idle": 0}),
    "packed, one does more": ([{FIRST: 70, SECOND: 28}], {"busy": 1, "idle": 0}),
    "packed, with room": ([{FIRST: 35, SECOND: 35}], {"busy": 0, "idle": 0}),
    "packed and idle": ([{FIRST: 8, SECOND: 8}], {"busy": 0, "idle": 1}),
    "packed, nothing at all": ([{FIRST: 0, SECOND: 0}], {"busy": 0, "idle": 1}),
    "spread and busy": ([{FIRST: 95}, {SECOND: 90}], {"busy": 1, "idle": 0}),
    "spread, one busy": ([{FIRST: 95}, {SECOND: 10}], {"busy": 0, "idle": 0}),
    "spread, one does nothing": ([{FIRST: 100}, {SECOND: 0}], {"busy": 0, "idle": 0}),
    "packed and one alone": ([{FIRST: 50, SECOND: 50}, {THIRD: 90}], {"busy": 1, "idle": 0}),
    "packed and one alone with room": (
        [{FIRST: 50, SECOND: 50}, {THIRD: 20}],
        {"busy": 0, "idle": 0},
    ),
    "a GPU of others": ([{FIRST: 50}, {OTHER: 100}], {"busy": 0, "idle": 0}),
    # Each of ten has a tenth; that the average is low is no reason to stop one.
    "many": ([{f"model-5d8f7c9b4-abcd{n}": 10 for n in range(10)}], {"busy": 1}),
    # A neighbour's use is nobody else's, unless it takes time that both want.
    "noisy neighbour of an idle one": ([{FIRST: 4, OTHER: 96}], {"busy": 0, "idle": 1}),
    "noisy neighbour of one with enough": ([{FIRST: 30, OTHER: 70}], {"busy": 0, "idle": 0}),
    "neighbours that want the same time": ([{FIRST: 50, OTHER: 50}], {"busy": 1, "idle": 0}),
    "neighbour that does nothing": ([{FIRST: 90, OTHER: 0}], {"busy": 1, "idle": 0}),
    "noisy neighbour of one that does nothing": ([{FIRST: 0, OTHER: 100}], {"busy": 0, "idle": 1}),
}


@pytest.mark.parametrize("exported", [False, True])
def test_use_of_pods_that_share_a_gpu(promtool: Promtool, *, exported: bool) -> None:
    tests = []
    for gpus, expected in PACKED.values():
        found = [
            each
            for n, pods in enumerate(gpus)
            for each in on_gpu(f"GPU-{n}", pods, exported=exported)
        ]
        tests.append(unit_test("slices", found, "10m", **expected))

    assert promtool.failure(*tests) == ""


def test_what_pods_use_together_stands_in_for_a_gpus_own_series(promtool: Promtool) -> None:
    """Which some drop, since it would be counted twice otherwise."""
    *pods, own = on_gpu("GPU-0", {FIRST: 50, SECOND: 50})

    assert own["values"] == "100+0x40"
    assert promtool.failure(unit_test("slices", pods, "10m", busy=1, idle=0)) == ""
    # A pod of two containers with a share each is told of twice.
    *room, _ = on_gpu("GPU-0", {FIRST: 35, SECOND: 35})
    doubled = [
        {**each, "series": each["series"].replace("vgpu=", 'container="b",vgpu=')} for each in room
    ]
    assert promtool.failure(unit_test("slices", [*room, *doubled], "10m", busy=0)) == ""


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
            unit_test("instances", [series(UTIL, FIRST, "90+0x40")], "10m", busy=None),
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
