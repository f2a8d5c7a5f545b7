"""Metrics of `verify` and the alerts on them, as Prometheus' own tool takes them."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml
from tests.live.test_faults import HEALTHY, NOW, ROOT, STACK, objects_of, shares

from eks_gpushare.live.metrics import metrics
from eks_gpushare.live.verdict import verdict_of

# What conftest.py offers.
Promtool = Any

ALERTS = yaml.safe_load(
    re.findall(
        r"<!-- file: alerts.yaml -->\n```yaml\n(.*?)```",
        (ROOT / "docs" / "verify.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )[0]
)
LABELS = 'pool="gpu",resource="nvidia.com/gpu"'


def written(count: int) -> str:
    cluster = copy.deepcopy(HEALTHY)
    shares(cluster, count)
    objects = objects_of(cluster, CronJob='not "allowed"\n')
    return metrics(verdict_of(objects, STACK), NOW)


def test_prometheus_has_nothing_against_them(promtool: Promtool) -> None:
    for count in (0, 30, 40):
        assert promtool.refusal_of_metrics(written(count)) == ""


def test_prometheus_takes_the_alerts(promtool: Promtool) -> None:
    assert promtool.refusal_of_rules(ALERTS) == ""


def alert(name: str, at: str, **labels: str) -> dict[str, Any]:
    """That an alert fires; with no labels that it does not."""
    rule = next(each for each in ALERTS["groups"][0]["rules"] if each["alert"] == name)
    expected = [{"exp_labels": {**rule["labels"], **labels}}] if labels else []
    return {"alertname": name, "eval_time": at, "exp_alerts": expected}


def series(advertised: str, failed: str, seen: str) -> list[dict[str, str]]:
    return [
        {"series": f"gpushare_declared{{{LABELS}}}", "values": "40x60"},
        {"series": f"gpushare_advertised{{{LABELS}}}", "values": advertised},
        {
            "series": 'gpushare_check_failed{code="GPU1320",severity="error",pool="gpu"}',
            "values": failed,
        },
        {"series": "gpushare_verify_last_success_timestamp_seconds", "values": seen},
    ]


def test_an_alert_fires_for_drift_a_cause_and_silence_alone(promtool: Promtool) -> None:
    pool = {"pool": "gpu", "resource": "nvidia.com/gpu"}
    cause = {"code": "GPU1320", "pool": "gpu"}
    wrong = alert("GpuSharesDiffer", "15m", **pool) | {}
    wrong["exp_alerts"][0]["exp_annotations"] = {
        "summary": "gpu advertises 30 nvidia.com/gpu and declares another number"
    }
    failed = alert("GpuCheckFailed", "15m", **cause)
    failed["exp_alerts"][0]["exp_labels"]["severity"] = "warning"
    failed["exp_alerts"][0]["exp_annotations"] = {
        "summary": "GPU1320 in pool gpu: eks-gpushare findings GPU1320"
    }
    silent = alert("GpuVerifySilent", "45m", severity="warning")
    silent["exp_alerts"][0]["exp_annotations"] = {
        "summary": "the cluster was not looked at for 45m 0s"
    }
    firing = {
        "interval": "1m",
        "input_series": series("30x60", "1x60", "0x60"),
        "alert_rule_test": [wrong, failed, silent],
    }
    quiet = {
        "interval": "1m",
        "input_series": series("40x60", "0x60", "0+60x60"),
        "alert_rule_test": [
            alert("GpuSharesDiffer", "15m"),
            alert("GpuCheckFailed", "15m"),
            alert("GpuVerifySilent", "45m"),
        ],
    }
    flapping = {
        "interval": "1m",
        "input_series": series("40x4 30x4 40x50", "0x4 1x4 0x50", "0+60x60"),
        "alert_rule_test": [alert("GpuSharesDiffer", "15m"), alert("GpuCheckFailed", "15m")],
    }

    assert promtool.failure_of_alerts(ALERTS, firing, quiet, flapping) == ""


@pytest.mark.parametrize(
    ("interval", "quiet_until", "fires_at"),
    [(60, 30, 31), (300, 30, 31), (1800, 90, 91), (3600, 180, 181)],
)
@pytest.mark.parametrize("labels", ["", '{job="eks-gpushare-verify",instance="prod"}'])
def test_silence_is_told_after_three_looks_and_half_an_hour(
    promtool: Promtool, interval: int, quiet_until: int, fires_at: int, labels: str
) -> None:
    names = {"job": "eks-gpushare-verify", "instance": "prod"} if labels else {}
    fires = alert("GpuVerifySilent", f"{fires_at}m", severity="warning", **names)
    told = f"{fires_at // 60}h {fires_at % 60}m 0s" if fires_at >= 60 else f"{fires_at}m 0s"
    fires["exp_alerts"][0]["exp_annotations"] = {
        "summary": f"the cluster was not looked at for {told}"
    }
    last, every = (
        "gpushare_verify_last_success_timestamp_seconds",
        "gpushare_verify_interval_seconds",
    )
    once = {
        "interval": "1m",
        "input_series": [
            {"series": f"{last}{labels}", "values": "0x200"},
            {"series": f"{every}{labels}", "values": f"{interval}x200"},
        ],
        "alert_rule_test": [alert("GpuVerifySilent", f"{quiet_until}m"), fires],
    }

    assert promtool.failure_of_alerts(ALERTS, once) == ""


def test_the_interval_is_told_where_somebody_looks_again() -> None:
    objects = objects_of(HEALTHY)
    last = "gpushare_verify_interval_seconds 1800\n"

    assert metrics(verdict_of(objects, STACK), NOW, 1800.0).endswith(last)
    assert last.partition(" ")[0] + " " not in metrics(verdict_of(objects, STACK), NOW).replace(
        "# HELP gpushare_verify_interval_seconds ", ""
    ).replace("# TYPE gpushare_verify_interval_seconds ", "")
