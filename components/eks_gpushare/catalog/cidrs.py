"""Address ranges as AWS and its provider read them.

The provider compares a range with what Go's `net.ParseCIDR` makes of it, and refuses any other
spelling: `ValidCIDRNetworkAddress` and `ValidIPv4CIDRNetworkAddress` in
https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/verify/validate.go, read
2026-11-22. EC2 itself would change 100.68.0.18/18 into 100.68.0.0/18 (CreateVpc), and so show
another range than the stack file.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TypeAlias

Network: TypeAlias = IPv4Network | IPv6Network

_V4 = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")
_SPECIAL = {
    "0.0.0.0/8": "of addresses that mean no host",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "of carriers' own addresses, which are private",
    "127.0.0.0/8": "of loopback addresses",
    "169.254.0.0/16": "of link-local addresses",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved for protocols",
    "192.88.99.0/24": "reserved for 6to4 relays",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "reserved for benchmarks",
    "224.0.0.0/4": "of multicast addresses",
    "240.0.0.0/4": "reserved",
}
"""Ranges from which nobody reaches a public address: IANA's special-purpose registry,
https://www.iana.org/assignments/iana-ipv4-special-registry/, and its multicast addresses; read
2026-11-22. Those of documentation are left out: they are meant to be replaced."""
DOCUMENTATION = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
"""Ranges of examples (RFC 5737, RFC 3849): not routed, but meant to be replaced."""


class CidrError(ValueError):
    """Why a text is not a range, and how it may have been meant."""

    def __init__(self, reason: str, meant: str | None = None) -> None:
        super().__init__(reason)
        self.meant = meant
        """The range that the text is likely to stand for."""


def read_cidr(text: str) -> Network:
    """The range that a text is.

    Raises:
        CidrError: If AWS, or its provider, reads it in another way or not at all.
    """
    address, slash, prefix = text.partition("/")
    if text != text.strip():
        raise CidrError("there are spaces around it", _meant(text.strip()))
    if not slash:
        reason = "it has no prefix length" if _is_address(text) else _first_fault(text)
        raise CidrError(reason, _meant(text))
    if "." in prefix and _V4.fullmatch(address):
        reason = f"{prefix} is a mask and no prefix length"
        raise CidrError(reason, _meant(text))
    if _V4.fullmatch(address) and any(p != str(int(p)) for p in address.split(".")):
        raise CidrError("numbers with a zero before them are octal to some programs", _meant(text))
    try:
        read = ip_network(text)
    except ValueError as error:
        raise CidrError(str(error), _meant(text)) from None
    if str(read) != text:
        reason = f"AWS writes it as {read}, and sees a change in anything else"
        raise CidrError(reason, str(read))
    return read


def _is_address(text: str) -> bool:
    try:
        return ip_network(text) is not None
    except ValueError:
        return False


def _first_fault(text: str) -> str:
    try:
        ip_network(text)
    except ValueError as error:
        return str(error)
    return "it has no prefix length"


def _meant(text: str) -> str | None:
    """The range that a text is likely to stand for, None if that is not clear."""
    address, slash, prefix = text.partition("/")
    if _V4.fullmatch(address):
        address = ".".join(str(int(part)) for part in address.split("."))
    try:
        return str(ip_network(f"{address}{slash}{prefix}", strict=False))
    except ValueError:
        return None


def special_networks() -> tuple[IPv4Network, ...]:
    """Ranges from which nobody reaches a public address."""
    return tuple(IPv4Network(cidr) for cidr in _SPECIAL)


def special(network: Network) -> str | None:
    """What a range is from which nobody reaches a public address; None of any other."""
    if not isinstance(network, IPv4Network):
        return None
    for cidr, what in _SPECIAL.items():
        if network.subnet_of(IPv4Network(cidr)):
            return what
    return None
