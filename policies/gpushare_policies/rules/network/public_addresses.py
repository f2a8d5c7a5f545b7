"""Public addresses of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import is_true
from gpushare_policies.reading.karpenter import CLASS_OF_AUTO_MODE, NODE_CLASS
from gpushare_policies.reading.launches import launch_of, on_launches
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
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
_OF_TEMPLATES = Fix(
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
_SET_CLASS = (
    "Set `spec.associatePublicIPAddress: false` of the EC2NodeClass, and choose private subnets."
)
_OF_CLASSES = Fix(_STACK_FILE, _SET_CLASS, _SET_CLASS)


def _public(called: str, fix: Fix, urn: str) -> str:
    return (
        f"{called} gives its nodes a public IP address. Nodes must have private addresses only. "
        f"{fix.of(urn)}"
    )


def _addresses(args: ResourceValidationArgs) -> Iterator[str]:
    for launch in launch_of(args):
        if launch.gives_public_address() and launch.is_of_nodes:
            fix = _OF_TEMPLATES if launch.token == LAUNCH_TEMPLATE else _OF_OTHERS
            yield _public(launch.called, fix, args.urn)


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    # https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html, read 2026-11-28
    above = ("advancedNetworking",) if subject.object.kind == CLASS_OF_AUTO_MODE else ()
    wanted = at(subject.object.body, "spec", *above, "associatePublicIPAddress")
    if wanted is UNKNOWN:
        yield Unjudged("associatePublicIPAddress")
    elif is_true(wanted):
        yield _public(subject.opening, _OF_CLASSES, subject.args.urn)


_RECOMMENDED = cis("5.4.3", "Clusters have private nodes.")


NODES_WITHOUT_PUBLIC_ADDRESS = ResourcePolicy(
    "nodes-without-public-address",
    "Nodes must not be given a public IP address.",
    checks=on_launches(_addresses),
    severity=Severity.HIGH,
    framework=_RECOMMENDED,
    also=("aws-security-hub/EC2.9", "aws-security-hub/EC2.25"),
    fix=_OF_TEMPLATES,
)

NODE_CLASS_WITHOUT_PUBLIC_ADDRESS = ResourcePolicy(
    "node-class-without-public-address",
    "Node classes of Karpenter must not give nodes a public IP address.",
    checks=ObjectChecks({NODE_CLASS: _node_class, CLASS_OF_AUTO_MODE: _node_class}),
    severity=Severity.HIGH,
    framework=_RECOMMENDED,
    fix=_OF_CLASSES,
)
