"""Encryption of the volumes of nodes, and of others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, ResourceValidationArgs, Severity, StackValidationArgs

from eks_gpushare.catalog.amis import ami_types
from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import each, format_value, given, is_known, is_true, read
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.launches import Launch, launch_of, on_launches
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.storage import (
    DEFAULT_CLASS,
    STORAGE_CLASS,
    ebs_parameter,
    makes_ebs,
    on_driver,
    unmapped_of_class,
    volumes_of_class,
)
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import ResourcePolicy, StackPolicy, security_hub
from gpushare_policies.tokens import ENCRYPTION_BY_DEFAULT, LAUNCH_TEMPLATE, NODE_GROUP, VOLUME
from gpushare_policies.words import ALWAYS, OWN_TEMPLATE, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENCRYPTED = Fix(
    ALWAYS,
    f"Set `nodeRootVolumeEncrypted: true` of a NodeGroupV2 or cluster. {OWN_TEMPLATE}",
    "Set `blockDeviceMappings[].ebs.encrypted: true`.",
)
_OF_OTHERS = replace(
    _ENCRYPTED, raw="Set `encrypted: true` in `rootBlockDevice` and `ebsBlockDevices[]`."
)
_OF_NODES = replace(
    _ENCRYPTED,
    raw="Give it a launch template (`launchTemplate`) with `blockDeviceMappings[].ebs.encrypted: "
    "true`.",
)
_OF_IMAGES = replace(
    _ENCRYPTED,
    raw="Add a mapping of each to `blockDeviceMappings`, with `ebs.encrypted: true`.",
)
_SET_CLASS = "Set `spec.blockDeviceMappings[].ebs.encrypted: true` of the EC2NodeClass."
_OF_CLASSES = Fix(ALWAYS, _SET_CLASS, _SET_CLASS)

_SET_PARAMETER = (
    'Set `parameters.encrypted: "true"` of the StorageClass; a class cannot be changed, so make '
    "another beside it."
)
_OF_STORAGE = Fix(_SET_PARAMETER, _SET_PARAMETER, _SET_PARAMETER)
_MAKE_ANOTHER = (
    "Leave `defaultStorageClass.enabled` of the driver out, and make a StorageClass with "
    '`parameters.encrypted: "true"`.'
)


def _fix(launch: Launch) -> Fix:
    return _ENCRYPTED if launch.token == LAUNCH_TEMPLATE else _OF_OTHERS


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
                f"{launch.called} maps {mapped} so {launch.whose} root volume {_BY_ACCOUNT} "
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


def _storage_class(subject: Subject) -> Iterator[str | Unjudged]:
    encrypted = ebs_parameter(subject.object, "encrypted")
    if encrypted is UNKNOWN:
        yield Unjudged("parameters")
    elif makes_ebs(subject.object) and str(encrypted).lower() != "true":
        is_default = subject.object.name == DEFAULT_CLASS
        found = "no `encrypted`" if encrypted is None else f"encrypted {format_value(encrypted)}"
        yield (
            f"{subject.opening} has {found}, so that its volumes are encrypted only where the AWS "
            f"account encrypts by default. They must be, whatever the account does. "
            f"{_MAKE_ANOTHER if is_default else _OF_STORAGE.of(subject.args.urn)}"
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


def _devices(ami_type: str) -> tuple[str, ...]:
    """The volumes that an image of EKS brings; none of an image that is not known."""
    for ami in ami_types():
        if ami.type == ami_type:
            return tuple(filter(None, (ami.root_device, ami.data_device)))
    return ("/dev/sda1",) if ami_type.startswith("WINDOWS") else ()


def _judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
    if nodes.start is None:
        return
    for launch in launch_of(nodes.start):
        yield from _unmapped(nodes.group, launch, nodes.start.urn)


def _unmapped(group: PolicyResource, launch: Launch, urn: str) -> Iterator[tuple[str, str]]:
    devices = _devices(str(settled(group, "amiType") or ""))
    if not devices or not launch.root_is_mapped():  # the latter is for volumes-encrypted to say
        return
    mapped = {volume.name.removeprefix("/dev/") for volume in launch.volumes()}
    missing = [device for device in devices if device.removeprefix("/dev/") not in mapped]
    if missing:
        message = (
            f"{launch.called} does not map {' and '.join(missing)}, which the image of "
            f"{group.name} brings: encrypted only where the AWS account encrypts by default. "
            f"Each volume must be encrypted whatever the account does. "
            f"{_OF_IMAGES.of(urn)}"
        )
        yield message, urn


def _of_images(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    yield from over_each(nodes_of(args.resources), _judge)


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    # Without any mapping Karpenter makes the volumes of the image's family, and encrypts them.
    # https://karpenter.sh/docs/concepts/nodeclasses/#specblockdevicemappings (2026-11-22)
    for found in volumes_of_class(subject, "encrypted"):
        if isinstance(found, Unjudged):
            yield found
        elif not is_true(found[1]):
            yield (
                f"{found[0]} has encrypted {format_value(found[1])}. It must be true, whatever the "
                f"AWS account does by default. {_OF_CLASSES.of(subject.args.urn)}"
            )
    if missing := unmapped_of_class(subject):
        yield (
            f"{subject.opening} does not map {' and '.join(missing)}, which its image brings: "
            f"encrypted only where the AWS account encrypts by default. Each volume must be "
            f"encrypted whatever the account does. Map it too, with `ebs.encrypted: true`."
        )


_CONTROL = security_hub("EC2.7", "EBS volumes are encrypted by default.")

VOLUMES_ENCRYPTED = ResourcePolicy(
    "volumes-encrypted",
    "EBS volumes must be encrypted.",
    checks=ObjectChecks(
        {STORAGE_CLASS: _storage_class},
        {
            **on_launches(_volumes),
            **on_driver(_storage_class),
            NODE_GROUP: _node_group,
            VOLUME: _volume,
            ENCRYPTION_BY_DEFAULT: _by_default,
        },
    ),
    unseen="launch templates of other stacks, and whether the account encrypts by default.",
    severity=Severity.HIGH,
    framework=_CONTROL,
    # A template gets a new version; volumes and instances would be replaced, with their data.
    remediate={LAUNCH_TEMPLATE: _encrypt},
    fix=replace(_ENCRYPTED, raw=f"{_ENCRYPTED.raw} On a volume: `encrypted: true`."),
)

LAUNCH_TEMPLATE_VOLUMES_ENCRYPTED = StackPolicy(
    "launch-template-volumes-encrypted",
    "A launch template must speak of every volume that the image of its nodes brings.",
    check=_of_images,
    applies_to=(NODE_GROUP, LAUNCH_TEMPLATE),
    unseen="images of your own, whose volumes are not known.",
    severity=Severity.HIGH,
    framework=_CONTROL,
    fix=_OF_IMAGES,
)

NODE_CLASS_VOLUMES_ENCRYPTED = ResourcePolicy(
    "node-class-volumes-encrypted",
    "Volumes of nodes that Karpenter makes must be encrypted.",
    checks=ObjectChecks({NODE_CLASS: _node_class}),
    severity=Severity.HIGH,
    framework=_CONTROL,
    fix=_OF_CLASSES,
)
