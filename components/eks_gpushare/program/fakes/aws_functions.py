"""Fakes for the AWS look-ups that EKS programs make. What they make up is noted in the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.partitions import partition_of
from eks_gpushare.program.fakes.regions import region_of as _region
from eks_gpushare.program.fakes.types import ACCOUNT
from eks_gpushare.program.values import Properties, Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.program.fakes.types import Function, Plan

_ZONES = "abc"
_ASSUMED_VERSION = "1.35"
_CALLER = "arn:{partition}:sts::{account}:assumed-role/Assumed/session"


def _availability_zones(plan: Plan, args: Properties, provider: str) -> Properties:
    region = _region(plan, args, provider)
    names = [f"{region}{letter}" for letter in _ZONES]
    plan.assume(
        f"Region {region} is taken to have the zones {', '.join(names)}. Which IDs these have in an"
        " account is not known, so what depends on them is not checked."
    )
    return {"id": region, "region": region, "names": names, "groupNames": [region], "zoneIds": []}


def _cluster(plan: Plan, args: Properties, provider: str) -> Properties:
    region = _region(plan, args, provider)
    name = args.get("name")
    plan.assume(
        f"EKS cluster {name!r} is taken to exist in {region} with Kubernetes {_ASSUMED_VERSION}"
        " and API authentication; its endpoint, ARN and network are made up."
    )
    return {
        "id": name,
        "name": name,
        "region": region,
        "arn": f"arn:{partition_of(region).id}:eks:{region}:{ACCOUNT}:cluster/{name}",
        "endpoint": f"https://ASSUMED.gr7.{region}.eks.amazonaws.com",
        "certificateAuthorities": [{"data": "QVNTVU1FRA=="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4"}],
        "version": _ASSUMED_VERSION,
        "status": "ACTIVE",
        "accessConfigs": [
            {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True}
        ],
        "identities": [
            {"oidcs": [{"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/ASSUMED"}]}
        ],
        "roleArn": f"arn:{partition_of(region).id}:iam::{ACCOUNT}:role/assumed-{name}",
        "computeConfigs": [],
        "deletionProtection": False,
        "vpcConfig": {
            "vpcId": "vpc-assumed",
            "subnetIds": ["subnet-assumed-1", "subnet-assumed-2"],
            "securityGroupIds": [],
            "clusterSecurityGroupId": "sg-assumed",
            "endpointPrivateAccess": True,
            "endpointPublicAccess": False,
            "publicAccessCidrs": [],
        },
        "tags": {},
    }


_ADDON_VERSION = "v0.0.0-eksbuild.1"


def _addon_version(plan: Plan, args: Properties, provider: str) -> Properties:
    name = args.get("addonName")
    plan.assume(
        f"The newest version of the add-on {name} is not known; {_ADDON_VERSION} stands for it."
    )
    region = _region(plan, args, provider)
    return {**args, "id": name, "region": region, "version": _ADDON_VERSION}


def _cluster_auth(plan: Plan, args: Properties, provider: str) -> Properties:
    region = _region(plan, args, provider)
    name = args.get("name")
    return {"id": name, "name": name, "region": region, "token": Secret("assumed-token")}


def _caller_identity(plan: Plan, _args: Properties, provider: str) -> Properties:
    arn = _CALLER.format(partition=partition_of(plan.region(provider)).id, account=ACCOUNT)
    plan.assume(f"The caller is taken to be {arn}.")
    return {"id": ACCOUNT, "accountId": ACCOUNT, "arn": arn, "userId": "ASSUMED"}


def _route_tables(plan: Plan, args: Properties, _provider: str) -> Properties:
    plan.assume("The VPC of the EKS cluster is taken to have private subnets only.")
    return {"id": args.get("vpcId"), "ids": ["rtb-assumed"], "vpcId": args.get("vpcId")}


def _route_table(_plan: Plan, args: Properties, _provider: str) -> Properties:
    main = {"main": True, "subnetId": "", "gatewayId": "", "routeTableAssociationId": "ASSUMED"}
    routes = [{"cidrBlock": "0.0.0.0/0", "natGatewayId": "nat-assumed", "gatewayId": ""}]
    found = args.get("routeTableId") or f"rtb-of-{args.get('subnetId', 'assumed')}"
    return {
        **args,
        "id": found,
        "routeTableId": found,
        "vpcId": args.get("vpcId", "vpc-assumed"),
        "ownerId": ACCOUNT,
        "associations": [main],
        "routes": routes,
        "tags": dict(args.get("tags") or {}),
    }


def _partition(plan: Plan, args: Properties, provider: str) -> Properties:
    region = plan.region(provider) if "region" not in args else str(args["region"])
    partition = partition_of(region).id
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    reverse = ".".join(reversed(suffix.split(".")))
    return {
        "id": partition,
        "partition": partition,
        "dnsSuffix": suffix,
        "reverseDnsPrefix": reverse,
    }


def _current_region(plan: Plan, args: Properties, provider: str) -> Properties:
    region = _region(plan, args, provider)
    endpoint = f"ec2.{region}.amazonaws.com"
    return {
        "id": region,
        "name": region,
        "region": region,
        "endpoint": endpoint,
        "description": region,
    }


def _regions(plan: Plan, args: Properties, provider: str) -> Properties:
    region = _region(plan, args, provider)
    plan.assume(f"{region} is taken to be the only region that the account uses.")
    return {"id": partition_of(region).id, "names": [region]}


FUNCTIONS: Mapping[str, Function] = {
    "aws:ec2/getRouteTable:getRouteTable": _route_table,
    "aws:ec2/getRouteTables:getRouteTables": _route_tables,
    "aws:eks/getAddonVersion:getAddonVersion": _addon_version,
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:eks/getClusterAuth:getClusterAuth": _cluster_auth,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _availability_zones,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller_identity,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _current_region,
    "aws:index/getRegions:getRegions": _regions,
}
"""Token to fake."""
