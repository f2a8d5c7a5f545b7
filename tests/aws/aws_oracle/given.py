"""What is in the account before a stack that builds on a network or a cluster of others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_oracle.account import send

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_oracle.account import Account
    from aws_oracle.calls import Translated

_VPCS = ("vpc-0a1b2c3d4e5f60718", "vpc-assumed")
_SUBNETS = (
    *(f"subnet-0a1b2c3d4e5f607{number}" for number in (18, 19, 20, 21)),
    "subnet-assumed-1",
    "subnet-assumed-2",
)
WRITTEN = {each for each in (*_VPCS, *_SUBNETS) if "assumed" not in each}
"""Ids that variants write; the others are those of the fakes."""
_GROUPS = ("sg-assumed",)
_CLUSTER = "theirs"


def given(account: Account, resources: Sequence[Translated]) -> bool:
    """Make what the stack names and does not make itself; whether there was anything to make.

    The ids that a variant or the fakes made up stand for those that the account gave.
    """
    text = json.dumps([made.parameters for each in resources for made in each.create])
    if not any(f'"{name}"' in text for name in (*_VPCS, *_SUBNETS, _CLUSTER)):
        return False

    def made(call: str, **parameters: object) -> dict[str, dict[str, str]]:
        return send(call, parameters, account.region)

    vpc = made("ec2:CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    account.real |= dict.fromkeys(_VPCS, vpc)
    for number, name in enumerate(_SUBNETS):
        block = f"10.9.{number}.0/24"
        subnet = made("ec2:CreateSubnet", VpcId=vpc, CidrBlock=block)["Subnet"]["SubnetId"]
        account.real[name] = subnet
    for name in _GROUPS:
        group = made("ec2:CreateSecurityGroup", GroupName=name, Description="-", VpcId=vpc)
        account.real[name] = str(group["GroupId"])
    made(
        "eks:CreateCluster",
        name=_CLUSTER,
        roleArn="arn:aws:iam::111122223333:role/theirs",
        resourcesVpcConfig={"subnetIds": [account.real["subnet-assumed-1"]]},
    )
    return True
