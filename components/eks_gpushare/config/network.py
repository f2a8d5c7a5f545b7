"""The network: made by the stack, or one that is there already."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Tag

from eks_gpushare.config.base import Items, Model, TextInput, given_keys


def _zones_kind(value: Any) -> str:
    return "<names>" if isinstance(value, list | tuple) else "<count>"


Zones: TypeAlias = Annotated[
    Annotated[int, Tag("<count>")] | Annotated[Items[str], Tag("<names>")],
    Discriminator(_zones_kind),
]


class NewNetwork(Model):
    """A VPC made by this stack: a public and a private subnet per zone."""

    cidr: str = "10.0.0.0/16"
    """Address range of the VPC, /16 to /20."""
    zones: Zones = 2
    """How many availability zones, or which."""
    nat_gateways: Literal["single", "perZone"] = "single"
    """One NAT gateway for all zones, or one per zone, which survives the loss of a zone."""
    flow_logs: bool = False
    """Record the VPC's rejected traffic in CloudWatch Logs."""


class ExistingNetwork(Model):
    """A VPC that is there already."""

    vpc_id: TextInput
    """`vpc-...`."""
    private_subnet_ids: Items[TextInput]
    """Subnets for nodes and the control plane, in at least two zones."""
    public_subnet_ids: Items[TextInput] = ()
    """Subnets for load balancers that face the internet."""


def _network_kind(value: Any) -> str:
    keys = {"vpcId", "privateSubnetIds", "publicSubnetIds"}
    keys |= {"vpc_id", "private_subnet_ids", "public_subnet_ids"}
    return "<existing>" if keys & given_keys(value) else "<new>"


Network: TypeAlias = Annotated[
    Annotated[NewNetwork, Tag("<new>")] | Annotated[ExistingNetwork, Tag("<existing>")],
    Discriminator(_network_kind),
]
"""The `network` block."""
