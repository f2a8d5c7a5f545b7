"""The rules of a stack in a real Prometheus: how full a pool is, and an alert that fires."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.monitoring_scenes import stack

from eks_gpushare.sharing.monitoring.groups import rule_groups, rules_object
from eks_gpushare_lab.install.manifests import Manifest
from eks_gpushare_lab.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from eks_gpushare_lab.client import Client
    from eks_gpushare_lab.control_plane.state import Lab
    from eks_gpushare_lab.install.desired_cluster import DesiredCluster

pytestmark = [pytest.mark.slow, pytest.mark.at_length]

# What conftest.py offers.
Emptied = Any

SHARES = 40
RESOURCE = "nvidia.com/gpu"
PRESSURE = 'gpushare:share_pressure{pool="gpu"}'


def deployment(replicas: int) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"limits": {RESOURCE: "1"}}}
    tolerations = [{"key": RESOURCE, "operator": "Exists"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "load", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "load"}},
            "template": {
                "metadata": {"labels": {"app": "load"}},
                "spec": {"containers": [container], "tolerations": tolerations},
            },
        },
    }


def rules() -> dict[str, Any]:
    """Those of a stack with the pool of `time-slicing`; an alert has to last for seconds here."""
    pool = {
        "instanceTypes": ["g6.12xlarge"],
        "nodes": {"min": 1, "desired": 1, "max": 1},
        "sharing": {"mode": "timeSlicing", "replicas": 10},
    }
    groups = rule_groups(*stack(pools={"gpu": pool}, tenants=None, verifier=None))
    found = rules_object(groups, "default", {})
    for group in found["spec"]["groups"]:
        group["interval"] = "2s"
        for rule in group["rules"]:
            if "alert" in rule:
                rule["for"] = "10s"
    return found


def until(look: Callable[[], Any], wanted: Any, seconds: float = 180) -> Any:
    """What something is once it is as wanted, or in the end."""
    deadline = time.monotonic() + seconds
    while (found := look()) != wanted and time.monotonic() < deadline:
        time.sleep(1)
    return found


def test_pressure_of_real_pods_and_an_alert_that_fires(
    client: Client,
    empty_lab: Lab,
    emptied: Emptied,
    desired: Callable[[str], DesiredCluster],
) -> None:
    with emptied(client), Session(client, empty_lab) as session:
        session.install(desired("time-slicing"))
        session.apply([Manifest("rules.yaml", rules())])

        def pressure() -> list[float]:
            return [round(each["value"], 3) for each in session.rules.query(PRESSURE)]

        def firing() -> set[str]:
            found = session.rules.query('ALERTS{alertstate="firing"}')
            return {each["labels"]["alertname"] for each in found} & {"GpuSharesExhausted"}

        session.apply([Manifest("load.yaml", deployment(4))])
        assert until(pressure, [4 / SHARES]) == [0.1]
        session.scale("load", 20)
        assert until(pressure, [20 / SHARES]) == [0.5]
        assert firing() == set()
        session.scale("load", SHARES)
        assert until(pressure, [1.0]) == [1.0]
        session.scale("load", SHARES + 5)

        assert until(firing, {"GpuSharesExhausted"}) == {"GpuSharesExhausted"}
        (advertised,) = session.rules.query("gpushare:shares_advertised")
        (declared,) = session.rules.query("gpushare:shares_declared")
        assert advertised["value"] == declared["value"] == SHARES
