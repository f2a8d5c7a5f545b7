"""Who may use the endpoint of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fronts import CLUSTER, files, policy, stack
from question import Question

from eks_gpushare.facts.fact import Front
from eks_gpushare.facts.index import fact_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from random import Random


class Endpoint(NamedTuple):
    """How the API server is reached."""

    public: bool
    private: bool
    cidrs: list[str]


def _named(random: Random) -> Endpoint:
    return Endpoint(public=True, private=True, cidrs=_networks(random))


def _ways(random: Random) -> Endpoint:
    return Endpoint(*random.choice(((True, True), (True, False), (False, True))), ["8.8.8.0/24"])


def _networks(random: Random) -> list[str]:
    """Public ones, of all lengths, next to each other or far from it."""
    lengths = random.choice(((24,), (8, 9, 10), (5, 6, 7, 8, 16), (7, 8, 9, 10, 11), (1, 2, 24)))
    found = []
    for _ in range(random.choice((0, 1, 1, 2, 3, 6, 20))):
        length = random.choice(lengths)
        first = random.choice((8, 9, 10, 12, 16, 20, 24, 40, 52, 64, 80, 96, 128, 200, 208))
        start = (first << 24 | random.getrandbits(24)) >> (32 - length) << (32 - length)
        found.append(".".join(str(start >> shift & 255) for shift in (24, 16, 8, 0)) + f"/{length}")
    return list(dict.fromkeys(found))


def _of_terraform(given: Endpoint) -> Collection[str]:
    block = {
        "endpoint_public_access": given.public,
        "endpoint_private_access": given.private,
        "public_access_cidrs": given.cidrs,
    }
    values = {"name": "gpu", "vpc_config": [block]}
    resource = {"address": "aws_eks_cluster.gpu", "mode": "managed", "type": "aws_eks_cluster"}
    root = {"resources": [{**resource, "name": "gpu", "values": values}]}
    return files({"format_version": "1.2", "planned_values": {"root_module": root}})


def _of_program(name: str) -> Callable[[Endpoint], Collection[str]]:
    def ask(given: Endpoint) -> Collection[str]:
        block: dict[str, Any] = {
            "endpointPublicAccess": given.public,
            "endpointPrivateAccess": given.private,
            "publicAccessCidrs": given.cidrs,
        }
        return policy(name, (CLUSTER, {"vpcConfig": block}))

    return ask


def _of_stack(given: Endpoint) -> Collection[str]:
    endpoint: dict[str, Any] = {"public": given.public, "private": given.private}
    if given.public:
        endpoint["publicCidrs"] = given.cidrs
    return stack({"cluster": {"endpoint": endpoint}})


QUESTIONS = (
    Question(
        fact_of("GPU608"),
        _named,
        {
            Front.STACK: _of_stack,
            Front.FILES: _of_terraform,
            Front.POLICY: _of_program("public-endpoint-not-open"),
        },
    ),
    Question(
        fact_of("GPU323"),
        _ways,
        {
            Front.STACK: _of_stack,
            Front.FILES: _of_terraform,
            Front.POLICY: _of_program("private-endpoint-on"),
        },
    ),
)
