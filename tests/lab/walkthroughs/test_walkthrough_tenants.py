"""A stack with tenants, laid in the lab: each gets what its contract says, and no more."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow

# What conftest.py offers.
Walk = Any

TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def deployment(space: str, resource: str, replicas: int, pool: str = "slices") -> dict[str, Any]:
    name = resource.rpartition("/")[2].replace(".", "-")
    container = {"name": "c", "image": "x", "resources": {"limits": {resource: 1}}}
    pod = {
        "containers": [container],
        "tolerations": TOLERATED,
        "nodeSelector": {"eks-gpushare/pool": pool},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def test_each_tenant_runs_what_it_is_sure_of(walk: Walk) -> None:
    """80 of 320 GiB and 240: the first asks for all, and the second still has its own."""
    walk.install("tenants")
    asked = [
        deployment(space, f"nvidia.com/mig-{profile}", 20)
        for space in ("research", "vision")
        for profile in ("1g.5gb", "2g.10gb", "3g.20gb")
    ]
    asked.append(deployment("vision", "nvidia.com/gpu.shared", 1, "notebooks"))

    walk.apply(text=yaml.safe_dump_all(asked))

    report = walk.see()
    assert {name: each["running"] for name, each in report["workloads"].items()} == {
        "research/mig-1g-5gb": 4,
        "research/mig-2g-10gb": 2,
        "research/mig-3g-20gb": 2,
        "vision/mig-1g-5gb": 12,
        "vision/mig-2g-10gb": 6,
        "vision/mig-3g-20gb": 6,
        "vision/gpu-shared": 0,
    }
