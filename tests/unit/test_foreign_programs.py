"""Programs of other people run in this process, and each does so to its end.

`Made` counts what stands for them. What pulumi-eks itself makes of such programs,
tests/engine/test_engine_pulumi_eks.py compares.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s
import pytest
from tests.conftest import sampled

from eks_gpushare.program.run import run_program
from eks_gpushare.program.values import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eks_gpushare.program.recording import Recording

pytestmark = pytest.mark.sdk_internals

OUTPUTS_OF_A_VPC = ("vpcId", "publicSubnetIds", "privateSubnetIds", "isolatedSubnetIds", "subnets")


class AwsxVpc(pulumi.ComponentResource):
    """`awsx.ec2.Vpc` as its SDK registers it, which need not be installed."""

    def __init__(self, name: str, **args: Any) -> None:
        outputs = dict.fromkeys(OUTPUTS_OF_A_VPC)
        super().__init__("awsx:ec2:Vpc", name, {**outputs, **args}, remote=True)

    def __getattr__(self, name: str) -> Any:
        if name not in OUTPUTS_OF_A_VPC:
            raise AttributeError(name)
        return pulumi.get(self, name)


def role() -> aws.iam.Role:
    document = aws.iam.get_policy_document(
        statements=[
            {
                "actions": ["sts:AssumeRole"],
                "principals": [{"type": "Service", "identifiers": ["ec2.amazonaws.com"]}],
            }
        ]
    )
    return aws.iam.Role("nodes", assume_role_policy=document.json)


def kubernetes(cluster: eks.Cluster) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(provider=k8s.Provider("k8s", kubeconfig=cluster.kubeconfig_json))


def plain() -> None:
    cluster = eks.Cluster("c")
    pulumi.export("kubeconfig", cluster.kubeconfig)
    pulumi.export("group", cluster.default_node_group.auto_scaling_group.name)


def with_options() -> None:
    eks.Cluster(
        "c",
        version="1.35",
        instance_type="t3.large",
        desired_capacity=3,
        min_size=1,
        max_size=4,
        node_associate_public_ip_address=False,
        node_root_volume_size=50,
        node_root_volume_encrypted=True,
        enabled_cluster_log_types=["api", "audit"],
        cluster_tags={"a": "b"},
        tags={"team": "ml"},
        create_oidc_provider=True,
    )


def node_group_options() -> None:
    options = eks.ClusterNodeGroupOptionsArgs(instance_type="g5.xlarge", gpu=True, min_size=0)
    eks.Cluster("c", version="1.35", node_group_options=options)


def managed_nodes() -> None:
    nodes = role()
    cluster = eks.Cluster("c", skip_default_node_group=True, instance_roles=[nodes])
    group = eks.ManagedNodeGroup(
        "gpu", cluster=cluster, node_role=nodes, instance_types=["g5.xlarge"], disk_size=200
    )
    pulumi.export("group", group.node_group.node_group_name)


def managed_nodes_of_core() -> None:
    nodes = role()
    cluster = eks.Cluster("c", skip_default_node_group=True, instance_role=nodes)
    eks.ManagedNodeGroup("gpu", cluster=cluster.core, node_role_arn=nodes.arn, gpu=True)


def nodes_with_an_image() -> None:
    image = aws.ec2.get_ami(most_recent=True, owners=["amazon"])
    nodes = role()
    cluster = eks.Cluster("c", skip_default_node_group=True, instance_roles=[nodes])
    eks.ManagedNodeGroup("gpu", cluster=cluster, node_role=nodes, ami_id=image.id, disk_size=100)


def self_managed() -> None:
    nodes = role()
    profile = aws.iam.InstanceProfile("nodes", role=nodes.name)
    cluster = eks.Cluster("c", skip_default_node_group=True, instance_role=nodes)
    group = eks.NodeGroupV2(
        "gpu",
        cluster=cluster,
        instance_type="g5.xlarge",
        gpu=True,
        instance_profile=profile,
        taints={"nvidia.com/gpu": eks.TaintArgs(value="true", effect="NoSchedule")},
    )
    pulumi.export("group", group.auto_scaling_group.arn)
    pulumi.export("securityGroup", group.node_security_group_id)


def self_managed_of_bottlerocket() -> None:
    nodes = role()
    profile = aws.iam.InstanceProfile("nodes", role=nodes.name)
    cluster = eks.Cluster("c", version="1.35", skip_default_node_group=True, instance_role=nodes)
    eks.NodeGroupV2(
        "gpu",
        cluster=cluster.core,
        instance_type="g5g.xlarge",
        gpu=True,
        operating_system=eks.OperatingSystem.BOTTLEROCKET,
        instance_profile=profile,
        node_root_volume_size=100,
    )


def of_cloud_formation() -> None:
    nodes = role()
    profile = aws.iam.InstanceProfile("nodes", role=nodes.name)
    cluster = eks.Cluster("c", skip_default_node_group=True, instance_role=nodes)
    group = eks.NodeGroup("gpu", cluster=cluster, instance_profile=profile, spot_price="1")
    pulumi.export("group", group.auto_scaling_group_name)


def security_group_of_nodes() -> None:
    cluster = eks.Cluster("c", skip_default_node_group=True)
    eks.NodeGroupSecurityGroup(
        "extra",
        vpc_id="vpc-1",
        cluster_security_group=cluster.cluster_security_group,
        eks_cluster=cluster.eks_cluster,
    )


def add_ons() -> None:
    mode = eks.AuthenticationMode.API
    cluster = eks.Cluster("c", authentication_mode=mode, use_default_vpc_cni=True)
    eks.Addon("csi", cluster=cluster, addon_name="aws-ebs-csi-driver")
    eks.VpcCniAddon("cni", cluster_name="other", cluster_version="1.35")


def fargate() -> None:
    cluster = eks.Cluster("c", fargate=True)
    pulumi.export("profile", cluster.fargate_profile_id)


def auto_mode() -> None:
    mode = eks.AutoModeOptionsArgs(enabled=True)
    cluster = eks.Cluster("c", auto_mode=mode, authentication_mode=eks.AuthenticationMode.API)
    pulumi.export("role", cluster.auto_mode_node_role_name)


def storage() -> None:
    classes = {"fast": eks.StorageClassArgs(type="io1", default=True)}
    eks.Cluster("c", storage_classes=classes, skip_default_node_group=True)


def creator() -> None:
    eks.ClusterCreationRoleProvider("creator", region="us-west-2")


def of_awsx() -> None:
    vpc = AwsxVpc("net", numberOfAvailabilityZones=2, natGateways={"strategy": "Single"})
    eks.Cluster(
        "c",
        vpc_id=vpc.vpcId,
        public_subnet_ids=vpc.publicSubnetIds,
        private_subnet_ids=vpc.privateSubnetIds,
        skip_default_node_group=True,
    )


def of_awsx_by_default() -> None:
    vpc = AwsxVpc("net")
    pulumi.export("private", vpc.privateSubnetIds)


def of_awsx_with_specs() -> None:
    specs = [{"type": "Public"}, {"type": "Private", "name": "gpu"}, {"type": "Isolated"}]
    AwsxVpc(
        "net",
        subnetSpecs=specs,
        subnetStrategy="Auto",
        natGateways={"strategy": "None"},
        vpcEndpointSpecs=[{"serviceName": "com.amazonaws.us-west-2.s3"}],
    )


def of_a_default_network() -> None:
    vpc = aws.ec2.get_vpc(default=True)
    of_vpc: Any = {"name": "vpc-id", "values": [vpc.id]}
    subnets = aws.ec2.get_subnets(filters=[of_vpc])
    eks.Cluster("c", vpc_id=vpc.id, subnet_ids=subnets.ids, skip_default_node_group=True)


def of_outputs() -> None:
    vpc = aws.ec2.get_vpc_output(default=True)
    of_vpc: Any = {"name": "vpc-id", "values": [vpc.id]}
    subnets = aws.ec2.get_subnets_output(filters=[of_vpc])
    zone = subnets.ids.apply(lambda ids: aws.ec2.get_subnet(id=ids[0]).availability_zone)
    pulumi.export("zone", zone)
    pulumi.export("account", aws.get_caller_identity_output().account_id)
    pulumi.export("names", aws.get_availability_zones_output(state="available").names)


def of_all_networks() -> None:
    pulumi.export("vpcs", aws.ec2.get_vpcs(tags={"team": "ml"}).ids)
    pulumi.export("images", aws.ec2.get_ami_ids(owners=["amazon"]).ids)
    pulumi.export("regions", aws.get_regions().names)
    pulumi.export("groups", aws.ec2.get_security_groups(tags={"a": "b"}).ids)


def raw_cluster() -> None:
    name = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/"
    version = aws.ssm.get_parameter(name=f"{name}release_version").value
    nodes = role()
    cluster = aws.eks.Cluster(
        "c",
        role_arn=nodes.arn,
        vpc_config={"subnet_ids": ["subnet-1", "subnet-2"]},
    )
    aws.eks.NodeGroup(
        "gpu",
        cluster_name=cluster.name,
        node_role_arn=nodes.arn,
        subnet_ids=["subnet-1"],
        scaling_config={"min_size": 0, "desired_size": 1, "max_size": 1},
        release_version=version,
    )
    token = aws.eks.get_cluster_auth_output(name=cluster.name).token
    pulumi.export("token", token)


def of_another_stack() -> None:
    network = pulumi.StackReference("org/network/dev")
    eks.Cluster("c", vpc_id=network.get_output("vpcId"), subnet_ids=network.get_output("subnets"))


def existing_cluster() -> None:
    there = aws.eks.get_cluster(name="shared")
    auth = aws.eks.get_cluster_auth(name=there.name)
    config = json.dumps({"server": there.endpoint, "token": str(bool(auth))})
    provider = k8s.Provider("k8s", kubeconfig=config)
    k8s.core.v1.Namespace("team", opts=pulumi.ResourceOptions(provider=provider))


def charts() -> None:
    inside = kubernetes(eks.Cluster("c"))
    k8s.helm.v3.Release("plugin", chart="nvidia-device-plugin", opts=inside)
    k8s.helm.v4.Chart("four", chart="nvidia-device-plugin", opts=inside)
    k8s.helm.v3.Chart("three", k8s.helm.v3.ChartOpts(chart="nvidia-device-plugin"), opts=inside)


def objects() -> None:
    inside = kubernetes(eks.Cluster("c"))
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: plugin}, data: {any: x}}"
    k8s.yaml.v2.ConfigGroup("two", yaml=text, opts=inside)
    k8s.yaml.ConfigGroup("one", yaml=[text], opts=inside)
    k8s.kustomize.v2.Directory("three", directory="https://example.com/kustomize", opts=inside)


def of_methods() -> None:
    cluster = eks.Cluster("c")
    config = cluster.get_kubeconfig(role_arn="arn:aws:iam::111122223333:role/Admin")
    k8s.Provider("k8s", kubeconfig=config)


def explicit_provider() -> None:
    abroad = pulumi.ResourceOptions(providers=[aws.Provider("abroad", region="eu-central-1")])
    credentials = eks.KubeconfigOptionsArgs(profile_name="abroad")
    eks.Cluster("c", version="1.35", provider_credential_opts=credentials, opts=abroad)


CLUSTER, TEMPLATE = "aws:eks/cluster:Cluster", "aws:ec2/launchTemplate:LaunchTemplate"
SCALING, NODES = "aws:autoscaling/group:Group", "aws:eks/nodeGroup:NodeGroup"
SUBNET, NAT = "aws:ec2/subnet:Subnet", "aws:ec2/natGateway:NatGateway"
CONFIG_MAP, ROUTE = "kubernetes:core/v1:ConfigMap", "aws:ec2/route:Route"

PROGRAMS: dict[Callable[[], None], Mapping[str, int]] = {
    plain: {CLUSTER: 1, TEMPLATE: 1, SCALING: 1, CONFIG_MAP: 1},
    with_options: {CLUSTER: 1, "aws:iam/openIdConnectProvider:OpenIdConnectProvider": 1},
    node_group_options: {TEMPLATE: 1, SCALING: 1},
    managed_nodes: {CLUSTER: 1, NODES: 1, SCALING: 0, TEMPLATE: 0, CONFIG_MAP: 1},
    managed_nodes_of_core: {NODES: 1},
    nodes_with_an_image: {NODES: 1, TEMPLATE: 1},
    self_managed: {NODES: 0, TEMPLATE: 1, SCALING: 1},
    self_managed_of_bottlerocket: {TEMPLATE: 1, SCALING: 1},
    of_cloud_formation: {"aws:cloudformation/stack:Stack": 1, SCALING: 0},
    security_group_of_nodes: {"aws:ec2/securityGroup:SecurityGroup": 3},
    add_ons: {"aws:eks/addon:Addon": 4, CONFIG_MAP: 0, "aws:eks/accessEntry:AccessEntry": 1},
    fargate: {"aws:eks/fargateProfile:FargateProfile": 1, SCALING: 0},
    auto_mode: {CLUSTER: 1, SCALING: 0, "aws:eks/addon:Addon": 1},
    storage: {"kubernetes:storage.k8s.io/v1:StorageClass": 1},
    creator: {"aws:iam/role:Role": 1, "pulumi:providers:aws": 1},
    of_awsx: {CLUSTER: 1, SUBNET: 4, NAT: 1, ROUTE: 4},
    of_awsx_by_default: {SUBNET: 6, NAT: 3, ROUTE: 6, "aws:ec2/eip:Eip": 3},
    of_awsx_with_specs: {SUBNET: 9, NAT: 0, ROUTE: 3, "aws:ec2/vpcEndpoint:VpcEndpoint": 1},
    of_a_default_network: {CLUSTER: 1},
    of_outputs: {},
    of_all_networks: {},
    raw_cluster: {CLUSTER: 1, NODES: 1},
    of_another_stack: {CLUSTER: 1},
    existing_cluster: {"kubernetes:core/v1:Namespace": 1},
    charts: {"kubernetes:helm.sh/v3:Release": 1, "kubernetes:helm.sh/v4:Chart": 1},
    objects: {CONFIG_MAP: 3},
    of_methods: {"pulumi:providers:kubernetes": 2},
    explicit_provider: {CLUSTER: 1},
}


def record(program: Callable[[], None], *, preview: bool) -> Recording:
    recording = run_program(
        program, project="theirs", stack="dev", config={"aws:region": "us-west-2"}, preview=preview
    )
    assert recording.error is None, recording.error.traceback or str(recording.error)
    return recording


def _twice() -> list[tuple[Callable[[], None], bool]]:
    """Each program in both ways, of which the first is a preview of every other."""
    return [
        (program, (number % 2 == 0) is first)
        for number, program in enumerate(PROGRAMS)
        for first in (True, False)
    ]


@pytest.mark.parametrize(
    ("program", "preview"),
    sampled(_twice(), 2),
    ids=lambda each: ("update", "preview")[each] if isinstance(each, bool) else each.__name__,
)
def test_programs_of_others_are_planned(program: Callable[[], None], *, preview: bool) -> None:
    recording = record(program, preview=preview)
    made = {token: len(recording.of_type(token)) for token in PROGRAMS[program]}

    assert made == PROGRAMS[program]


def test_subnets_of_awsx_are_where_it_puts_them() -> None:
    """The ranges that its own default layout gives, of awsx/ec2/subnetDistributorLegacy.ts."""
    recording = record(of_awsx_by_default, preview=False)
    found = {each.name: each.inputs["cidrBlock"] for each in recording.of_type(SUBNET)}

    assert found == {
        "net-private-1": "10.0.0.0/19",
        "net-public-1": "10.0.32.0/20",
        "net-private-2": "10.0.64.0/19",
        "net-public-2": "10.0.96.0/20",
        "net-private-3": "10.0.128.0/19",
        "net-public-3": "10.0.160.0/20",
    }
    assert len(recording.outputs["private"]) == 3
    assert recording.assumptions[-1] == (
        "The network of net (awsx:ec2:Vpc) is laid out as pulumi-awsx does by default; its IDs are "
        "made up."
    )


def test_what_a_preview_does_not_know_stays_unknown() -> None:
    assert record(of_awsx_by_default, preview=True).outputs["private"] is UNKNOWN
    assert record(plain, preview=True).outputs["group"] is UNKNOWN


def test_what_is_not_rendered_is_said_for_each() -> None:
    said = [text for text in record(charts, preview=True).assumptions if "policies miss" in text]

    assert sorted(said) == [
        "The objects of four (helm.sh/v4:Chart) are not known here: policies miss them.",
        "What the chart nvidia-device-plugin renders is not known here: policies miss it.",
    ]


def test_the_cluster_asks_in_the_region_of_its_provider() -> None:
    recording = record(explicit_provider, preview=True)

    assert "is taken to exist in eu-central-1" in recording.assumptions[0]


def test_a_kubeconfig_has_the_role_that_was_asked_for() -> None:
    recording = record(of_methods, preview=False)
    (provider,) = [each for each in recording.resources if each.name == "k8s"]
    (user,) = json.loads(provider.inputs["kubeconfig"])["users"]

    assert user["user"]["exec"]["args"][-2:] == [
        "--role",
        "arn:aws:iam::111122223333:role/Admin",
    ]


CONFIG = {"aws:region": "us-west-2"}


def test_a_number_of_gateways_is_taken_as_the_plugin_takes_it() -> None:
    recording = run_program(
        lambda: AwsxVpc("net", natGateways=1), project="p", stack="dev", config=CONFIG
    )

    assert recording.error is None
    assert sum(found.type.endswith(":NatGateway") for found in recording.resources) == 3


def test_arguments_that_only_a_plugin_understands_are_said_to_be() -> None:
    recording = run_program(
        lambda: AwsxVpc("net", tags=["a"]), project="p", stack="dev", config=CONFIG
    )

    assert recording.error is not None
    assert recording.error.type == "PlanError"
    assert recording.error.text.startswith(
        "what awsx:ec2:Vpc makes of the arguments of net cannot be known without its plugin ("
    )
    assert "components:\n  awsx:ec2:Vpc:" in recording.error.text
