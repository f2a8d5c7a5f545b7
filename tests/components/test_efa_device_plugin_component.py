from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

EXCLUSIVE = {"sharing": {"mode": "exclusive"}}
EFA = {**EXCLUSIVE, "instance_types": ["p4d.24xlarge"], "zones": ["us-west-2a"], "efa": True}
PLAIN = {**EXCLUSIVE, "instance_types": ["g6.2xlarge"]}
NODE_GROUPS = ("demo-infer", "demo-system", "demo-train")


def test_the_plugin_alone(efa_device_plugin: Callable[..., Run]) -> None:
    run = efa_device_plugin()

    release = run.inputs("Release")
    chart = versions.EFA_DEVICE_PLUGIN
    assert (release["name"], release["namespace"]) == ("aws-efa-k8s-device-plugin", "kube-system")
    assert (release["chart"], release["version"]) == (chart.name, chart.version)
    assert release["repositoryOpts"] == {"repo": "https://aws.github.io/eks-charts"}
    assert release["values"] == {
        "supportedInstanceLabels": {"keys": ["eks-gpushare/pool"], "values": ["train"]},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }


def test_a_mirror_and_values_of_ones_own(efa_device_plugin: Callable[..., Run]) -> None:
    chart = {"repository": "oci://mirror.example/efa", "values": {"image": {"repository": "m/efa"}}}
    release = efa_device_plugin(chart=chart).inputs("Release")

    assert release["chart"] == "oci://mirror.example/efa"
    assert release["values"]["image"] == {"repository": "m/efa"}


def test_what_it_serves_follows_its_arguments(efa_device_plugin: Callable[..., Run]) -> None:
    taints = [{"key": "dedicated", "value": "ml", "effect": "NoExecute"}]
    values = efa_device_plugin(pools=["b", "a"], taints=taints).inputs("Release")["values"]

    assert values["supportedInstanceLabels"]["values"] == ["a", "b"]
    assert values["tolerations"] == [
        {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pools": None}, "pools: pools is required here."),
        (
            {"chart": {"values": {"tolerations": []}}},
            "chart.values.tolerations: tolerations is derived from the pools",
        ),
        (
            {"chart": {"values": {"nodeSelectr": {}}}},
            "chart.values.nodeSelectr: nodeSelectr is no value",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    efa_device_plugin: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in efa_device_plugin(fails=True, **given).error


@pytest.mark.parametrize("manager", ["devicePlugin", "gpuOperator"])
def test_an_environment_has_one_for_all_its_pools_with_efa(
    environment: Callable[..., Run], manager: str
) -> None:
    brock = {**EFA, "instance_types": ["p5.48xlarge"], "ami_family": "bottlerocket"}
    run = environment(
        pools={"train": EFA, "brock": brock, "infer": PLAIN}, gpu_stack={"manager": manager}
    )

    release = run.inputs("Release", "demo-efa-device-plugin-release")
    assert release["values"]["supportedInstanceLabels"]["values"] == ["brock", "train"]
    assert set(NODE_GROUPS) <= set(run.depends("EfaDevicePlugin"))


def test_startup_taints_are_tolerated_too(environment: Callable[..., Run]) -> None:
    sharing = {"mode": "mig", "layout": "all-1g.5gb", "apply": "migManager"}
    run = environment(
        pools={"train": {**EFA, "sharing": sharing}}, gpu_stack={"manager": "gpuOperator"}
    )

    tolerations = run.inputs("Release", "demo-efa-device-plugin-release")["values"]["tolerations"]
    joined = run.inputs("NodeGroup", "demo-train")["taints"]
    assert {each["key"] for each in tolerations} == {each["key"] for each in joined}


@pytest.mark.parametrize(
    ("pools", "gpu_stack"),
    [({"infer": PLAIN}, {}), ({"train": EFA}, {"efa_device_plugin": False})],
)
def test_without_efa_or_where_others_install_it_there_is_none(
    environment: Callable[..., Run], pools: dict[str, Any], gpu_stack: dict[str, Any]
) -> None:
    assert environment(pools=pools, gpu_stack=gpu_stack).all("EfaDevicePlugin") == []
