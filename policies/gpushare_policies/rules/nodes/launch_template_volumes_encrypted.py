"""The rule on volumes that an image brings and its launch template does not speak of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from eks_gpushare.catalog.amis import ami_types
from gpushare_policies.reading.launches import Launch, launch_of
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, security_hub
from gpushare_policies.rules.nodes.volumes_encrypted import ENCRYPTED
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIX = replace(
    ENCRYPTED,
    raw="Add a mapping of each to `blockDeviceMappings`, with `ebs.encrypted: true`.",
)


def _devices(ami_type: str) -> tuple[str, ...]:
    """The volumes that an image of EKS brings; none of an image that is not known."""
    for ami in ami_types():
        if ami.type == ami_type:
            return tuple(filter(None, (ami.root_device, ami.data_device)))
    return ()


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
            f"{_FIX.of(urn)}"
        )
        yield message, urn


def _volumes(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    yield from over_each(nodes_of(args.resources), _judge)


LAUNCH_TEMPLATE_VOLUMES_ENCRYPTED = StackPolicy(
    "launch-template-volumes-encrypted",
    "A launch template must speak of every volume that the image of its nodes brings.",
    check=_volumes,
    applies_to=(NODE_GROUP, LAUNCH_TEMPLATE),
    unseen="images of your own, whose volumes are not known.",
    severity=Severity.HIGH,
    framework=security_hub("EC2.7", "EBS volumes are encrypted by default."),
    fix=_FIX,
)
