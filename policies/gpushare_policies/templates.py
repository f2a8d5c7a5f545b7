"""Rules on launch templates and volumes: metadata service, encryption, public addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import each, format_value, given, is_true, read, whole
from gpushare_policies.rule import Rule, cis, number, security_hub
from gpushare_policies.tokens import LAUNCH_TEMPLATE, VOLUME
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

MAXIMUM_HOPS = number(
    "maximumHopLimit",
    1,
    "Largest hop limit of the metadata service; 2 lets pods reach the node's credentials.",
    minimum=1,
)


_OWN_TEMPLATE = "A ManagedNodeGroup needs a launch template of yours for it (`launchTemplate`)."
_ALWAYS = (
    "Nodes made from a stack file always have it: remove what takes it away, such as a transform."
)
_TOKENS = Fix(
    _ALWAYS,
    "Set `metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}` of a NodeGroupV2, "
    "or `enableIMDSv2: true` of a ManagedNodeGroup.",
    "Set `metadataOptions.httpTokens: required`.",
)
_HOPS = Fix(
    "Set `pools.<pool>.metadataHopLimit: 1` in the stack file, or leave the key out.",
    f"Set `metadataOptions.httpPutResponseHopLimit: 1` of a NodeGroupV2. {_OWN_TEMPLATE}",
    "Set `metadataOptions.httpPutResponseHopLimit: 1`.",
)
_IMDS = Fix(
    "Leave `pools.<pool>.metadataHopLimit` out of the stack file.",
    "Set `metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}` of a NodeGroupV2. "
    + _OWN_TEMPLATE,
    "Set `metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}`.",
)


def _metadata(args: ResourceValidationArgs) -> Iterator[str]:
    options = read(args.props, "metadataOptions")
    if read(options, "httpEndpoint") == "disabled":
        return
    tokens = read(options, "httpTokens")
    if tokens != "required":
        yield (
            f"The launch template {args.name} has httpTokens {format_value(tokens)}. It must be "
            f"required, or a forged request from a pod reads the node's credentials (IMDSv1). "
            f"{_TOKENS.of(args.urn)}"
        )
    hops = read(options, "httpPutResponseHopLimit")
    most = MAXIMUM_HOPS.of(args)
    if (limit := whole(hops)) is None or limit > most:
        yield (
            f"The launch template {args.name} has httpPutResponseHopLimit {format_value(hops)}. It "
            f"must be at most {most}, or pods reach the node's credentials. {_HOPS.of(args.urn)}"
        )


IMDSV2_REQUIRED = Rule(
    "imdsv2-required",
    "Nodes must require IMDSv2 and keep its answers from pods.",
    checks={LAUNCH_TEMPLATE: _metadata},
    severity=Severity.HIGH,
    framework=security_hub("EC2.170", "Launch templates use IMDSv2."),
    also=("aws-security-hub/EC2.8",),
    fix=_IMDS,
    settings=(MAXIMUM_HOPS,),
)


_ENCRYPTED = Fix(
    _ALWAYS,
    f"Set `nodeRootVolumeEncrypted: true` of a NodeGroupV2 or cluster. {_OWN_TEMPLATE}",
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


_NO_ADDRESS = Fix(
    "Nodes made from a stack file have none: remove what gives them one, such as a transform.",
    "Set `nodeAssociatePublicIpAddress: false` and put nodes into private subnets "
    "(`nodeSubnetIds`).",
    "Remove `networkInterfaces[].associatePublicIpAddress`, or set it to false, and put nodes into "
    "private subnets.",
)


def _addresses(args: ResourceValidationArgs) -> Iterator[str]:
    for interface in each(read(args.props, "networkInterfaces")):
        if is_true(read(interface, "associatePublicIpAddress")):
            yield (
                f"The launch template {args.name} gives its nodes a public IP address. Nodes must "
                f"have private addresses only. {_NO_ADDRESS.of(args.urn)}"
            )


NODES_WITHOUT_PUBLIC_ADDRESS = Rule(
    "nodes-without-public-address",
    "Launch templates must not give nodes a public IP address.",
    checks={LAUNCH_TEMPLATE: _addresses},
    severity=Severity.HIGH,
    framework=cis("5.4.3", "Clusters have private nodes."),
    also=("aws-security-hub/EC2.25",),
    fix=_NO_ADDRESS,
)

TEMPLATE_RULES = (IMDSV2_REQUIRED, VOLUMES_ENCRYPTED, NODES_WITHOUT_PUBLIC_ADDRESS)
"""The rules on launch templates and volumes."""
