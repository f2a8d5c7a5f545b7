"""Wrong arguments: one error, every wrong field by its Python path, nothing registered for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

G6 = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 2}}
NEW = {"name": "demo", "version": "1.35"}
MANAGERS = ("DevicePlugin", "GpuOperator")
"""What goes into a cluster, and has to be told which."""

SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "network": (
        "Network",
        {"zones": 2, "cidr": 10, "nat_gateway": "single", "tags": {"team": 1}},
    ),
    "cluster": (
        "EksCluster",
        {"name": "demo", "version": 1.30, "endpoint": {"publik": True}, "addons": {"ebs_csi": 1}},
    ),
    "system-nodes": (
        "SystemNodes",
        {"cluster_name": "demo", "nodes": {"min": 1.5}, "instance_types": "t3.large"},
    ),
    "gpu-pool": (
        "GpuPool",
        {
            "pool": "gpu",
            "clustername": "demo",
            "instance_types": ["g6.2xlarge", pulumi.Output.from_input("g6.4xlarge")],
            "sharing": {"mode": "timeSlice", "replicas": 2},
            "nodes": {"min": 1.5},
            "labels": pulumi.Output.from_input({"a": "b"}),
            "taints": [{"key": "a", "effect": "NO_SCHEDULE"}],
        },
    ),
    "device-plugin": (
        "DevicePlugin",
        {
            "pools": {"gpu": {**G6, "root_volume": 100}},
            "chart": {"version": 0.2},
            "name_space": "a",
        },
    ),
    "gpu-operator": (
        "GpuOperator",
        {
            "pools": {"gpu": {**G6, "root_volume": 100}},
            "chart": {"version": 26.7},
            "image": "a",
        },
    ),
    "environment": (
        "GpuSharingEnvironment",
        {
            "cluster": {"name": "demo"},
            "pools": {"gpu": {"sharing": {"mode": "mps"}}, "big": {**G6, "efa": "yes"}},
            "cluster_facts": {"arn": "arn"},
            "availability_zones": "us-west-2a",
        },
    ),
}

RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "network": (
        "Network",
        {"zones": ["us-west-2a", "us-west-2a", "eu-west-1b"], "cidr": "8.0.0.0/9"},
    ),
    "network-zone": ("Network", {"zones": ["", "us-west-2b"]}),
    "cluster": (
        "EksCluster",
        {
            "name": "-demo",
            "version": "1.20",
            "endpoint": {"public": True},
            "admins": ["Platform"],
            "vpc_id": "vpc-0a1b2c3d",
            "private_subnet_ids": ["subnet-0a", "subnet-0b"],
        },
    ),
    "system-nodes": (
        "SystemNodes",
        {"cluster_name": "demo", "subnet_ids": ["subnet-0a"], "nodes": {"min": 5, "max": 1}},
    ),
    "gpu-pool": (
        "GpuPool",
        {
            "pool": "GPU",
            "cluster_name": "demo",
            "cluster_subnet_ids": ["subnet-0a"],
            "instance_types": ["g6.2xlarge", "t3.large"],
            "sharing": {"mode": "timeSlicing", "replicas": 1},
            "nodes": {"min": 3, "max": 2},
            "zones": ["us-west-2a"],
            "provisioner": "existing",
            "labels": {"nvidia.com/gpu.product": "L4"},
        },
    ),
    "gpu-pool-capacity": (
        "GpuPool",
        {
            "pool": "gpu",
            "cluster_name": "demo",
            "cluster_subnet_ids": ["subnet-0a", "subnet-0b"],
            "instance_types": ["p5.48xlarge", "p5e.48xlarge"],
            "sharing": {"mode": "exclusive"},
            "ami_version": "banana",
            "capacity_type": "capacityBlock",
            "reservation": {"id": "cr-0123456789abcdef0"},
            "placement_group": True,
            "tags": {"aws:team": "ml"},
        },
    ),
    "gpu-pool-inputs": (
        "GpuPool",
        {
            "pool": "gpu",
            "cluster_name": "demo",
            "cluster_subnet_ids": ["subnet-0a"],
            "instance_types": ["g6.8xlarge"],
            "sharing": {"mode": "exclusive"},
            "efa": True,
            "ami_family": "custom",
            "custom_ami": {
                "id": "ami-0123456789abcdef0",
                "family": "al2023",
                "driver_included": True,
            },
        },
    ),
    "gpu-pool-catalog": (
        "GpuPool",
        {
            "pool": "gpu",
            "cluster_name": "demo",
            "cluster_subnet_ids": ["subnet-0a"],
            "instance_types": ["g9.large"],
            "sharing": {"mode": "exclusive"},
            "catalog": {"instance_types": {"g9.large": {"vcpus": 2}}},
        },
    ),
    "device-plugin": (
        "DevicePlugin",
        {
            "pools": {
                "gpu": {**G6, "sharing": {"mode": "mps", "replicas": 99}},
                "old": {
                    "instance_types": ["p3.8xlarge"],
                    "sharing": {"mode": "mps", "replicas": 17},
                },
            },
            "chart": {"version": "^0.20", "values": {"tolerations": []}},
            "namespace": "Plugin",
        },
    ),
    "gpu-operator": (
        "GpuOperator",
        {
            "pools": {
                "gpu": {**G6, "sharing": {"mode": "timeSlicing", "replicas": 1}},
                "mig": {
                    "instance_types": ["p4d.24xlarge"],
                    "sharing": {"mode": "mig", "layout": {"1g.5gb": 8}, "apply": "migManager"},
                },
                "bare": {
                    **G6,
                    "ami_family": "custom",
                    "custom_ami": {"id": "ami-0", "family": "al2023", "driver_included": False},
                },
            },
            "chart": {
                "version": "v26.7",
                "values": {"toolkit": {"enabled": True}, "mig": {"strategie": "mixed"}},
            },
            "namespace": "default",
        },
    ),
    "environment-by-name": (
        "GpuSharingEnvironment",
        {
            "cluster": {"existing": {"name": "there"}},
            "region": "us-west-2",
            "pools": {"gpu": {**G6, "zones": ["us-west-2a"]}},
        },
    ),
    "environment-zones": (
        "GpuSharingEnvironment",
        {"cluster": NEW, "network": {"zones": 3}, "region": "us-west-2", "pools": {"gpu": G6}},
    ),
    "environment-pinned": (
        "GpuSharingEnvironment",
        {
            "cluster": NEW,
            "network": {"zones": 2},
            "availability_zones": ["us-west-2a", "us-west-2b"],
            "region": "us-west-2",
            "pools": {"gpu": {**G6, "zones": ["us-west-2c"]}},
        },
    ),
    "environment-karpenter": (
        "GpuSharingEnvironment",
        {
            "cluster": NEW,
            "network": {"zones": ["us-west-2a", "us-west-2b"]},
            "region": "us-west-2",
            "pools": {
                "spare": {**G6, "provisioner": "karpenter", "nodes": {"min": 1, "max": 2}},
                "mig": {
                    "instance_types": ["p4d.24xlarge"],
                    "sharing": {"mode": "mig", "layout": {"3g.20gb": 3}},
                },
            },
        },
    ),
    "environment-kubeconfig": (
        "GpuSharingEnvironment",
        {
            "cluster": {"existing": {"kubeconfig": "nowhere/config"}},
            "pools": {"edge": {**G6, "provisioner": "existing"}},
        },
    ),
}


def refused(record: Callable[..., Run], component: str, args: dict[str, Any]) -> Run:
    def program() -> None:
        import pulumi_kubernetes

        import eks_gpushare

        opts = None
        if component in MANAGERS:
            provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
            opts = pulumi.ResourceOptions(providers=[provider])
        getattr(eks_gpushare, component)("demo", args, opts)

    return record(program, fails=True)


@pytest.mark.parametrize("case", SHAPES)
def test_arguments_of_a_wrong_shape_are_named_all_at_once(
    record: Callable[..., Run], golden: Callable[[str, str], None], case: str
) -> None:
    run = refused(record, *SHAPES[case])

    golden(f"components/errors/shape-{case}.txt", f"{run.error}\n")


def test_a_wrong_shape_does_not_hide_what_contradicts_elsewhere(
    record: Callable[..., Run],
) -> None:
    args = {
        "pool": "gpu",
        "cluster_name": "demo",
        "cluster_subnet_ids": ["subnet-1"],
        "instance_types": ["g6.xlarge"],
        "nodes": {"min": 1.5},
        "sharing": {"mode": "timeSlicing", "replicas": 1},
    }

    run = refused(record, "GpuPool", args)

    assert str(run.error).splitlines()[1:] == [
        "  nodes.min: 1.5 is a number; a whole number is expected. Give a whole number. [GPU005]",
        (
            "  sharing.replicas: 1 is less than 2; a GPU is shared by at least two pods. "
            'Set 2 or more, or "mode": "exclusive" for a pod per GPU. [GPU201]'
        ),
    ]


@pytest.mark.parametrize("case", SHAPES)
def test_arguments_of_a_wrong_shape_register_nothing(record: Callable[..., Run], case: str) -> None:
    assert [urn for urn in refused(record, *SHAPES[case]).urns if "gpushare" in urn] == []


@pytest.mark.parametrize("case", RULES)
def test_arguments_that_contradict_each_other_are_named_all_at_once(
    record: Callable[..., Run], golden: Callable[[str, str], None], case: str
) -> None:
    run = refused(record, *RULES[case])

    golden(f"components/errors/rules-{case}.txt", f"{run.error}\n")


@pytest.mark.parametrize("case", RULES)
def test_arguments_that_contradict_each_other_make_nothing_in_aws(
    record: Callable[..., Run], case: str
) -> None:
    run = refused(record, *RULES[case])

    assert [each.name for each in run if each.type.startswith("aws:")] == []


def test_the_error_names_each_property(record: Callable[..., Run]) -> None:
    run = refused(record, *SHAPES["gpu-pool"])

    error = run.recording.error
    assert error is not None
    assert isinstance(error.exception, pulumi.InputPropertiesError)
    assert [each["property_path"] for each in error.exception.errors or ()] == [
        "instance_types[1]",
        "labels",
        "clustername",
        "cluster_subnet_ids",
        "nodes.min",
        "taints[0].effect",
        "sharing.mode",
    ]


def test_an_error_points_at_the_user_s_line(record: Callable[..., Run]) -> None:
    error = refused(record, *RULES["system-nodes"]).recording.error

    assert error is not None
    assert "test_component_errors.py:" in error.source
