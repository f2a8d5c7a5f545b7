"""What a pod asks for in all is what Kubernetes' own arithmetic makes of it.

The golden file holds pods, and for each what `PodRequests` of k8s.io/component-helpers 0.35.4 said.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.live.pods import requested_by_node, used_by_node
from eks_gpushare.live.shapes import in_shape
from eks_gpushare.live.slim import slim
from eks_gpushare.manifests.pod_demand import demand_of

PODS = json.loads((Path(__file__).parents[1] / "golden/pods/requested.json").read_text("utf-8"))


def read(spec: dict[str, Any]) -> dict[str, Any]:
    """A pod as a cluster's list of them is read: what nothing asks for is left out."""
    owner = {"kind": "ReplicaSet", "name": "x-1", "controller": True}
    metadata = {"name": "x", "namespace": "default", "ownerReferences": [owner]}
    pod = {"kind": "Pod", "metadata": metadata, "spec": {**spec, "nodeName": "n"}, "status": {}}
    (found,), odd = in_shape("Pod", [slim(pod)])
    assert odd == ""
    return found


@pytest.mark.parametrize("case", PODS)
def test_a_pod_of_a_cluster_asks_for_what_kubernetes_adds_up(case: dict[str, Any]) -> None:
    pod = read(case["spec"])
    total = {name: Decimal(amount) for name, amount in case["total"].items()}

    assert requested_by_node([pod])["n"] == total
    assert used_by_node([pod]).get("n", {}) == {
        name: amount for name, amount in total.items() if is_gpu_resource(name)
    }


@pytest.mark.parametrize("case", [case for case in PODS if "overhead" not in case["spec"]])
def test_a_pod_of_a_manifest_asks_for_what_kubernetes_adds_up(case: dict[str, Any]) -> None:
    total = {name: Fraction(amount) for name, amount in case["total"].items()}

    assert demand_of(case["spec"]).amounts == total
