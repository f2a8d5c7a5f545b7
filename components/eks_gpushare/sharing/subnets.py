"""How a VPC's addresses are cut into subnets."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_PREFIX = 16
"""AWS makes no larger VPC than a /16."""
SMALLEST_PREFIX = 20
"""Below a /20, a zone's private subnet has too few addresses for the pods of a few nodes."""
FEWEST_ZONES = 2
MOST_ZONES = 6
_PRIVATE_BITS = 3
_PUBLIC_BITS = 7
_FIRST_PUBLIC = 6 << (_PUBLIC_BITS - _PRIVATE_BITS)


class ZoneSubnets(NamedTuple):
    """The two subnets of a zone."""

    private: str
    """For nodes and pods: an eighth of the VPC."""
    public: str
    """For NAT gateways and load balancers: a 128th of the VPC."""


def cut(cidr: str, zones: int) -> list[ZoneSubnets]:
    """Subnets for each zone, by its position.

    Every position has its place whatever the number of zones, so that a further zone moves none:
    six eighths of the VPC are for private subnets, the first part of the seventh for public ones.

    Args:
        cidr: Address range of the VPC.
        zones: How many zones, up to six.
    """
    network = ipaddress.IPv4Network(cidr)
    return [
        ZoneSubnets(
            _part(network, _PRIVATE_BITS, at), _part(network, _PUBLIC_BITS, _FIRST_PUBLIC + at)
        )
        for at in range(zones)
    ]


def _part(network: ipaddress.IPv4Network, bits: int, at: int) -> str:
    """One of the 2 ** bits equal parts of a network."""
    prefix = network.prefixlen + bits
    first = int(network.network_address) + (at << (network.max_prefixlen - prefix))
    return str(ipaddress.IPv4Network((first, prefix)))


def zone_subnets(cidr: str, zone: str) -> ZoneSubnets:
    """The subnets of one zone, placed by its letter, so that no other zone moves them.

    Args:
        cidr: Address range of the VPC.
        zone: Name of the zone, such as us-west-2a; its letter is one of a to f.
    """
    return cut(cidr, MOST_ZONES)[ord(zone[-1]) - ord("a")]


class RoutesOf(NamedTuple):
    """Of a route table, what tells a public subnet from a private one."""

    main: bool
    """Whether it is for all subnets of the VPC that have none of their own."""
    subnets: tuple[str, ...]
    """Subnets that have it as their own."""
    internet: bool
    """Whether a route leads to an internet gateway."""


def private_subnets(subnets: Sequence[str], tables: Sequence[RoutesOf]) -> list[str]:
    """The subnets without a route to an internet gateway, in the order they are given in.

    Nodes get no public address from this project: in a public subnet EKS refuses them
    (Ec2SubnetInvalidConfiguration), or they start and have no way out.
    """
    own = {subnet: table.internet for table in tables for subnet in table.subnets}
    by_default = any(table.internet for table in tables if table.main)
    return [subnet for subnet in subnets if not own.get(subnet, by_default)]
