"""Which calls the AWS provider makes for a resource, from its creation to its deletion.

Inputs find their members by the rules of `translate`; here stands only which operation takes them,
and what the rules cannot know. A type that is not here fails, and so does an input that nothing
takes. Source: internal/service/* of https://github.com/hashicorp/terraform-provider-aws, which the
Pulumi provider wraps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Call:
    """One call. A value that begins with `$` is an output of the resource, such as `$id`."""

    operation: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Members by name, dots inside, that are no inputs."""
    takes: Mapping[str, str] = field(default_factory=dict)
    """The inputs that it takes, by member, dots inside. The first call of a resource takes all
    that the others leave, and names here only what the rules do not find."""
    only_with: str = ""
    """It is made where this input is given and true."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Outputs of the resource and where the response has them."""


@dataclass(frozen=True)
class Lifecycle:
    """All calls for a type."""

    service: str
    create: tuple[Call, ...]
    read: tuple[Call, ...] = ()
    delete: tuple[Call, ...] = ()
    update: tuple[str, ...] = ()
    """Operations, each with what else it needs unknown here: they are looked up, not made."""
    update_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those that are for one member of the first call alone, by the member."""
    inside: str = ""
    """The member of the first call that holds all inputs but name and tags."""
    tagged: str = ""
    """EC2's word for the resource in TagSpecifications."""
    named: str = ""
    """The input that the provider makes up from the logical name where it is not given."""
    later: Mapping[str, str] = field(default_factory=dict)
    """Inputs that creation leaves, with the operation and member that take them, or `provider`
    for what AWS never sees."""

    def updates(self, given: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Operations of an update of what was made with these parameters; None: all of them."""
        further = self.update_with.items()
        return (
            *self.update,
            *(name for key, names in further if given is None or key in given for name in names),
        )


_TAGS = ("CreateTags", "DeleteTags")
_EKS_TAGS = ("TagResource", "UntagResource")


def _describe(operation: str, member: str, value: str = "$id") -> Call:
    return Call(operation, {member: [value]})


def _rule(direction: str) -> Lifecycle:
    """A rule of a security group, in the provider's newer form."""
    permission = "IpPermissions"
    return Lifecycle(
        "ec2",
        create=(
            Call(
                f"AuthorizeSecurityGroup{direction}",
                takes={
                    "securityGroupId": "GroupId",
                    "ipProtocol": f"{permission}.IpProtocol",
                    "fromPort": f"{permission}.FromPort",
                    "toPort": f"{permission}.ToPort",
                    "cidrIpv4": f"{permission}.IpRanges.CidrIp",
                    "cidrIpv6": f"{permission}.Ipv6Ranges.CidrIpv6",
                    "referencedSecurityGroupId": f"{permission}.UserIdGroupPairs.GroupId",
                    "prefixListId": f"{permission}.PrefixListIds.PrefixListId",
                },
                answers={"id": "SecurityGroupRules.0.SecurityGroupRuleId"},
            ),
        ),
        read=(_describe("DescribeSecurityGroupRules", "SecurityGroupRuleIds"),),
        delete=(
            Call(
                f"RevokeSecurityGroup{direction}",
                {"GroupId": "$securityGroupId", "SecurityGroupRuleIds": ["$id"]},
            ),
        ),
        update=("ModifySecurityGroupRules", *_TAGS),
        tagged="security-group-rule",
    )


_ROLE = {"RoleName": "$name"}
_NODE_GROUP = {"clusterName": "$clusterName", "nodegroupName": "$nodeGroupName"}
_ADDON = {"clusterName": "$clusterName", "addonName": "$addonName"}
_ASSOCIATION = {"clusterName": "$clusterName", "associationId": "$associationId"}
_ENTRY = {"clusterName": "$clusterName", "principalArn": "$principalArn"}
_OF_QUEUE = {"QueueUrl": "$queueUrl", "AttributeNames": ["Policy"]}

_WORKSPACE = {"workspaceId": "$id"}
_NAMESPACE = {"workspaceId": "$workspaceId", "name": "$name"}

LIFECYCLES: Mapping[str, Lifecycle] = {
    "aws:amp/ruleGroupNamespace:RuleGroupNamespace": Lifecycle(
        "amp",
        create=(Call("CreateRuleGroupsNamespace", answers={"arn": "arn"}),),
        read=(
            Call("DescribeRuleGroupsNamespace", _NAMESPACE),
            Call("ListTagsForResource", {"resourceArn": "$arn"}),
        ),
        delete=(Call("DeleteRuleGroupsNamespace", _NAMESPACE),),
        update=(*_EKS_TAGS, "PutRuleGroupsNamespace"),
    ),
    "aws:amp/scraper:Scraper": Lifecycle(
        "amp",
        create=(
            Call(
                "CreateScraper",
                takes={
                    "destination.amp": "ampConfiguration",
                    "source.eks": "eksConfiguration",
                    "scrapeConfiguration": "scrapeConfiguration.configurationBlob",
                },
                answers={"id": "scraperId", "arn": "arn"},
            ),
        ),
        read=(Call("DescribeScraper", {"scraperId": "$id"}),),
        delete=(Call("DeleteScraper", {"scraperId": "$id"}),),
        update=(*_EKS_TAGS, "UpdateScraper"),
    ),
    "aws:amp/workspace:Workspace": Lifecycle(
        "amp",
        create=(
            Call("CreateWorkspace", answers={"id": "workspaceId", "arn": "arn"}),
            Call(
                "CreateLoggingConfiguration",
                {"workspaceId": "$id"},
                {"loggingConfiguration": ""},
                only_with="loggingConfiguration",
            ),
        ),
        read=(
            Call("DescribeWorkspace", _WORKSPACE),
            Call("DescribeLoggingConfiguration", _WORKSPACE),
        ),
        delete=(
            Call("DeleteLoggingConfiguration", _WORKSPACE),
            Call("DeleteWorkspace", _WORKSPACE),
        ),
        update=(*_EKS_TAGS, "UpdateWorkspaceAlias", "UpdateLoggingConfiguration"),
    ),
    "aws:amp/workspaceConfiguration:WorkspaceConfiguration": Lifecycle(
        "amp",
        create=(Call("UpdateWorkspaceConfiguration"),),
        read=(Call("DescribeWorkspaceConfiguration", {"workspaceId": "$workspaceId"}),),
    ),
    "aws:cloudwatch/eventRule:EventRule": Lifecycle(
        "events",
        create=(Call("PutRule", takes={"name": "Name"}, answers={"arn": "RuleArn"}),),
        read=(
            Call("DescribeRule", {"Name": "$name"}),
            Call("ListTagsForResource", {"ResourceARN": "$arn"}),
        ),
        delete=(Call("DeleteRule", {"Name": "$name"}),),
        update=_EKS_TAGS,
        named="name",
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Lifecycle(
        "events",
        create=(
            Call(
                "PutTargets",
                takes={"rule": "Rule", "targetId": "Targets.Id", "arn": "Targets.Arn"},
            ),
        ),
        read=(Call("ListTargetsByRule", {"Rule": "$rule"}),),
        delete=(Call("RemoveTargets", {"Rule": "$rule", "Ids": ["$targetId"]}),),
    ),
    "aws:cloudwatch/logGroup:LogGroup": Lifecycle(
        "logs",
        create=(
            Call("CreateLogGroup", takes={"name": "logGroupName"}),
            Call(
                "PutRetentionPolicy",
                {"logGroupName": "$name"},
                {"retentionInDays": "retentionInDays"},
                only_with="retentionInDays",
            ),
        ),
        read=(
            Call(
                "DescribeLogGroups",
                {"logGroupNamePrefix": "$name"},
                answers={"arn": "logGroups.0.logGroupArn"},
            ),
            Call("ListTagsForResource", {"resourceArn": "$arn"}),
        ),
        delete=(Call("DeleteLogGroup", {"logGroupName": "$name"}),),
        update=(*_EKS_TAGS, "DeleteRetentionPolicy", "PutRetentionPolicy"),
        update_with={"kmsKeyId": ("AssociateKmsKey", "DisassociateKmsKey")},
        named="name",
        later={"skipDestroy": "provider"},
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Lifecycle(
        "ec2",
        create=(
            Call(
                "DescribeSecurityGroups",
                {
                    "Filters": [
                        {"Name": "group-name", "Values": ["default"]},
                        {"Name": "vpc-id", "Values": ["$vpcId"]},
                    ]
                },
                answers={"id": "SecurityGroups.0.GroupId"},
            ),
            Call(
                "RevokeSecurityGroupEgress",
                {
                    "GroupId": "$id",
                    "IpPermissions": [
                        {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}  # AWS's own
                    ],
                },
            ),
            Call("CreateTags", {"Resources": ["$id"]}, {"tags": "Tags"}, only_with="tags"),
        ),
        read=(_describe("DescribeSecurityGroups", "GroupIds"),),
        update=(*_TAGS, "RevokeSecurityGroupIngress", "RevokeSecurityGroupEgress"),
        later={"vpcId": "provider"},
    ),
    "aws:ec2/eip:Eip": Lifecycle(
        "ec2",
        create=(Call("AllocateAddress", answers={"id": "AllocationId"}),),
        read=(
            _describe("DescribeAddresses", "AllocationIds"),
            _describe("DescribeAddressesAttribute", "AllocationIds"),
        ),
        delete=(Call("ReleaseAddress", {"AllocationId": "$id"}),),
        update=_TAGS,
        tagged="elastic-ip",
    ),
    "aws:ec2/flowLog:FlowLog": Lifecycle(
        "ec2",
        create=(
            Call(
                "CreateFlowLogs",
                {"ResourceType": "VPC", "LogDestinationType": "cloud-watch-logs"},
                {"vpcId": "ResourceIds", "iamRoleArn": "DeliverLogsPermissionArn"},
                answers={"id": "FlowLogIds.0"},
            ),
        ),
        read=(_describe("DescribeFlowLogs", "FlowLogIds"),),
        delete=(Call("DeleteFlowLogs", {"FlowLogIds": ["$id"]}),),
        update=_TAGS,
        tagged="vpc-flow-log",
    ),
    "aws:ec2/internetGateway:InternetGateway": Lifecycle(
        "ec2",
        create=(
            Call("CreateInternetGateway", answers={"id": "InternetGateway.InternetGatewayId"}),
            Call("AttachInternetGateway", {"InternetGatewayId": "$id"}, {"vpcId": "VpcId"}),
        ),
        read=(_describe("DescribeInternetGateways", "InternetGatewayIds"),),
        delete=(
            Call("DetachInternetGateway", {"InternetGatewayId": "$id", "VpcId": "$vpcId"}),
            Call("DeleteInternetGateway", {"InternetGatewayId": "$id"}),
        ),
        update=_TAGS,
        tagged="internet-gateway",
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Lifecycle(
        "ec2",
        create=(
            Call(
                "CreateLaunchTemplate",
                takes={
                    "name": "LaunchTemplateName",
                    "vpcSecurityGroupIds": "LaunchTemplateData.SecurityGroupIds",
                    "networkInterfaces.securityGroups": "Groups",
                },
                answers={"id": "LaunchTemplate.LaunchTemplateId"},
            ),
        ),
        read=(
            _describe("DescribeLaunchTemplates", "LaunchTemplateIds"),
            Call("DescribeLaunchTemplateVersions", {"LaunchTemplateId": "$id", "Versions": ["1"]}),
        ),
        delete=(Call("DeleteLaunchTemplate", {"LaunchTemplateId": "$id"}),),
        update=(*_TAGS, "CreateLaunchTemplateVersion", "ModifyLaunchTemplate"),
        inside="LaunchTemplateData",
        tagged="launch-template",
        named="name",
        later={"updateDefaultVersion": "provider"},
    ),
    "aws:ec2/natGateway:NatGateway": Lifecycle(
        "ec2",
        create=(Call("CreateNatGateway", answers={"id": "NatGateway.NatGatewayId"}),),
        read=(_describe("DescribeNatGateways", "NatGatewayIds"),),
        delete=(Call("DeleteNatGateway", {"NatGatewayId": "$id"}),),
        update=_TAGS,
        tagged="natgateway",
    ),
    "aws:ec2/placementGroup:PlacementGroup": Lifecycle(
        "ec2",
        create=(Call("CreatePlacementGroup", takes={"name": "GroupName"}),),
        read=(_describe("DescribePlacementGroups", "GroupNames", "$name"),),
        delete=(Call("DeletePlacementGroup", {"GroupName": "$name"}),),
        update=_TAGS,
        tagged="placement-group",
        named="name",
    ),
    "aws:ec2/route:Route": Lifecycle(
        "ec2",
        create=(Call("CreateRoute"),),
        read=(_describe("DescribeRouteTables", "RouteTableIds", "$routeTableId"),),
        delete=(
            Call(
                "DeleteRoute",
                {
                    "RouteTableId": "$routeTableId",
                    "DestinationCidrBlock": "$destinationCidrBlock",
                },
            ),
        ),
        update=("ReplaceRoute",),
    ),
    "aws:ec2/routeTable:RouteTable": Lifecycle(
        "ec2",
        create=(Call("CreateRouteTable", answers={"id": "RouteTable.RouteTableId"}),),
        read=(_describe("DescribeRouteTables", "RouteTableIds"),),
        delete=(Call("DeleteRouteTable", {"RouteTableId": "$id"}),),
        update=_TAGS,
        tagged="route-table",
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Lifecycle(
        "ec2",
        create=(Call("AssociateRouteTable", answers={"id": "AssociationId"}),),
        read=(_describe("DescribeRouteTables", "RouteTableIds", "$routeTableId"),),
        delete=(Call("DisassociateRouteTable", {"AssociationId": "$id"}),),
        update=("ReplaceRouteTableAssociation",),
    ),
    "aws:ec2/securityGroup:SecurityGroup": Lifecycle(
        "ec2",
        create=(
            Call("CreateSecurityGroup", takes={"name": "GroupName"}, answers={"id": "GroupId"}),
            Call(
                "RevokeSecurityGroupEgress",
                {
                    "GroupId": "$id",
                    "IpPermissions": [
                        {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}  # AWS's own
                    ],
                },
            ),
        ),
        read=(_describe("DescribeSecurityGroups", "GroupIds"),),
        delete=(Call("DeleteSecurityGroup", {"GroupId": "$id"}),),
        update=(*_TAGS, "RevokeSecurityGroupIngress", "RevokeSecurityGroupEgress"),
        tagged="security-group",
        named="name",
        later={"revokeRulesOnDelete": "provider"},
    ),
    "aws:ec2/subnet:Subnet": Lifecycle(
        "ec2",
        create=(
            Call("CreateSubnet", answers={"id": "Subnet.SubnetId"}),
            Call(
                "ModifySubnetAttribute",
                {"SubnetId": "$id"},
                {"mapPublicIpOnLaunch": "MapPublicIpOnLaunch.Value"},
                only_with="mapPublicIpOnLaunch",
            ),
        ),
        read=(_describe("DescribeSubnets", "SubnetIds"),),
        delete=(Call("DeleteSubnet", {"SubnetId": "$id"}),),
        update=(*_TAGS, "ModifySubnetAttribute"),
        tagged="subnet",
    ),
    "aws:ec2/tag:Tag": Lifecycle(
        "ec2",
        create=(
            Call(
                "CreateTags",
                takes={"resourceId": "Resources", "key": "Tags.Key", "value": "Tags.Value"},
            ),
        ),
        read=(
            Call(
                "DescribeTags",
                {
                    "Filters": [
                        {"Name": "resource-id", "Values": ["$resourceId"]},
                        {"Name": "key", "Values": ["$key"]},
                    ]
                },
            ),
        ),
        delete=(Call("DeleteTags", {"Resources": ["$resourceId"], "Tags": [{"Key": "$key"}]}),),
    ),
    "aws:ec2/vpc:Vpc": Lifecycle(
        "ec2",
        create=(
            Call("CreateVpc", answers={"id": "Vpc.VpcId"}),
            Call(
                "ModifyVpcAttribute",
                {"VpcId": "$id"},
                {"enableDnsHostnames": "EnableDnsHostnames.Value"},
                only_with="enableDnsHostnames",
            ),
            Call(
                "ModifyVpcAttribute",
                {"VpcId": "$id"},
                {"enableDnsSupport": "EnableDnsSupport.Value"},
                only_with="enableDnsSupport",
            ),
        ),
        read=(
            _describe("DescribeVpcs", "VpcIds"),
            Call("DescribeVpcAttribute", {"VpcId": "$id", "Attribute": "enableDnsHostnames"}),
            Call("DescribeNetworkAcls", {"Filters": [{"Name": "vpc-id", "Values": ["$id"]}]}),
            Call("DescribeRouteTables", {"Filters": [{"Name": "vpc-id", "Values": ["$id"]}]}),
            Call("DescribeSecurityGroups", {"Filters": [{"Name": "vpc-id", "Values": ["$id"]}]}),
        ),
        delete=(Call("DeleteVpc", {"VpcId": "$id"}),),
        update=(*_TAGS, "ModifyVpcAttribute"),
        tagged="vpc",
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Lifecycle(
        "ec2",
        create=(
            Call(
                "CreateVpcEndpoint",
                {"PrivateDnsEnabled": False},
                answers={"id": "VpcEndpoint.VpcEndpointId"},
            ),
        ),
        read=(
            _describe("DescribeVpcEndpoints", "VpcEndpointIds"),
            Call(
                "DescribePrefixLists",
                {"Filters": [{"Name": "prefix-list-name", "Values": ["$serviceName"]}]},
            ),
        ),
        delete=(Call("DeleteVpcEndpoints", {"VpcEndpointIds": ["$id"]}),),
        update=(*_TAGS, "ModifyVpcEndpoint"),
        tagged="vpc-endpoint",
    ),
    "aws:eks/accessEntry:AccessEntry": Lifecycle(
        "eks",
        create=(Call("CreateAccessEntry", takes={"userName": "username"}),),
        read=(Call("DescribeAccessEntry", _ENTRY),),
        delete=(Call("DeleteAccessEntry", _ENTRY),),
        update=(*_EKS_TAGS, "UpdateAccessEntry"),
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Lifecycle(
        "eks",
        create=(Call("AssociateAccessPolicy"),),
        read=(Call("ListAssociatedAccessPolicies", _ENTRY),),
        delete=(Call("DisassociateAccessPolicy", {**_ENTRY, "policyArn": "$policyArn"}),),
    ),
    "aws:eks/addon:Addon": Lifecycle(
        "eks",
        create=(Call("CreateAddon", takes={"resolveConflictsOnCreate": "resolveConflicts"}),),
        read=(Call("DescribeAddon", _ADDON),),
        delete=(Call("DeleteAddon", _ADDON),),
        update=(*_EKS_TAGS, "UpdateAddon"),
        later={
            "resolveConflictsOnUpdate": "UpdateAddon.resolveConflicts",
            "preserve": "DeleteAddon.preserve",
        },
    ),
    "aws:eks/cluster:Cluster": Lifecycle(
        "eks",
        create=(
            Call(
                "CreateCluster",
                {"logging.clusterLogging.enabled": True},
                takes={
                    "vpcConfig": "resourcesVpcConfig",
                    "enabledClusterLogTypes": "logging.clusterLogging.types",
                },
                answers={
                    "arn": "cluster.arn",
                    "vpcConfig.clusterSecurityGroupId": (
                        "cluster.resourcesVpcConfig.clusterSecurityGroupId"
                    ),
                },
            ),
        ),
        read=(Call("DescribeCluster", {"name": "$name"}),),
        delete=(Call("DeleteCluster", {"name": "$name"}),),
        update=(*_EKS_TAGS, "UpdateClusterConfig", "UpdateClusterVersion", "DescribeUpdate"),
    ),
    "aws:eks/nodeGroup:NodeGroup": Lifecycle(
        "eks",
        create=(
            Call(
                "CreateNodegroup",
                takes={
                    "nodeGroupName": "nodegroupName",
                    "nodeRoleArn": "nodeRole",
                    "subnetIds": "subnets",
                },
                answers={"arn": "nodegroup.nodegroupArn"},
            ),
        ),
        read=(Call("DescribeNodegroup", _NODE_GROUP),),
        delete=(Call("DeleteNodegroup", _NODE_GROUP),),
        update=(
            *_EKS_TAGS,
            "UpdateNodegroupConfig",
            "UpdateNodegroupVersion",
            "DescribeUpdate",
        ),
        named="nodeGroupName",
        later={"forceUpdateVersion": "UpdateNodegroupVersion.force"},
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Lifecycle(
        "eks",
        create=(
            Call(
                "CreatePodIdentityAssociation",
                answers={"associationId": "association.associationId"},
            ),
        ),
        read=(Call("DescribePodIdentityAssociation", _ASSOCIATION),),
        delete=(Call("DeletePodIdentityAssociation", _ASSOCIATION),),
        update=(*_EKS_TAGS, "UpdatePodIdentityAssociation"),
    ),
    "aws:iam/role:Role": Lifecycle(
        "iam",
        create=(
            Call(
                "CreateRole",
                takes={"name": "RoleName", "assumeRolePolicy": "AssumeRolePolicyDocument"},
                answers={"arn": "Role.Arn", "id": "Role.RoleName"},
            ),
        ),
        read=(
            Call("GetRole", _ROLE),
            Call("ListRolePolicies", _ROLE),
            Call("ListAttachedRolePolicies", _ROLE),
        ),
        delete=(
            Call("ListInstanceProfilesForRole", _ROLE),
            Call("DeleteRole", _ROLE),
        ),
        update=("TagRole", "UntagRole", "UpdateAssumeRolePolicy", "UpdateRoleDescription"),
        update_with={"PermissionsBoundary": ("PutRolePermissionsBoundary",)},
        named="name",
    ),
    "aws:iam/rolePolicy:RolePolicy": Lifecycle(
        "iam",
        create=(
            Call(
                "PutRolePolicy",
                takes={"name": "PolicyName", "role": "RoleName", "policy": "PolicyDocument"},
            ),
        ),
        read=(Call("GetRolePolicy", {"RoleName": "$role", "PolicyName": "$name"}),),
        delete=(Call("DeleteRolePolicy", {"RoleName": "$role", "PolicyName": "$name"}),),
        named="name",
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Lifecycle(
        "iam",
        create=(Call("AttachRolePolicy", takes={"role": "RoleName"}),),
        read=(Call("ListAttachedRolePolicies", {"RoleName": "$role"}),),
        delete=(Call("DetachRolePolicy", {"RoleName": "$role", "PolicyArn": "$policyArn"}),),
    ),
    "aws:kms/alias:Alias": Lifecycle(
        "kms",
        create=(Call("CreateAlias", takes={"name": "AliasName"}),),
        read=(Call("ListAliases"),),
        delete=(Call("DeleteAlias", {"AliasName": "$name"}),),
        update=("UpdateAlias",),
    ),
    "aws:kms/key:Key": Lifecycle(
        "kms",
        create=(
            Call(
                "CreateKey",
                answers={
                    "id": "KeyMetadata.KeyId",
                    "keyId": "KeyMetadata.KeyId",
                    "arn": "KeyMetadata.Arn",
                },
            ),
            Call("EnableKeyRotation", {"KeyId": "$id"}, only_with="enableKeyRotation"),
        ),
        read=(
            Call("DescribeKey", {"KeyId": "$id"}),
            Call("GetKeyPolicy", {"KeyId": "$id", "PolicyName": "default"}),
            Call("GetKeyRotationStatus", {"KeyId": "$id"}),
            Call("ListResourceTags", {"KeyId": "$id"}),
        ),
        delete=(Call("ScheduleKeyDeletion", {"KeyId": "$id"}),),
        update=(
            *_EKS_TAGS,
            "DisableKeyRotation",
            "EnableKeyRotation",
            "UpdateKeyDescription",
        ),
        later={
            "deletionWindowInDays": "ScheduleKeyDeletion.PendingWindowInDays",
            "enableKeyRotation": "provider",
        },
    ),
    "aws:sqs/queue:Queue": Lifecycle(
        "sqs",
        create=(
            Call(
                "CreateQueue",
                takes={
                    "name": "QueueName",
                    "messageRetentionSeconds": "Attributes.MessageRetentionPeriod",
                    "sqsManagedSseEnabled": "Attributes.SqsManagedSseEnabled",
                },
                answers={"url": "QueueUrl"},
            ),
        ),
        read=(
            Call("GetQueueAttributes", {"QueueUrl": "$url", "AttributeNames": ["All"]}),
            Call("ListQueueTags", {"QueueUrl": "$url"}),
        ),
        delete=(Call("DeleteQueue", {"QueueUrl": "$url"}),),
        update=("SetQueueAttributes", "TagQueue", "UntagQueue"),
        named="name",
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Lifecycle(
        "sqs",
        create=(
            Call(
                "SetQueueAttributes",
                takes={"queueUrl": "QueueUrl", "policy": "Attributes.Policy"},
            ),
        ),
        read=(Call("GetQueueAttributes", _OF_QUEUE),),
        delete=(
            Call("SetQueueAttributes", {"QueueUrl": "$queueUrl", "Attributes": {"Policy": ""}}),
        ),
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress"),
}
"""Every type that a stack may register."""
