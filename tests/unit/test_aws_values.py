"""Values of a stack file are read as AWS reads them: broken ones and right ones that look alike.

Each case is a whole stack file, put through `check`. A broken value is one error or warning, at its
place; a right one is none. What AWS takes is told by botocore's models where they say it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import botocore.session
import finding_examples
import pytest
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

from eks_gpushare.catalog import arns, cidrs, resource_ids
from eks_gpushare.catalog.instances import gpu_instance_types, other_instance_names
from eks_gpushare.catalog.zones import ZONE_LETTERS
from eks_gpushare.documents.helm import merge_values

ACCOUNT = "arn:aws:iam::111122223333"
ROLE = f"{ACCOUNT}:role/Platform"
KEY_ID = "6a3d8f0e-91c4-4b7e-8d25-0f9b7c1e53a2"
KEY = f"arn:aws:kms:us-west-2:111122223333:key/{KEY_ID}"
VPC, CR, AMI = "vpc-07c1f29d6e4b8a35d", "cr-07c1f29d6e4b8a35d", "ami-07c1f29d6e4b8a35d"
SUBNETS = ["subnet-07c1f29d6e4b8a35d", "subnet-04e6a8d1b7c2f903e"]
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
EFA = {"instanceTypes": ["p4d.24xlarge"], "efa": True, "zones": ["us-west-2a"]}
MANY = [
    f"{family}.{size}"
    for family in ("m5", "m6i", "m7i")
    for size in ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge")
]
GPUS = [name for name, found in gpu_instance_types().items() if found.gpu_count == 1]


def cidr(*given: str, private: bool = True) -> dict[str, Any]:
    endpoint = {"public": True, "publicCidrs": list(given), "private": private}
    return {"cluster": {"endpoint": endpoint}}


def network(**given: Any) -> dict[str, Any]:
    return {"network": given}


def vpc(**given: Any) -> dict[str, Any]:
    return {"network": {"zones": None, "vpcId": VPC, "privateSubnetIds": SUBNETS} | given}


def admins(*given: str) -> dict[str, Any]:
    return {"cluster": {"admins": list(given)}}


def secrets(key: str) -> dict[str, Any]:
    return {"cluster": {"secretsKeyArn": key}}


def logs(key: str) -> dict[str, Any]:
    return {"cluster": {"logKeyArn": key, "logRetentionDays": 90}}


def identity(**given: Any) -> dict[str, Any]:
    accounts = {"sa": given}
    return {"cluster": {"addons": {"byName": {"adot": {"podIdentity": accounts}}}}}


def iam(**given: Any) -> dict[str, Any]:
    return {"iam": given}


def tags(**given: str) -> dict[str, Any]:
    return {"tags": given}


def pool(**given: Any) -> dict[str, Any]:
    return {"pools": {"gpu": given}}


def reserved(**given: Any) -> dict[str, Any]:
    zone = {"capacityType": "reserved", "reservation": {"id": CR}, "zones": ["us-west-2a"]}
    return zone | given


def two_pools(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    own = {"instanceTypes": ["g5.xlarge"], "sharing": {"mode": "exclusive"}}
    version = {"amiVersion": "1.35.8-20260930"}
    return {"pools": {"gpu": first, "more": own | version | second}}


def system(**given: Any) -> dict[str, Any]:
    return {"system": given}


PUBLIC = "cluster.endpoint.publicCidrs"
IDENTITY = "cluster.addons.byName.adot.podIdentity.sa"
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    # Networks of the public endpoint: how they are written.
    ("GPU330", f"{PUBLIC}[0]", cidr("198.51.100.0/255.255.255.0")),
    ("GPU330", f"{PUBLIC}[0]", cidr("198.51.100.0/0.0.0.255")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.8")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.8/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.0/024")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.08.0/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.0 /24")),
    ("GPU330", f"{PUBLIC}[0]", cidr(" 8.8.8.0/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.0/24\n")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.0/33")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.0/-1")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.0/")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("8.8.8.256/32")),
    ("GPU330", f"{PUBLIC}[0]", cidr("134744072/32")),
    ("GPU330", f"{PUBLIC}[0]", cidr("\u0668.8.8.0/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("")),
    ("GPU330", f"{PUBLIC}[0]", cidr("any")),
    ("GPU330", f"{PUBLIC}[1]", cidr("8.8.8.0/24", "8.8.4.0/24,8.8.5.0/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("2600:1F14::/36")),
    # What they are.
    ("GPU330", f"{PUBLIC}[0]", cidr("10.0.0.0/8")),
    ("GPU330", f"{PUBLIC}[0]", cidr("172.31.0.0/16")),
    ("GPU330", f"{PUBLIC}[0]", cidr("192.168.178.0/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("100.64.0.0/10")),
    ("GPU330", f"{PUBLIC}[0]", cidr("127.0.0.1/32")),
    ("GPU330", f"{PUBLIC}[0]", cidr("169.254.169.254/32")),
    ("GPU330", f"{PUBLIC}[0]", cidr("224.0.0.0/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("239.1.2.0/24")),
    ("GPU330", f"{PUBLIC}[0]", cidr("240.0.0.0/8")),
    ("GPU330", f"{PUBLIC}[0]", cidr("255.255.255.255/32")),
    ("GPU330", f"{PUBLIC}[0]", cidr("0.0.0.0/32")),
    ("GPU330", f"{PUBLIC}[0]", cidr("198.18.0.0/15")),
    ("GPU330", f"{PUBLIC}[0]", cidr("192.0.0.0/24")),
    ("GPU608", f"{PUBLIC}[0]", cidr("0.0.0.0/0")),
    ("GPU608", f"{PUBLIC}[1]", cidr("8.8.8.0/24", "::/0")),
    ("GPU608", f"{PUBLIC}[0]", cidr("64.0.0.0/3")),
    ("GPU608", f"{PUBLIC}[0]", cidr("8.0.0.0/7")),
    ("GPU331", f"{PUBLIC}[0]", cidr("2600:1f14::/36")),
    ("GPU331", f"{PUBLIC}[1]", cidr("8.8.8.0/24", "2600::/12")),
    # All of them together.
    ("GPU608", PUBLIC, cidr("8.0.0.0/8", "9.0.0.0/8")),
    ("GPU608", PUBLIC, cidr(*(f"{first}.0.0.0/8" for first in range(11, 40, 2)))),
    ("GPU608", PUBLIC, cidr(*(f"8.{n * 16}.0.0/12" for n in range(16)), "9.0.0.0/8")),
    ("GPU330", f"{PUBLIC}[2]", cidr("8.8.8.0/24", "8.8.4.0/24", "8.8.8.0/24")),
    ("GPU330", PUBLIC, cidr(*(f"8.8.{n}.0/24" for n in range(0, 82, 2)))),
    ("GPU608", PUBLIC, cidr()),
    ("GPU323", "cluster.endpoint.private", cidr("8.8.8.0/24", private=False)),
    # The VPC's own range.
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/255.255.0.0")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/0.0.255.255")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.1/16")),
    ("GPU605", "network.cidr", network(cidr="10.00.0.0/16")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/016")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/16 ")),
    ("GPU605", "network.cidr", network(cidr="fd00::/16")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/8")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/15")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/21")),
    ("GPU605", "network.cidr", network(cidr="10.0.0.0/28")),
    ("GPU605", "network.cidr", network(cidr="8.8.0.0/16")),
    ("GPU605", "network.cidr", network(cidr="127.0.0.0/16")),
    ("GPU605", "network.cidr", network(cidr="169.254.0.0/16")),
    ("GPU605", "network.cidr", network(cidr="224.0.0.0/16")),
    ("GPU605", "network.cidr", network(cidr="0.0.0.0/0")),
    ("GPU606", "network.cidr", network(cidr="172.17.0.0/16")),
    ("GPU606", "network.cidr", network(cidr="172.17.64.0/18")),
    # IDs.
    ("GPU609", "network.vpcId", vpc(vpcId="vpc-123")),
    ("GPU609", "network.vpcId", vpc(vpcId="vpc-07C1F29D6E4B8A35D")),
    ("GPU609", "network.vpcId", vpc(vpcId="vpc-07c1f29d6e4b8a35g")),
    ("GPU609", "network.vpcId", vpc(vpcId="vpc-07c1f29d6e4b8a35d0")),
    ("GPU609", "network.vpcId", vpc(vpcId="vpc-\u06607c1f29d6e4b8a35d")),
    ("GPU609", "network.vpcId", vpc(vpcId="vpc-")),
    ("GPU609", "network.vpcId", vpc(vpcId="")),
    ("GPU609", "network.vpcId", vpc(vpcId=SUBNETS[0])),
    ("GPU609", "network.vpcId", vpc(vpcId=f"{VPC}\n")),
    ("GPU609", "network.privateSubnetIds[1]", vpc(privateSubnetIds=[SUBNETS[0], "subnet-0b"])),
    ("GPU609", "network.privateSubnetIds[1]", vpc(privateSubnetIds=[SUBNETS[0], VPC])),
    ("GPU609", "network.privateSubnetIds[1]", vpc(privateSubnetIds=[SUBNETS[0]] * 2)),
    ("GPU609", "network.privateSubnetIds[2]", vpc(privateSubnetIds=[*SUBNETS, SUBNETS[1]])),
    ("GPU607", "network.privateSubnetIds", vpc(privateSubnetIds=[])),
    ("GPU607", "network.privateSubnetIds", vpc(privateSubnetIds=SUBNETS[:1])),
    ("GPU609", "network.publicSubnetIds[0]", vpc(publicSubnetIds=["subnet-xyz"])),
    ("GPU609", "network.publicSubnetIds[0]", vpc(publicSubnetIds=SUBNETS[:1])),
    ("GPU609", "pools.gpu.subnetIds[0]", vpc() | pool(subnetIds=["subnet-1"])),
    ("GPU609", "pools.gpu.subnetIds[1]", vpc() | pool(subnetIds=SUBNETS[:1] * 2)),
    ("GPU414", "pools.gpu.subnetIds[0]", vpc() | pool(subnetIds=["subnet-0d9e8c7b6a5f40312"])),
    ("GPU414", "pools.gpu.subnetIds", vpc() | pool(subnetIds=[])),
    ("GPU403", "pools.gpu.reservation.id", pool(**reserved(reservation={"id": "cr-1"}))),
    ("GPU403", "pools.gpu.reservation.id", pool(**reserved(reservation={"id": "cr-..."}))),
    ("GPU403", "pools.gpu.reservation.id", pool(**reserved(reservation={"id": CR.upper()}))),
    ("GPU403", "pools.gpu.reservation.id", pool(**reserved(reservation={"id": AMI}))),
    # Placeholders.
    ("GPU434", "network.vpcId", vpc(vpcId="vpc-0123456789abcdef0")),
    ("GPU434", "network.vpcId", vpc(vpcId="vpc-12345678")),
    ("GPU434", "network.vpcId", vpc(vpcId="vpc-1234567890abcdef0")),
    (
        "GPU434",
        "network.privateSubnetIds[1]",
        vpc(privateSubnetIds=[SUBNETS[0], "subnet-0aaaaaaaaaaaaaaaa"]),
    ),
    ("GPU434", "network.publicSubnetIds[0]", vpc(publicSubnetIds=["subnet-0bbbbbbbbbbbbbbbb"])),
    ("GPU434", "network.publicSubnetIds[0]", vpc(publicSubnetIds=["subnet-00000000000000000"])),
    ("GPU434", "network.publicSubnetIds[0]", vpc(publicSubnetIds=["subnet-0fedcba9876543210"])),
    ("GPU434", "network.publicSubnetIds[0]", vpc(publicSubnetIds=["subnet-0a1b2c3d4e5f60718"])),
    (
        "GPU434",
        "pools.gpu.reservation.id",
        pool(**reserved(reservation={"id": "cr-0123456789abcdef0"})),
    ),
    # Zones.
    ("GPU408", "network.zones[1]", network(zones=["us-west-2a", "us-west-2e"])),
    ("GPU408", "network.zones[1]", network(zones=["us-west-2a", "us-west-2f"])),
    ("GPU408", "network.zones[1]", network(zones=["us-west-2a", "us-west-2-lax-1a"])),
    ("GPU408", "network.zones[1]", network(zones=["us-west-2a", "us-west-2-wl1-las-wlz-1"])),
    ("GPU408", "network.zones[1]", network(zones=["us-west-2a", "usw2-az2"])),
    ("GPU408", "network.zones[1]", network(zones=["us-west-2a", "us-east-1b"])),
    ("GPU607", "network.zones[1]", network(zones=["us-west-2a", "us-west-2a"])),
    ("GPU607", "network.zones", network(zones=[])),
    ("GPU607", "network.zones", network(zones=7)),
    ("GPU607", "network.zones", network(zones=5)),
    ("GPU607", "network.zones", network(zones=1)),
    ("GPU408", "pools.gpu.zones[0]", network(zones=2) | pool(zones=["us-west-2e"])),
    ("GPU441", "pools.gpu.zones[1]", pool(zones=["us-west-2a", "us-west-2a"])),
    ("GPU441", "system.zones[1]", system(zones=["us-west-2b", "us-west-2b"])),
    ("GPU408", "system.zones[0]", network(zones=2) | system(zones=["us-west-2g"])),
    # Addresses.
    (
        "GPU332",
        "network.cidr",
        network(cidr="10.0.0.0/20") | pool(nodes={"min": 0, "desired": 1, "max": 20}),
    ),
    (
        "GPU332",
        "network.cidr",
        network(cidr="10.0.0.0/20")
        | pool(nodes={"min": 0, "desired": 1, "max": 9}, zones=["us-west-2a"]),
    ),
    (
        "GPU332",
        "network.cidr",
        network(cidr="10.0.0.0/19") | pool(nodes={"min": 0, "desired": 1, "max": 200}),
    ),
    # ARNs of admins.
    ("GPU612", "cluster.admins[0]", admins("Platform")),
    ("GPU612", "cluster.admins[0]", admins("arn:aws:iam::111122223333:root")),
    ("GPU612", "cluster.admins[0]", admins("arn:aws:iam::11112222333:role/Platform")),
    ("GPU612", "cluster.admins[0]", admins("arn:aws:iam::1111222233334:role/Platform")),
    ("GPU612", "cluster.admins[0]", admins("arn:aws:iam::11112222333\u0663:role/Platform")),
    ("GPU612", "cluster.admins[0]", admins("arn:aws:iam:us-west-2:111122223333:role/Platform")),
    ("GPU612", "cluster.admins[0]", admins("arn:aws:sts::111122223333:assumed-role/Platform/me")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:role/")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:role//Platform")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:role/team/")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:role/Plat form")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:role/Plätform")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:role/{'x' * 65}")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:user/{'x' * 65}")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:group/Platform")),
    ("GPU612", "cluster.admins[0]", admins(f"{ACCOUNT}:policy/Platform")),
    ("GPU612", "cluster.admins[0]", admins(f"{ROLE}\n")),
    ("GPU612", "cluster.admins[0]", admins(ROLE.upper())),
    (
        "GPU612",
        "cluster.admins[0]",
        admins(f"{ACCOUNT}:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS"),
    ),
    ("GPU612", "cluster.admins[1]", admins(ROLE, ROLE)),
    ("GPU321", "cluster.admins[0]", admins("arn:aws-cn:iam::111122223333:role/Platform")),
    ("GPU321", "cluster.admins[0]", admins("arn:aws-us-gob:iam::111122223333:role/Platform")),
    (
        "GPU321",
        "cluster.namedAdmins.ops",
        {"cluster": {"namedAdmins": {"ops": "arn:aws-us-gov:iam::111122223333:role/Ops"}}},
    ),
    # Keys.
    ("GPU612", "cluster.secretsKeyArn", secrets("alias/mine")),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY_ID)),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY.replace(KEY_ID, "mine"))),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY.replace(KEY_ID, f"{KEY_ID}0"))),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY.replace("111122223333", "1111"))),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY.replace("us-west-2", ""))),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY.replace("key/", "key:"))),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY.replace(f"key/{KEY_ID}", "alias/"))),
    ("GPU612", "cluster.secretsKeyArn", secrets(KEY.replace(f"key/{KEY_ID}", "alias/aws/ebs"))),
    ("GPU612", "cluster.secretsKeyArn", secrets(ROLE)),
    ("GPU436", "cluster.secretsKeyArn", secrets(KEY.replace("us-west-2", "eu-west-1"))),
    ("GPU436", "cluster.logKeyArn", logs(KEY.replace("us-west-2", "us-west-1"))),
    ("GPU612", "cluster.logKeyArn", logs("arn:aws:kms:us-west-2:111122223333:key/x")),
    ("GPU321", "cluster.secretsKeyArn", secrets(KEY.replace("arn:aws:", "arn:aws-cn:"))),
    # Roles, policies, boundaries, paths.
    ("GPU420", "pools.gpu.nodeRole", pool(nodeRole="gpu-nodes")),
    ("GPU420", "pools.gpu.nodeRole", pool(nodeRole=f"{ACCOUNT}:instance-profile/nodes")),
    ("GPU420", "pools.gpu.nodeRole", pool(nodeRole=f"{ACCOUNT}:user/nodes")),
    ("GPU420", "pools.gpu.nodeRole", pool(nodeRole=f"{ACCOUNT}:role/{'n' * 65}")),
    (
        "GPU420",
        "system.nodeRole",
        system(
            nodeRole=f"{ACCOUNT}:role/aws-service-role/eks-nodegroup.amazonaws.com/"
            "AWSServiceRoleForAmazonEKSNodegroup"
        ),
    ),
    ("GPU321", "pools.gpu.nodeRole", pool(nodeRole="arn:aws-cn:iam::111122223333:role/nodes")),
    ("GPU321", "system.nodeRole", system(nodeRole="arn:aws-cn:iam::111122223333:role/nodes")),
    ("GPU329", f"{IDENTITY}.roleArn", identity(roleArn=f"{ACCOUNT}:user/adot")),
    ("GPU329", f"{IDENTITY}.roleArn", identity(roleArn="")),
    ("GPU329", f"{IDENTITY}.policyArns[0]", identity(policyArns=["AdministratorAccess"])),
    ("GPU329", f"{IDENTITY}.policyArns[0]", identity(policyArns=[f"{ACCOUNT}:policy/{'p' * 129}"])),
    ("GPU329", f"{IDENTITY}.policyArns[0]", identity(policyArns=["arn:aws:iam::AWS:policy/X"])),
    ("GPU320", "iam.permissionsBoundary", iam(permissionsBoundary="Boundary")),
    ("GPU320", "iam.permissionsBoundary", iam(permissionsBoundary=f"{ACCOUNT}:role/Boundary")),
    ("GPU320", "iam.permissionsBoundary", iam(permissionsBoundary=f"{ACCOUNT}:policy/")),
    ("GPU320", "iam.path", iam(path="team/")),
    ("GPU320", "iam.path", iam(path="/team")),
    ("GPU320", "iam.path", iam(path="")),
    ("GPU320", "iam.path", iam(path=f"/{'x' * 511}/")),
    ("GPU320", "iam.path", iam(path="/aws-service-role/")),
    # Tags.
    ("GPU310", "tags.aws:team", tags(**{"aws:team": "x"})),
    ("GPU310", "tags.AWS:team", tags(**{"AWS:team": "x"})),
    ("GPU310", 'tags[""]', tags(**{"": "x"})),
    ("GPU310", "tags.team", tags(team="a\tb")),
    ("GPU310", "tags.team", tags(team="a\nb")),
    ("GPU310", "tags.team", tags(team="a\u200bb")),
    ("GPU310", "tags.team", tags(team="R&D")),
    ("GPU310", "tags.team", tags(team="a,b")),
    ("GPU310", "tags.team", tags(team="ml \N{ROCKET}")),
    ("GPU310", "tags.team", tags(team="x" * 257)),
    ("GPU310", f"tags.{'k' * 129}", tags(**{"k" * 129: "x"})),
    ("GPU310", "tags.te;am", tags(**{"te;am": "x"})),
    ("GPU310", "tags", tags(**{f"t{n}": "" for n in range(46)})),
    ("GPU438", "tags.Team", tags(team="a", Team="b")),
    ("GPU438", "tags.STRASSE", tags(straße="a", STRASSE="b")),
    (
        "GPU439",
        'tags["kubernetes.io/cluster/demo"]',
        tags(**{"kubernetes.io/cluster/demo": "owned"}) | pool(**EFA),
    ),
    (
        "GPU439",
        'tags["kubernetes.io/role/elb"]',
        tags(**{"kubernetes.io/role/elb": "1"}),
    ),
    # The system nodes.
    ("GPU101", "system.instanceTypes[0]", system(instanceTypes=["t3.gigantic"])),
    ("GPU101", "system.instanceTypes[0]", system(instanceTypes=["T3.large"])),
    ("GPU101", "system.instanceTypes[0]", system(instanceTypes=["t3large"])),
    ("GPU101", "system.instanceTypes[0]", system(instanceTypes=["m6i.large "])),
    ("GPU101", "system.instanceTypes[0]", system(instanceTypes=[""])),
    ("GPU101", "system.instanceTypes[1]", system(instanceTypes=["m6i.large", "m6i.larg"])),
    ("GPU101", "system.instanceTypes[0]", system(instanceTypes=["mac2.metal"])),
    ("GPU110", "system.instanceTypes", system(instanceTypes=[])),
    ("GPU110", "system.instanceTypes[1]", system(instanceTypes=["m6i.large", "m6i.large"])),
    ("GPU629", "system.instanceTypes", system(instanceTypes=MANY)),
    ("GPU620", "system.instanceTypes", system(instanceTypes=["m6i.large", "m7g.large"])),
    ("GPU620", "system.instanceTypes", system(instanceTypes=["c7g.large", "t3.large"])),
    ("GPU621", "system.instanceTypes[0]", system(instanceTypes=["g5.xlarge"])),
    ("GPU621", "system.instanceTypes[1]", system(instanceTypes=["m6i.large", "p4d.24xlarge"])),
    ("GPU623", "system.instanceTypes[0]", system(instanceTypes=["t3.nano"])),
    ("GPU623", "system.instanceTypes[0]", system(instanceTypes=["t3.micro"])),
    ("GPU623", "system.instanceTypes[0]", system(instanceTypes=["t4g.nano"])),
    ("GPU623", "system.instanceTypes[1]", system(instanceTypes=["t3.large", "t3.micro"])),
    (
        "GPU623",
        "system.instanceTypes[0]",
        system(instanceTypes=["t3.small"], nodes={"min": 1, "desired": 1, "max": 1})
        | {"gpuStack": {"manager": "gpuOperator"}, "cluster": {"addons": {"ebsCsi": True}}},
    ),
    ("GPU623", "system.instanceTypes[0]", system(kubelet={"maxPods": 4})),
    ("GPU107", "system.instanceTypes[0]", system(instanceTypes=["hpc6id.32xlarge"])),
    ("GPU505", "system.rootVolumeGiB", system(rootVolumeGiB=0)),
    ("GPU505", "system.rootVolumeGiB", system(rootVolumeGiB=-20)),
    ("GPU505", "system.rootVolumeGiB", system(rootVolumeGiB=19)),
    ("GPU505", "system.rootVolumeGiB", system(rootVolumeGiB=65537)),
    ("GPU505", "system.rootVolumeGiB", system(rootVolumeGiB=99999)),
    ("GPU624", "system.nodes", system(nodes={"min": 0, "desired": 0, "max": 3})),
    ("GPU401", "system.nodes.max", system(nodes={"min": 0, "desired": 0, "max": 0})),
    ("GPU401", "system.nodes.min", system(nodes={"min": -1, "desired": 1, "max": 2})),
    ("GPU401", "system.nodes", system(nodes={"min": 3, "desired": 2, "max": 4})),
    ("GPU401", "system.nodes", system(nodes={"min": 1, "desired": 5, "max": 4})),
    ("GPU504", "system.amiVersion", system(amiVersion="latest")),
    ("GPU504", "system.amiVersion", system(amiVersion="1.34.2-20260930")),
    ("GPU421", "system.maxUnavailable", system(maxUnavailable=0)),
    # Pools.
    ("GPU629", "pools.gpu.instanceTypes", pool(instanceTypes=GPUS[:21], provisioner="existing")),
    (
        "GPU628",
        "pools.more.instanceTypes",
        two_pools(reserved(), reserved(instanceTypes=["g5.2xlarge"])),
    ),
    ("GPU628", "pools.more.zones", two_pools(reserved(), reserved(zones=["us-west-2b"]))),
    (
        "GPU628",
        "pools.gpu.instanceTypes",
        pool(**reserved(instanceTypes=["g5.xlarge", "g5.2xlarge"])),
    ),
    ("GPU627", "pools.gpu.zones", pool(**(EFA | {"zones": ["us-west-2a", "us-west-2b"]}))),
    ("GPU627", "pools.gpu.zones", pool(**(EFA | {"zones": None}))),
    *(
        (
            "GPU655",
            "pools.gpu.taints[1]",
            pool(taints=[TAINT, {"key": key, "effect": "NoSchedule"}]),
        )
        for key in (
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/unreachable",
            "node.kubernetes.io/unschedulable",
            "node.kubernetes.io/network-unavailable",
            "node.kubernetes.io/disk-pressure",
            "node.cloudprovider.kubernetes.io/uninitialized",
            "node.cloudprovider.kubernetes.io/shutdown",
            "ToBeDeletedByClusterAutoscaler",
        )
    ),
    ("GPU630", "pools.gpu.rootVolumeGiB", pool(provisioner="existing", rootVolumeGiB=500)),
    ("GPU630", "pools.gpu.scaledBy", pool(provisioner="existing", scaledBy="autoscaler")),
    (
        "GPU630",
        "pools.gpu.placementGroup",
        pool(provisioner="existing", placementGroup=True, zones=["us-west-2a"]),
    ),
    ("GPU630", "pools.gpu.metadataHopLimit", pool(provisioner="existing", metadataHopLimit=2)),
    ("GPU630", "pools.gpu.tagInstances", pool(provisioner="existing", tagInstances=True)),
    ("GPU630", "pools.gpu.nodeRepair", pool(provisioner="existing", nodeRepair=False)),
    ("GPU422", "pools.gpu.nodeRole", pool(provisioner="existing", nodeRole=ROLE)),
]
WARNINGS = {"GPU107", "GPU332", "GPU434", "GPU655", "GPU627", "GPU630"}

RIGHT: list[dict[str, Any]] = [
    cidr("8.8.8.8/32"),
    cidr("8.0.0.0/8"),
    cidr("8.0.0.0/8", "17.0.0.0/8"),
    cidr("203.0.113.0/24"),
    cidr("172.32.0.0/16"),
    cidr("172.0.0.0/12"),
    cidr("192.169.0.0/16"),
    cidr("100.128.0.0/16"),
    cidr("198.20.0.0/15"),
    cidr("223.255.255.0/24"),
    cidr("1.2.3.0/25", "1.2.3.128/25"),
    cidr(*(f"8.8.{n}.0/24" for n in range(40))),
    network(cidr="10.0.0.0/16"),
    network(cidr="10.96.0.0/20"),
    network(cidr="10.100.0.0/16"),
    network(cidr="172.16.0.0/16"),
    network(cidr="172.20.0.0/16"),
    network(cidr="192.168.0.0/16"),
    network(cidr="100.64.0.0/16"),
    network(cidr="10.255.240.0/20"),
    vpc(),
    vpc(vpcId="vpc-7c1f29d6"),
    vpc(privateSubnetIds=["subnet-7c1f29d6", "subnet-4e6a8d1b"]),
    vpc(publicSubnetIds=[]),
    vpc(vpcId="vpc-assumed", privateSubnetIds=["subnet-assumed-1", "subnet-assumed-2"]),
    vpc(publicSubnetIds=["subnet-0d9e8c7b6a5f40312"]),
    vpc() | pool(subnetIds=SUBNETS[:1]),
    pool(**reserved()),
    two_pools(reserved(), reserved()),
    two_pools(
        reserved(),
        reserved(reservation={"id": "cr-04e6a8d1b7c2f903e"}, instanceTypes=["g5.2xlarge"]),
    ),
    network(zones=["us-west-2a", "us-west-2d"]),
    network(zones=3),
    network(cidr="10.0.0.0/20") | pool(nodes={"min": 0, "desired": 1, "max": 8}),
    pool(nodes={"min": 0, "desired": 1, "max": 200}),
    network(cidr="10.0.0.0/20")
    | pool(nodes={"min": 0, "desired": 1, "max": 30}, kubelet={"maxPods": 20}),
    admins(ROLE),
    admins(f"{ACCOUNT}:role/team/sub/Platform"),
    admins(f"{ACCOUNT}:role/aws-reserved/sso.amazonaws.com/us-west-2/AWSReservedSSO_Ops_0a1"),
    admins(f"{ACCOUNT}:role/{'x' * 64}"),
    admins(f"{ACCOUNT}:user/alice@example.com"),
    admins(f"{ACCOUNT}:role/service-role/mine+=,.@-_"),
    admins("arn:aws:iam::444455556666:role/Platform"),
    secrets(KEY),
    secrets(KEY.replace(KEY_ID, "mrk-1a2b3c4d5e6f47089a0b1c2d3e4f5061")),
    secrets(KEY.replace(f"key/{KEY_ID}", "alias/eks/secrets_1")),
    logs(KEY),
    pool(nodeRole=f"{ACCOUNT}:role/service-role/gpu-nodes"),
    system(nodeRole=ROLE),
    identity(roleArn=f"{ACCOUNT}:role/adot"),
    identity(policyArns=["arn:aws:iam::aws:policy/service-role/X", f"{ACCOUNT}:policy/a/b"]),
    iam(permissionsBoundary=f"{ACCOUNT}:policy/team/Boundary", path="/team/gpu/"),
    iam(permissionsBoundary="arn:aws:iam::aws:policy/PowerUserAccess", path="/"),
    tags(team="ml-platform", Owner="ada@example.com"),
    tags(**{"cost center": "4711", "größe": "groß", "チーム": "機械学習"}),
    tags(**{"k" * 128: "v" * 256}),
    tags(empty=""),
    tags(**{"awsome": "x", "my:aws:tag": "y"}),
    tags(**{f"t{n}": "" for n in range(45)}),
    tags(**{"kubernetes.io/cluster/demo": "shared"}),
    tags(**{"kubernetes.io/cluster/other": "shared"}) | pool(**EFA),
    system(instanceTypes=["t3.small"]),
    system(instanceTypes=["t3.medium"], nodes={"min": 1, "desired": 1, "max": 1}),
    system(instanceTypes=["m7g.large", "c7g.large"]),
    system(instanceTypes=MANY[:20]),
    system(nodes={"min": 0, "desired": 1, "max": 2}),
    system(rootVolumeGiB=20),
    system(rootVolumeGiB=65536),
    system(instanceTypes=["m6i.large"], amiVersion="1.35.8-20260930"),
    system(instanceTypes=["t3.large"], kubelet={"maxPods": 20}),
    system(instanceTypes=["m99.large"])
    | {
        "catalog": {
            "instanceTypes": {"m99.large": {"vcpus": 2, "memoryMiB": 8192, "arch": "arm64"}}
        }
    },
    pool(**EFA),
    pool(taints=[TAINT, {"key": "node.example.com/not-ready", "effect": "NoSchedule"}]),
    pool(taints=[TAINT, {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"}]),
    pool(provisioner="existing", labels={"team": "ml"}, taints=[TAINT], nodes={"max": 2}),
]


def found(changes: dict[str, Any]) -> list[tuple[str, str, str]]:
    given = merge_values(finding_examples.base(), changes)
    report = finding_examples.checked(finding_examples.stack_file_text(given))
    return [(each.severity, each.code, each.path) for each in report.findings]


def name(case: object) -> str:
    return case if isinstance(case, str) else ""


def test_there_are_many() -> None:
    assert len(BROKEN) >= 120
    assert len(RIGHT) >= 40


@pytest.mark.parametrize(("code", "path", "changes"), BROKEN, ids=name)
def test_a_broken_value_is_one_finding_at_its_place(
    code: str, path: str, changes: dict[str, Any]
) -> None:
    every = found(changes)
    errors = [each for each in every if each[0] == "error"]
    wanted = ("warning" if code in WARNINGS else "error", code, path)

    assert wanted in every, every
    assert errors == ([] if code in WARNINGS else [wanted])


@pytest.mark.parametrize("changes", RIGHT, ids=str)
def test_a_right_value_that_looks_alike_is_none(changes: dict[str, Any]) -> None:
    allowed = {"GPU104", "GPU107", "GPU210", "GPU432", "GPU431", "GPU306", "GPU613"}
    wrong = [each for each in found(changes) if each[0] != "info" and each[1] not in allowed]

    assert wrong == []


MODELS = botocore.session.get_session()


def pattern(service: str, shape: str) -> re.Pattern[str]:
    """A pattern of AWS's own, as Python has it."""
    text = str(MODELS.get_service_model(service).shape_for(shape).metadata["pattern"])
    for classes in ("L", "Z", "N"):
        text = text.replace(f"\\p{{{classes}}}", in_category(classes))
    return re.compile(text, re.ASCII)


def in_category(letter: str) -> str:
    """Some characters of a Unicode category, for a class of a pattern."""
    some = (chr(code) for code in range(0x2500))
    return "".join(re.escape(each) for each in some if unicodedata.category(each)[0] == letter)


SPOKEN = [chr(code) for code in range(0x2500)]


@pytest.mark.parametrize(("service", "shape"), [("iam", "tagKeyType"), ("logs", "TagKey")])
def test_characters_of_tags_are_those_of_the_narrowest_services(service: str, shape: str) -> None:
    from eks_gpushare.rules.tags import _fits

    theirs = pattern(service, shape)

    assert [each for each in SPOKEN if _fits(each) != bool(theirs.fullmatch(each))] == []


@pytest.mark.parametrize(("kind", "shape"), [("role", "roleNameType"), ("user", "userNameType")])
def test_characters_of_names_are_those_of_iam(kind: str, shape: str) -> None:
    theirs = pattern("iam", shape)
    most = MODELS.get_service_model("iam").shape_for(shape).metadata["max"]
    for each in map(chr, range(0x250)):
        ours = arns.principal_fault(f"{ACCOUNT}:{kind}/a{each}b") is None
        assert ours == bool(theirs.fullmatch(f"a{each}b")) or each == "/", each
    assert arns.principal_fault(f"{ACCOUNT}:{kind}/{'x' * most}") is None
    assert arns.principal_fault(f"{ACCOUNT}:{kind}/{'x' * (most + 1)}")


def test_paths_are_those_of_iam() -> None:
    theirs = pattern("iam", "pathType")
    for each in (*map(chr, range(0x250)), "a/b", "//"):
        for text in (f"/{each}/", f"{each}/", f"/{each}", each):
            assert (arns.path_fault(text) is None) == bool(theirs.fullmatch(text)), text


def test_system_nodes_may_be_of_every_type_that_ec2_has() -> None:
    """But of those that are newer than the catalog, and of Macs, of which EKS has no nodes."""
    theirs = set(MODELS.get_service_model("ec2").shape_for("InstanceType").enum)
    ours = {*other_instance_names(), *gpu_instance_types()}

    assert ours - theirs == set()
    assert len(theirs - ours) < len(theirs) / 8


def test_an_instance_type_list_is_as_long_as_eks_says() -> None:
    from eks_gpushare.rules.instances import _MOST_TYPES

    request = MODELS.get_service_model("eks").shape_for("CreateNodegroupRequest")

    assert f"0-{_MOST_TYPES} instance types" in request.members["instanceTypes"].documentation


def test_a_volume_is_as_large_as_ec2_says() -> None:
    from eks_gpushare.rules.images import _LARGEST_GIB

    device = MODELS.get_service_model("ec2").shape_for("EbsBlockDevice")

    assert re.search(
        rf"gp3</code>: 1 - {_LARGEST_GIB:,} GiB", device.members["VolumeSize"].documentation
    )


def test_zones_of_regions_are_those_that_ec2_described() -> None:
    for region, zones in RegionsAndZonesBackend.zones.items():
        assert {zone.name[-1] for zone in zones} <= {*ZONE_LETTERS[region]}, region
    only_ours = {
        region: {*letters} - {zone.name[-1] for zone in RegionsAndZonesBackend.zones[region]}
        for region, letters in ZONE_LETTERS.items()
    }
    assert {region: letters for region, letters in only_ours.items() if letters} == {
        "ap-northeast-1": {"b"},
        "cn-north-1": {"c"},
        "eu-west-2": {"d"},
        "us-west-1": {"c"},
    }


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("10.0.0.0/255.255.0.0", "10.0.0.0/16"),
        ("10.0.0.0/0.0.255.255", "10.0.0.0/16"),
        ("8.8.8.8", "8.8.8.8/32"),
        ("8.8.8.8/24", "8.8.8.0/24"),
        ("010.0.0.0/16", "10.0.0.0/16"),
        (" 10.0.0.0/16 ", "10.0.0.0/16"),
        ("2600:1F14::/36", "2600:1f14::/36"),
        ("office", None),
        ("8.8.8.0/33", None),
    ],
)
def test_what_a_range_was_likely_to_mean(text: str, meant: str | None) -> None:
    with pytest.raises(cidrs.CidrError) as caught:
        cidrs.read_cidr(text)

    assert caught.value.meant == meant


def test_ids_that_ec2_gives_are_no_placeholders() -> None:
    given = [f"{n * 0x9E3779B97F4A7C15F39CC0605CEDC8341 % 16**17:017x}" for n in range(1, 20_000)]

    assert [each for each in given if resource_ids.is_placeholder(f"subnet-{each}")] == []
