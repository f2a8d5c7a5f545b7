"""The rule on the SSH port that EKS opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import each, given, peek, read
from gpushare_policies.rule import ResourcePolicy, security_hub
from gpushare_policies.tokens import NODE_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAW = "Remove `remoteAccess`, or name `remoteAccess.sourceSecurityGroupIds`."
_FIX = Fix("Nodes made from a stack file have none: remove what opens it.", _RAW, _RAW)


def _open(args: ResourceValidationArgs) -> Iterator[str]:
    # "If you specify an Amazon EC2 SSH key, but you do not specify a source security group, then
    # port 22 on the nodes is opened to the internet (0.0.0.0/0)."
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_RemoteAccessConfig.html
    path = ("remoteAccess", "ec2SshKey")
    if not given(args.props, *path) or peek(args.props, *path) == "":
        return
    if not each(read(args.props, "remoteAccess", "sourceSecurityGroupIds")):
        yield (
            f"The node group {args.name} opens port 22 of its nodes to the whole internet: "
            f"`remoteAccess` names a key and no source security group. It must not be open. "
            f"{_FIX.of(args.urn)}"
        )


NODE_SSH_NOT_OPEN = ResourcePolicy(
    "node-ssh-not-open",
    "The SSH port of nodes must not be open to the internet.",
    checks={NODE_GROUP: _open},
    severity=Severity.HIGH,
    framework=security_hub("EC2.13", "Security groups allow no ingress from 0.0.0.0/0 to port 22."),
    fix=_FIX,
)
