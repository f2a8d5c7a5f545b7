"""The rule on public addresses of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.reading.launches import launch_of, on_launches
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.tokens import LAUNCH_TEMPLATE
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_STACK_FILE = (
    "Nodes made from a stack file have none: remove what gives them one, such as a transform."
)
_EKS = (
    "Set `nodeAssociatePublicIpAddress: false` and put nodes into private subnets "
    "(`nodeSubnetIds`)."
)
_NO_ADDRESS = Fix(
    _STACK_FILE,
    _EKS,
    "Remove `networkInterfaces[].associatePublicIpAddress`, or set it to false, and put nodes into "
    "private subnets.",
)
_OF_OTHERS = Fix(
    _STACK_FILE,
    _EKS,
    "Set `associatePublicIpAddress: false`, and put nodes into private subnets.",
)


def _addresses(args: ResourceValidationArgs) -> Iterator[str]:
    for launch in launch_of(args):
        if launch.gives_public_address():
            fix = _NO_ADDRESS if launch.token == LAUNCH_TEMPLATE else _OF_OTHERS
            yield (
                f"{launch.called} gives its nodes a public IP address. Nodes must have private "
                f"addresses only. {fix.of(args.urn)}"
            )


NODES_WITHOUT_PUBLIC_ADDRESS = ResourcePolicy(
    "nodes-without-public-address",
    "Nodes must not be given a public IP address.",
    checks=on_launches(_addresses),
    severity=Severity.HIGH,
    framework=cis("5.4.3", "Clusters have private nodes."),
    also=("aws-security-hub/EC2.9", "aws-security-hub/EC2.25"),
    fix=_NO_ADDRESS,
)
