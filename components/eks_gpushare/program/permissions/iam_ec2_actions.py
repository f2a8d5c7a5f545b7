"""The part of `iam_actions` that is of EC2: the network, launch templates, security groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.permissions.iam_grants import (
    Grant,
    ec2,
    in_vpc,
    look,
    new,
    of,
    own,
    passing,
    tagging,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


FROM_TEMPLATE = (
    "ArnLike",
    "ec2:LaunchTemplate",
    "arn:{partition}:ec2:{region}:{account}:launch-template/*",
)
"""The condition that an instance is started from a launch template of the account."""


def _security_group_rule(direction: str) -> tuple[Grant, ...]:
    create = f"AuthorizeSecurityGroup{direction}"
    of_group = (create, f"RevokeSecurityGroup{direction}", "ModifySecurityGroupRules")
    return (
        look("DescribeSecurityGroupRules"),
        Grant(of("ec2", " ".join(of_group)), ec2("security-group"), named="own securityGroupId"),
        new(create, "security-group-rule"),
        own(("security-group-rule",), "ModifySecurityGroupRules"),
        *tagging("security-group-rule", create),
    )


_RESERVATION = "capacityReservationSpecification.capacityReservationTarget.capacityReservationId"

EC2_ACTIONS: Mapping[str, tuple[Grant, ...]] = {
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": (
        look("DescribeSecurityGroups"),
        # It comes with the VPC and has no name yet: one that nobody named may be another's.
        Grant(
            of("ec2", "CreateTags RevokeSecurityGroupEgress RevokeSecurityGroupIngress"),
            ec2("security-group"),
            condition=("Null", "aws:ResourceTag/Name", "true"),
        ),
        own(
            ("security-group",),
            *("CreateTags", "DeleteTags", "RevokeSecurityGroupEgress"),
            "RevokeSecurityGroupIngress",
        ),
    ),
    "aws:ec2/eip:Eip": (
        look("DescribeAddresses", "DescribeAddressesAttribute"),
        new("AllocateAddress", "elastic-ip"),
        own(("elastic-ip",), "ReleaseAddress"),
        *tagging("elastic-ip", "AllocateAddress"),
    ),
    "aws:ec2/flowLog:FlowLog": (
        look("DescribeFlowLogs"),
        new("CreateFlowLogs", "vpc-flow-log"),
        own(("vpc",), "CreateFlowLogs"),
        own(("vpc-flow-log",), "DeleteFlowLogs"),
        *tagging("vpc-flow-log", "CreateFlowLogs"),
        Grant(("logs:CreateLogDelivery", "logs:DeleteLogDelivery")),
        *passing("{iamRoleArn}", "vpc-flow-logs.amazonaws.com"),
    ),
    "aws:ec2/internetGateway:InternetGateway": (
        look("DescribeInternetGateways"),
        new("CreateInternetGateway", "internet-gateway"),
        own(("internet-gateway", "vpc"), "AttachInternetGateway", "DetachInternetGateway"),
        own(("internet-gateway",), "DeleteInternetGateway"),
        *tagging("internet-gateway", "CreateInternetGateway"),
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": (
        look("DescribeLaunchTemplates", "DescribeLaunchTemplateVersions"),
        new("CreateLaunchTemplate", "launch-template"),
        own(
            ("launch-template",),
            "CreateLaunchTemplateVersion",
            "DeleteLaunchTemplate",
            "ModifyLaunchTemplate",
        ),
        *tagging("launch-template", "CreateLaunchTemplate"),
        Grant(
            ("ec2:RunInstances",),
            (),
            condition=FROM_TEMPLATE,
            shared=("capacity-reservation", _RESERVATION),
        ),
    ),
    "aws:ec2/natGateway:NatGateway": (
        look("DescribeNatGateways"),
        new("CreateNatGateway", "natgateway"),
        own(("elastic-ip", "subnet"), "CreateNatGateway"),
        own(("natgateway",), "DeleteNatGateway"),
        *tagging("natgateway", "CreateNatGateway"),
    ),
    "aws:ec2/placementGroup:PlacementGroup": (
        look("DescribePlacementGroups"),
        Grant(
            of("ec2", "CreatePlacementGroup CreateTags DeletePlacementGroup DeleteTags"),
            ("arn:{partition}:ec2:{region}:{account}:placement-group/{name}",),
        ),
    ),
    "aws:ec2/route:Route": (
        look("DescribeRouteTables"),
        own(("route-table",), "CreateRoute", "DeleteRoute", "ReplaceRoute"),
    ),
    "aws:ec2/routeTable:RouteTable": (
        look("DescribeRouteTables"),
        new("CreateRouteTable", "route-table"),
        own(("vpc",), "CreateRouteTable"),
        own(("route-table",), "DeleteRouteTable"),
        *tagging("route-table", "CreateRouteTable"),
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": (
        look("DescribeRouteTables"),
        own(
            ("route-table", "subnet"),
            "AssociateRouteTable",
            "DisassociateRouteTable",
            "ReplaceRouteTableAssociation",
        ),
    ),
    "aws:ec2/securityGroup:SecurityGroup": (
        look("DescribeSecurityGroups"),
        new("CreateSecurityGroup", "security-group"),
        in_vpc("CreateSecurityGroup"),
        own(
            ("security-group",),
            "DeleteSecurityGroup",
            "RevokeSecurityGroupEgress",
            "RevokeSecurityGroupIngress",
        ),
        *tagging("security-group", "CreateSecurityGroup"),
    ),
    "aws:ec2/subnet:Subnet": (
        look("DescribeSubnets"),
        new("CreateSubnet", "subnet"),
        own(("vpc",), "CreateSubnet"),
        own(("subnet",), "DeleteSubnet", "ModifySubnetAttribute"),
        *tagging("subnet", "CreateSubnet"),
    ),
    "aws:ec2/vpc:Vpc": (
        look(
            "DescribeNetworkAcls", "DescribeRouteTables", "DescribeSecurityGroups", "DescribeVpcs"
        ),
        new("CreateVpc", "vpc"),
        own(("vpc",), "DeleteVpc", "DescribeVpcAttribute", "ModifyVpcAttribute"),
        *tagging("vpc", "CreateVpc"),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": (
        look("DescribePrefixLists", "DescribeVpcEndpoints"),
        new("CreateVpcEndpoint", "vpc-endpoint"),
        own(("vpc", "route-table"), "CreateVpcEndpoint"),
        own(("vpc-endpoint",), "DeleteVpcEndpoints"),
        own(("vpc-endpoint", "route-table"), "ModifyVpcEndpoint"),
        *tagging("vpc-endpoint", "CreateVpcEndpoint"),
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _security_group_rule("Egress"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _security_group_rule("Ingress"),
}
"""By type of resource."""

NAMED_BY_POOL = frozenset(
    {
        "aws:ec2/launchTemplate:LaunchTemplate",
        "aws:ec2/securityGroup:SecurityGroup",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    }
)
"""Types whose names need not begin as those of the network do."""
