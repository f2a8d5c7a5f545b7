"""Images of nodes that change by themselves, and versions of launch templates."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from eks_gpushare.facts.images import Moving, moving_parameter, moving_term
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.props import format_value, given, is_true, peek, read, stack_of
from gpushare_policies.reading.karpenter import NODE_CLASS
from gpushare_policies.reading.launches import launch_of, on_launches
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.on_objects import ObjectChecks, Subject
from gpushare_policies.reading.plain import items, mappings
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import ResourcePolicy, StackPolicy, is_among, stacks
from gpushare_policies.tokens import (
    EKS_CLUSTER,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    SCALING_GROUP,
    SCALING_GROUPS,
)
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STACKS = stacks(
    "Stacks whose AMI versions must be pinned, as patterns of stack names (`*` matches anything)."
)


_SET_RELEASE = (
    "Set `releaseVersion` to an EKS AMI release version, for example `1.35.8-20260930`, or name a "
    "custom AMI by its ID."
)
_RELEASE_FIX = Fix(
    "Set `pools.<pool>.amiVersion` (or `system.amiVersion`) in the stack file, for example to "
    "`1.35.8-20260930`, or name a custom AMI by its ID.",
    _SET_RELEASE,
    _SET_RELEASE,
)
_IMAGE_FIX = replace(_RELEASE_FIX, raw="Set `imageId` to the ID of an AMI.")


def _unpinned(args: ResourceValidationArgs, found: str, fix: Fix) -> str:
    return (
        f"The nodes of {args.name} {found}, so the same program gives other nodes tomorrow. In "
        f"the stack {stack_of(args.urn)} the AMI version must be pinned. {fix.of(args.urn)}"
    )


# As EKS writes them: 1.35.8-20260930 for Amazon Linux, 1.57.0-7d6dd4bc for Bottlerocket.
_RELEASE = re.compile(r"v?[0-9]+(\.[0-9]+)+-[0-9A-Za-z.]+")


def _has_text(props: Any, key: str) -> bool:
    """Whether there is more than an empty text; what is not known yet counts."""
    return given(props, key) and peek(props, key) != ""


def _is_release(props: Any) -> bool:
    """Whether a node group names one AMI release version; what is not known yet counts."""
    if not _has_text(props, "releaseVersion"):
        return False
    release = peek(props, "releaseVersion")
    return release is None or bool(_RELEASE.fullmatch(str(release)))


def _node_group_image(args: ResourceValidationArgs) -> Iterator[str]:
    props = args.props
    if not is_among(_STACKS.of(args), args.urn):
        return
    if _is_release(props) or _has_text(props, "amiId"):
        return
    ami_type = read(props, "amiType")
    # A launch template with an image of its own forbids amiType, or reads CUSTOM after creation.
    if ami_type == "CUSTOM" or (ami_type is None and given(props, "launchTemplate")):
        return
    release = peek(props, "releaseVersion")
    what = f"the AMI release version {release}" if release else "no AMI release version"
    yield _unpinned(args, f"have {what} and get the newest at creation", _RELEASE_FIX)


def _of_pulumi_eks(args: ResourceValidationArgs) -> Iterator[str]:
    """Nodes for which `pulumi_eks` looks the recommended image up, at each run."""
    options = peek(args.props, "nodeGroupOptions") or {}
    if not list(args.props) or options is UNKNOWN or not is_among(_STACKS.of(args), args.urn):
        return  # the engine shows no arguments of a component
    if args.resource_type == EKS_CLUSTER and any(
        is_true(peek(args.props, key)) for key in ("skipDefaultNodeGroup", "fargate")
    ):
        return
    if is_true(peek(args.props, "autoMode", "enabled")):
        return
    named = [(args.props, key) for key in ("amiId", "nodeAmiId")] + [(options, "amiId")]
    if not any(_has_text(props, key) for props, key in named):
        yield _unpinned(args, "get the image that EKS recommends at the time", _AMI_FIX)


_SET_AMI = "Set `amiId` (of a cluster `nodeAmiId`) to the ID of an AMI."
_AMI_FIX = replace(_RELEASE_FIX, eks=_SET_AMI, raw=_SET_AMI)


def _launched_image(args: ResourceValidationArgs) -> Iterator[str]:
    if not is_among(_STACKS.of(args), args.urn):
        return
    for launch in launch_of(args):
        image = launch.image() or ""
        if moving_parameter(image):
            yield _unpinned(args, f"get whatever image {image} means at the time", _IMAGE_FIX)


_SET_BOTH = (
    "Set `launchTemplate.version` to a number, or to the `latestVersion` of a template of this "
    "program, and set `imageId` of the template or `releaseVersion` of the node group."
)
_TEMPLATE_FIX = Fix(
    "A stack file pins both where `pools.<pool>.amiVersion` is set: set it, and remove a transform "
    "that takes the version away.",
    _SET_BOTH,
    _SET_BOTH,
)
_MOVING_VERSIONS = ("$latest", "$default", "latest", "default", "")


def _version(nodes: NodeGroup) -> Any:
    path: tuple[str, ...] = ("launchTemplate",)
    if settled(nodes.group, "mixedInstancesPolicy"):
        path = ("mixedInstancesPolicy", "launchTemplate", "launchTemplateSpecification")
    specification = settled(nodes.group, *path)
    return None if specification is None else settled(nodes.group, *path, "version")


def _version_moves(nodes: NodeGroup) -> Iterator[str]:
    try:
        version = str(_version(nodes) or "")
    except UnknownValueError:
        if nodes.start is None:
            raise
        return  # a number that the template of this stack gives
    shown = version or "$Default"
    if version.lower() not in _MOVING_VERSIONS:
        return
    if nodes.start is None:
        yield (
            f"{nodes.called} starts from {shown} of a launch template that is not of this stack, "
            f"so whoever makes a version of it changes these nodes"
        )
    elif (
        "latest" not in version.lower()
        and not is_true(settled(nodes.start, "updateDefaultVersion"))
        and settled(nodes.start, "defaultVersion") is None
    ):
        yield (
            f"{nodes.called} starts from {shown} of the launch template {nodes.start.name}, which "
            f"stays its first version for ever: what you change in it reaches no node"
        )


def _overridden(nodes: NodeGroup) -> Iterator[str]:
    """Templates that only some instance types of a group start from."""
    for override in nodes.overrides():
        if not given(override, "launchTemplateSpecification"):
            continue
        version = str(read(override, "launchTemplateSpecification", "version") or "")
        if version.lower() in _MOVING_VERSIONS:
            kind = format_value(read(override, "instanceType"))
            yield (
                f"{nodes.called} starts its nodes of the type {kind} from {version or '$Default'} "
                f"of another launch template, so whoever makes a version of it changes these nodes"
            )


def _no_image(nodes: NodeGroup) -> Iterator[str]:
    launch = nodes.launch()
    if launch is None or not nodes.is_managed or launch.image() is not None:
        return
    # Where a node group names its AMI type, ami-versions-pinned judges it by itself.
    if settled(nodes.group, "amiType") or _is_release(nodes.group.props):
        return
    yield (
        f"{launch.called} names no image, and the node group {nodes.group.name} neither an AMI "
        f"type nor a release version: its nodes get what EKS recommends at the time"
    )


def _templates(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    def judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
        urn = nodes.group.urn
        if not nodes.has_template() or not is_among(_STACKS.of(args), urn):
            return
        for found in (*_version_moves(nodes), *_overridden(nodes), *_no_image(nodes)):
            must = f"In the stack {stack_of(urn)} it must be pinned."
            yield f"{found}. {must} {_TEMPLATE_FIX.of(urn)}", urn

    yield from over_each(nodes_of(args.resources), judge)


_CLASS_STACKS = stacks(
    "Patterns of the names of stacks whose node classes need one image version. Default: those "
    "that say prod."
)
_SET_ALIAS = (
    "Set `spec.amiSelectorTerms: [{alias: al2023@v20260930}]` of the EC2NodeClass, with the "
    "version that you tested, or the image by its `id`."
)
_CLASS_FIX = Fix(
    "Set `pools.<pool>.amiVersion` in the stack file.",
    _SET_ALIAS,
    _SET_ALIAS,
)


def _node_class(subject: Subject) -> Iterator[str | Unjudged]:
    if not is_among(_CLASS_STACKS.of(subject.args), subject.args.urn):
        return
    terms = at(subject.object.body, "spec", "amiSelectorTerms")
    if terms is UNKNOWN or UNKNOWN in items(terms):
        yield Unjudged("amiSelectorTerms")
        return
    if terms is None and subject.object.patch:
        return
    if not items(terms):
        yield _moving(subject, "no amiSelectorTerms")
    for _, term in mappings(terms):
        said = _of_term(term)
        if said is UNKNOWN:
            yield Unjudged("amiSelectorTerms")
        elif said:
            yield _moving(subject, said)


def _of_term(term: Mapping[str, Any]) -> Any:
    """What of a term leaves the image open; nothing where it is one image."""
    if any(value is UNKNOWN for value in term.values()):
        return UNKNOWN
    moving = moving_term(term)
    if moving is None:
        return ""
    if moving is Moving.TAGS:
        return "images chosen by tags alone"
    what = "parameter" if moving is Moving.PARAMETER else moving
    return f"the {what} {term[moving]}"


def _moving(subject: Subject, what: str) -> str:
    return (
        f"{subject.opening} has {what}. It must name one version in "
        f"this stack, or new nodes come with another driver than those that you tested, and old "
        f"ones are replaced when AWS publishes an image. {_CLASS_FIX.of(subject.args.urn)}"
    )


AMI_VERSIONS_PINNED = ResourcePolicy(
    "ami-versions-pinned",
    "Nodes of production stacks must run a pinned AMI version.",
    checks={
        NODE_GROUP: _node_group_image,
        **dict.fromkeys((*SCALING_GROUPS, EKS_CLUSTER), _of_pulumi_eks),
        **on_launches(_launched_image),
    },
    unseen="images that the program looks up, of which only the ID is registered.",
    severity=Severity.MEDIUM,
    fix=_RELEASE_FIX,
    settings=(_STACKS,),
)

LAUNCH_TEMPLATE_PINNED = StackPolicy(
    "launch-template-pinned",
    "Nodes of production stacks must start from one version of a template, or the newest of one of "
    "their own stack, and from one image.",
    check=_templates,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE),
    unseen="what a version of another stack's template says.",
    severity=Severity.MEDIUM,
    fix=_TEMPLATE_FIX,
    settings=(_STACKS,),
)

NODE_CLASS_AMI_PINNED = ResourcePolicy(
    "node-class-ami-pinned",
    "Node classes of Karpenter must name one version of the AMI in production.",
    checks=ObjectChecks({NODE_CLASS: _node_class}),
    severity=Severity.MEDIUM,
    fix=_CLASS_FIX,
    settings=(_CLASS_STACKS,),
)
