"""The rules of a stack in the lab's own Prometheus, over what is said of nodes and pods there."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.monitoring_scenes import stack

from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_document
from eks_gpushare_lab.binaries import build, versions
from eks_gpushare_lab.controllers import prometheus, state_metrics, web
from eks_gpushare_lab.controllers.processes import Processes
from eks_gpushare_lab.controllers.rule_evaluation import RuleEvaluation, definitions
from eks_gpushare_lab.host.ports import reserved
from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.release import DeclaredRelease

if TYPE_CHECKING:
    from pathlib import Path

# What conftest.py offers.
Promtool = Any

SHARED = "nvidia.com/gpu.shared"
NODE = {
    "metadata": {
        "name": "slices-0",
        "labels": {
            "eks-gpushare/pool": "slices",
            "node.kubernetes.io/instance-type": "g6.xlarge",
            "kubernetes.io/hostname": "slices-0",
        },
    },
    "status": {"allocatable": {"cpu": "4", SHARED: "4", "nvidia.com/gpu": "0"}},
}


def pod(name: str, phase: str = "Running") -> dict[str, Any]:
    requests = {SHARED: "1", "cpu": "100m"}
    made: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": "vision",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-11-27T12:00:00Z",
        },
        "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
        "status": {"phase": phase},
    }
    if phase != "Pending":
        made["spec"]["nodeName"] = "slices-0"
        made["status"]["startTime"] = "2026-11-27T12:00:05Z"
    return made


def test_nodes_and_pods_are_told_in_the_names_of_kube_state_metrics() -> None:
    pool, kind = "label_eks_gpushare_pool", "label_node_kubernetes_io_instance_type"
    of_node = 'kube_node_status_allocatable{node="slices-0",resource="nvidia_com_gpu'
    assert state_metrics.page([NODE], [pod("a"), pod("b", "Pending")]).splitlines() == [
        f'kube_node_labels{{node="slices-0",{pool}="slices",{kind}="g6.xlarge"}} 1',
        f'{of_node}",unit="integer"}} 0',
        f'{of_node}_shared",unit="integer"}} 4',
        *(
            f'kube_pod_container_resource_requests{{namespace="vision",pod="{name}",'
            f'uid="uid-{name}",container="main",node="{node}",unit="integer",'
            'resource="nvidia_com_gpu_shared"} 1'
            for name, node in (("a", "slices-0"), ("b", ""))
        ),
        *(
            f'kube_pod_created{{namespace="vision",pod="{name}",uid="uid-{name}"}} 1795780800'
            for name in ("a", "b")
        ),
        'kube_pod_start_time{namespace="vision",pod="a",uid="uid-a"} 1795780805',
        *(
            f'kube_pod_status_phase{{namespace="vision",pod="{name}",uid="uid-{name}",'
            f'phase="{phase}"}} {int(phase == known)}'
            for name, known in (("a", "Running"), ("b", "Pending"))
            for phase in ("Failed", "Pending", "Running", "Succeeded", "Unknown")
        ),
    ]


def test_the_kinds_of_the_operator_take_every_field() -> None:
    assert {each["spec"]["names"]["kind"] for each in definitions()} == {
        "PrometheusRule",
        "ServiceMonitor",
    }


def test_prometheus_chart_has_no_pods_in_the_lab() -> None:
    release = DeclaredRelease("prometheus", "gpushare-monitoring", "kube-prometheus-stack", "1", {})

    assert render(release) == []


@pytest.mark.at_length
def test_an_alert_fires_in_the_real_prometheus_when_shares_are_taken(tmp_path: Path) -> None:
    groups = rules_document(rule_groups(*stack()))
    for group in groups["groups"]:
        group["interval"] = "1s"
        for rule in group["rules"]:
            if "alert" in rule:
                rule["for"] = "5s"
    (tmp_path / "rules.json").write_text(json.dumps(groups), encoding="utf-8")
    there: list[dict[str, Any]] = []
    server = web.Web(lambda *_: (200, web.TEXT, state_metrics.page([NODE], there).encode()))
    processes = Processes(tmp_path, tmp_path)
    asking = RuleEvaluation.__new__(RuleEvaluation)  # what it asks, without a control plane
    try:
        with reserved(1) as (port,):
            asking.address = f"http://127.0.0.1:{port}"
            program = build.programs((versions.prometheus(),)).paths[prometheus.NAME]
            target = server.address
            prometheus.start(processes, program, port, target, faster=15, rules="rules.json")
            processes.wait("Prometheus", lambda: prometheus.is_ready(asking.address))

        def pressure() -> list[float]:
            found = asking.query('gpushare:share_pressure{resource="nvidia_com_gpu_shared"}')
            return [each["value"] for each in found]

        def firing() -> set[str]:
            found = asking.query('ALERTS{alertstate="firing",alertname="GpuSharesExhausted"}')
            return {each["labels"]["pool"] for each in found}

        there[:] = [pod("a")]
        assert until(pressure, [0.25]) == [0.25]
        there[:] = [pod("a"), pod("b")]
        assert until(pressure, [0.5]) == [0.5]
        assert firing() == set()
        there[:] = [*(pod(name) for name in "abcd"), pod("late", "Pending")]
        assert until(pressure, [1.0]) == [1.0]
        assert until(firing, {"slices"}) == {"slices"}
        (usd,) = asking.query('gpushare:tenant_usd_per_hour{tenant="vision"}')
        (node,) = asking.query('gpushare:pool_usd_per_hour{pool="slices"}')
        (idle,) = asking.query('gpushare:idle_usd_per_hour{pool="slices"}')
        assert usd["value"] == pytest.approx(node["value"])
        assert idle["value"] == pytest.approx(0, abs=1e-9)
    finally:
        processes.stop()
        server.stop()


def until(look: Any, wanted: Any, seconds: float = 120) -> Any:
    deadline = time.monotonic() + seconds
    while (found := look()) != wanted and time.monotonic() < deadline:
        time.sleep(0.5)
    return found
