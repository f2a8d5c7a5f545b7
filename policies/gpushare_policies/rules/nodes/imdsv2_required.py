"""The rule on the metadata service, which has the credentials of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import format_value, given, is_known, read, whole
from gpushare_policies.reading.launches import Launch, launch_of, on_launches
from gpushare_policies.rule import ResourcePolicy, number, security_hub
from gpushare_policies.tokens import INSTANCE, LAUNCH_TEMPLATE, NODE_GROUP, SPOT_FLEET
from gpushare_policies.words import ALWAYS, OWN_TEMPLATE, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    for launch in launch_of(args):
        yield from _launch(args, launch)


def _launch(args: ResourceValidationArgs, launch: Launch) -> Iterator[str]:
    if launch.token == SPOT_FLEET:
        yield (
            f"{launch.called} starts instances without a launch template, which cannot require "
            f"IMDSv2. It must be required, or a forged request from a pod reads the node's "
            f"credentials (IMDSv1). Use `launchTemplateConfigs` in place of "
            f"`launchSpecifications`."
        )
        return
    options = read(launch.props, "metadataOptions")
    if read(options, "httpEndpoint") == "disabled":
        return
    tokens = read(options, "httpTokens")
    if tokens != "required" and not (tokens is None and launch.inherits()):
        yield (
            f"{launch.called} has httpTokens {format_value(tokens)}. It must be "
            f"required, or a forged request from a pod reads the node's credentials (IMDSv1). "
            f"{_TOKENS.of(args.urn)}"
        )
    hops = read(options, "httpPutResponseHopLimit")
    if hops is None and launch.inherits():
        return
    most = MAXIMUM_HOPS.of(args)
    if not 1 <= (whole(hops) or 0) <= most:  # the provider takes 0 for unset
        yield (
            f"{launch.called} has httpPutResponseHopLimit {format_value(hops)}. It "
            f"must be at most {most}, or pods reach the node's credentials. {_HOPS.of(args.urn)}"
        )


def _require(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
    props: Any = args.props
    paths: list[tuple[str, ...]] = [("metadataOptions",)]
    paths += [("metadataOptions", key) for key in ("httpTokens", "httpPutResponseHopLimit")]
    if not all(is_known(props, *path) for path in paths) or next(_metadata(args), None) is None:
        return None
    options = read(props, "metadataOptions") or {}
    most = MAXIMUM_HOPS.of(args)
    hops = max(1, whole(read(options, "httpPutResponseHopLimit")) or most)
    props["metadataOptions"] = {
        **{key: options[key] for key in options},
        "httpTokens": "required",
        "httpPutResponseHopLimit": min(hops, most),
    }
    return args.props


_HOPS_OF_EKS = 2
"""Of the template that EKS makes where a node group names none:
https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html, read
2026-11-22."""
_OWN = Fix(
    ALWAYS,
    OWN_TEMPLATE,
    "Give it a launch template (`launchTemplate`) with `metadataOptions: {httpTokens: required, "
    "httpPutResponseHopLimit: 1}`.",
)


def _node_group(args: ResourceValidationArgs) -> Iterator[str]:
    most = MAXIMUM_HOPS.of(args)
    if not list(args.props) or given(args.props, "launchTemplate") or most >= _HOPS_OF_EKS:
        return
    yield (
        f"The node group {args.name} has no launch template, and the one that EKS makes has "
        f"httpPutResponseHopLimit {_HOPS_OF_EKS}. It must be at most {most}, or pods reach the "
        f"node's credentials. {_OWN.of(args.urn)}"
    )


IMDSV2_REQUIRED = ResourcePolicy(
    "imdsv2-required",
    "Nodes must require IMDSv2 and keep its answers from pods.",
    checks={**on_launches(_metadata), NODE_GROUP: _node_group},
    unseen=("launch templates of other stacks, and what an image or the account sets by default."),
    severity=Severity.HIGH,
    framework=security_hub("EC2.170", "Launch templates use IMDSv2."),
    also=("aws-security-hub/EC2.8",),
    fix=_IMDS,
    settings=(MAXIMUM_HOPS,),
    # A launch configuration or a Spot request would be replaced.
    remediate={LAUNCH_TEMPLATE: _require, INSTANCE: _require},
)
