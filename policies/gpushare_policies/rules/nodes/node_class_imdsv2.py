"""Nodes that Karpenter makes keep their credentials from pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.props import format_value, whole
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy, Unjudged, security_hub
from gpushare_policies.rules.autoscaling.node_class_ami_pinned import NODE_CLASS
from gpushare_policies.rules.nodes.imdsv2_required import MAXIMUM_HOPS
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET = (
    "Set `spec.metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}` of the "
    "EC2NodeClass, or leave the key out, which means the same."
)
_IMDS = Fix("Leave `pools.<pool>.metadataHopLimit` out of the stack file.", _SET, _SET)


def _metadata(subject: Subject) -> Iterator[str | Unjudged]:
    # What is not given is as it should be: v1 fills in required and 1.
    # https://karpenter.sh/docs/concepts/nodeclasses/#specmetadataoptions (2026-11-22)
    options = at(subject.object.body, "spec", "metadataOptions")
    endpoint, tokens, hops = (
        at(options, key) for key in ("httpEndpoint", "httpTokens", "httpPutResponseHopLimit")
    )
    if endpoint == "disabled":
        return
    if UNKNOWN in (endpoint, tokens, hops):
        yield Unjudged("metadataOptions")
    elif tokens not in (None, "required"):
        yield (
            f"{subject.opening} has httpTokens {format_value(tokens)}. It must be required, or a "
            f"forged request from a pod reads the node's credentials (IMDSv1). "
            f"{_IMDS.of(subject.args.urn)}"
        )
    most = MAXIMUM_HOPS.of(subject.args)
    if hops not in (None, UNKNOWN) and ((limit := whole(hops)) is None or limit > most):
        yield (
            f"{subject.opening} has httpPutResponseHopLimit {format_value(hops)}. It must be at "
            f"most {most}, or pods reach the node's credentials. {_IMDS.of(subject.args.urn)}"
        )


NODE_CLASS_IMDSV2 = ResourcePolicy(
    "node-class-imdsv2",
    "Nodes that Karpenter makes must require IMDSv2 and keep its answers from pods.",
    checks=ObjectChecks({NODE_CLASS: _metadata}),
    severity=Severity.HIGH,
    framework=security_hub("EC2.170", "Launch templates use IMDSv2."),
    fix=_IMDS,
    settings=(MAXIMUM_HOPS,),
)
