"""The rule on public addresses of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import each, is_true, read
from gpushare_policies.rule import Rule, cis
from gpushare_policies.tokens import LAUNCH_TEMPLATE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_ADDRESS = Fix(
    "Nodes made from a stack file have none: remove what gives them one, such as a transform.",
    "Set `nodeAssociatePublicIpAddress: false` and put nodes into private subnets "
    "(`nodeSubnetIds`).",
    "Remove `networkInterfaces[].associatePublicIpAddress`, or set it to false, and put nodes into "
    "private subnets.",
)


def _addresses(args: ResourceValidationArgs) -> Iterator[str]:
    for interface in each(read(args.props, "networkInterfaces")):
        if is_true(read(interface, "associatePublicIpAddress")):
            yield (
                f"The launch template {args.name} gives its nodes a public IP address. Nodes must "
                f"have private addresses only. {_NO_ADDRESS.of(args.urn)}"
            )


NODES_WITHOUT_PUBLIC_ADDRESS = Rule(
    "nodes-without-public-address",
    "Launch templates must not give nodes a public IP address.",
    checks={LAUNCH_TEMPLATE: _addresses},
    severity=Severity.HIGH,
    framework=cis("5.4.3", "Clusters have private nodes."),
    also=("aws-security-hub/EC2.25",),
    fix=_NO_ADDRESS,
)
