"""Machines that Karpenter starts are as well protected as those of node groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import at, count, items, mappings
from gpushare_policies.rule import Rule, Unjudged, security_hub
from gpushare_policies.rules.autoscaling.node_class_ami_pinned import NODE_CLASS
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is not given is safe: Karpenter requires IMDSv2 with one hop and encrypts the volume that it
# maps by itself. https://karpenter.sh/docs/concepts/nodeclasses/#specmetadataoptions

_SET = (
    "Leave `spec.metadataOptions` out or set `{httpTokens: required, httpPutResponseHopLimit: 1}`, "
    "set `encrypted: true` of each `spec.blockDeviceMappings[].ebs`, and leave "
    "`spec.associatePublicIPAddress` out."
)
_PROTECTED = Fix(
    "Nodes made from a stack file always have it: remove what takes it away, such as a transform.",
    _SET,
    _SET,
)


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    spec = at(subject.object.body, "spec")
    for said in _of_spec(spec):
        if isinstance(said, Unjudged):
            yield said
        else:
            yield f"{subject.opening} {said} {_PROTECTED.of(subject.args.urn)}"


def _of_spec(spec: Any) -> Iterator[str | Unjudged]:
    yield from _metadata(at(spec, "metadataOptions"))
    public = at(spec, "associatePublicIPAddress")
    if public is UNKNOWN:
        yield Unjudged("associatePublicIPAddress")
    elif public is True:
        yield "gives its nodes public addresses. Nodes must have private ones only."
    yield from _volumes(at(spec, "blockDeviceMappings"))


def _metadata(options: Any) -> Iterator[str | Unjudged]:
    endpoint, tokens = at(options, "httpEndpoint"), at(options, "httpTokens")
    hops = count(at(options, "httpPutResponseHopLimit"))
    if UNKNOWN in (options, endpoint, tokens, hops):
        yield Unjudged("metadataOptions")
    elif endpoint != "disabled":
        if tokens not in (None, "required"):
            yield (
                f"has httpTokens {tokens}. It must be required, or a forged request from a pod "
                f"reads the node's credentials (IMDSv1)."
            )
        if hops is not None and hops > 1:
            yield (
                f"has httpPutResponseHopLimit {hops}. It must be 1, or pods reach the node's "
                f"credentials."
            )


def _volumes(given: Any) -> Iterator[str | Unjudged]:
    if given is UNKNOWN or UNKNOWN in items(given):
        yield Unjudged("blockDeviceMappings")
    for _, each in mappings(given):
        volume, name = each.get("ebs"), each.get("deviceName")
        encrypted = at(volume, "encrypted")
        if encrypted is UNKNOWN:
            yield Unjudged(f"whether the volume {name} is encrypted")
        elif volume is not None and encrypted is not True:
            yield f"does not encrypt the volume {name}. It must be encrypted."


NODE_CLASS_PROTECTED = Rule(
    "node-class-protected",
    "Node classes of Karpenter must require IMDSv2, encrypt volumes and give no public address.",
    checks=ObjectChecks({NODE_CLASS: _node_class}),
    severity=Severity.HIGH,
    framework=security_hub("EC2.170", "Launch templates use IMDSv2."),
    also=("aws-security-hub/EC2.7", "aws-security-hub/EC2.8", "aws-security-hub/EC2.25"),
    fix=_PROTECTED,
)
