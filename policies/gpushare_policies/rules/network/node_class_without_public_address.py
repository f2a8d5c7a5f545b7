"""Nodes that Karpenter makes have private addresses only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.props import is_true
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy, Unjudged, cis
from gpushare_policies.rules.autoscaling.node_class_ami_pinned import NODE_CLASS
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET = "Set `spec.associatePublicIPAddress: false` of the EC2NodeClass, and choose private subnets."
_NO_ADDRESS = Fix(
    "Nodes made from a stack file have none: remove what gives them one, such as a transform.",
    _SET,
    _SET,
)


def _address(subject: Subject) -> Iterator[str | Unjudged]:
    given = at(subject.object.body, "spec", "associatePublicIPAddress")
    if given is UNKNOWN:
        yield Unjudged("associatePublicIPAddress")
    elif is_true(given):
        yield (
            f"{subject.opening} gives its nodes a public IP address. Nodes must have private "
            f"addresses only. {_NO_ADDRESS.of(subject.args.urn)}"
        )


NODE_CLASS_WITHOUT_PUBLIC_ADDRESS = ResourcePolicy(
    "node-class-without-public-address",
    "Node classes of Karpenter must not give nodes a public IP address.",
    checks=ObjectChecks({NODE_CLASS: _address}),
    severity=Severity.HIGH,
    framework=cis("5.4.3", "Clusters have private nodes."),
    fix=_NO_ADDRESS,
)
