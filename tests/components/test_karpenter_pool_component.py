from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

    from eks_gpushare.program.recording import Resource

KARPENTER = {"provisioner": "karpenter", "nodes": {"max": 4}}
SHARED = {"mode": "timeSlicing", "replicas": 4}
POOL = {**KARPENTER, "instance_types": ["g6.2xlarge"], "sharing": SHARED}
GROUP = {"instance_types": ["g6.2xlarge"], "sharing": SHARED}
ROLE = "arn:aws:iam::111122223333:role/teams/gpu-nodes"
FACTS = {
    "arn": "arn:aws:eks:us-west-2:111122223333:cluster/theirs",
    "endpoint": "https://ABCDEF.gr7.us-west-2.eks.amazonaws.com",
    "certificate_authority": "Q0E=",
    "version": "1.35",
    "vpc_id": "vpc-0a1b2c3d",
    "subnet_ids": ["subnet-0a", "subnet-0b"],
    "security_group_id": "sg-theirs",
    "service_cidr": "172.20.0.0/16",
}
THEIRS = {
    "cluster": {"existing": {"name": "theirs"}},
    "cluster_facts": FACTS,
    "network": None,
    "pools": {"gpu": {**POOL, "ami_version": "1.35.8-20260930"}},
}
OBJECTS = ("EC2NodeClass", "NodeOverlay", "NodePool")


def objects(run: Run) -> list[Resource]:
    return [each for kind in OBJECTS for each in run.all(kind)]


@pytest.mark.parametrize("mode", ["preview", "update"])
def test_a_pool_with_defaults(
    karpenter_pool: Callable[..., Run], golden: Callable[[str, str], None], mode: str
) -> None:
    golden(
        f"components/karpenter-pool.{mode}.json", karpenter_pool(preview=mode == "preview").text()
    )


def test_a_pool_is_told_of_its_nodes_before_it_is_there(karpenter_pool: Callable[..., Run]) -> None:
    """Else it would launch a node for each pod that waits, or none."""
    run = karpenter_pool(instance_types=["g6.2xlarge", "g6.12xlarge"])

    overlays = ["demo-overlay-g6.12xlarge", "demo-overlay-g6.2xlarge"]
    assert run.depends("NodePool") == ["demo-class", *overlays]


def test_karpenter_says_when_an_object_is_ready_and_when_it_is_gone(
    karpenter_pool: Callable[..., Run],
) -> None:
    for each in objects(karpenter_pool(preview=False)):
        assert each.inputs["metadata"]["annotations"] == {
            "pulumi.com/waitFor": "condition=Ready",
            "pulumi.com/deletionPropagationPolicy": "foreground",
        }
        assert each.options["customTimeouts"] == {"create": "10m", "update": "10m", "delete": "90m"}


def test_nodes_are_in_the_given_network_and_role(karpenter_pool: Callable[..., Run]) -> None:
    spec = karpenter_pool(preview=False).inputs("EC2NodeClass")["spec"]

    assert spec["role"] == "gpu-nodes"
    assert spec["subnetSelectorTerms"] == [{"id": "subnet-0a"}, {"id": "subnet-0b"}]
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-cluster"}]


def test_efa_brings_a_security_group_and_a_placement_group(
    karpenter_pool: Callable[..., Run],
) -> None:
    run = karpenter_pool(
        preview=False,
        instance_types=["p5.48xlarge"],
        sharing={"mode": "exclusive"},
        efa=True,
        placement_group=True,
        cluster_subnet_ids=["subnet-0a"],
        vpc_id="vpc-0a1b2c3d",
    )

    spec = run.inputs("EC2NodeClass")["spec"]
    assert spec["securityGroupSelectorTerms"] == [
        {"id": "sg-cluster"},
        {"id": run.one("SecurityGroup").id},
    ]
    assert spec["placementGroupSelector"] == {"name": run.one("PlacementGroup").outputs["name"]}


def test_a_pool_is_served_like_every_other(record: Callable[..., Run]) -> None:
    def program() -> None:
        import pulumi
        import pulumi_kubernetes

        from eks_gpushare import DevicePlugin, KarpenterPool

        provider = pulumi_kubernetes.Provider("cluster", kubeconfig="{}")
        opts = pulumi.ResourceOptions(providers=[provider])
        args: Any = {
            "pool": "gpu",
            "node_role_name": "gpu-nodes",
            "cluster_subnet_ids": ["subnet-0a"],
            "security_group_ids": ["sg-cluster"],
            "version": "1.35",
            "instance_types": ["g6.2xlarge"],
            "sharing": {"mode": "timeSlicing", "replicas": 2},
        }
        pool = KarpenterPool("gpu", args, opts)
        DevicePlugin("plugin", {"served": [pool.served]}, opts)

    run = record(program)
    assert list(run.inputs("ConfigMap")["data"]) == ["default", "gpu"]
    # Shares of such a pool have a name of their own unless it says otherwise.
    assert "renameByDefault: true" in run.inputs("ConfigMap")["data"]["gpu"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"node_role_name": None}, "node_role_name: node_role_name is required here."),
        ({"cluster_subnet_ids": []}, "cluster_subnet_ids: The list is empty."),
        (
            {"provisioner": "managedNodeGroup"},
            "provisioner: KarpenterPool makes nodes by Karpenter",
        ),
        ({"version": None}, "version: Neither version nor ami_version is given"),
        (
            {
                "instance_types": ["p5.48xlarge"],
                "sharing": {"mode": "exclusive"},
                "efa": True,
                "cluster_subnet_ids": ["subnet-0a"],
            },
            "vpc_id: vpc_id is required here",
        ),
        ({"instance_types": ["g6.2xlrge"]}, "instance_types[0]: "),
        ({"sharing": {"mode": "timeSlicing", "replicas": 1}}, "sharing.replicas: "),
    ],
)
def test_wrong_arguments_are_refused(
    karpenter_pool: Callable[..., Run], given: dict[str, Any], message: str
) -> None:
    assert message in karpenter_pool(fails=True, **given).error


def test_an_environment_without_karpenter_registers_nothing_of_it(
    environment: Callable[..., Run],
) -> None:
    assert not [each for each in environment() if "arpenter" in each.urn]


def test_an_environment_with_a_pool_has_karpenter(environment: Callable[..., Run]) -> None:
    run = environment(preview=False, pools={"gpu": POOL, "group": GROUP})

    assert [each.name for each in run.all("Karpenter")] == ["demo-karpenter"]
    assert [each.name for each in run.all("KarpenterPool")] == ["demo-gpu"]
    assert [each.name for each in run.all("GpuPool")] == ["demo-group"]
    spec = run.inputs("EC2NodeClass")["spec"]
    assert spec["role"] == run.one("Role", "demo-karpenter-node").outputs["name"]
    assert spec["securityGroupSelectorTerms"] == [
        {"id": run.one("EksCluster").outputs["securityGroupId"]}
    ]


def test_network_and_security_group_are_found_by_node_classes_of_ones_own(
    environment: Callable[..., Run],
) -> None:
    def tagged(run: Run) -> dict[str, str]:
        found = {each.name: each.inputs.get("tags", {}) for each in run.all("Subnet")}
        return {
            name: tags["karpenter.sh/discovery"] for name, tags in found.items() if len(tags) > 2
        }

    run = environment(preview=False, pools={"gpu": POOL})
    private = ("demo-network-private-us-west-2a", "demo-network-private-us-west-2b")
    assert tagged(run) == dict.fromkeys(private, "demo")
    assert run.inputs("Tag") == {
        "key": "karpenter.sh/discovery",
        "resourceId": run.one("EksCluster").outputs["securityGroupId"],
        "value": "demo",
    }

    without = environment(preview=False)
    assert tagged(without) == {}
    assert without.all("Tag") == environment(preview=False, **THEIRS).all("Tag") == []


def test_karpenter_without_a_pool_is_installed_where_it_is_asked_for(
    environment: Callable[..., Run],
) -> None:
    run = environment(karpenter={"replicas": 1})

    assert len(run.all("Karpenter")) == 1
    assert objects(run) == []


GATES = [
    ({}, {"nodeOverlay": True, "staticCapacity": False}),
    ({"sharing": {"mode": "exclusive"}}, {"nodeOverlay": False, "staticCapacity": False}),
    (
        {"nodes": {"desired": 2, "max": 4}, "karpenter": {"static": True}},
        {"nodeOverlay": True, "staticCapacity": True},
    ),
]


@pytest.mark.parametrize(("changes", "gates"), GATES)
def test_feature_gates_are_those_that_the_pools_use(
    environment: Callable[..., Run], changes: dict[str, Any], gates: dict[str, bool]
) -> None:
    run = environment(pools={"gpu": {**POOL, **changes}})

    values = run.inputs("Release", "demo-karpenter-release")["values"]
    assert values["settings"]["featureGates"].items() >= gates.items()


def deleted_after(run: Run, name: str) -> set[str]:
    """Names of all that is deleted after a resource: what it rests on, whatever the way.

    A resource rests on its dependencies, its provider and its parent.
    """
    by_urn = {each.urn: each for each in run}
    wanted = [each.urn for each in run if each.name == name and each.custom]
    seen: set[str] = set()
    while wanted:
        resource = by_urn[wanted.pop()]
        provider = (resource.provider or "").rpartition("::")[0]
        for urn in (*resource.dependencies, resource.parent, provider):
            if urn in by_urn and urn not in seen:
                seen.add(urn)
                wanted.append(urn)
    return {by_urn[urn].name for urn in seen}


def test_a_pool_and_its_nodes_go_before_all_that_ends_them(environment: Callable[..., Run]) -> None:
    run = environment(preview=False, pools={"gpu": POOL, "group": GROUP})
    # What a plugin builds below its component, the engine knows alone: tests/engine asks it.
    everything = {each.name for each in run if each.custom and "eks:index:Cluster$" not in each.urn}

    assert everything - {"demo-gpu"} - deleted_after(run, "demo-gpu") == set()


def test_the_controller_goes_before_what_it_needs(environment: Callable[..., Run]) -> None:
    run = environment(preview=False, pools={"gpu": POOL})
    later = deleted_after(run, "demo-karpenter-release")

    for needed in (
        "demo-karpenter-crds",
        "demo-karpenter-node",
        "demo-karpenter-controller-node-lifecycle",
        "demo-karpenter-interruptions",
        "demo-cluster-pod-identity-agent",
        "demo-cluster-coredns",
        "demo-cluster-eks-eksCluster",
        "demo-system",
        "demo-network-private-us-west-2a-nat",
    ):
        assert needed in later, needed
    # The plugin serves nodes until they are drained, and needs no Karpenter.
    assert "demo-device-plugin-release" not in later


def test_protection_stands_before_karpenter_too(environment: Callable[..., Run]) -> None:
    run = environment(preview=False, pools={"gpu": POOL})

    assert {"demo-gpu", "demo-karpenter-release"} <= set(run.depends("DeletionProtection"))


def test_an_existing_cluster(environment: Callable[..., Run]) -> None:
    run = environment(preview=False, **THEIRS)

    spec = run.inputs("EC2NodeClass")["spec"]
    assert spec["subnetSelectorTerms"] == [{"id": "subnet-0a"}, {"id": "subnet-0b"}]
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-theirs"}]
    assert run.inputs("Release", "demo-karpenter-release")["values"]["settings"]["clusterName"] == (
        "theirs"
    )


def test_the_karpenter_of_an_existing_cluster_is_used_as_it_is(
    environment: Callable[..., Run],
) -> None:
    run = environment(preview=False, **THEIRS, karpenter={"install": False, "node_role": ROLE})

    assert run.all("Karpenter") == run.all("Queue") == run.all("AccessEntry") == []
    assert run.inputs("EC2NodeClass")["spec"]["role"] == "gpu-nodes"


@pytest.mark.parametrize(
    ("pools", "system", "entries"),
    [
        ({"gpu": POOL}, None, 1),
        ({"gpu": POOL, "group": {**GROUP, "node_role": ROLE}}, None, 0),
        ({"gpu": POOL}, {"node_role": ROLE}, 0),
    ],
)
def test_eks_makes_the_access_entry_of_a_node_groups_role(
    environment: Callable[..., Run], pools: dict[str, Any], system: Any, entries: int
) -> None:
    run = environment(pools=pools, system=system, karpenter={"node_role": ROLE})

    assert len(run.all("AccessEntry")) == entries


def test_a_pool_in_one_zone_is_in_its_subnet(environment: Callable[..., Run]) -> None:
    pool = {**POOL, "zones": ["us-west-2b"]}
    run = environment(preview=False, pools={"gpu": pool})

    subnet = run.one("Subnet", "demo-network-private-us-west-2b").id
    assert run.inputs("EC2NodeClass")["spec"]["subnetSelectorTerms"] == [{"id": subnet}]
    zones = run.inputs("NodePool")["spec"]["template"]["spec"]["requirements"]
    assert {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2b"]} in (
        zones
    )


def test_what_has_to_run_on_every_gpu_node_tolerates_the_pools_taints(
    environment: Callable[..., Run],
) -> None:
    taint = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
    run = environment(
        preview=False,
        pools={
            "gpu": {
                **POOL,
                "instance_types": ["p5.48xlarge"],
                "sharing": {"mode": "exclusive"},
                "zones": ["us-west-2b"],
                "efa": True,
                "taints": [taint],
            }
        },
    )

    agent = run.inputs("Addon", "demo-cluster-node-monitoring-agent")["configurationValues"]
    efa = run.inputs("Release", "demo-efa-device-plugin-release")["values"]["tolerations"]
    plugin = run.inputs("Release", "demo-device-plugin-release")["values"]["tolerations"]
    assert "dedicated" in agent
    assert "dedicated" in {each["key"] for each in efa} & {each["key"] for each in plugin}


def test_nodes_wait_for_the_driver_with_the_operator(environment: Callable[..., Run]) -> None:
    run = environment(preview=False, pools={"gpu": POOL}, gpu_stack={"manager": "gpuOperator"})

    assert "eks-gpushare-driver" in run.inputs("EC2NodeClass")["spec"]["userData"]


def test_a_cluster_known_by_its_kubeconfig_has_no_karpenter(
    environment: Callable[..., Run], tmp_path: Any
) -> None:
    (tmp_path / "config").write_text("{}")
    given = {"cluster": {"existing": {"kubeconfig": str(tmp_path / "config")}}, "network": None}
    run = environment(fails=True, **given, pools={"gpu": POOL}, karpenter={})

    assert "pools.gpu.provisioner: karpenter makes nodes in AWS" in run.error
    assert "karpenter: The stack makes nothing in AWS" in run.error
