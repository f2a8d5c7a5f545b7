from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
import pytest

from eks_gpushare.program.fakes.fakes import Fakes, default_fakes
from eks_gpushare.program.fakes.types import Component
from eks_gpushare.program.run import run_program
from eks_gpushare.program.values import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.fakes.types import Plan
    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare.program.run import Program
    from eks_gpushare.program.values import Properties

pytestmark = pytest.mark.sdk_internals


def record(
    program: Program,
    *,
    preview: bool = True,
    config: Mapping[str, str] | None = None,
    fakes: Fakes | None = None,
) -> Recording:
    recording = run_program(
        program,
        project="demo",
        stack="dev",
        config={"aws:region": "us-west-2"} if config is None else config,
        preview=preview,
        fakes=fakes,
    )
    assert recording.error is None, recording.error.traceback or str(recording.error)
    return recording


def failing(program: Program) -> str:
    recording = run_program(program, project="demo", stack="dev", config={})
    assert recording.error is not None
    return recording.error.text


NODE_RULES = (
    "eksNodeIngressRule",
    "eksNodeClusterIngressRule",
    "eksExtApiServerClusterIngressRule",
    "eksNodeInternetEgressRule",
    "eksClusterIngressRule",
)


def cluster(**options: Any) -> eks.Cluster:
    arguments: dict[str, Any] = {
        "vpc_id": "vpc-1",
        "private_subnet_ids": ["subnet-1", "subnet-2"],
        "skip_default_node_group": True,
        "authentication_mode": eks.AuthenticationMode.API,
        "version": "1.35",
    }
    return eks.Cluster("gpu", **{**arguments, **options})


def named(recording: Recording, name: str, kind: str = "") -> Resource:
    found = [r for r in recording.resources if r.name == name and r.type.endswith(kind)]
    assert len(found) == 1
    return found[0]


def test_zones_are_assumed_from_the_stacks_region() -> None:
    recording = record(lambda: pulumi.export("zones", aws.get_availability_zones().names))

    assert recording.outputs == {"zones": ["us-west-2a", "us-west-2b", "us-west-2c"]}
    assert recording.assumptions == [
        (
            "Region us-west-2 is taken to have the zones us-west-2a, us-west-2b, us-west-2c. Which "
            "IDs these have in an account is not known, so what depends on them is not checked."
        )
    ]


def test_zones_are_assumed_from_an_explicit_providers_region() -> None:
    def program() -> None:
        provider = aws.Provider("aws", region="eu-central-1")
        options = pulumi.InvokeOptions(provider=provider)
        pulumi.export("zones", aws.get_availability_zones(opts=options).names)

    assert record(program).outputs == {"zones": ["eu-central-1a", "eu-central-1b", "eu-central-1c"]}


def test_zones_without_a_region_are_refused() -> None:
    assert failing(aws.get_availability_zones) == (
        "the stack names no AWS region: set `aws:region` in its config, `region` on a provider, or "
        "AWS_REGION in the environment of this command"
    )


def test_an_existing_cluster_is_assumed_and_said_to_be() -> None:
    def program() -> None:
        found = aws.eks.get_cluster(name="mine")
        pulumi.export("arn", found.arn)
        pulumi.export("vpc", found.vpc_config.vpc_id)

    recording = record(program)

    assert recording.outputs == {
        "arn": "arn:aws:eks:us-west-2:111122223333:cluster/mine",
        "vpc": "vpc-assumed",
    }
    assert recording.assumptions == [
        (
            "EKS cluster 'mine' is taken to exist in us-west-2 with Kubernetes 1.35 and API"
            " authentication; its endpoint, ARN and network are made up."
        ),
    ]


def test_the_caller_and_the_partition_are_answered() -> None:
    def program() -> None:
        pulumi.export("account", aws.get_caller_identity().account_id)
        pulumi.export("partition", aws.get_partition().partition)
        pulumi.export("region", aws.get_region().region)

    assert record(program, config={"aws:region": "cn-north-1"}).outputs == {
        "account": "111122223333",
        "partition": "aws-cn",
        "region": "cn-north-1",
    }


def test_an_unprepared_function_is_refused_by_its_token() -> None:
    assert failing(lambda: aws.s3.get_bucket(bucket="models")) == (
        "the function 'aws:s3/getBucket:getBucket' has no fake, so its answer cannot be known "
        "without its provider. Put what it would answer into a file and name that with --answers "
        "FILE:\n\n"
        "functions:\n"
        "  aws:s3/getBucket:getBucket:\n"
        "  - args:\n"
        "      bucket: models\n"
        "    result:\n"
        "      arn: '...'\n"
        "      bucket: '...'\n"
        "      bucketDomainName: '...'\n"
        "      bucketRegion: '...'\n"
        "      bucketRegionalDomainName: '...'\n"
        "      hostedZoneId: '...'\n"
        "      id: '...'\n"
        "      region: '...'\n"
        "      websiteDomain: '...'\n"
        "      websiteEndpoint: '...'\n"
        "\nLeave out what the program does not read. `pulumi preview` asks the provider."
    )


def test_an_unprepared_component_is_refused_by_its_token() -> None:
    def program() -> None:
        pulumi.ComponentResource("demo:index:Network", "net", {"vpcId": None}, remote=True)

    said = failing(program)

    assert said.startswith("the remote component 'demo:index:Network' has no fake")
    assert "\n\ncomponents:\n  demo:index:Network:\n    id: '...'\n\n" in said


def test_ones_own_fakes_are_used() -> None:
    def vpc(_plan: Plan, _args: Properties, _provider: str) -> Properties:
        return {"id": "vpc-42"}

    def group(_plan: Plan, _component: Resource) -> Properties:
        return {}

    fakes = Fakes(
        {**default_fakes().components, "eks:index:NodeGroupV2": Component(group)},
        {**default_fakes().functions, "aws:ec2/getVpc:getVpc": vpc},
    )

    def program() -> None:
        eks.NodeGroupV2("group", cluster=cluster())
        pulumi.export("vpc", aws.ec2.get_vpc(default=True).id)

    assert record(program, fakes=fakes).outputs == {"vpc": "vpc-42"}


def test_a_cluster_comes_with_the_children_of_the_real_component() -> None:
    def program() -> None:
        scope = aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster")
        association = eks.AccessPolicyAssociationArgs(policy_arn="arn:p", access_scope=scope)
        entry = eks.AccessEntryArgs(principal_arn="arn:r", access_policies={"p": association})
        coredns = eks.CoreDnsAddonOptionsArgs(enabled=True, version="v1.13")
        cluster(access_entries={"admin": entry}, coredns_addon_options=coredns)

    children = [r.urn.split("::", 2)[2] for r in record(program).resources if r.assumed]

    top = "eks:index:Cluster$"
    role = f"{top}eks:index:ServiceRole"
    entry = f"{top}aws:eks/accessEntry:AccessEntry"
    assert children == [
        f"{role}::gpu-eksRole",
        f"{role}$aws:iam/role:Role::gpu-eksRole-role",
        f"{role}$aws:iam/rolePolicyAttachment:RolePolicyAttachment::gpu-eksRole-4b490823",
        f"{top}aws:ec2/securityGroup:SecurityGroup::gpu-eksClusterSecurityGroup",
        f"{top}aws:ec2/securityGroupRule:SecurityGroupRule::gpu-eksClusterInternetEgressRule",
        f"{top}aws:eks/cluster:Cluster::gpu-eksCluster",
        f"{top}aws:eks/addon:Addon::gpu-kube-proxy",
        f"{top}pulumi:providers:kubernetes::gpu-eks-k8s",
        f"{entry}::gpu-admin",
        f"{entry}$aws:eks/accessPolicyAssociation:AccessPolicyAssociation::gpu-admin-p",
        f"{top}eks:index:VpcCniAddon::gpu-vpc-cni",
        f"{top}eks:index:VpcCniAddon$aws:eks/addon:Addon::gpu-vpc-cni",
        f"{top}aws:eks/addon:Addon::gpu-coredns",
        f"{top}aws:ec2/securityGroup:SecurityGroup::gpu-nodeSecurityGroup",
        *(f"{top}aws:ec2/securityGroupRule:SecurityGroupRule::gpu-{rule}" for rule in NODE_RULES),
    ]


def test_the_inner_cluster_has_the_inputs_that_policies_look_at() -> None:
    def program() -> None:
        cluster(
            endpoint_private_access=True,
            endpoint_public_access=True,
            public_access_cidrs=["203.0.113.0/24"],
            enabled_cluster_log_types=["api", "audit"],
            encryption_config_key_arn=aws.kms.Key("key").arn,
            deletion_protection=True,
            skip_default_security_groups=True,
        )

    recording = record(program)
    inner = named(recording, "gpu-eksCluster")

    assert inner.inputs == {
        "accessConfig": {
            "authenticationMode": "API",
            "bootstrapClusterCreatorAdminPermissions": True,
        },
        "bootstrapSelfManagedAddons": True,
        "deletionProtection": True,
        "enabledClusterLogTypes": ["api", "audit"],
        "encryptionConfig": {"provider": {"keyArn": UNKNOWN}, "resources": ["secrets"]},
        "roleArn": UNKNOWN,
        "tags": {"Name": "gpu-eksCluster"},
        "version": "1.35",
        "vpcConfig": {
            "endpointPrivateAccess": True,
            "endpointPublicAccess": True,
            "publicAccessCidrs": ["203.0.113.0/24"],
            "subnetIds": ["subnet-1", "subnet-2"],
        },
    }
    assert named(recording, "key").urn in inner.dependencies


def test_a_default_node_group_is_made_of_a_launch_template() -> None:
    recording = record(lambda: cluster(skip_default_node_group=False, instance_type="t3.large"))
    template = named(recording, "gpu-launchTemplate")

    assert template.inputs["instanceType"] == "t3.large"
    assert template.inputs["networkInterfaces"][0]["associatePublicIpAddress"] == "true"
    assert named(recording, "gpu", "autoscaling/group:Group").inputs["vpcZoneIdentifiers"] == [
        "subnet-1",
        "subnet-2",
    ]


def test_a_cluster_without_a_network_is_put_into_the_default_one() -> None:
    recording = record(lambda: eks.Cluster("open", version="1.35"))
    inner = named(recording, "open-eksCluster")

    assert len(inner.inputs["vpcConfig"]["subnetIds"]) == 2
    assert [text.partition(" is taken ")[0][:4] for text in recording.assumptions][:1] == ["VPC "]


def test_what_the_component_refuses_is_refused_in_its_words() -> None:
    role = "instanceRole and instanceRoles are mutually exclusive"

    def program() -> None:
        nodes = aws.iam.Role("nodes", assume_role_policy="{}")
        cluster(instance_role=nodes, instance_roles=[nodes])

    assert role in failing(program)
    entries = {"a": eks.AccessEntryArgs(principal_arn="arn:r")}
    refused = failing(lambda: cluster(authentication_mode=None, access_entries=entries))
    assert "The 'accessEntries' property is not supported when 'authenticationMode' is not" in (
        refused
    )


def test_outputs_of_a_cluster_are_unknown_in_a_preview() -> None:
    def program() -> None:
        made = cluster()
        pulumi.export("endpoint", made.eks_cluster.endpoint)
        pulumi.export("kubeconfig", made.kubeconfig_json)

    assert record(program).outputs == {"endpoint": UNKNOWN, "kubeconfig": UNKNOWN}


def test_outputs_of_a_cluster_are_known_in_update_mode() -> None:
    def program() -> None:
        made = cluster()
        pulumi.export("endpoint", made.eks_cluster.endpoint)
        pulumi.export("arn", made.eks_cluster.arn)
        pulumi.export("server", made.kubeconfig["clusters"][0]["cluster"]["server"])
        pulumi.export("text", made.kubeconfig_json)
        pulumi.export("method", made.get_kubeconfig())
        pulumi.export("vpc", made.core.vpc_id)

    outputs = record(program, preview=False).outputs

    assert outputs["endpoint"] == outputs["server"]
    assert outputs["arn"].startswith("arn:aws:eks:us-west-2:111122223333:cluster/gpu-eksCluster-")
    assert json.loads(outputs["text"])["users"][0]["user"]["exec"]["command"] == "aws"
    assert outputs["method"] == outputs["text"]
    assert outputs["vpc"] == "vpc-1"


def test_an_addon_is_a_child_of_its_cluster_as_with_the_real_plugin() -> None:
    def program() -> None:
        values = {"b": 1, "a": {"c": True}}
        eks.Addon("csi", cluster=cluster(), addon_name="x", configuration_values=values)

    addon = named(record(program), "csi", "eks/addon:Addon")

    assert addon.urn == (
        "urn:pulumi:dev::demo::eks:index:Cluster$eks:index:Addon$aws:eks/addon:Addon::csi"
    )
    assert addon.inputs == {
        "addonName": "x",
        "clusterName": UNKNOWN,
        "configurationValues": '{"a":{"c":true},"b":1}',
    }


def test_a_managed_node_group_has_the_plugins_default_sizes() -> None:
    def program() -> None:
        role = aws.iam.Role("role", assume_role_policy="{}")
        group = eks.ManagedNodeGroup("g", cluster=cluster(), node_role=role, gpu=True)
        pulumi.export("group", group.node_group.arn)

    group = named(record(program), "g", "nodeGroup:NodeGroup")

    assert group.inputs["scalingConfig"] == {"desiredSize": 2, "maxSize": 2, "minSize": 1}


def test_transforms_of_a_remote_component_reach_its_children() -> None:
    def tag(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if args.type_ != "aws:iam/role:Role":
            return None
        props = {**args.props, "tags": {"team": "ml"}}
        return pulumi.ResourceTransformResult(props=props, opts=args.opts)

    recording = record(lambda: cluster(opts=pulumi.ResourceOptions(transforms=[tag])))

    assert named(recording, "gpu-eksRole-role").inputs["tags"] == {"team": "ml"}


@pytest.mark.parametrize("preview", [True, False])
def test_a_kubernetes_name_that_was_given_is_known(preview: bool) -> None:
    def program() -> None:
        made = kubernetes.core.v1.ConfigMap("cfg", metadata={"name": "mine"}, data={"a": "b"})
        pulumi.export("name", made.metadata.name)

    assert record(program, preview=preview).outputs == {"name": "mine"}


def test_a_release_has_a_name_in_update_mode() -> None:
    def program() -> None:
        release = kubernetes.helm.v3.Release("plugin", chart="c", name="nvdp", namespace="nvidia")
        pulumi.export("status", release.status.name)

    assert record(program, preview=False).outputs == {"status": "nvdp"}


def test_a_resource_of_any_package_echoes_its_inputs() -> None:
    class Pet(pulumi.CustomResource):
        length: pulumi.Output[int]
        text: pulumi.Output[str]

        def __init__(self) -> None:
            super().__init__("random:index/pet:Pet", "pet", {"length": 2, "text": None})

    def program() -> None:
        pet = Pet()
        pulumi.export("length", pet.length)
        pulumi.export("text", pet.text)

    assert record(program).outputs == {"length": 2, "text": UNKNOWN}


def test_a_route_table_that_is_looked_up_has_an_id() -> None:
    found: list[Any] = []

    record(lambda: found.append(aws.ec2.get_route_table(subnet_id="subnet-1")))

    (table,) = found
    assert (table.id, table.route_table_id) == ("rtb-of-subnet-1", "rtb-of-subnet-1")


def hand_written_core(**more: Any) -> None:
    """Core data with the name of a cluster that is no resource of the program."""
    raw = aws.eks.Cluster("raw", role_arn="role", vpc_config={"subnet_ids": ["subnet-1"]})
    core: Any = {"cluster": raw.name}
    role = "arn:aws:iam::111122223333:role/nodes"
    eks.ManagedNodeGroup("nodes", cluster=core, node_role_arn=role, subnet_ids=["s"], **more)


def test_core_data_by_hand_serves_where_the_cluster_is_named_too() -> None:
    recording = record(lambda: hand_written_core(cluster_name="raw"))

    (group,) = (found for found in recording.resources if found.type.endswith(":NodeGroup"))
    assert group.inputs["clusterName"] == "raw"
    assert "version" not in group.inputs


def test_core_data_by_hand_is_refused_where_nothing_names_the_cluster() -> None:
    config = {"aws:region": "us-west-2"}
    error = run_program(hand_written_core, project="demo", stack="dev", config=config).error

    assert error is not None
    assert error.text == (
        "what the `cluster` of core data is cannot be known here: give an eks.Cluster or its `core`"
    )


def test_a_storage_class_has_the_parameters_that_it_is_given() -> None:
    fast = eks.StorageClassArgs(type="io2", encrypted=True, iops_per_gb=50, zones=["a"])
    classes: Any = {"fast": fast}

    recording = record(lambda: eks.Cluster("main", storage_classes=classes) and None)

    (made,) = (found for found in recording.resources if found.type.endswith(":StorageClass"))
    assert made.inputs["parameters"] == {
        "type": "io2",
        "encrypted": "true",
        "iopsPerGb": "50",
        "zones": "a",
    }


def test_a_stack_reference_knows_nothing_in_a_preview() -> None:
    def program() -> None:
        other = pulumi.StackReference("other", stack_name="org/other/dev")
        pulumi.export("vpc", other.get_output("vpcId"))

    assert record(program).outputs == {"vpc": UNKNOWN}
