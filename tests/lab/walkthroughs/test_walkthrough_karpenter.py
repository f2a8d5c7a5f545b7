"""Nodes that Karpenter launches for shares, and takes away when nothing is to run any more.

It runs for most of a minute, so only where EKS_GPUSHARE_TEST_KARPENTER is set.
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

from eks_gpushare_lab.controllers import karpenter
from eks_gpushare_lab.controllers.shorter_waits import NODE_POOLS
from eks_gpushare_lab.run import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.control_plane.state import Lab

ROOT = Path(__file__).parents[3]
SHARES = ROOT / "examples" / "lab" / "autoscaling" / "shares.yaml"
STACK = ROOT / "stacks" / "Pulumi.karpenter-time-slicing.yaml"

needs_karpenter = pytest.mark.skipif(
    not os.environ.get("EKS_GPUSHARE_TEST_KARPENTER"),
    reason="EKS_GPUSHARE_TEST_KARPENTER is not set",
)


def test_the_stack_keeps_no_empty_node_because_of_drift() -> None:
    """A budget without reasons holds for empty nodes too, beside one that has them."""
    stack = yaml.safe_load(STACK.read_text(encoding="utf-8"))
    pool = stack["config"]["eks-gpushare:environment"]["pools"]["gpu"]["karpenter"]

    of_empty = [b["nodes"] for b in pool["budgets"] if "Empty" in b.get("reasons", ["Empty"])]
    assert of_empty == ["100%"]


@needs_karpenter
@pytest.mark.slow
def test_ten_pods_on_four_nodes_and_none_in_the_end(
    empty_lab: Lab,
    client: Client,
    emptied: Callable[[Client], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("eks_gpushare_lab.run.control_plane", lambda: nullcontext(empty_lab))
    words: dict[str, Any] = {"expect_nodes": ["gpu=4"], "until_idle": True, "json": True}
    with emptied(client):
        code = run(given(stack=str(STACK), apply=[str(SHARES)], **words))
        (pool,) = client.list(NODE_POOLS)[0]
    for each in karpenter.definitions():
        client.delete(client.path_of(each))
    printed = capsys.readouterr()
    report = json.loads(printed.out)

    assert code == 0, report["findings"]
    assert report["workloads"]["default/shares"]["running"] == 10
    scaling = report["pools"]["gpu"]["scaling"]
    assert (scaling["launched"], scaling["removed"], scaling["leastPossible"]) == (4, 4, 4)
    assert report["idle"]["nodes"] == {"gpu": 0}
    assert [each["code"] for each in report["findings"]] == ["GPU970"]
    assert "gpu 1s instead of 300s" in report["findings"][0]["message"]
    assert pool["spec"]["disruption"]["consolidateAfter"] == "1s"
    assert pool["spec"]["limits"] == {"cpu": "1000", "nvidia.com/gpu.shared": "30"}
    assert "lab: pool gpu has 4 nodes: " in printed.err
    assert "Karpenter looks every ten seconds for nodes that have been empty for 1s" in printed.err
