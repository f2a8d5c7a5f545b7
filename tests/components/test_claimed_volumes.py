"""Volumes of an installed Prometheus: there is a class that they are of, and the bill has them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog.service_prices import service_prices
from eks_gpushare.program.costs.stack import cost_of
from eks_gpushare.program.values import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

    from eks_gpushare.program.costs.items import CostItem

CLUSTER: dict[str, Any] = {"name": "demo", "version": "1.35", "addons": {"ebs_csi": True}}
EBS = "aws-ebs-csi-driver"
GIB_MONTH = service_prices("us-west-2").gp3 or 0.0


def values_of_driver(run: Run) -> dict[str, Any]:
    """What the add-on of the driver is told."""
    addons = [to_json(each.inputs) for each in run.recording.of_type("aws:eks/addon:Addon")]
    (driver,) = [each for each in addons if each["addonName"] == EBS]
    return dict(json.loads(driver.get("configurationValues", "{}")))


def claimed(run: Run) -> list[CostItem]:
    """The lines of the bill for claimed volumes."""
    items = cost_of(run.recording, "us-west-2").items
    return [item for item in items if item.kind == "claimedVolumes"]


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ({"install": True}, {"defaultStorageClass": {"enabled": True}}),
        ({"install": True, "storage_class": "mine"}, {}),
        ({"url": "http://prometheus.monitoring:9090"}, {}),
    ],
)
def test_a_new_cluster_gets_the_default_class_that_is_claimed(
    environment: Callable[..., Run], store: dict[str, Any], expected: dict[str, Any]
) -> None:
    """EKS has had none since Kubernetes 1.30: the pod of Prometheus would wait for ever."""
    run = environment(cluster=CLUSTER, observability={"prometheus": store})

    assert values_of_driver(run) == expected


def test_what_is_said_of_the_driver_stays(environment: Callable[..., Run]) -> None:
    said = {"by_name": {EBS: {"values": {"node": {"enableWindows": False}}}}}
    cluster = {**CLUSTER, "addons": {"ebs_csi": True, **said}}
    run = environment(cluster=cluster, observability={"prometheus": {"install": True}})

    assert values_of_driver(run) == {
        "defaultStorageClass": {"enabled": True},
        "node": {"enableWindows": False},
    }


def test_the_bill_has_the_volume(environment: Callable[..., Run]) -> None:
    run = environment(
        cluster=CLUSTER, observability={"prometheus": {"install": True, "storage_gib": 73}}
    )
    (line,) = claimed(run)

    assert (line.count.at_desired, line.count.at_max, line.unknown) == (73, 73, "")
    assert line.usd_per_hour().at_desired == round(73 * GIB_MONTH / 730, 6)


def test_what_a_users_values_claim_is_in_it(environment: Callable[..., Run]) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Ti"}}}
    values = {
        "prometheus": {"prometheusSpec": {"replicas": 2}},
        "alertmanager": {"alertmanagerSpec": {"storage": {"volumeClaimTemplate": {"spec": spec}}}},
        "grafana": {"persistence": {"enabled": True, "size": "5Gi", "storageClassName": "slow"}},
    }
    run = environment(
        cluster=CLUSTER,
        observability={"prometheus": {"install": True}},
        charts={"prometheus": {"values": values}},
    )
    default, slow = claimed(run)

    assert (default.count.at_desired, default.name) == (2 * 50 + 1024, "")
    assert (slow.count.at_desired, slow.name, slow.price) == (5, "slow", None)
    assert slow.unknown == "What volumes of the StorageClass slow cost is not known here."


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        (
            {
                "cluster": CLUSTER,
                "observability": {"prometheus": {"install": True, "storage_class": "mine"}},
            },
            "What volumes of the StorageClass mine cost is not known here.",
        ),
        (
            {
                "cluster": {"existing": {"kubeconfig": "kubeconfig.yaml"}},
                "kubeconfig": "apiVersion: v1",
                "network": None,
                "pools": {
                    "gpu": {
                        "provisioner": "existing",
                        "instance_types": ["g6.2xlarge"],
                        "sharing": {"mode": "timeSlicing", "replicas": 2},
                    }
                },
                "observability": {"prometheus": {"install": True}},
            },
            "What volumes of the default class cost is not known here.",
        ),
    ],
)
def test_of_a_class_of_others_the_price_is_unknown_and_named(
    environment: Callable[..., Run], changes: dict[str, Any], unknown: str
) -> None:
    run = environment(**changes)
    cost = cost_of(run.recording, "us-west-2")
    (line,) = claimed(run)

    assert (line.price, line.usd_per_hour().at_desired) == (None, None)
    assert cost.total().at_desired is None
    assert unknown in cost.unknown()


@pytest.mark.parametrize(
    "block",
    [
        {"metrics": "managedPrometheus", "prometheus": {"install": True}},
        {"metrics": "cloudwatch"},
        {"prometheus": {"url": "http://prometheus.monitoring:9090"}},
    ],
)
def test_of_other_stores_there_is_no_such_line(
    environment: Callable[..., Run], block: dict[str, Any]
) -> None:
    assert claimed(environment(cluster=CLUSTER, observability=block)) == []
