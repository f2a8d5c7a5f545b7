"""Networks as AWS reads them, and how much of the internet they are together."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TYPE_CHECKING, TypeAlias

from eks_gpushare.catalog.cidrs import special_networks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Network: TypeAlias = IPv4Network | IPv6Network

_WIDEST = 8
"""Shortest prefix of an IPv4 network that one organisation has: IANA gave out no larger block,
https://www.iana.org/assignments/ipv4-address-space/, read 2026-11-23."""
_LARGEST_SHARE = Fraction(1, 32)
"""Of all public addresses, what one organisation may have: less than seven /8 of IPv4."""
_V6 = IPv6Network("2000::/3")
"""All of IPv6 that is routed: https://www.iana.org/assignments/ipv6-address-space/."""
_MAPPED = IPv6Network("::ffff:0:0/96")
"""IPv4 written as IPv6."""


def network_of(text: str) -> Network | None:
    """The network that a text is, also with a mask or with host bits; None of any other text."""
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        return None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        prefix = network.prefixlen - _MAPPED.prefixlen
        return IPv4Network((int(network.network_address) & 0xFFFFFFFF, prefix))
    return network


def public_share(cidrs: Iterable[str]) -> Fraction:
    """How much of all public addresses, of IPv4 or of IPv6, networks cover together."""
    four: list[IPv4Network] = []
    six: list[IPv6Network] = []
    for cidr in cidrs:
        network = network_of(cidr)
        if isinstance(network, IPv4Network):
            four.append(network)
        elif network is not None:
            six.append(network)
    return max(_share_of_v4(four), _share_of_v6(six))


def reaches_everybody(cidrs: Sequence[str]) -> bool:
    """Whether networks together are as much of the internet as nobody has for himself."""
    return public_share(cidrs) >= _LARGEST_SHARE or widest(cidrs) is not None


def widest(cidrs: Iterable[str]) -> IPv4Network | None:
    """The largest network that networks are together, if nobody has as large a one."""
    four = [network for network in map(network_of, cidrs) if isinstance(network, IPv4Network)]
    found = min(collapse_addresses(four), key=lambda network: network.prefixlen, default=None)
    if found is None or found.prefixlen >= _WIDEST:
        return None
    return found if _share_of_v4((found,)) else None


def _share_of_v4(networks: Iterable[IPv4Network]) -> Fraction:
    hidden = _hidden()
    found = sum(
        network.num_addresses - _overlap(network, hidden)
        for network in collapse_addresses(networks)
    )
    return Fraction(found, 2**32 - sum(network.num_addresses for network in hidden))


def _share_of_v6(networks: Iterable[IPv6Network]) -> Fraction:
    found = sum(
        min(address.num_addresses, _V6.num_addresses)
        for address in collapse_addresses(networks)
        if address.overlaps(_V6)
    )
    return Fraction(found, _V6.num_addresses)


def _overlap(network: IPv4Network, others: Sequence[IPv4Network]) -> int:
    return sum(
        min(other.num_addresses, network.num_addresses)
        for other in others
        if other.overlaps(network)
    )


@cache
def _hidden() -> tuple[IPv4Network, ...]:
    """Networks from which nobody reaches a public address, those of examples not among them."""
    return tuple(collapse_addresses(special_networks()))
