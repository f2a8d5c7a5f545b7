"""Volumes of nodes that Karpenter makes are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.props import format_value, is_true
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.rule import ResourcePolicy, Unjudged, security_hub
from gpushare_policies.rules.autoscaling.node_class_ami_pinned import NODE_CLASS
from gpushare_policies.words import ALWAYS, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET = "Set `spec.blockDeviceMappings[].ebs.encrypted: true` of the EC2NodeClass."
_ENCRYPTED = Fix(ALWAYS, _SET, _SET)


def _volumes(subject: Subject) -> Iterator[str | Unjudged]:
    # Without any mapping Karpenter makes the volumes of the image's family, and encrypts them.
    # https://karpenter.sh/docs/concepts/nodeclasses/#specblockdevicemappings (2026-11-22)
    given = at(subject.object.body, "spec", "blockDeviceMappings")
    if given is UNKNOWN or UNKNOWN in items(given):
        yield Unjudged("blockDeviceMappings")
    for _, mapping in mappings(given):
        encrypted = at(mapping, "ebs", "encrypted")
        if encrypted is UNKNOWN:
            yield Unjudged("blockDeviceMappings")
        elif at(mapping, "ebs") is not None and not is_true(encrypted):
            yield (
                f"The volume {format_value(mapping.get('deviceName'))} of {subject.title} has "
                f"encrypted {format_value(encrypted)}. It must be true, whatever the AWS account "
                f"does by default. {_ENCRYPTED.of(subject.args.urn)}"
            )


NODE_CLASS_VOLUMES_ENCRYPTED = ResourcePolicy(
    "node-class-volumes-encrypted",
    "Volumes of nodes that Karpenter makes must be encrypted.",
    checks=ObjectChecks({NODE_CLASS: _volumes}),
    severity=Severity.HIGH,
    framework=security_hub("EC2.7", "EBS volumes are encrypted by default."),
    fix=_ENCRYPTED,
)
