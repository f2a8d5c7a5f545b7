"""Rules about the endpoint of the API server, and who may reach it."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from eks_gpushare.catalog.cidrs import CidrError, read_cidr, special
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.public_networks import public_share, reaches_everybody, widest
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.registry import Scope, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_ENDPOINT = "https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html"

OPEN_ENDPOINT = rule_of("GPU608")
NO_ENDPOINT = Rule(
    "GPU610",
    "error",
    "The API server has an endpoint that is used.",
    "EKS refuses a cluster without one, and networks without a public endpoint do nothing.",
    _ENDPOINT,
)
NODES_LOCKED_OUT = rule_of("GPU323")
CIDR_LIST = Rule(
    "GPU330",
    "error",
    "publicCidrs are at most 40 public networks, each once.",
    'EKS refuses the cluster with more (service quota "Public endpoint access CIDR ranges per '
    'cluster"), and the provider keeps equal ones once, which shows as a change for ever. Nobody '
    "comes to the public endpoint from a private network.",
    "https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html",
)
NO_IPV6 = Rule(
    "GPU331",
    "error",
    "The networks of an IPv4 cluster's endpoint are IPv4 networks.",
    "EKS takes IPv6 networks for IPv6 clusters only, which this project does not make.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_VpcConfigRequest.html",
)
ONLY_INSIDE = Rule(
    "GPU333",
    "info",
    "Whoever installs the charts reaches the API server.",
    "A private endpoint answers within the VPC only: from elsewhere, `pulumi up` makes the cluster "
    "and then waits for an API server that it never reaches.",
    _ENDPOINT,
)

_MOST_CIDRS = 40


@check(Scope.CLUSTER, OPEN_ENDPOINT, NO_ENDPOINT, NODES_LOCKED_OUT)
def endpoint(ctx: Context) -> Iterator[Finding]:
    cluster = ctx.new_cluster
    if cluster is None:
        return
    at, given = ("cluster", "endpoint"), cluster.endpoint
    if not given.public and not given.private:
        message = "The API server would be reachable from nowhere."
        yield NO_ENDPOINT.finding(at, message, "Set private: true.")
    if given.public and not given.private:
        message = "The nodes would have to reach the API server through NAT and its public address."
        yield NODES_LOCKED_OUT.finding((*at, "private"), message, "Set private: true.")
    if given.public_cidrs and not given.public:
        message = "publicCidrs are given, but public is false."
        yield NO_ENDPOINT.finding(
            (*at, "publicCidrs"), message, "Set public: true, or remove them."
        )
    if given.public and not given.public_cidrs:
        message = "public without publicCidrs opens the API server to the whole internet."
        fix = "Add publicCidrs with the networks of those who work on it."
        yield OPEN_ENDPOINT.finding((*at, "publicCidrs"), message, fix)


@check(Scope.CLUSTER, OPEN_ENDPOINT, CIDR_LIST, NO_IPV6)
def public_cidrs(ctx: Context) -> Iterator[Finding]:
    """For the networks that may use the public endpoint, each and all together."""
    cluster = ctx.new_cluster
    if cluster is None:
        return
    at: FieldPath = ("cluster", "endpoint", "publicCidrs")
    given = cluster.endpoint.public_cidrs
    networks: list[IPv4Network] = []
    for index, text in enumerate(given):
        found = list(_cidr((*at, index), text, networks))
        yield from found
    if len(given) > _MOST_CIDRS:
        message = f"{len(given)} networks are more than the {_MOST_CIDRS} that EKS takes."
        fix = "Give larger networks that hold several of them, or use the private endpoint."
        yield CIDR_LIST.finding(at, message, fix)
    yield from _together(at, networks)


def _cidr(at: FieldPath, text: str, networks: list[IPv4Network]) -> Iterator[Finding]:
    """What is wrong with one network; a right one is added to those before it."""
    try:
        network = read_cidr(text)
    except CidrError as error:
        fix = f"Write it as {error.meant or '203.0.113.0/24'}."
        yield CIDR_LIST.finding(at, f'"{text}" is not a network: {error}.', fix)
        return
    if reaches_everybody([text]):
        whole = "the whole" if network.prefixlen == 0 else "a large part of the"
        fix = "Name the networks of those who work on it."
        yield OPEN_ENDPOINT.finding(at, f"{text} is {whole} internet.", fix)
    elif not isinstance(network, IPv4Network):
        message = f"{text} is an IPv6 network; the cluster's endpoint has IPv4 addresses only."
        yield NO_IPV6.finding(at, message, "Use the IPv4 networks of those who work on it.")
    elif what := special(network):
        what = "a private network" if what == "private" else f"a network {what}"
        message = f"{text} is {what}; the public endpoint never sees it."
        fix = "Use the public addresses of those networks, or the private endpoint."
        yield CIDR_LIST.finding(at, message, fix)
    elif network in networks:
        yield CIDR_LIST.finding(at, f"{text} stands twice.", "Remove one of the two.")
    else:
        networks.append(network)


def _together(at: FieldPath, networks: Sequence[IPv4Network]) -> Iterator[Finding]:
    """Networks that are too much of the internet only all together."""
    cidrs = list(map(str, networks))
    if not reaches_everybody(cidrs):
        return
    if whole := widest(cidrs):  # never the whole: private networks are not among them
        message = f"Together the networks are {whole}, a large part of the internet."
    else:
        share = int(1 / public_share(cidrs))
        message = f"Together the networks are one address in {share} of the whole internet."
    fix = "Name the networks of those who work on it."
    yield OPEN_ENDPOINT.finding(at, message, fix)


@check(Scope.CLUSTER, ONLY_INSIDE)
def only_inside(ctx: Context) -> Iterator[Finding]:
    """For a cluster that nobody reaches from outside."""
    cluster = ctx.new_cluster
    if cluster is None or cluster.endpoint.public or not cluster.endpoint.private:
        return
    yield ONLY_INSIDE.finding(
        ("cluster", "endpoint"),
        "The API server can be reached from within the VPC only, and `pulumi up` has to reach it "
        "to install the charts.",
        "Run it inside the VPC or through a VPN, or set endpoint.public to true and "
        "endpoint.publicCidrs to your network.",
    )
