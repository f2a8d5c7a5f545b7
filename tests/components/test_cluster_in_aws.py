"""What a cluster's keys about AWS come to: partitions, roles, admins, logs, add-ons."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.program.values import UNKNOWN, is_unknown, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.components.conftest import Run

ADMIN = "arn:aws:iam::111122223333:role/team/Platform"
CALLER = "arn:aws:sts::111122223333:assumed-role/Platform/me@example.com"
BOUNDARY = "arn:aws:iam::111122223333:policy/Boundary"
POLICY = "arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"
OBSERVABILITY = "amazon-cloudwatch-observability"
POOL: dict[str, Any] = {"instance_types": ["g6.2xlarge"], "sharing": {"mode": "exclusive"}}


def control_plane(run: Run) -> dict[str, Any]:
    """Inputs of the EKS cluster itself."""
    found = next(each for each in run.all("Cluster") if each.type == "aws:eks/cluster:Cluster")
    return run.inputs("Cluster", found.name)


def addon(run: Run, name: str) -> dict[str, Any]:
    return next(
        run.inputs("Addon", each.name)
        for each in run.all("Addon")
        if each.inputs["addonName"] == name
    )


def values(run: Run, name: str) -> Any:
    return json.loads(addon(run, name)["configurationValues"])


@pytest.mark.parametrize(
    ("more", "bootstraps"),
    [
        ({}, True),
        ({"creator": CALLER}, True),
        ({"admins": [ADMIN]}, True),
        ({"admins": [ADMIN], "creator": CALLER.replace("Platform", "Pipeline")}, True),
        ({"admins": [ADMIN], "creator": CALLER}, False),
    ],
)
def test_a_creator_has_one_entry(
    cluster: Callable[..., Run], more: dict[str, Any], bootstraps: bool
) -> None:
    made = cluster(**more)
    access = control_plane(made)["accessConfig"]

    assert access == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": bootstraps,
    }
    assert [each.inputs["principalArn"] for each in made.all("AccessEntry")] == more.get(
        "admins", []
    )


def test_who_runs_the_program_stands_in_no_component(cluster: Callable[..., Run]) -> None:
    made = cluster(admins=[ADMIN], creator=CALLER, profile="team")

    assert not {"creator", "profile"} & made.inputs("EksCluster").keys()


def test_the_provider_logs_in_with_the_profile_and_others_do_not(
    cluster: Callable[..., Run],
) -> None:
    made = cluster(preview=False, profile="team")
    given = plain(made.one("kubernetes", "demo-kubernetes").inputs["kubeconfig"])
    exported = plain(made.one("EksCluster").outputs["kubeconfig"])

    assert environment_of(given)["AWS_PROFILE"] == "team"
    assert "AWS_PROFILE" not in environment_of(exported)


def test_without_a_profile_the_provider_has_the_kubeconfig_of_eks_cluster(
    cluster: Callable[..., Run],
) -> None:
    made = cluster(preview=False)
    given = plain(made.one("kubernetes", "demo-kubernetes").inputs["kubeconfig"])

    component = next(each for each in made.all("Cluster") if each.type == "eks:index:Cluster")
    assert given == plain(component.outputs["kubeconfigJson"])


def environment_of(kubeconfig: Any) -> dict[str, str]:
    (user,) = json.loads(kubeconfig)["users"]
    return {each["name"]: each["value"] for each in user["user"]["exec"]["env"]}


def test_a_profile_reaches_the_provider_of_a_stack(environment: Callable[..., Run]) -> None:
    made = environment(preview=False, profile="team")
    given = plain(made.one("kubernetes", "demo-cluster-kubernetes").inputs["kubeconfig"])

    assert environment_of(given)["AWS_PROFILE"] == "team"


def arns(run: Run) -> set[str]:
    """Every ARN that an input names as a text of its own."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                look(inner)
        elif isinstance(value, str) and value.startswith("arn:"):
            found.add(value)

    for each in run:
        look(run.inputs(each.type.rpartition(":")[2], each.name) if each.custom else {})
    return found


@pytest.mark.parametrize(
    ("region", "partition", "ec2"),
    [
        ("us-west-2", "aws", "ec2.amazonaws.com"),
        ("us-gov-west-1", "aws-us-gov", "ec2.amazonaws.com"),
        ("cn-north-1", "aws-cn", "ec2.amazonaws.com.cn"),
    ],
)
@pytest.mark.parametrize("preview", [True, False])
def test_a_stack_stays_in_its_partition(
    record: Callable[..., Run], region: str, partition: str, ec2: str, preview: bool
) -> None:
    args: dict[str, Any] = {
        "cluster": {
            "name": "demo",
            "version": "1.35",
            "admins": [f"arn:{partition}:iam::111122223333:role/Platform"],
            "addons": {"ebs_csi": True},
        },
        "network": {"zones": [f"{region}a", f"{region}b"], "flow_logs": True},
        "pools": {"gpu": POOL},
        "region": region,
    }

    def program() -> None:
        from eks_gpushare import GpuSharingEnvironment

        GpuSharingEnvironment("demo", args)  # type: ignore[arg-type]  # a plain dictionary

    made = record(program, preview=preview, config={"aws:region": region})
    trusted = {
        json.loads(role.inputs["assumeRolePolicy"])["Statement"][0]["Principal"]["Service"]
        for role in made.all("Role")
        if not role.assumed
    }

    assert {arn.split(":")[1] for arn in arns(made)} == {partition}
    assert trusted == {ec2, "pods.eks.amazonaws.com", "vpc-flow-logs.amazonaws.com"}


@pytest.mark.parametrize("component", ["GpuPool", "SystemNodes"])
def test_nodes_that_stand_alone_are_in_the_partition_of_the_region(
    record: Callable[..., Run], component: str
) -> None:
    def program() -> None:
        import eks_gpushare

        nodes: dict[str, Any] = {"cluster_name": "demo"}
        subnets = ["subnet-0a", "subnet-0b"]
        pool = {**nodes, "pool": "gpu", "cluster_subnet_ids": subnets, **POOL}
        args = pool if component == "GpuPool" else {**nodes, "subnet_ids": subnets}
        getattr(eks_gpushare, component)("found", args)
        getattr(eks_gpushare, component)("told", {**args, "partition": "aws-cn"})

    made = record(program, config={"aws:region": "us-gov-west-1"})
    policies = [each.inputs["policyArn"] for each in made.all("RolePolicyAttachment")]

    assert sorted({each.split(":")[1] for each in policies}) == ["aws-cn", "aws-us-gov"]


def test_boundary_and_path_reach_every_role(environment: Callable[..., Run]) -> None:
    made = environment(
        cluster={
            "name": "demo",
            "version": "1.35",
            "addons": {
                "ebs_csi": True,
                "by_name": {OBSERVABILITY: {"pod_identity": {"agent": {"policy_arns": [POLICY]}}}},
            },
        },
        network={"zones": ["us-west-2a", "us-west-2b"], "flow_logs": True},
        iam={"permissions_boundary": BOUNDARY, "path": "/team/"},
    )
    roles = {each.name: made.inputs("Role", each.name) for each in made.all("Role")}

    assert sorted(roles) == [
        f"demo-cluster-addon-{OBSERVABILITY}-agent",
        "demo-cluster-ebs-csi",
        "demo-cluster-eks-eksRole-role",
        "demo-gpu-role",
        "demo-network-flow-logs",
        "demo-system-role",
    ]
    assert {(r["permissionsBoundary"], r["path"]) for r in roles.values()} == {(BOUNDARY, "/team/")}


def test_the_control_plane_keeps_its_role_when_the_path_changes(
    cluster: Callable[..., Run],
) -> None:
    made = cluster(iam={"path": "/team/"})

    assert made.one("Role", "demo-eks-eksRole-role").options["ignoreChanges"] == ["path"]


def test_without_settings_roles_have_none(environment: Callable[..., Run]) -> None:
    for each in environment().all("Role"):
        assert not {"permissionsBoundary", "path"} & each.inputs.keys()


def test_a_log_group_is_there_before_the_cluster(cluster: Callable[..., Run]) -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    made = cluster(log_retention_days=90, log_key_arn=key, tags={"team": "a"})

    assert made.inputs("LogGroup") == {
        "name": "/aws/eks/demo/cluster",
        "retentionInDays": 90,
        "kmsKeyId": key,
        "tags": {"team": "a"},
    }
    component = next(each for each in made.all("Cluster") if each.type == "eks:index:Cluster")
    assert made.one("LogGroup").urn in component.dependencies


def test_nobody_gets_a_log_group_unasked(cluster: Callable[..., Run]) -> None:
    """A cluster that ran before has one of EKS's own, and AWS makes no second."""
    assert cluster().all("LogGroup") == []


def test_any_add_on_has_its_version_values_and_roles(cluster: Callable[..., Run]) -> None:
    existing = "arn:aws:iam::111122223333:role/There"
    given = {
        "version": "v4.5.0-eksbuild.1",
        "values": {"agent": {"interval": 60}},
        "pod_identity": {"agent": {"policy_arns": [POLICY]}, "other": {"role_arn": existing}},
    }
    made = cluster(preview=False, addons={"by_name": {OBSERVABILITY: given}})
    name = f"demo-addon-{OBSERVABILITY}"

    assert made.inputs("Addon", name) == {
        "addonName": OBSERVABILITY,
        "addonVersion": "v4.5.0-eksbuild.1",
        "clusterName": "demo",
        "configurationValues": '{"agent": {"interval": 60}}',
        "podIdentityAssociations": [
            {
                "roleArn": made.one("Role", f"{name}-agent").outputs["arn"],
                "serviceAccount": "agent",
            },
            {"roleArn": existing, "serviceAccount": "other"},
        ],
        "resolveConflictsOnCreate": "OVERWRITE",
        "resolveConflictsOnUpdate": "OVERWRITE",
    }
    attached = f"{name}-agent-CloudWatchAgentServerPolicy"
    assert made.inputs("RolePolicyAttachment", attached)["policyArn"] == POLICY
    assert attached in made.depends("Addon", name)


def test_an_add_on_without_a_version_leaves_it_to_eks(cluster: Callable[..., Run]) -> None:
    made = cluster(addons={"by_name": {"snapshot-controller": {}}})

    assert "addonVersion" not in addon(made, "snapshot-controller")
    assert "configurationValues" not in addon(made, "snapshot-controller")


def test_what_is_said_of_an_own_add_on_comes_over_its_values(cluster: Callable[..., Run]) -> None:
    said = {
        "coredns": {"values": {"replicaCount": 3}},
        "eks-node-monitoring-agent": {"values": {"dcgmAgent": {"resources": {}}}},
        "kube-proxy": {"version": "v1.35.99-eksbuild.1", "values": {"mode": "ipvs"}},
        "vpc-cni": {"values": {"env": {"WARM_ENI_TARGET": "2"}, "nodeAgent": {}}},
    }
    made = cluster(addons={"by_name": said})
    agent = values(made, "eks-node-monitoring-agent")["dcgmAgent"]

    assert values(made, "coredns") == {"replicaCount": 3}
    assert (agent["resources"], len(agent["tolerations"])) == ({}, 1)
    assert values(made, "kube-proxy") == {"mode": "ipvs"}
    assert addon(made, "kube-proxy")["addonVersion"] == "v1.35.99-eksbuild.1"
    assert values(made, "vpc-cni")["env"]["WARM_ENI_TARGET"] == "2"
    assert values(made, "vpc-cni")["nodeAgent"] == {}


def test_prefixes_are_asked_of_vpc_cni(cluster: Callable[..., Run]) -> None:
    given = values(cluster(addons={"prefix_delegation": True}), "vpc-cni")["env"]

    assert given["ENABLE_PREFIX_DELEGATION"] == "true"
    assert given["WARM_PREFIX_TARGET"] == "1"


def test_values_that_are_no_json_are_refused(cluster: Callable[..., Run]) -> None:
    made = cluster(fails=True, addons={"by_name": {"adot": {"values": {"at": object()}}}})

    assert "addons.by_name.adot.values: The values are not JSON: " in made.error


def test_a_preview_does_not_know_the_security_group_of_a_new_cluster(
    environment: Callable[..., Run],
) -> None:
    """Unknown is not absent: interfaces with EFA are in that group and their own."""
    efa = {"instance_types": ["p4d.24xlarge"], "zones": ["us-west-2a"], "efa": True}
    made = environment(pools={"gpu": {**efa, "sharing": {"mode": "exclusive"}}})
    template = made.one("LaunchTemplate", "demo-gpu-template").inputs

    for interface in template["networkInterfaces"]:
        assert is_unknown(interface["securityGroups"]) or all(
            group is UNKNOWN or is_unknown(group) for group in interface["securityGroups"]
        )
