"""The rule on the encryption of volumes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import each, format_value, given, is_true, read
from gpushare_policies.rule import Rule, security_hub
from gpushare_policies.tokens import LAUNCH_TEMPLATE, VOLUME
from gpushare_policies.words import ALWAYS, OWN_TEMPLATE, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENCRYPTED = Fix(
    ALWAYS,
    f"Set `nodeRootVolumeEncrypted: true` of a NodeGroupV2 or cluster. {OWN_TEMPLATE}",
    "Set `blockDeviceMappings[].ebs.encrypted: true`.",
)


def _template_volumes(args: ResourceValidationArgs) -> Iterator[str]:
    mappings = each(read(args.props, "blockDeviceMappings"))
    if not mappings:
        yield (
            f"The launch template {args.name} maps no volume, so the nodes' root volume is "
            f"encrypted only where the AWS account encrypts by default. It must be encrypted "
            f"whatever the account does. {_ENCRYPTED.of(args.urn)}"
        )
    for mapping in mappings:
        if not given(mapping, "ebs"):  # an instance store, or a device that is taken away
            continue
        encrypted = read(mapping, "ebs", "encrypted")
        if not is_true(encrypted):
            yield (
                f"The volume {format_value(read(mapping, 'deviceName'))} of the launch template "
                f"{args.name} has encrypted {format_value(encrypted)}. It must be true. "
                f"{_ENCRYPTED.of(args.urn)}"
            )


def _volume(args: ResourceValidationArgs) -> Iterator[str]:
    encrypted = read(args.props, "encrypted")
    if not is_true(encrypted):
        yield (
            f"The volume {args.name} has encrypted {format_value(encrypted)}. It must be true. "
            f"Set `encrypted: true`; an existing volume is encrypted by way of a snapshot."
        )


VOLUMES_ENCRYPTED = Rule(
    "volumes-encrypted",
    "EBS volumes must be encrypted.",
    checks={LAUNCH_TEMPLATE: _template_volumes, VOLUME: _volume},
    severity=Severity.HIGH,
    framework=security_hub("EC2.7", "EBS volumes are encrypted by default."),
    fix=replace(_ENCRYPTED, raw=f"{_ENCRYPTED.raw} On a volume: `encrypted: true`."),
)
