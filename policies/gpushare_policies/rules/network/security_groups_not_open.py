"""The rule on security groups that let the internet in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.facts.public_networks import reaches_everybody
from eks_gpushare.inventory.control_plane import covered
from gpushare_policies.props import each, read, whole
from gpushare_policies.rule import ResourcePolicy, Setting, security_hub
from gpushare_policies.tokens import (
    DEFAULT_SECURITY_GROUP,
    INGRESS_RULE,
    PREFIX_LIST,
    PREFIX_LIST_ENTRY,
    SECURITY_GROUP,
    SECURITY_GROUP_RULE,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RAW = "Name the networks or security groups that need the port, in place of these."
_FIX = Fix("A stack file opens none: remove what does, such as a transform.", _RAW, _RAW)

OPEN_PORTS: Setting[tuple[int, ...]] = Setting(
    "ports",
    (80, 443),
    "Ports on which everybody may be answered, such as those of load balancers.",
    {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": 65535},
        "default": [80, 443],
    },
    lambda value: tuple(int(port) for port in value),
)
_HIGHEST = 65535
_TCP, _UDP = ("tcp", "6"), ("udp", "17")
_ALL = ("-1", "all")


def _ports(props: Any) -> tuple[int, int] | None:
    """The ports of a rule, all of them where it names none; None of a protocol without ports."""
    protocol = str(read(props, "protocol") or read(props, "ipProtocol") or "-1").lower()
    if protocol in _ALL:
        return 0, _HIGHEST
    if protocol not in (*_TCP, *_UDP):
        return None
    first, last = (whole(read(props, key)) for key in ("fromPort", "toPort"))
    first = max(first or 0, 0)
    return first, _HIGHEST if last is None or last < first else last


def _networks(props: Any) -> list[str]:
    return [
        str(cidr)
        for key in ("cidrBlocks", "ipv6CidrBlocks", "cidrIpv4", "cidrIpv6")
        for cidr in each(read(props, key))
        if cidr
    ]


def _may_be_open(args: ResourceValidationArgs, ports: tuple[int, int]) -> bool:
    first, last = ports
    return first == last and first in OPEN_PORTS.of(args)


def _shown(ports: tuple[int, int]) -> str:
    first, last = ports
    if (first, last) == (0, _HIGHEST):
        return "every port"
    return f"port {first}" if first == last else f"the ports {first} to {last}"


def _listed(ports: Sequence[int]) -> str:
    if len(ports) < 2:  # noqa: PLR2004  (one, or none)
        return f"Only port {ports[0]}" if ports else "No port"
    return f"Only the ports {', '.join(map(str, ports[:-1]))} and {ports[-1]}"


def _judge(args: ResourceValidationArgs, props: Any) -> Iterator[str]:
    ports = _ports(props)
    if ports is None or _may_be_open(args, ports):
        return
    yield from _message(args, ports, _networks(props))


def _message(
    args: ResourceValidationArgs, ports: tuple[int, int], networks: list[str]
) -> Iterator[str]:
    if reaches_everybody(networks):
        yield (
            f"The security group {args.name} opens {_shown(ports)} to {', '.join(networks)}, "
            f"{covered(networks)}. {_listed(OPEN_PORTS.of(args))} may be open to it. "
            f"{_FIX.of(args.urn)}"
        )


def _group(args: ResourceValidationArgs) -> Iterator[str]:
    # Several rules of one range may be the internet only together.
    together: dict[tuple[int, int], list[str]] = {}
    for rule in each(read(args.props, "ingress")):
        ports = _ports(rule)
        if ports is not None and not _may_be_open(args, ports):
            together.setdefault(ports, []).extend(_networks(rule))
    for ports, networks in together.items():
        yield from _message(args, ports, networks)


def _rule(args: ResourceValidationArgs) -> Iterator[str]:
    if str(read(args.props, "type")) != "egress":
        yield from _judge(args, args.props)


def _ingress(args: ResourceValidationArgs) -> Iterator[str]:
    yield from _judge(args, args.props)


def _prefix_list(args: ResourceValidationArgs) -> Iterator[str]:
    # By its id alone nobody sees what a security group that names it lets in.
    entries = [*each(read(args.props, "entries")), args.props]
    networks = [str(cidr) for entry in entries if (cidr := read(entry, "cidr"))]
    if reaches_everybody(networks):
        yield (
            f"The prefix list {args.name} holds {', '.join(networks)}, {covered(networks)}: what "
            f"names it is open to that. {_FIX.of(args.urn)}"
        )


SECURITY_GROUPS_NOT_OPEN = ResourcePolicy(
    "security-groups-not-open",
    "Security groups must not let the internet in, but on the ports of the web.",
    checks={
        SECURITY_GROUP: _group,
        DEFAULT_SECURITY_GROUP: _group,
        SECURITY_GROUP_RULE: _rule,
        INGRESS_RULE: _ingress,
        PREFIX_LIST: _prefix_list,
        PREFIX_LIST_ENTRY: _prefix_list,
    },
    unseen="prefix lists and groups of other stacks.",
    severity=Severity.HIGH,
    framework=security_hub(
        "EC2.18", "Security groups only allow unrestricted incoming traffic for authorized ports."
    ),
    also=("aws-security-hub/EC2.13", "aws-security-hub/EC2.14", "aws-security-hub/EC2.19"),
    fix=_FIX,
    settings=(OPEN_PORTS,),
)
