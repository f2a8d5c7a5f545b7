"""Rules about the network."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.subnets import FEWEST_ZONES, LARGEST_PREFIX, MOST_ZONES, SMALLEST_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.findings.finding import Finding
    from eks_gpushare.rules.context import Context

_VPC = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
_EKS = "https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html"

BAD_CIDR = Rule(
    "GPU605",
    "error",
    "The VPC's address range is private and of a size that AWS and this project take.",
    "AWS refuses other sizes, and public ranges hide the hosts that own them.",
    _VPC,
)
CLASHING_CIDR = Rule(
    "GPU606",
    "error",
    "The VPC's address range is none that EKS uses inside a cluster.",
    "Pods and services could not reach the nodes.",
    _EKS,
)
ZONE_COUNT = Rule(
    "GPU607",
    "error",
    "A network has two to six zones, each once.",
    "EKS wants subnets in two zones, and no region has more than six.",
    _EKS,
)
BAD_ID = Rule(
    "GPU609",
    "error",
    "A VPC or subnet is given by its ID.",
    "AWS does not find it.",
    _EKS,
)
IDLE_NETWORK = Rule(
    "GPU616",
    "error",
    "A network is given for a new cluster.",
    "An existing cluster has its network; this one would be made and not used.",
    _EKS,
)

_PRIVATE = tuple(
    ipaddress.IPv4Network(cidr)
    for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
_DOCKER = ipaddress.ip_network("172.17.0.0/16")


@check(Scope.NETWORK, BAD_CIDR, CLASHING_CIDR)
def cidr(ctx: Context) -> Iterator[Finding]:
    network = ctx.new_network
    if network is None:
        return
    at = ("network", "cidr")
    try:
        given = ipaddress.IPv4Network(network.cidr)
    except ValueError as error:
        message = f'"{network.cidr}" is not an IPv4 network: {error}.'
        yield BAD_CIDR.finding(at, message, "Write it as 10.0.0.0/16.")
        return
    if not LARGEST_PREFIX <= given.prefixlen <= SMALLEST_PREFIX:
        yield BAD_CIDR.finding(
            at,
            f"{given} is not between a /{LARGEST_PREFIX} and a /{SMALLEST_PREFIX} in size; pods "
            "take their addresses from the VPC.",
            "Use a /16 unless addresses are scarce.",
        )
    if not any(given.subnet_of(private) for private in _PRIVATE):
        message = f"{given} is not a private range."
        fix = "Use a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10."
        yield BAD_CIDR.finding(at, message, fix)
    elif given.overlaps(_DOCKER):
        message = f"{given} overlaps {_DOCKER}, which Docker and some AWS services use themselves."
        yield CLASHING_CIDR.finding(at, message, "Use another range.")


@check(Scope.NETWORK, ZONE_COUNT)
def zones(ctx: Context) -> Iterator[Finding]:
    network = ctx.new_network
    if network is None:
        return
    at = ("network", "zones")
    if isinstance(network.zones, int):
        count = network.zones
    else:
        count = len(network.zones)
        for index, zone in enumerate(network.zones):
            if zone in network.zones[:index]:
                message = f"{zone} stands twice."
                yield ZONE_COUNT.finding((*at, index), message, "Remove one of the two.")
    if not FEWEST_ZONES <= count <= MOST_ZONES:
        message = f"{count} is not a number of zones from {FEWEST_ZONES} to {MOST_ZONES}."
        yield ZONE_COUNT.finding(at, message, "Use 2 or 3.")


@check(Scope.ENVIRONMENT, BAD_ID, ZONE_COUNT)
def ids(ctx: Context) -> Iterator[Finding]:
    """For an existing network."""
    network = ctx.environment.network
    if not isinstance(network, ExistingNetwork):
        return
    if not network.vpc_id.startswith("vpc-"):
        message = f'"{network.vpc_id}" is not the ID of a VPC, vpc-...'
        yield BAD_ID.finding(("network", "vpcId"), message, "Copy it from the VPC console.")
    for key, subnets in (
        ("privateSubnetIds", network.private_subnet_ids),
        ("publicSubnetIds", network.public_subnet_ids),
    ):
        for index, subnet in enumerate(subnets):
            at = ("network", key, index)
            if not subnet.startswith("subnet-"):
                message = f'"{subnet}" is not the ID of a subnet, subnet-...'
                yield BAD_ID.finding(at, message, "Copy it from the VPC console.")
            elif subnet in subnets[:index]:
                yield BAD_ID.finding(at, f"{subnet} stands twice.", "Remove one of the two.")
    if len(network.private_subnet_ids) < FEWEST_ZONES:
        at_list = ("network", "privateSubnetIds")
        message = "EKS wants subnets in at least two zones."
        yield ZONE_COUNT.finding(at_list, message, "Name subnets of two zones.")


@check(Scope.ENVIRONMENT, IDLE_NETWORK)
def idle(ctx: Context) -> Iterator[Finding]:
    if ctx.named_cluster is not None and "network" in ctx.environment.model_fields_set:
        if isinstance(ctx.environment.network, ExistingNetwork):
            return  # names the subnets for node groups
        yield IDLE_NETWORK.finding(
            ("network",),
            "The cluster exists and has its network.",
            "Remove network, or give vpcId and privateSubnetIds for the node groups.",
        )
