"""Rules about the network."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING, TypedDict

from eks_gpushare.catalog.cidrs import CidrError, read_cidr
from eks_gpushare.catalog.resource_ids import is_id
from eks_gpushare.catalog.zones import ZONE_LETTERS
from eks_gpushare.config.network import ExistingNetwork
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.addresses import of_node, of_subnet
from eks_gpushare.sharing.nodes import sizes
from eks_gpushare.sharing.subnets import FEWEST_ZONES, LARGEST_PREFIX, MOST_ZONES, SMALLEST_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.environment import SystemNodes
    from eks_gpushare.config.network import NewNetwork
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

    class _How(TypedDict):
        prefixes: bool
        max_pods: int | None


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
    not_alone="IDs of what is there already are given by the program, which may not know them yet.",
)
IDLE_NETWORK = Rule(
    "GPU616",
    "error",
    "A network is given for a new cluster.",
    "An existing cluster has its network; this one would be made and not used.",
    _EKS,
)

_PRIVATE = tuple(
    IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
FEW_ADDRESSES = Rule(
    "GPU332",
    "warning",
    "The subnets have an address for each pod that the nodes can run.",
    "Pods get addresses of the VPC: without one they stay in ContainerCreating, and a node may not "
    "even start.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/ip-opt.html",
    not_alone="A network is not told of its nodes.",
)
_IPV4 = 4
_DIGITS = "and 8 or 17 hexadecimal digits"
_DOCKER = IPv4Network("172.17.0.0/16")


@check(Scope.NETWORK, BAD_CIDR, CLASHING_CIDR)
def cidr(ctx: Context) -> Iterator[Finding]:
    network = ctx.new_network
    if network is None:
        return
    at = ("network", "cidr")
    try:
        given = read_cidr(network.cidr)
    except CidrError as error:
        message = f'"{network.cidr}" is not an IPv4 network: {error}.'
        yield BAD_CIDR.finding(at, message, f"Write it as {error.meant or '10.0.0.0/16'}.")
        return
    if not isinstance(given, IPv4Network):
        message = f"{given} is not an IPv4 network."
        yield BAD_CIDR.finding(at, message, "Write it as 10.0.0.0/16.")
        return
    if not LARGEST_PREFIX <= given.prefixlen <= SMALLEST_PREFIX:
        yield BAD_CIDR.finding(
            at,
            f"{given} is not between a /{LARGEST_PREFIX} and a /{SMALLEST_PREFIX} in size; pods "
            "take their addresses from the VPC.",
            "Use a /16 unless addresses are scarce.",
        )
    elif not any(given.subnet_of(private) for private in _PRIVATE):
        message = f"{given} is not a private range."
        fix = "Use a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10."
        yield BAD_CIDR.finding(at, message, fix)
    elif given.overlaps(_DOCKER):
        message = f"{given} overlaps {_DOCKER}, which Docker and some AWS services use themselves."
        yield CLASHING_CIDR.finding(at, message, "Use another range.")


@check(Scope.ENVIRONMENT, FEW_ADDRESSES)
def addresses(ctx: Context) -> Iterator[Finding]:
    """For a new network whose nodes are at their most and full of pods."""
    network = ctx.new_network
    if network is None or not _is_cut(network):
        return
    made = range(network.zones) if isinstance(network.zones, int) else network.zones
    left = dict.fromkeys(map(str, made), of_subnet(network.cidr))
    fewest, whole = min(left.values()), 0
    for nodes, types in _groups(ctx):
        taken = max((of_node(found, **how) for found, how in types), default=0)
        where = [zone for zone in nodes.zones or () if zone in left] or list(left)
        for zone in where:
            left[zone] -= taken * sizes(nodes.nodes).max // len(where)
        whole += taken * sizes(nodes.nodes).max
    if min(left.values()) < 0:
        zone = min(left, key=lambda zone: left[zone])
        named = f"in {zone}" if not isinstance(network.zones, int) else "in a zone"
        largest = IPv4Network(network.cidr).prefixlen == LARGEST_PREFIX
        larger = "Use " if largest else "Use a /16, "
        yield FEW_ADDRESSES.finding(
            ("network", "cidr"),
            f"{network.cidr} has {fewest} addresses for nodes and pods in each zone; at their most "
            f"the nodes take {whole} in all, and {-left[zone]} more {named} than there are.",
            f"{larger}fewer nodes, or kubelet: {{maxPods: ...}} where they run fewer pods.",
        )


def _is_cut(network: NewNetwork) -> bool:
    """Whether a network has a range and zones that subnets can be cut for."""
    zones = network.zones
    try:
        given = read_cidr(network.cidr)
    except CidrError:
        return False
    sized = LARGEST_PREFIX <= given.prefixlen <= SMALLEST_PREFIX
    count = zones if isinstance(zones, int) else len(zones)
    return given.version == _IPV4 and sized and FEWEST_ZONES <= count <= MOST_ZONES


def _groups(ctx: Context) -> Iterator[tuple[Pool | SystemNodes, list[tuple[InstanceType, _How]]]]:
    """The node groups of a stack, with their types and how these give addresses to pods."""
    cluster = ctx.new_cluster
    prefixes = cluster is not None and cluster.addons.prefix_delegation
    system = ctx.environment.system
    pools = ctx.environment.pools.values()
    for nodes in (*(p for p in pools if p.provisioner != "existing"), system):
        if nodes is None:
            continue
        own = (nodes.kubelet or {}).get("maxPods")
        how: _How = {"prefixes": prefixes, "max_pods": own if isinstance(own, int) else None}
        known = map(ctx.catalog.find, nodes.instance_types)
        yield nodes, [(found, how) for found in known if found is not None]


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
    elif isinstance(network.zones, int) and count > (most := most_zones(ctx.region)):
        message = f"{ctx.region} has {most} zones, and {count} are asked for."
        yield ZONE_COUNT.finding(at, message, "Use 2 or 3.")


def most_zones(region: str | None) -> int:
    """How many zones a region has, or any region where this one is not known."""
    return len(ZONE_LETTERS.get(region or "", "abcdef"))


@check(Scope.ENVIRONMENT, BAD_ID, ZONE_COUNT)
def ids(ctx: Context) -> Iterator[Finding]:
    """For an existing network."""
    network = ctx.environment.network
    if not isinstance(network, ExistingNetwork):
        return
    if not is_id("vpc", network.vpc_id):
        message = f'"{network.vpc_id}" is not the ID of a VPC, vpc- {_DIGITS}.'
        yield BAD_ID.finding(("network", "vpcId"), message, "Copy it from the VPC console.")
    private, public = network.private_subnet_ids, network.public_subnet_ids
    yield from subnet_faults(("network", "privateSubnetIds"), private)
    yield from subnet_faults(("network", "publicSubnetIds"), public)
    for index, subnet in enumerate(public):
        if subnet in private:
            yield BAD_ID.finding(
                ("network", "publicSubnetIds", index),
                f"{subnet} is one of privateSubnetIds too.",
                "Keep it where it belongs: a subnet with a route to an internet gateway is public.",
            )
    if len({*private}) < FEWEST_ZONES and len(private) == len({*private}):
        at_list = ("network", "privateSubnetIds")
        message = "EKS wants subnets in at least two zones."
        yield ZONE_COUNT.finding(at_list, message, "Name subnets of two zones.")


def subnet_faults(at: FieldPath, subnets: Sequence[str]) -> Iterator[Finding]:
    """What is wrong with IDs of subnets, each by itself."""
    for index, subnet in enumerate(subnets):
        if not is_id("subnet", subnet):
            message = f'"{subnet}" is not the ID of a subnet, subnet- {_DIGITS}.'
            yield BAD_ID.finding((*at, index), message, "Copy it from the VPC console.")
        elif subnet in subnets[:index]:
            yield BAD_ID.finding((*at, index), f"{subnet} stands twice.", "Remove one of the two.")


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
