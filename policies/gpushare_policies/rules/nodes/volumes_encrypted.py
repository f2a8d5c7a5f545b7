"""The rule on the encryption of volumes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import each, format_value, given, is_known, is_true, read
from gpushare_policies.reading.launches import Launch, launch_of, on_launches
from gpushare_policies.rule import ResourcePolicy, security_hub
from gpushare_policies.tokens import ENCRYPTION_BY_DEFAULT, LAUNCH_TEMPLATE, NODE_GROUP, VOLUME
from gpushare_policies.words import ALWAYS, OWN_TEMPLATE, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENCRYPTED = Fix(
    ALWAYS,
    f"Set `nodeRootVolumeEncrypted: true` of a NodeGroupV2 or cluster. {OWN_TEMPLATE}",
    "Set `blockDeviceMappings[].ebs.encrypted: true`.",
)
_OF_OTHERS = replace(
    ENCRYPTED, raw="Set `encrypted: true` in `rootBlockDevice` and `ebsBlockDevices[]`."
)
_OF_NODES = replace(
    ENCRYPTED,
    raw="Give it a launch template (`launchTemplate`) with `blockDeviceMappings[].ebs.encrypted: "
    "true`.",
)


def _fix(launch: Launch) -> Fix:
    return ENCRYPTED if launch.token == LAUNCH_TEMPLATE else _OF_OTHERS


_BY_ACCOUNT = (
    "is encrypted only where the AWS account encrypts by default. It must be encrypted whatever "
    "the account does."
)


def _volumes(args: ResourceValidationArgs) -> Iterator[str]:
    for launch in launch_of(args):
        volumes = list(launch.volumes())
        if not launch.root_is_mapped() and not launch.inherits():
            names = ", ".join(volume.name for volume in volumes)
            mapped = f"no root volume, only {names}," if names else "no volume,"
            yield (
                f"{launch.called} maps {mapped} so the nodes' root volume {_BY_ACCOUNT} "
                f"{_fix(launch).of(args.urn)}"
            )
        for volume in volumes:
            encrypted = read(volume.ebs, "encrypted")
            if not is_true(encrypted):
                yield (
                    f"The volume {volume.name} of the {launch.kind} {launch.name} has encrypted "
                    f"{format_value(encrypted)}. It must be true. {_fix(launch).of(args.urn)}"
                )


def _volume(args: ResourceValidationArgs) -> Iterator[str]:
    encrypted = read(args.props, "encrypted")
    if not is_true(encrypted):
        yield (
            f"The volume {args.name} has encrypted {format_value(encrypted)}. It must be true. "
            f"Set `encrypted: true`; an existing volume is encrypted by way of a snapshot."
        )


def _node_group(args: ResourceValidationArgs) -> Iterator[str]:
    # The template that EKS makes says nothing of encryption:
    # https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html, read 2026-11-22.
    if list(args.props) and not given(args.props, "launchTemplate"):
        yield (
            f"The node group {args.name} has no launch template, so the root volume that EKS gives "
            f"its nodes {_BY_ACCOUNT} {_OF_NODES.of(args.urn)}"
        )


def _by_default(args: ResourceValidationArgs) -> Iterator[str]:
    enabled = read(args.props, "enabled")
    if enabled is not None and not is_true(enabled):
        yield (
            f"{args.name} turns the encryption of new volumes off for the whole account and "
            f"region. It must be on. Set `enabled: true`, or remove it."
        )


def _encrypt(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
    changed = False
    for mapping in each(read(args.props, "blockDeviceMappings")):
        ebs = read(mapping, "ebs")
        if ebs is not None and is_known(ebs, "encrypted") and not is_true(read(ebs, "encrypted")):
            ebs["encrypted"] = "true"
            changed = True
    return args.props if changed else None


VOLUMES_ENCRYPTED = ResourcePolicy(
    "volumes-encrypted",
    "EBS volumes must be encrypted.",
    checks={
        **on_launches(_volumes),
        NODE_GROUP: _node_group,
        VOLUME: _volume,
        ENCRYPTION_BY_DEFAULT: _by_default,
    },
    unseen="launch templates of other stacks, and whether the account encrypts by default.",
    severity=Severity.HIGH,
    framework=security_hub("EC2.7", "EBS volumes are encrypted by default."),
    # A template gets a new version; volumes and instances would be replaced, with their data.
    remediate={LAUNCH_TEMPLATE: _encrypt},
    fix=replace(ENCRYPTED, raw=f"{ENCRYPTED.raw} On a volume: `encrypted: true`."),
)
