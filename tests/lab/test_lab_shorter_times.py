"""Times of ScaledObjects that pass faster in the lab."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare_lab.controllers.scaled_objects import is_scaled_object
from eks_gpushare_lab.controllers.shorter_times import compressed, divided


@pytest.mark.parametrize(
    ("query", "shorter"),
    [
        ("max_over_time(use[120s:30s])", "max_over_time(use[4000ms:1000ms])"),
        ("max_over_time(use[2m:])", "max_over_time(use[4000ms:])"),
        ("rate(requests_total[1h30m])", "rate(requests_total[180000ms])"),
        ("up offset 5m", "up offset 10000ms"),
        ("up offset -5m", "up offset -10000ms"),
        ("x[ 1m : 30s ]", "x[ 2000ms : 1000ms ]"),
        ("x[10ms]", "x[1ms]"),
        # Neither times nor to be touched.
        ('x{pod=~"web-[a-z0-9]+-[a-z0-9]{5}"}', 'x{pod=~"web-[a-z0-9]+-[a-z0-9]{5}"}'),
        ('x{a="[5m]",b="offset 5m"}[5m]', 'x{a="[5m]",b="offset 5m"}[10000ms]'),
        ("x{a='it\\'s [5m]'}", "x{a='it\\'s [5m]'}"),
        ("5 * node_5m > 5", "5 * node_5m > 5"),
        ("vector(0)", "vector(0)"),
    ],
)
def test_times_of_a_query(query: str, shorter: str) -> None:
    assert divided(query, 30) == shorter


def scaled_object() -> dict[str, Any]:
    direction = {
        "stabilizationWindowSeconds": 60,
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 180}],
    }
    query = {"query": "avg(use[180s:30s])", "serverAddress": "http://p:9090", "threshold": "1"}
    behavior = {"scaleUp": direction, "scaleDown": {"stabilizationWindowSeconds": 0}}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "web"},
        "spec": {
            "pollingInterval": 15,
            "cooldownPeriod": 120,
            "maxReplicaCount": 60,
            "triggers": [
                {"type": "prometheus", "metadata": query},
                {"type": "cron", "metadata": {"start": "30 * * * *"}},
            ],
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behavior}},
        },
    }


def test_all_times_are_divided_and_nothing_else() -> None:
    given = scaled_object()
    made = compressed(given, 30)
    wanted = scaled_object()
    spec = wanted["spec"]
    spec |= {"pollingInterval": 1, "cooldownPeriod": 4}
    up = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleUp"]
    up |= {"stabilizationWindowSeconds": 2}
    up["policies"][0]["periodSeconds"] = 6
    spec["triggers"][0]["metadata"]["query"] = "avg(use[6000ms:1000ms])"

    assert made == wanted
    assert given == scaled_object()


def test_an_object_with_nothing_in_it_stays() -> None:
    given = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "web"}}

    assert compressed(given, 30) == given


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("keda.sh/v1alpha1", "ScaledObject", True),
        ("keda.sh/v1alpha1", "ScaledJob", False),
        ("example.com/v1", "ScaledObject", False),
    ],
)
def test_which_objects_have_such_times(api_version: str, kind: str, *, expected: bool) -> None:
    assert is_scaled_object({"apiVersion": api_version, "kind": kind}) is expected
