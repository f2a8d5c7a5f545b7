"""A namespace that a stack makes for two things, and what looks like it and is right."""

from __future__ import annotations

from typing import Any

import pytest
from finding_examples import base, checked, findings, stack_file_text

from eks_gpushare.documents.helm import merge_values

PROMETHEUS = {"prometheus": {"url": "http://prometheus.monitoring.svc:9090"}}


def workload(namespace: str, **keys: Any) -> dict[str, Any]:
    return {"image": "registry.example/m:1.2", "pool": "gpu", "namespace": namespace, **keys}


def keda(**keys: Any) -> dict[str, Any]:
    return {"keda": {**PROMETHEUS, **keys}}


def karpenter(**keys: Any) -> dict[str, Any]:
    sizes = {"min": None, "desired": None, "max": 2}
    return {"karpenter": keys, "pools": {"gpu": {"provisioner": "karpenter", "nodes": sizes}}}


@pytest.mark.parametrize(
    ("given", "path", "what"),
    [
        ({**karpenter(namespace="keda"), **keda()}, "keda.namespace", "Karpenter"),
        (karpenter(namespace="nvidia-device-plugin"), "karpenter.namespace", "the GPU stack"),
        (
            {"gpuStack": {"manager": "gpuOperator"}, **keda(namespace="gpu-operator")},
            "keda.namespace",
            "the GPU stack",
        ),
        ({**keda(), "workloads": {"m": workload("keda")}}, "workloads.m.namespace", "KEDA"),
        (
            {
                "clusterAutoscaler": {"namespace": "scaling"},
                "pools": {"gpu": {"scaledBy": "autoscaler"}},
                "workloads": {"m": workload("scaling")},
            },
            "workloads.m.namespace",
            "Cluster Autoscaler",
        ),
        (
            {
                "pools": {"gpu": {"scaledBy": "autoscaler", "warm": {"shares": 1}}},
                "workloads": {"m": workload("eks-gpushare-warm-room")},
            },
            "workloads.m.namespace",
            "warm room",
        ),
    ],
)
def test_a_namespace_that_is_made_twice(given: dict[str, Any], path: str, what: str) -> None:
    name = findings(given, "GPU735")[0][1].partition(" ")[0]

    assert findings(given, "GPU735") == [(path, f"{name} is made for {what} already.")]


def tenant(*existing: str, **keys: Any) -> dict[str, Any]:
    pools = {"gpu": {"guaranteed": {"shares": 1}}}
    return {"namespaces": [], "existingNamespaces": [*existing], "pools": pools, **keys}


@pytest.mark.parametrize(
    ("given", "index", "what"),
    [
        ({"tenants": {"a": tenant("nvidia-device-plugin")}}, 0, "the GPU stack"),
        ({"tenants": {"a": tenant("eks-gpushare-tenants")}}, 0, "what tenants may"),
        ({"tenants": {"a": tenant("one", "kueue-system", queue=True)}}, 1, "Kueue"),
        ({**keda(), "tenants": {"a": tenant("keda")}}, 0, "KEDA"),
    ],
)
def test_what_a_stack_makes_is_no_tenant_s(given: dict[str, Any], index: int, what: str) -> None:
    """Its admins could write what holds them to their contract, or what serves all."""
    ((path, message),) = findings(given, "GPU735")

    assert path == f"tenants.a.existingNamespaces[{index}]"
    assert message.endswith(f" is made by this stack, for {what}, and is no tenant's.")


@pytest.mark.parametrize(
    "tenants",
    [
        {"a": tenant("models")},
        {"a": tenant("models"), "b": tenant(namespaces=["models"])},
    ],
)
def test_what_others_make_may_be_a_tenant_s(tenants: dict[str, Any]) -> None:
    given = {"tenants": tenants, "workloads": {"m": workload("models"), "n": workload("models")}}

    assert findings(given, "GPU735") == []


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ({**karpenter(namespace="keda"), **keda()}, "Use another one."),
        (
            {**keda(), "workloads": {"m": workload("keda")}},
            "Use another one, or set createNamespace: false.",
        ),
        (
            {**keda(), "workloads": {"workloads": workload("keda")}},
            "Use another one, or set createNamespace: false.",
        ),
    ],
)
def test_a_workload_may_leave_its_namespace_to_another(given: dict[str, Any], fix: str) -> None:
    report = checked(stack_file_text(merge_values(base(), given)))

    assert [each.fix for each in report.findings if each.code == "GPU735"] == [fix]


@pytest.mark.parametrize(
    "given",
    [
        {**karpenter(), **keda()},
        {**karpenter(namespace="karpenter"), **keda()},
        {**karpenter(), "workloads": {"m": workload("models"), "n": workload("models")}},
        {**keda(install=False), "workloads": {"m": workload("keda")}},
        {**keda(), "workloads": {"m": workload("keda", createNamespace=False)}},
        {"workloads": {"m": workload("default"), "n": workload("default")}},
        {"workloads": {"m": workload("eks-gpushare-warm-room")}},
    ],
)
def test_what_is_made_once_is_right(given: dict[str, Any]) -> None:
    assert findings(given, "GPU735") == []


@pytest.mark.parametrize(
    ("pool", "fix"),
    [
        ({"provisioner": "karpenter", "nodes": None}, "tells Karpenter by a NodeOverlay."),
        ({"scaledBy": "autoscaler"}, "a tag of the node group tells Cluster Autoscaler."),
        ({}, "an autoscaler has to be told."),
        ({"provisioner": "existing"}, "an autoscaler has to be told."),
    ],
)
def test_who_is_told_of_a_fraction_of_a_gpu(pool: dict[str, Any], fix: str) -> None:
    given = {"pools": {"gpu": {"instanceTypes": ["g6f.xlarge"], **pool}}}
    report = checked(stack_file_text(merge_values(base(), given)))
    (found,) = [each.fix for each in report.findings if each.code == "GPU109"]
    assert found.endswith(fix)
