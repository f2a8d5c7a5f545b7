"""Kueue alone: its release, its queues, and values that undo them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Callable

Run = Any

SLICE = "nvidia.com/mig-1g.5gb"
CONFIGURATION = "controllerManagerConfigYaml"


def with_configuration(**given: Any) -> dict[str, Any]:
    text = yaml.safe_dump(given)
    return {"chart": {"values": {"managerConfig": {CONFIGURATION: text}}}}


def test_queues_come_after_kueue(kueue: Callable[..., Run]) -> None:
    run = kueue()

    made = [each.name for each in run.recording.resources if each.type.startswith("kubernetes:")]
    assert made == [
        "demo-namespace",
        "demo-release",
        "demo-flavor-gpu",
        "demo-queue-research",
        "demo-local-queue-team-research-default",
    ]
    release = run.inputs("Release")
    assert release["chart"] == "oci://registry.k8s.io/kueue/charts/kueue"
    assert release["version"] == versions.KUEUE.version
    assert "demo-release" in run.depends("LocalQueue", "demo-local-queue-team-research-default")
    labels = run.inputs("Namespace")["metadata"]["labels"]
    assert labels == {"pod-security.kubernetes.io/enforce": "restricted"}


def test_what_is_given_goes_over_what_is_derived_key_by_key(kueue: Callable[..., Run]) -> None:
    values = kueue(replicas=1, **with_configuration(clientConnection={"qps": 100})).inputs(
        "Release"
    )["values"]
    found = json.loads(values["managerConfig"][CONFIGURATION])

    assert values["controllerManager"] == {"replicas": 1}
    assert found["clientConnection"] == {"qps": 100, "burst": 100}
    assert found["manageJobsWithoutQueueName"] is True
    (selected,) = found["managedJobsNamespaceSelector"]["matchExpressions"]
    assert selected["values"] == ["team-research"]


REPLACE = {"input": SLICE, "strategy": "Replace", "outputs": {"gpu-memory": 5}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            with_configuration(resources={"transformations": [REPLACE]}),
            "it admits pods to pools that cannot run them",
        ),
        (
            with_configuration(managedJobsNamespaceSelector={}),
            "while it is down all of that is refused",
        ),
        (
            with_configuration(manageJobsWithoutQueueName=False),
            "Pods that name no queue then run beside",
        ),
        (
            with_configuration(integrations={"frameworks": ["batch/job", "pod"]}),
            "Without deployment, statefulset a tenant's pods pass its queue by.",
        ),
        (
            with_configuration(resources={"excludeResourcePrefixes": ["cpu"]}),
            "Pods that ask for memory, ephemeral-storage, hugepages-, vpc.amazonaws.com/ then wait",
        ),
        (
            with_configuration(
                resources={
                    "excludeResourcePrefixes": [
                        *("cpu", "memory", "ephemeral-storage", "hugepages-"),
                        *("vpc.amazonaws.com/", "nvidia.com/"),
                    ]
                }
            ),
            f"{SLICE} is then not counted",
        ),
        (
            {"chart": {"values": {"managerConfig": {CONFIGURATION: "a: ["}}}},
            "It is no YAML mapping in a text",
        ),
        (
            {"chart": {"values": {"metricsService": {"type": "LoadBalancer"}}}},
            "metricsService.type is LoadBalancer",
        ),
        ({"chart": {"version": "latest"}}, '"latest" is not an exact version'),
        ({"namespace": "kube-system"}, "kube-system is not a namespace for Kueue."),
        ({"tenants": {}, "pools": {}, "replicas": 9}, "replicas"),
    ],
)
def test_wrong_arguments(kueue: Callable[..., Run], given: dict[str, Any], message: str) -> None:
    assert message in kueue(fails=True, **given).error


def tenants(**given: Any) -> dict[str, Any]:
    quota = {"guaranteed": {SLICE: 4}, **given}
    return {"research": {"namespaces": ["team-research"], "pools": {"gpu": quota}}}


def pools(**given: Any) -> dict[str, Any]:
    return {"gpu": {"node_selector": {"eks-gpushare/pool": "gpu"}, **given}}


OTHER = {"namespaces": ["team-research"], "pools": {"gpu": {"guaranteed": {SLICE: 1}}}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"tenants": {**tenants(), "vision": OTHER}},
            "The namespace team-research is of research already.",
        ),
        (
            {"tenants": {"research": {"namespaces": [], "pools": {}}}},
            "research has no namespace.",
        ),
        (
            {"tenants": {"research": {"namespaces": ["a"], "pools": {}}}},
            "research has no pool.",
        ),
        (
            {"tenants": {"research": {**OTHER, "pools": {"cpu": {"guaranteed": {}}}}}},
            "There is no pool cpu; there are gpu.",
        ),
        ({"tenants": tenants(maximum={SLICE: 3})}, "3 of nvidia.com/mig-1g.5gb at most are fewer"),
        (
            {"tenants": tenants(), "pools": pools(advertised={SLICE: 3})},
            "Tenants are guaranteed 4 of nvidia.com/mig-1g.5gb, and the pool has 3.",
        ),
        ({"tenants": tenants(guaranteed={SLICE: -1})}, "Write 0 or more."),
        (
            {"tenants": tenants(guaranteed={"x/y": 1}), "pools": pools(advertised={SLICE: 3})},
            "Tenants are guaranteed 1 of x/y, and the pool has 0.",
        ),
        ({"tenants": tenants(), "pools": {"gpu": {}}}, "pools.gpu.node_selector"),
        ({"pools": 3, "namespace": "kube-system"}, "kube-system is not a namespace for Kueue."),
        (
            {"tenants": tenants(maximum_gib=40)},
            "How many GiB nvidia.com/mig-1g.5gb has is not said",
        ),
        (
            {"tenants": tenants(maximum_gib=19), "pools": pools(gib={SLICE: 5})},
            "19 GiB at most are fewer than the 20 GiB that are guaranteed.",
        ),
    ],
)
def test_contracts_that_cannot_be_kept(
    kueue: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in kueue(fails=True, **given).error


def test_one_resource_is_one_number_of_gib(kueue: Callable[..., Run]) -> None:
    gpu = "nvidia.com/gpu"
    quota = {"guaranteed": {gpu: 1}, "maximum_gib": 80}
    given = {
        "pools": {
            "a": {"node_selector": {"pool": "a"}, "gib": {gpu: 40}},
            "b": {"node_selector": {"pool": "b"}, "gib": {gpu: 80}},
        },
        "tenants": {"research": {"namespaces": ["research"], "pools": {"a": quota, "b": quota}}},
    }
    error = kueue(fails=True, **given).error

    assert "nvidia.com/gpu is not the same number of GiB everywhere: 40 in a and 80 in b." in error


def test_what_just_fits_is_taken(kueue: Callable[..., Run]) -> None:
    other = "nvidia.com/mig-2g.10gb"
    given = {
        "tenants": tenants(guaranteed={SLICE: 4, other: 0}, maximum={SLICE: 4}, maximum_gib=20),
        "pools": pools(advertised={SLICE: 4}, gib={SLICE: 5, other: 10}),
    }
    assert kueue(**given).inputs("Release")


def test_what_is_derived_may_be_written_out(kueue: Callable[..., Run]) -> None:
    given = {"tenants": tenants(maximum_gib=40), "pools": pools(gib={SLICE: 5})}
    values = kueue(**given).inputs("Release")["values"]
    derived = json.loads(values["managerConfig"][CONFIGURATION])
    more = {"input": "x/y", "strategy": "Retain", "outputs": {"z": 1}}
    derived["resources"]["transformations"].append(more)
    again = kueue(**given, **with_configuration(**derived)).inputs("Release")["values"]

    assert json.loads(again["managerConfig"][CONFIGURATION]) == derived
    derived["resources"]["transformations"] = [more]
    error = kueue(fails=True, **given, **with_configuration(**derived)).error
    assert f"Ceilings in GiB then count no {SLICE}." in error
