"""Rules on launch templates and volumes: metadata service, encryption, public addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import each, format_value, given, is_true, read, whole
from gpushare_policies.rule import Rule, cis, number, security_hub
from gpushare_policies.tokens import LAUNCH_TEMPLATE, VOLUME

if TYPE_CHECKING:
    from collections.abc import Iterator

MAXIMUM_HOPS = number(
    "maximumHopLimit",
    1,
    "Largest hop limit of the metadata service; 2 lets pods reach the node's credentials.",
    minimum=1,
)


def _metadata(args: ResourceValidationArgs) -> Iterator[str]:
    options = read(args.props, "metadataOptions")
    if read(options, "httpEndpoint") == "disabled":
        return
    tokens = read(options, "httpTokens")
    if tokens != "required":
        yield (
            f"The launch template {args.name} has httpTokens {format_value(tokens)}. It must be "
            f"required, or a forged request from a pod reads the node's credentials (IMDSv1). Set "
            f"`metadataOptions.httpTokens: required`; nodes made from a stack file always have it."
        )
    hops = read(options, "httpPutResponseHopLimit")
    most = MAXIMUM_HOPS.of(args)
    if (limit := whole(hops)) is None or limit > most:
        yield (
            f"The launch template {args.name} has httpPutResponseHopLimit {format_value(hops)}. It "
            f"must be at most {most}, or pods reach the node's credentials. Set "
            f"`pools.<pool>.metadataHopLimit: 1` in the stack file, or leave the key out."
        )


IMDSV2_REQUIRED = Rule(
    "imdsv2-required",
    "Nodes must require IMDSv2 and keep its answers from pods.",
    checks={LAUNCH_TEMPLATE: _metadata},
    severity=Severity.HIGH,
    framework=security_hub("EC2.170", "Launch templates use IMDSv2."),
    also=("aws-security-hub/EC2.8",),
    fix="Leave `pools.<pool>.metadataHopLimit` out of the stack file. On a raw launch template: "
    "`metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}`.",
    settings=(MAXIMUM_HOPS,),
)


def _template_volumes(args: ResourceValidationArgs) -> Iterator[str]:
    mappings = each(read(args.props, "blockDeviceMappings"))
    if not mappings:
        yield (
            f"The launch template {args.name} maps no volume, so the nodes' root volume is "
            f"encrypted only where the AWS account encrypts by default. It must be encrypted "
            f"whatever the account does. Set `blockDeviceMappings` with `ebs.encrypted: true`; "
            f"nodes made from a stack file always have it."
        )
    for mapping in mappings:
        if not given(mapping, "ebs"):  # an instance store, or a device that is taken away
            continue
        encrypted = read(mapping, "ebs", "encrypted")
        if not is_true(encrypted):
            yield (
                f"The volume {format_value(read(mapping, 'deviceName'))} of the launch template "
                f"{args.name} has encrypted {format_value(encrypted)}. It must be true. Set "
                f"`blockDeviceMappings[].ebs.encrypted: true`; nodes made from a stack file "
                f"always have it."
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
    fix="Nodes made from a stack file are encrypted. On a raw launch template: "
    "`blockDeviceMappings[].ebs.encrypted: true`; on a volume: `encrypted: true`.",
)


def _addresses(args: ResourceValidationArgs) -> Iterator[str]:
    for interface in each(read(args.props, "networkInterfaces")):
        if is_true(read(interface, "associatePublicIpAddress")):
            yield (
                f"The launch template {args.name} gives its nodes a public IP address. Nodes must "
                f"have private addresses only. Remove "
                f"`networkInterfaces[].associatePublicIpAddress`, or set it to false; nodes "
                f"made from a stack file have none."
            )


NODES_WITHOUT_PUBLIC_ADDRESS = Rule(
    "nodes-without-public-address",
    "Launch templates must not give nodes a public IP address.",
    checks={LAUNCH_TEMPLATE: _addresses},
    severity=Severity.HIGH,
    framework=cis("5.4.3", "Clusters have private nodes."),
    also=("aws-security-hub/EC2.25",),
    fix="Remove `networkInterfaces[].associatePublicIpAddress` from the launch template and put "
    "nodes into private subnets (`network.privateSubnetIds` in the stack file).",
)

TEMPLATE_RULES = (IMDSV2_REQUIRED, VOLUMES_ENCRYPTED, NODES_WITHOUT_PUBLIC_ADDRESS)
"""The rules on launch templates and volumes."""
