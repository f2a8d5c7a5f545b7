"""Nodes that Cluster Autoscaler launches for shares, and takes away when nothing runs any more.

Only where EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER is set, and with KEDA where
EKS_GPUSHARE_TEST_SCALING is too.
"""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.lab.walkthroughs.test_walkthrough_command import given

from eks_gpushare_lab.run import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.control_plane.state import Lab

ROOT = Path(__file__).parents[3]
SHARES = ROOT / "examples" / "lab" / "autoscaling" / "shares.yaml"
STACK = ROOT / "stacks" / "Pulumi.cluster-autoscaler.yaml"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER"),
        reason="EKS_GPUSHARE_TEST_CLUSTER_AUTOSCALER is not set",
    ),
]
with_keda = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_SCALING"), reason="EKS_GPUSHARE_TEST_SCALING is not set"
)


@pytest.fixture
def reported(
    empty_lab: Lab,
    client: Client,
    emptied: Callable[[Client], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, dict[str, Any]]]:
    """`reported(stack=..., ...)`: the exit code of a run, and what it says as JSON."""
    monkeypatch.setattr("eks_gpushare_lab.run.control_plane", lambda: nullcontext(empty_lab))

    def ran(**words: Any) -> tuple[int, dict[str, Any]]:
        with emptied(client):
            code = run(given(json=True, **words))
        return code, json.loads(capsys.readouterr().out)

    return ran


Reported = Any


def test_twenty_five_pods_on_three_nodes_and_none_in_the_end(reported: Reported) -> None:
    code, report = reported(
        stack=str(STACK),
        apply=[str(SHARES)],
        scale=["shares=25"],
        expect=["shares=25"],
        expect_nodes=["gpu=3"],
        until_idle=True,
    )

    assert [each["code"] for each in report["findings"]] == ["GPU970"]
    assert code == 0
    scaling = report["pools"]["gpu"]["scaling"]
    assert (scaling["launched"], scaling["removed"], scaling["leastPossible"]) == (3, 3, 3)
    nodes = report["pools"]["gpu"]["nodes"]
    assert [each["instanceType"] for each in nodes] == ["g6.4xlarge"] * 3
    for each in nodes:
        assert each["launchedAfterSeconds"] <= each["readyAfterSeconds"]
        assert each["readyAfterSeconds"] < each["removedAfterSeconds"]
    assert [each["running"]["shares"] for each in report["steps"]] == [25]
    assert report["idle"]["nodes"] == {"gpu": 0}


def test_another_number_of_nodes_than_expected(reported: Reported) -> None:
    code, report = reported(stack=str(STACK), apply=[str(SHARES)], expect_nodes=["gpu=2"])

    assert code == 1
    assert [(each["code"], each["path"]) for each in report["findings"]] == [
        ("GPU960", "pools.gpu.nodes")
    ]


WORKLOAD = {
    "pool": "gpu",
    "image": "ghcr.io/omnistrate-community/gpu-slicing-example:0.0.3",
    "replicas": {"min": 1, "max": 3},
    "idle": {"threshold": 20, "minutes": 2},
    "overUse": {"threshold": 80, "minutes": 3},
    "useQuery": 'use_of_web{namespace="default"}',
}
BUSY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "busy",
        "namespace": "default",
        "annotations": {"lab.eks-gpushare/metrics": 'use_of_web{namespace="default"} 90'},
    },
}


@with_keda
def test_nodes_follow_a_workload_that_follows_its_use(reported: Reported, tmp_path: Path) -> None:
    """Room for one more pod is kept all the time: two shares on a node, so the third pod is two."""
    content = yaml.safe_load(STACK.read_text(encoding="utf-8"))
    environment = content["config"]["eks-gpushare:environment"]
    environment["pools"]["gpu"]["sharing"] = {"mode": "timeSlicing", "replicas": 2}
    environment["pools"]["gpu"]["warm"] = {"shares": 1}
    environment["keda"] = {"prometheus": {"url": "http://prometheus.monitoring.svc:9090"}}
    environment["workloads"] = {"web": WORKLOAD}
    stack, busy = tmp_path / "Pulumi.mine.yaml", tmp_path / "busy.yaml"
    stack.write_text(yaml.safe_dump(content), encoding="utf-8")
    busy.write_text(yaml.safe_dump(BUSY), encoding="utf-8")
    code, report = reported(
        stack=str(stack),
        program=str(ROOT),
        apply=[str(busy)],
        expect=["web=3"],
        expect_nodes=["gpu=2"],
        until_idle=True,
    )

    assert [each["code"] for each in report["findings"]] == ["GPU980", "GPU970"]
    assert code == 0
    web = report["workloads"]["default/web"]
    assert [each["replicas"] for each in web["scaled"]] == [1, 2, 3]
    assert report["workloads"]["eks-gpushare-warm-room/gpu-shares"]["running"] == 1
    assert report["pools"]["gpu"]["scaling"]["launched"] == 2
    assert report["idle"]["nodes"] == {"gpu": 1}


def test_pods_of_a_second_step_get_nodes_though_others_have_just_joined(
    reported: Reported,
) -> None:
    """Cluster Autoscaler would take these for such as are yet to come, until it asks AWS again."""
    code, report = reported(
        stack=str(STACK),
        apply=[str(SHARES)],
        scale=["shares=25"],
        expect=["shares=25"],
        expect_nodes=["gpu=3"],
    )

    assert code == 0
    (found,) = report["findings"]
    assert (found["code"], found["path"]) == ("GPU970", "releases.cluster-autoscaler")
    first, *others = (each["launchedAfterSeconds"] for each in report["pools"]["gpu"]["nodes"])
    assert len(others) == 2
    assert first < min(others)
