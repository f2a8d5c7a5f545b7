"""The rule on the metadata service, which has the credentials of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import format_value, read, whole
from gpushare_policies.rule import Rule, number, security_hub
from gpushare_policies.tokens import LAUNCH_TEMPLATE
from gpushare_policies.words import ALWAYS, OWN_TEMPLATE, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

MAXIMUM_HOPS = number(
    "maximumHopLimit",
    1,
    "Largest hop limit of the metadata service; 2 lets pods reach the node's credentials.",
    minimum=1,
)


_TOKENS = Fix(
    ALWAYS,
    "Set `metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}` of a NodeGroupV2, "
    "or `enableIMDSv2: true` of a ManagedNodeGroup.",
    "Set `metadataOptions.httpTokens: required`.",
)
_HOPS = Fix(
    "Set `pools.<pool>.metadataHopLimit: 1` in the stack file, or leave the key out.",
    f"Set `metadataOptions.httpPutResponseHopLimit: 1` of a NodeGroupV2. {OWN_TEMPLATE}",
    "Set `metadataOptions.httpPutResponseHopLimit: 1`.",
)
_IMDS = Fix(
    "Leave `pools.<pool>.metadataHopLimit` out of the stack file.",
    "Set `metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}` of a NodeGroupV2. "
    + OWN_TEMPLATE,
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
