"""Cluster Autoscaler alone and in an environment, as Pulumi runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes
import pytest

from eks_gpushare import ClusterAutoscaler, GpuPool
from eks_gpushare.catalog import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

SLICES = {"mode": "timeSlicing", "replicas": 10}
SCALED = {
    "instance_types": ["g5.xlarge"],
    "nodes": {"min": 0, "desired": 0, "max": 5},
    "scaled_by": "autoscaler",
    "sharing": SLICES,
}
FIXED = {"instance_types": ["g5.xlarge"], "sharing": SLICES}
NAME = "demo-cluster-autoscaler"


def test_it_alone(cluster_autoscaler: Callable[..., Run]) -> None:
    run = cluster_autoscaler(
        pools=["gpu", "mig"],
        node_group_names=["gpu-1a2b3c4", "mig-1a2b3c4"],
        scaling_group_names=["eks-gpu-1a2b3c4-1", "eks-mig-1a2b3c4-2"],
        nodes=[{"min": 1, "desired": 2, "max": 5}, {}],
    )

    release, chart = run.inputs("Release"), versions.CLUSTER_AUTOSCALER
    values = release["values"]
    assert (release["name"], release["namespace"]) == ("cluster-autoscaler", "kube-system")
    assert (release["chart"], release["version"]) == (chart.name, chart.version)
    assert release["repositoryOpts"] == {"repo": "https://kubernetes.github.io/autoscaler"}
    assert values["image"]["tag"] == versions.cluster_autoscaler_tag("1.35")
    assert values["autoscalingGroups"] == [
        {"name": "eks-gpu-1a2b3c4-1", "minSize": 1, "maxSize": 5},
        {"name": "eks-mig-1a2b3c4-2", "minSize": 0, "maxSize": 1},  # as a pool without sizes
    ]
    assert "autoDiscovery" not in values
    assert values["awsRegion"] == "us-west-2"


def test_its_role_is_its_accounts_and_reaches_its_groups(
    cluster_autoscaler: Callable[..., Run],
) -> None:
    run = cluster_autoscaler(preview=False)

    identity, role = run.inputs("PodIdentityAssociation"), run.inputs("Role")
    policy = json.loads(run.inputs("RolePolicy")["policy"])
    account = run.inputs("Release")["values"]["rbac"]["serviceAccount"]["name"]
    assert (identity["namespace"], identity["serviceAccount"]) == ("kube-system", account)
    assert "pods.eks.amazonaws.com" in role["assumeRolePolicy"]
    writes = [each for each in policy["Statement"] if "Condition" in each]
    assert writes[0]["Condition"]["StringEquals"]["aws:ResourceTag/eks:nodegroup-name"] == [
        "gpu-1a2b3c4"
    ]
    # A pod gets its role as it starts.
    assert {"demo-identity", "demo-policy"} <= {*run.depends("Release")}


def test_the_region_is_that_of_what_it_makes(cluster_autoscaler: Callable[..., Run]) -> None:
    run = cluster_autoscaler(region=None, preview=False)

    assert run.inputs("Release")["values"]["awsRegion"] == "us-west-2"


def test_a_namespace_of_its_own_is_made(cluster_autoscaler: Callable[..., Run]) -> None:
    run = cluster_autoscaler(namespace="scaling", preview=False)

    assert run.inputs("Namespace")["metadata"]["name"] == "scaling"
    assert run.inputs("Release")["namespace"] == "scaling"
    assert run.inputs("PodIdentityAssociation")["namespace"] == "scaling"
    assert cluster_autoscaler().all("Namespace") == []


def test_names_of_groups_may_be_known_later(record: Callable[..., Run]) -> None:
    def program() -> None:
        kubernetes = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        ClusterAutoscaler(
            "demo",
            {
                "cluster_name": "demo",
                "version": "1.35",
                "pools": ["a", "b"],
                "node_group_names": pulumi.Output.from_input(["a-1", "b-1"]),
                "scaling_group_names": pulumi.Output.from_input(["eks-a-1", "eks-b-1"]),
                "nodes": [{"max": 2}, {"max": 3}],
            },
            pulumi.ResourceOptions(providers=[kubernetes]),
        )

    values = record(program, preview=False).inputs("Release")["values"]

    assert values["autoscalingGroups"] == [
        {"name": "eks-a-1", "minSize": 0, "maxSize": 2},
        {"name": "eks-b-1", "minSize": 0, "maxSize": 3},
    ]


def test_a_pool_gives_what_is_asked_of_it(record: Callable[..., Run]) -> None:
    def program() -> None:
        pool = GpuPool(
            "gpu",
            {
                "pool": "gpu",
                "cluster_name": "demo",
                "cluster_subnet_ids": ["subnet-0a", "subnet-0b"],
                "instance_types": ["g5.xlarge"],
                "nodes": {"desired": 0, "max": 5},
                "scaled_by": "autoscaler",
                "sharing": {"mode": "timeSlicing", "replicas": 10},
            },
        )
        kubernetes = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        ClusterAutoscaler(
            "demo",
            {
                "cluster_name": "demo",
                "version": "1.35",
                "pools": ["gpu"],
                "node_group_names": [pool.node_group_name],
                "scaling_group_names": [pool.scaling_group_name],
                "nodes": [pool.nodes],
            },
            pulumi.ResourceOptions(providers=[kubernetes]),
        )

    run = record(program, preview=False)
    (group,) = run.all("NodeGroup")
    made = group.outputs["resources"][0]["autoscalingGroups"][0]["name"]

    assert run.inputs("Release")["values"]["autoscalingGroups"] == [
        {"name": made, "minSize": 0, "maxSize": 5}
    ]
    # Before it is made, its name alone is not known.
    previewed = record(program).inputs("Release")["values"]["autoscalingGroups"]
    assert [each["maxSize"] for each in previewed] == [5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pools": None}, "pools: pools is required here."),
        ({"pools": [], "node_group_names": []}, "node_group_names: The list is empty."),
        ({"pools": ["a", "b"]}, "node_group_names: 1 node groups are given for 2 pools."),
        (
            {"pools": ["a", "b"]},
            "scaling_group_names: 1 Auto Scaling groups are given for 2 pools.",
        ),
        ({"pools": ["a", "b"]}, "nodes: 1 sizes are given for 2 pools."),
        ({"nodes": None}, "nodes: nodes is required here."),
        ({"nodes": [{"min": 3, "max": 2}]}, "nodes[0]: At least 3 nodes are more than at most 2."),
        ({"scaling_group_names": None}, "scaling_group_names: scaling_group_names is required"),
        ({"node_group_names": None}, "node_group_names: node_group_names is required here."),
        ({"expander": "price"}, "expander: price asks the cloud provider for prices"),
        ({"scale_down_after": "10"}, 'scale_down_after: "10" is no duration'),
        ({"replicas": 0}, "replicas: "),
        ({"version": "1.99"}, "knows no Cluster Autoscaler for Kubernetes 1.99"),
        (
            {"chart": {"values": {"replicaCount": 5}}},
            "chart.values.replicaCount: replicaCount is derived",
        ),
        (
            {"chart": {"values": {"extraArgs": {"expnader": "random"}}}},
            "chart.values.extraArgs.expnader: Cluster Autoscaler has no flag expnader.",
        ),
        ({"chart": {"version": "9.59"}}, "chart.version: "),
    ],
)
def test_wrong_arguments_are_refused(
    cluster_autoscaler: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in cluster_autoscaler(fails=True, **given).error


def test_an_environment_scales_the_groups_of_its_pools_and_no_others(
    environment: Callable[..., Run],
) -> None:
    run = environment(
        pools={"gpu": SCALED, "fixed": FIXED, "spot": {**SCALED, "capacity_type": "spot"}},
        cluster_autoscaler={"expander": "priority", "priorities": {"gpu": 1, "spot": 2}},
        preview=False,
    )

    values = run.inputs("Release", f"{NAME}-release")["values"]
    made = {each.name: each.outputs for each in run.all("NodeGroup")}
    groups = {name: outputs["nodeGroupName"] for name, outputs in made.items()}
    assert values["autoscalingGroups"] == [
        {
            "name": made[name]["resources"][0]["autoscalingGroups"][0]["name"],
            "minSize": 0,
            "maxSize": 5,
        }
        for name in ("demo-gpu", "demo-spot")
    ]
    assert values["expanderPriorities"] == {
        "1": [f"(^|-){groups['demo-gpu']}(-|$)"],
        "2": [f"(^|-){groups['demo-spot']}(-|$)"],
    }
    # Destroying, it goes before a group that it could add nodes to.
    assert {"demo-gpu", "demo-fixed", "demo-spot", "demo-system"} <= {
        *run.depends("ClusterAutoscaler")
    }


def test_taints_of_mig_pools_are_told(environment: Callable[..., Run]) -> None:
    types, layout = ["p4d.24xlarge"], {"mode": "mig", "layout": "all-1g.5gb"}
    boot = {**SCALED, "instance_types": types, "sharing": layout}
    run = environment(
        pools={"boot": boot, "manager": {**boot, "sharing": {**layout, "apply": "migManager"}}},
        gpu_stack={"manager": "gpuOperator"},
        cluster_autoscaler={},
    )

    flags = run.inputs("Release", f"{NAME}-release")["values"]["extraArgs"]
    assert flags["startup-taint_1"] == "eks-gpushare/mig-layout"
    assert flags["status-taint_1"] == "eks-gpushare/mig"


def test_only_the_scaled_group_gets_tags_and_label(environment: Callable[..., Run]) -> None:
    run = environment(pools={"gpu": SCALED, "fixed": FIXED}, tags={"team": "ml"})

    scaled, fixed = (run.inputs("NodeGroup", f"demo-{name}") for name in ("gpu", "fixed"))
    prefix = "k8s.io/cluster-autoscaler/node-template/resources"
    assert scaled["tags"] == {
        "team": "ml",
        f"{prefix}/nvidia.com/gpu": "10",
        f"{prefix}/ephemeral-storage": "175Gi",
    }
    assert scaled["labels"]["k8s.amazonaws.com/accelerator"] == "nvidia-a10g"
    assert fixed["tags"] == {"team": "ml"}
    assert "k8s.amazonaws.com/accelerator" not in fixed["labels"]
    # What rolls nodes is the same for both.
    templates = [run.inputs("LaunchTemplate", f"demo-{name}-template") for name in ("gpu", "fixed")]
    names = [each.pop("tags") for each in templates]
    assert names == [{"team": "ml", "Name": f"demo-{n}-template"} for n in ("gpu", "fixed")]
    assert templates[0] == templates[1]
    assert run.all("ClusterAutoscaler") == []


def test_an_image_of_the_users_own_is_told_no_further_label(gpu_pool: Callable[..., Run]) -> None:
    """Its user data has the labels, and another one would roll the nodes."""
    own = {
        "ami_family": "custom",
        "custom_ami": {
            "id": "ami-0123456789abcdef0",
            "family": "al2023",
            "driver_included": True,
        },
        "cluster_endpoint": "https://demo.example.com",
        "cluster_certificate_authority": "Q0E=",
        "cluster_service_cidr": "172.20.0.0/16",
    }
    by = {how: gpu_pool(**own, scaled_by=how) for how in ("stack", "autoscaler")}

    templates = [run.inputs("LaunchTemplate") for run in by.values()]
    assert templates[0] == templates[1]
    assert "k8s.amazonaws.com/accelerator" in by["autoscaler"].inputs("NodeGroup")["labels"]


@pytest.mark.parametrize(
    ("pools", "block"), [({"gpu": FIXED}, {}), ({"gpu": SCALED}, None)], ids=["no pool", "no block"]
)
def test_without_a_pool_or_a_wish_there_is_none(
    environment: Callable[..., Run], pools: dict[str, Any], block: dict[str, Any] | None
) -> None:
    assert environment(pools=pools, cluster_autoscaler=block).all("ClusterAutoscaler") == []
