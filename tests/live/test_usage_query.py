"""The query of examples/cost by Prometheus' own engine, on series of kube-state-metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.conftest import Promtool

QUERY = (Path(__file__).parents[2] / "examples/cost/usage.promql").read_text(encoding="utf-8")
SHARED, SLICE = "nvidia_com_gpu_shared", "nvidia_com_mig_1g_5gb"


def series(name: str, value: str, **labels: str) -> dict[str, str]:
    told = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return {"series": f"{name}{{{told}}}", "values": value}


def node(name: str, pool: str = "", **shares: str) -> list[dict[str, str]]:
    labels = {"node": name, "label_node_kubernetes_io_instance_type": "g6.4xlarge"}
    if pool:
        labels["label_eks_gpushare_pool"] = pool
    return [
        series("kube_node_labels", "1", **labels),
        *(
            series("kube_node_status_allocatable", value, node=name, resource=resource)
            for resource, value in {"cpu": "16", "memory": "64", **shares}.items()
        ),
    ]


def pod(
    name: str, on: str, value: str, phase: str = "Running", resource: str = SHARED, **more: str
) -> list[dict[str, str]]:
    own = {"namespace": "research", "pod": name, **more}
    return [
        series(
            "kube_pod_container_resource_requests",
            value,
            **own,
            container="c",
            node=on,
            resource=resource,
        ),
        *(
            series("kube_pod_status_phase", str(int(each == phase)), **own, phase=each)
            for each in ("Pending", "Running", "Succeeded", "Failed", "Unknown")
        ),
    ]


def unit_test(given: list[dict[str, str]], **expected: str) -> dict[str, Any]:
    """That these and no other samples come out, by their labels."""
    samples = [{"labels": labels, "value": float(value)} for labels, value in expected.items()]
    return {
        "interval": "1m",
        "input_series": given,
        "promql_expr_test": [{"expr": QUERY, "eval_time": "0m", "exp_samples": samples}],
    }


def of_node(name: str, resource: str) -> str:
    return (
        f'{{label_eks_gpushare_pool="notebooks", node="{name}", resource="{resource}", '
        'label_node_kubernetes_io_instance_type="g6.4xlarge"}'
    )


def of_pods(node_name: str, resource: str = SHARED) -> str:
    return (
        f'{{label_eks_gpushare_pool="notebooks", node="{node_name}", namespace="research", '
        f'resource="{resource}"}}'
    )


NODES = [*node("a", "notebooks", **{SHARED: "8"}), *node("b", "notebooks"), *node("other")]
OF_NODES = {of_node("a", "cpu"): "16", of_node("a", SHARED): "8", of_node("b", "cpu"): "16"}


def test_a_node_counts_also_before_it_advertises_anything(promtool: Promtool) -> None:
    assert promtool.failure(unit_test(NODES, **OF_NODES)) == ""


def test_pods_hold_from_their_node_on_until_they_end(promtool: Promtool) -> None:
    given = [
        *NODES,
        *pod("one", "a", "1"),
        *pod("two", "a", "2"),
        *pod("starts", "b", "1", phase="Pending"),
        *pod("waits", "", "1", phase="Pending"),
        *pod("ended", "a", "1", phase="Succeeded"),
        *pod("fell", "a", "1", phase="Failed"),
        *pod("foreign", "other", "1"),
        *pod("cpu", "a", "4", resource="cpu"),
    ]

    wanted = {**OF_NODES, of_pods("a"): "3", of_pods("b"): "1"}
    assert promtool.failure(unit_test(given, **wanted)) == ""


def test_two_kube_state_metrics_count_once(promtool: Promtool) -> None:
    once = [*NODES, *pod("one", "a", "1"), *pod("slice", "a", "1", resource=SLICE)]
    given = [
        {**each, "series": each["series"].replace("{", f'{{instance="{which}",', 1)}
        for which in ("x", "y")
        for each in once
    ]

    wanted = {**OF_NODES, of_pods("a"): "1", of_pods("a", SLICE): "1"}
    assert promtool.failure(unit_test(given, **wanted)) == ""


def test_another_expectation_fails(promtool: Promtool) -> None:
    assert "got:" in promtool.failure(unit_test([*NODES, *pod("one", "a", "1")], **OF_NODES))
