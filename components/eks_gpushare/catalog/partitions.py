"""AWS partitions: which one a region is in, and what its ARNs and service principals look like.

Regions and ARN prefixes as in botocore 1.44.5, botocore/data/partitions.json; read 2026-11-22.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Partition(NamedTuple):
    """One partition: accounts, roles and ARNs of one are unknown to all others.

    Attributes:
        id: its part of an ARN, such as "aws-us-gov".
        name: what AWS calls it.
        regions: what the names of its regions look like.
        ec2_principal: EC2 as roles trust it. In China it has a suffix of its own, as eksctl has it
            (pkg/apis/eksctl.io/v1alpha5/partitions.go); EKS, Pod Identity and VPC flow logs are
            `*.amazonaws.com` in all of them.
        domain: what the hosts of its services end with, as botocore has it.
        built: whether this release builds in it. Of the others nobody has told yet how EKS, its
            add-ons and its images are there.

    """

    id: str
    name: str
    regions: str
    ec2_principal: str = "ec2.amazonaws.com"
    built: bool = True
    domain: str = "amazonaws.com"

    def policy(self, name: str) -> str:
        """The ARN of a policy that AWS manages, such as `AmazonEKSWorkerNodePolicy`."""
        return f"arn:{self.id}:iam::aws:policy/{name}"

    def access_policy(self, name: str) -> str:
        """The ARN of a policy of EKS access entries, such as `AmazonEKSClusterAdminPolicy`."""
        return f"arn:{self.id}:eks::aws:cluster-access-policy/{name}"


COMMERCIAL = Partition("aws", "AWS", r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-[0-9]+")
PARTITIONS = (
    COMMERCIAL,
    Partition("aws-us-gov", "AWS GovCloud (US)", r"us-gov-[a-z]+-[0-9]+"),
    Partition(
        "aws-cn",
        "AWS in China",
        r"cn-[a-z]+-[0-9]+",
        ec2_principal="ec2.amazonaws.com.cn",
        domain="amazonaws.com.cn",
    ),
    Partition(
        "aws-eusc", "AWS European Sovereign Cloud", r"eusc-[a-z]+-[a-z]+-[0-9]+", built=False
    ),
    Partition("aws-iso", "AWS ISO (US)", r"us-iso-[a-z]+-[0-9]+", built=False),
    Partition("aws-iso-b", "AWS ISOB (US)", r"us-isob-[a-z]+-[0-9]+", built=False),
    Partition("aws-iso-e", "AWS ISOE (Europe)", r"eu-isoe-[a-z]+-[0-9]+", built=False),
    Partition("aws-iso-f", "AWS ISOF", r"us-isof-[a-z]+-[0-9]+", built=False),
)
"""All that AWS has, the public one first."""


def partition_of(region: str | None) -> Partition:
    """The partition of a region; the public one where the region is not known or new."""
    for partition in PARTITIONS:
        if region is not None and re.fullmatch(partition.regions, region):
            return partition
    return COMMERCIAL


def partition_named(name: str) -> Partition | None:
    """The partition with this id, None if there is none."""
    return next((partition for partition in PARTITIONS if partition.id == name), None)
