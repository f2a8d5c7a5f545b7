"""Networks as AWS reads them, and how much of the internet they are together."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def reaches_everybody(cidrs: Sequence[str]) -> bool:
    """Whether networks together cover all addresses of IPv4 or IPv6, also in pieces."""
    four: list[IPv4Network] = []
    six: list[IPv6Network] = []
    for cidr in cidrs:
        try:
            network = ip_network(cidr, strict=False)
        except ValueError:  # not a network; AWS refuses it
            continue
        if isinstance(network, IPv4Network):
            four.append(network)
        else:
            six.append(network)
    return any(network.prefixlen == 0 for network in collapse_addresses(four)) or any(
        network.prefixlen == 0 for network in collapse_addresses(six)
    )
