"""The account that a lab's controllers find: what it holds, and how moto is filled with it."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare_lab.install.desired_cluster import NodePool

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCOUNT_ID = "123456789012"
"""The account of credentials that moto does not know, and of the in-process run."""
SERVICE_CIDR = "10.100.0.0/16"

_ADDRESSES = ipaddress.ip_network("10.0.0.0/16")
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet of the cluster."""

    id: str
    """Its id."""
    zone: str
    """Its zone, such as us-west-2a."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Its tags."""


@dataclass(frozen=True, slots=True)
class SecurityGroup:
    """A security group."""

    id: str
    """Its id."""
    name: str
    """Its name."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Its tags."""


@dataclass(frozen=True, slots=True)
class CapacityReservation:
    """A capacity reservation or Capacity Block."""

    id: str
    """Its id."""
    instance_type: str
    """The one type that it is for."""
    zone: str
    """The one zone that it is in."""
    count: int | None = None
    """Instances that it is for; None where the stack only names it, as the settings say then."""
    is_block: bool = False
    """Whether it is a Capacity Block."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Its tags."""


@dataclass(frozen=True, slots=True)
class Account:
    """What of a stack exists in AWS before its controllers run."""

    cluster: str
    """Name of the cluster."""
    region: str
    """Its region."""
    version: str = "1.35"
    """Kubernetes version of the cluster: AMIs are looked up by it."""
    endpoint: str = "https://127.0.0.1"
    """Address of the API server, which goes into the user data of nodes."""
    subnets: tuple[Subnet, ...] = ()
    """Subnets."""
    security_groups: tuple[SecurityGroup, ...] = ()
    """Security groups."""
    roles: tuple[str, ...] = ()
    """Names of the IAM roles of nodes."""
    queue: str = ""
    """Name of the queue for interruptions; `""` if there is none."""
    node_groups: tuple[NodePool, ...] = ()
    """Managed node groups that come from Auto Scaling groups."""
    reservations: tuple[CapacityReservation, ...] = ()
    """Capacity reservations."""
    patterns: tuple[str, ...] = ()
    """Of the events that EventBridge puts into it, as JSON: what no rule matches never arrives."""

    def as_json(self) -> dict[str, Any]:
        """As the process of the emulation gets it."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Account:
        """The reverse of `as_json`."""
        parts = {
            "subnets": tuple(Subnet(**subnet) for subnet in given["subnets"]),
            "security_groups": tuple(SecurityGroup(**group) for group in given["security_groups"]),
            "roles": tuple(given["roles"]),
            "node_groups": tuple(map(NodePool.from_json, given["node_groups"])),
            "reservations": tuple(
                CapacityReservation(**reservation) for reservation in given["reservations"]
            ),
            "patterns": tuple(given["patterns"]),
        }
        return cls(**{**given, **parts})


def fill(account: Account) -> None:
    """Make everything of an account in moto, in this process.

    moto makes ids up; where a stack names one, the resource is moved to that id in moto's tables.
    """
    from moto.backends import get_backend

    ec2: Any = get_backend("ec2")[ACCOUNT_ID][account.region]
    vpc = ec2.create_vpc(str(_ADDRESSES))
    blocks = _ADDRESSES.subnets(new_prefix=20)
    for subnet in account.subnets:
        made = ec2.create_subnet(vpc.id, str(next(blocks)), availability_zone=subnet.zone)
        table = ec2.subnets[subnet.zone]
        table[subnet.id] = table.pop(made.id)
        made.id = subnet.id
        made.map_public_ip_on_launch = False
        made.add_tags(dict(subnet.tags))
    for group in account.security_groups:
        made = ec2.create_security_group(group.name, group.name, vpc_id=vpc.id, force=True)
        table = ec2.groups[vpc.id]
        table[group.id] = table.pop(made.id)
        made.id = made.group_id = group.id
        made.add_tags(dict(group.tags))
    iam: Any = get_backend("iam")[ACCOUNT_ID]["aws"]
    for role in account.roles:
        iam.create_role(
            role_name=role,
            assume_role_policy_document=json.dumps(_TRUST),
            path="/",
            permissions_boundary=None,
            description="",
            tags=[],
            max_session_duration="3600",
        )
    if account.queue:
        get_backend("sqs")[ACCOUNT_ID][account.region].create_queue(account.queue)
    eks: Any = get_backend("eks")[ACCOUNT_ID][account.region]
    made = eks.create_cluster(
        name=account.cluster,
        role_arn=f"arn:aws:iam::{ACCOUNT_ID}:role/cluster",
        resources_vpc_config={"subnetIds": [subnet.id for subnet in account.subnets]},
        version=account.version,
        kubernetes_network_config={"serviceIpv4Cidr": SERVICE_CIDR, "ipFamily": "ipv4"},
    )
    made.endpoint = account.endpoint
