from __future__ import annotations

import base64
import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.values import Secret, plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.components.conftest import Run

SUBNETS = ["subnet-7c1f29d6", "subnet-4e6a8d1b"]
ADMIN = "arn:aws:iam::111122223333:role/Platform"
CLUSTER = {"name": "demo", "version": "1.35"}
POOL: Any = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "timeSlicing", "replicas": 2}}
FACTS = {
    "arn": "arn:aws:eks:us-west-2:111122223333:cluster/there",
    "endpoint": "https://ABCDEF.gr7.us-west-2.eks.amazonaws.com",
    "certificate_authority": "Q0E=",
    "version": "1.35",
    "vpc_id": "vpc-there",
    "subnet_ids": ["subnet-1", "subnet-2"],
    "security_group_id": "sg-there",
    "service_cidr": "172.20.0.0/16",
}
KUBECONFIG = '{"apiVersion": "v1", "kind": "Config", "clusters": []}'


def test_an_environment_with_defaults(
    environment: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    golden("components/environment.txt", "\n".join(environment().urns) + "\n")


MIG: Any = {"mode": "mig", "layout": "all-1g.10gb"}


@pytest.mark.parametrize(
    ("manager", "pool", "waits"),
    [
        ("gpuOperator", POOL, True),
        ("devicePlugin", POOL, False),
        ("devicePlugin", {**POOL, "wait_for_driver": True}, True),
        ("gpuOperator", {**POOL, "wait_for_driver": False}, False),
        ("gpuOperator", {**POOL, "ami_family": "bottlerocket"}, False),
        ("gpuOperator", {"instance_types": ["p5.48xlarge"], "sharing": MIG}, False),
        (
            "gpuOperator",
            {"instance_types": ["p5.48xlarge"], "sharing": {**MIG, "apply": "migManager"}},
            True,
        ),
    ],
)
def test_kubelet_waits_for_the_driver_on_nodes_of_the_operator(
    environment: Callable[..., Run],
    manager: str,
    pool: Any,
    waits: bool,
) -> None:
    made = environment(gpu_stack={"manager": manager}, pools={"gpu": pool})
    data = made.inputs("LaunchTemplate", "demo-gpu-template").get("userData") or ""

    assert ("eks-gpushare-driver" in base64.b64decode(data).decode()) == waits


def test_a_cluster_that_is_there_may_have_no_host_engine(environment: Callable[..., Run]) -> None:
    made = environment(
        cluster={"existing": {"name": "there"}},
        network=None,
        cluster_facts=FACTS,
        gpu_stack={"manager": "gpuOperator"},
        pools={"gpu": POOL},
    )

    exporter = made.inputs("Release")["values"]["dcgmExporter"]
    assert exporter == {"serviceMonitor": {"enabled": False}}


@pytest.mark.parametrize("preview", [True, False])
def test_the_kubeconfig_is_a_secret(environment: Callable[..., Run], preview: bool) -> None:
    outputs = environment(preview=preview).one("GpuSharingEnvironment").outputs

    assert isinstance(outputs["kubeconfig"], Secret)


def test_the_cluster_s_provider_reaches_every_kubernetes_object(
    environment: Callable[..., Run],
) -> None:
    made = environment()

    provider = made.one("kubernetes", "demo-cluster-kubernetes").urn
    objects = [each for each in made if each.type.startswith("kubernetes:")]
    assert {each.provider for each in objects} == {provider}


def test_a_provider_of_the_caller_reaches_every_aws_resource(record: Callable[..., Run]) -> None:
    def program() -> None:
        import pulumi
        import pulumi_aws as aws

        from eks_gpushare import GpuSharingEnvironment

        oregon = aws.Provider("oregon", region="us-west-2")
        GpuSharingEnvironment(
            "demo",
            {
                "cluster": {"name": "demo", "version": "1.35"},
                "network": {"zones": ["us-west-2a", "us-west-2b"]},
                "pools": {"gpu": POOL},
                "region": "us-west-2",
            },
            pulumi.ResourceOptions(providers=[oregon]),
        )

    made = record(program)

    provider = made.one("aws", "oregon").urn
    ours = [each for each in made if each.type.startswith("aws:") and not each.assumed]
    assert {each.provider for each in ours} == {provider}


def test_pools_are_outputs_that_workloads_can_be_written_from(
    environment: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    outputs = environment().one("GpuSharingEnvironment").outputs

    text = json.dumps(plain(outputs["pools"]), indent=2)
    golden("components/environment.pools.json", text + "\n")


def test_a_warning_is_given_once_and_on_the_environment(environment: Callable[..., Run]) -> None:
    retired = {**POOL, "instance_types": ["p3.8xlarge"], "sharing": {"mode": "exclusive"}}

    made = environment(cluster={**CLUSTER, "admins": [ADMIN]}, pools={"gpu": retired})

    assert made.warnings == [
        (
            "demo",
            (
                "GPU104 pools.gpu.instance_types[0]: EC2 offers p3.8xlarge (4 x V100) in no "
                "region any more. Types with 4 GPUs are g4dn.12xlarge, g6.12xlarge, g5.12xlarge, "
                "g6.24xlarge."
            ),
        )
    ]


def test_a_warning_of_a_pool_alone_is_on_the_pool(gpu_pool: Callable[..., Run]) -> None:
    made = gpu_pool(instance_types=["p3.8xlarge"], sharing={"mode": "exclusive"})

    assert made.warnings == [
        (
            "demo",
            (
                "GPU104 instance_types[0]: EC2 offers p3.8xlarge (4 x V100) in no region "
                "any more. Types with 4 GPUs are g4dn.12xlarge, g6.12xlarge, g5.12xlarge, "
                "g6.24xlarge."
            ),
        )
    ]


def test_replicas_change_the_config_map_and_the_release_alone(
    environment: Callable[..., Run],
) -> None:
    before = environment()
    after = environment(pools={"gpu": {**POOL, "sharing": {"mode": "timeSlicing", "replicas": 3}}})

    assert after.changed_from(before) == {
        "ConfigMap demo-device-plugin-config",
        "DevicePlugin demo-device-plugin",
        "GpuPool demo-gpu",
        "GpuSharingEnvironment demo",
        "Release demo-device-plugin-release",
    }


def test_a_further_pool_changes_nothing_about_the_others(environment: Callable[..., Run]) -> None:
    before = environment()
    after = environment(pools={"gpu": POOL, "big": {**POOL, "instance_types": ["g6.12xlarge"]}})

    touched = {each for each in after.changed_from(before) if "demo-big" not in each}
    assert touched == {
        "ConfigMap demo-device-plugin-config",
        "DeletionProtection demo-deletion-protection",  # what it depends on
        "DevicePlugin demo-device-plugin",
        "GpuSharingEnvironment demo",
        "Release demo-device-plugin-release",
    }


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("manager", ["devicePlugin", "gpuOperator"])
def test_a_new_clusters_environment_guards_all_that_does_not_protect_itself(
    environment: Callable[..., Run], manager: str, protected: bool
) -> None:
    made = environment(
        cluster={
            "name": "demo",
            "version": "1.35",
            "admins": ["arn:aws:iam::111122223333:role/Platform"],
            "addons": {"ebs_csi": True},
            "deletion_protection": protected,
        },
        gpu_stack={"manager": manager},
        pools={"gpu": {**POOL, "zones": ["us-west-2a"], "placement_group": True}},
    )

    guard = made.one("DeletionProtection")
    guarded = {each.urn for each in made if each.custom and not each.assumed and not each.protect}
    assert guard.protect is protected
    assert guarded <= set(guard.dependencies)


def test_on_an_existing_cluster_nothing_is_guarded(environment: Callable[..., Run]) -> None:
    existing = {"existing": {"kubeconfig": "kubeconfig"}}
    pools = {"gpu": {**POOL, "provisioner": "existing"}}

    made = environment(cluster=existing, network=None, pools=pools, kubeconfig="{}")

    assert made.all("DeletionProtection") == []


def test_a_further_zone_changes_no_pool_that_is_pinned(environment: Callable[..., Run]) -> None:
    pinned = {"gpu": {**POOL, "zones": ["us-west-2a"]}}
    system = {"zones": ["us-west-2a", "us-west-2b"]}
    zones = ["us-west-2a", "us-west-2b"]
    before = environment(pools=pinned, system=system, network={"zones": zones})
    after = environment(pools=pinned, system=system, network={"zones": [*zones, "us-west-2c"]})

    touched = {each for each in after.changed_from(before) if "us-west-2c" not in each}
    assert touched == {
        "Cluster demo-cluster-eks",  # the control plane's subnets
        "Cluster demo-cluster-eks-eksCluster",
        "DeletionProtection demo-deletion-protection",  # what it depends on
        "GpuSharingEnvironment demo",
        "Network demo-network",
        "VpcEndpoint demo-network-s3",
    }


def test_the_arguments_are_not_changed(record: Callable[..., Run]) -> None:
    args: dict[str, Any] = {
        "cluster": {"name": "demo", "version": "1.35"},
        "network": {"zones": 2},
        "pools": {"gpu": copy.deepcopy(POOL)},
        "availability_zones": ["us-west-2c", "us-west-2b", "us-west-2a"],
        "region": "us-west-2",
    }
    before = copy.deepcopy(args)

    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment

        GpuSharingEnvironment("demo", args)  # type: ignore[arg-type]  # plain data

    record(program)

    assert args == before


def test_a_number_of_zones_takes_the_first_of_those_known(environment: Callable[..., Run]) -> None:
    known = ["us-west-2c", "us-west-2b", "us-west-2a"]

    made = environment(network={"zones": 2}, availability_zones=known)

    assert made.inputs("Network")["zones"] == ["us-west-2a", "us-west-2b"]


def test_zones_that_come_up_later_do_not_show_the_environment_as_changed(
    environment: Callable[..., Run],
) -> None:
    before = environment(network={"zones": 2}, availability_zones=["us-west-2a", "us-west-2b"])
    after = environment(
        network={"zones": 2}, availability_zones=["us-west-2a", "us-west-2b", "us-west-2c"]
    )

    assert after.changed_from(before) == set()


def test_an_existing_network_is_used_as_it_is(environment: Callable[..., Run]) -> None:
    network = {"vpc_id": "vpc-7c1f29d6", "private_subnet_ids": SUBNETS}

    made = environment(network=network)

    assert made.all("Vpc") == []
    assert made.inputs("NodeGroup", "demo-gpu")["subnetIds"] == SUBNETS
    plane = next(each for each in made.all("Cluster") if each.type == "eks:index:Cluster")
    assert plane.inputs["privateSubnetIds"] == SUBNETS
    assert "publicSubnetIds" not in plane.inputs


def test_a_pool_in_an_existing_network_can_name_its_subnets(
    environment: Callable[..., Run],
) -> None:
    network = {"vpc_id": "vpc-7c1f29d6", "private_subnet_ids": SUBNETS}

    made = environment(network=network, pools={"gpu": {**POOL, "subnet_ids": SUBNETS[1:]}})

    assert made.inputs("NodeGroup", "demo-gpu")["subnetIds"] == SUBNETS[1:]


def test_an_existing_cluster_by_name(
    environment: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    made = environment(
        cluster={"existing": {"name": "there"}}, network=None, cluster_facts=FACTS, profile="ops"
    )

    golden("components/environment.existing-by-name.json", made.text())


def test_the_kubeconfig_of_an_existing_cluster_asks_aws_for_a_token(
    environment: Callable[..., Run], golden: Callable[[str, str], None]
) -> None:
    made = environment(
        cluster={"existing": {"name": "there"}}, network=None, cluster_facts=FACTS, profile="ops"
    )

    kubeconfig = made.one("GpuSharingEnvironment").outputs["kubeconfig"]
    golden("components/environment.existing-by-name.kubeconfig", str(plain(kubeconfig)) + "\n")


def test_an_existing_cluster_by_kubeconfig_touches_nothing_in_aws(
    environment: Callable[..., Run],
) -> None:
    made = environment(
        cluster={"existing": {"kubeconfig": "config", "context": "edge"}},
        network=None,
        region=None,
        kubeconfig=KUBECONFIG,
        pools={"edge": {**POOL, "provisioner": "existing"}},
    )

    assert [each.type for each in made if each.type.startswith(("aws:", "eks:"))] == []
    assert made.urns == [
        (
            "eks-gpushare:index:GpuSharingEnvironment$eks-gpushare:index:DevicePlugin$"
            "kubernetes:core/v1:ConfigMap::demo-device-plugin-config"
        ),
        (
            "eks-gpushare:index:GpuSharingEnvironment$eks-gpushare:index:DevicePlugin$"
            "kubernetes:core/v1:Namespace::demo-device-plugin-namespace"
        ),
        (
            "eks-gpushare:index:GpuSharingEnvironment$eks-gpushare:index:DevicePlugin$"
            "kubernetes:helm.sh/v3:Release::demo-device-plugin-release"
        ),
        (
            "eks-gpushare:index:GpuSharingEnvironment$eks-gpushare:index:DevicePlugin::"
            "demo-device-plugin"
        ),
        "eks-gpushare:index:GpuSharingEnvironment$pulumi:providers:kubernetes::demo-kubernetes",
        "eks-gpushare:index:GpuSharingEnvironment::demo",
        "pulumi:pulumi:Stack::demo-test",
    ]


def test_a_kubeconfig_is_read_from_its_file(
    environment: Callable[..., Run], tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG, encoding="utf-8")

    made = environment(
        cluster={"existing": {"kubeconfig": str(file)}},
        network=None,
        pools={"edge": {**POOL, "provisioner": "existing"}},
    )

    given = made.one("kubernetes").inputs["kubeconfig"]
    assert (isinstance(given, Secret), plain(given)) == (True, KUBECONFIG)


def test_nodes_of_others_are_told_their_labels(environment: Callable[..., Run]) -> None:
    made = environment(pools={"gpu": POOL, "edge": {**POOL, "provisioner": "existing"}})

    outputs = plain(made.one("GpuSharingEnvironment").outputs["pools"])
    assert "nodeLabels" not in outputs["gpu"]
    assert outputs["edge"]["nodeLabels"] == {
        "eks-gpushare/pool": "edge",
        "nvidia.com/device-plugin.config": "edge",
        "nvidia.com/gpu.present": "true",
    }


def test_the_device_plugin_leaves_before_its_nodes(environment: Callable[..., Run]) -> None:
    assert {"demo-gpu", "demo-system"} <= set(environment().depends("DevicePlugin"))


def test_nodes_do_not_wait_for_coredns(environment: Callable[..., Run]) -> None:
    """CoreDNS gets healthy on nodes: waiting for it would be a deadlock."""
    made = environment()
    by_urn = {each.urn: each for each in made}

    for group in made.all("NodeGroup"):
        waiting, seen = [group.urn], set()
        while waiting:
            urn = waiting.pop()
            if urn not in seen:
                seen.add(urn)
                waiting += by_urn[urn].dependencies
        assert not any(urn.endswith("coredns") for urn in seen)


def test_a_preview_registers_what_an_update_does(environment: Callable[..., Run]) -> None:
    assert environment(preview=False).urns == environment().urns
