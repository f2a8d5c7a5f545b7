"""The metadata service of nodes, which has their credentials."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.facts.launches import reaches_pods, takes_no_token
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import format_value, given, is_known, read, whole
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.launches import Launch, launch_of, on_launches, user_data
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.rule import ResourcePolicy, number, security_hub
from gpushare_policies.tokens import INSTANCE, LAUNCH_TEMPLATE, NODE_GROUP, SPOT_FLEET
from gpushare_policies.words import ALWAYS, BY_TRANSFORM, OWN_TEMPLATE, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAXIMUM_HOPS = number(
    "maximumHopLimit",
    1,
    "Largest hop limit of the metadata service; 2 lets pods reach the node's credentials.",
    minimum=1,
)
_STATED = "`metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}`"
_TOKENS = Fix(
    ALWAYS,
    f"Set `enableIMDSv2: true` of a ManagedNodeGroup; of a NodeGroupV2 set {_STATED} on the launch "
    f"template {BY_TRANSFORM}.",
    "Set `metadataOptions.httpTokens: required`.",
)
_HOPS = Fix(
    "Set `pools.<pool>.metadataHopLimit: 1` in the stack file, or leave the key out.",
    f"Set `metadataOptions.httpPutResponseHopLimit: 1` on the launch template of a NodeGroupV2 "
    f"{BY_TRANSFORM}. {OWN_TEMPLATE}",
    "Set `metadataOptions.httpPutResponseHopLimit: 1`.",
)
_LEFT_OUT = "Leave `pools.<pool>.metadataHopLimit` out of the stack file."
_IMDS = Fix(
    _LEFT_OUT,
    f"Set {_STATED} on the launch template of a NodeGroupV2 {BY_TRANSFORM}. {OWN_TEMPLATE}",
    f"Set {_STATED}.",
)
_SET_CLASS = (
    "Set `spec.metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}` of the "
    "EC2NodeClass, or leave the key out, which means the same."
)
_CLASS = Fix(_LEFT_OUT, _SET_CLASS, _SET_CLASS)


_OPENED: Final = re.compile(
    r"modify-instance-metadata-options\b(?:[^\n]|\\\n)*?"
    r"(?P<how>--http-tokens[ =]optional|--http-put-response-hop-limit[ =](?P<hops>[0-9]+))"
    r"|(?P<cmdlet>Edit-EC2InstanceMetadataOption\b[^\n]*-HttpTokens? optional)"
)
"""A node that opens its own metadata service:
https://docs.aws.amazon.com/cli/latest/reference/ec2/modify-instance-metadata-options.html"""


@dataclass(frozen=True, slots=True)
class _Judge:
    """What is said of one that starts nodes."""

    called: str
    urn: str
    most: int
    is_node: bool = True

    def tokens(self, tokens: Any, fix: Fix) -> Iterator[str]:
        if takes_no_token(tokens):
            by = "a pod reads the node's" if self.is_node else "what runs on it reads its"
            yield (
                f"{self.called} has httpTokens {format_value(tokens)}. It must be required, or a "
                f"forged request from {by} credentials (IMDSv1). {fix.of(self.urn)}"
            )

    def told(self, data: Any) -> Iterator[str]:
        """What user data changes when the node is there."""
        for found in _OPENED.finditer(data) if isinstance(data, str) else ():
            how = found["how"] or found["cmdlet"]
            if found["hops"] is None or reaches_pods(int(found["hops"]), self.most):
                yield (
                    f"The user data of {self.called[:1].lower()}{self.called[1:]} sets "
                    f"{how}. It must not: its pods then reach the node's credentials. "
                    f"Remove it."
                )

    def hops(self, hops: Any, fix: Fix, least: int = 0) -> Iterator[str]:
        limit = whole(hops)
        if limit is None or limit < least or reaches_pods(limit, self.most):
            yield (
                f"{self.called} has httpPutResponseHopLimit {format_value(hops)}. It must be at "
                f"most {self.most}, or pods reach the node's credentials. {fix.of(self.urn)}"
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
    joins = launch.is_of_nodes
    judge = _Judge(launch.called, args.urn, MAXIMUM_HOPS.of(args), joins)
    if joins:
        yield from judge.told(user_data(launch.props))
    tokens = read(options, "httpTokens")
    if tokens is not None or not launch.inherits():
        yield from judge.tokens(tokens, _TOKENS)
    hops = read(options, "httpPutResponseHopLimit")
    if not joins:
        return  # there are no pods on it
    if hops is not None or not launch.inherits():
        yield from judge.hops(hops, _HOPS, least=1)  # the provider takes 0 for unset


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    # What is not given is as it should be: v1 fills in required and 1.
    # https://karpenter.sh/docs/concepts/nodeclasses/#specmetadataoptions (2026-11-22)
    options = at(subject.object.body, "spec", "metadataOptions")
    endpoint, tokens, hops = (
        at(options, key) for key in ("httpEndpoint", "httpTokens", "httpPutResponseHopLimit")
    )
    if endpoint == "disabled":
        return
    judge = _Judge(subject.opening, subject.args.urn, MAXIMUM_HOPS.of(subject.args))
    yield from judge.told(decoded(at(subject.object.body, "spec", "userData")))
    if UNKNOWN in (endpoint, tokens, hops):
        yield Unjudged("metadataOptions")
    elif tokens is not None:
        yield from judge.tokens(tokens, _CLASS)
    if hops not in (None, UNKNOWN):
        yield from judge.hops(hops, _CLASS)


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
_OWN = Fix(ALWAYS, OWN_TEMPLATE, f"Give it a launch template (`launchTemplate`) with {_STATED}.")


def _node_group(args: ResourceValidationArgs) -> Iterator[str]:
    most = MAXIMUM_HOPS.of(args)
    if not list(args.props) or given(args.props, "launchTemplate") or most >= _HOPS_OF_EKS:
        return
    yield (
        f"The node group {args.name} has no launch template, and the one that EKS makes has "
        f"httpPutResponseHopLimit {_HOPS_OF_EKS}. It must be at most {most}, or pods reach the "
        f"node's credentials. {_OWN.of(args.urn)}"
    )


_CONTROL = security_hub("EC2.170", "Launch templates use IMDSv2.")

IMDSV2_REQUIRED = ResourcePolicy(
    "imdsv2-required",
    "Nodes must require IMDSv2 and keep its answers from pods.",
    checks={**on_launches(_metadata), NODE_GROUP: _node_group},
    unseen=("launch templates of other stacks, and what an image or the account sets by default."),
    severity=Severity.HIGH,
    framework=_CONTROL,
    also=("aws-security-hub/EC2.8",),
    fix=_IMDS,
    settings=(MAXIMUM_HOPS,),
    # A launch configuration or a Spot request would be replaced.
    remediate={LAUNCH_TEMPLATE: _require, INSTANCE: _require},
)

NODE_CLASS_IMDSV2 = ResourcePolicy(
    "node-class-imdsv2",
    "Nodes that Karpenter makes must require IMDSv2 and keep its answers from pods.",
    checks=ObjectChecks({NODE_CLASS: _node_class}),
    severity=Severity.HIGH,
    framework=_CONTROL,
    fix=_CLASS,
    settings=(MAXIMUM_HOPS,),
)
