"""The rule on images that change by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import given, read, stack_of
from gpushare_policies.rule import Rule, is_among, stacks
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

PINNED_STACKS = stacks(
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


def _node_group_image(args: ResourceValidationArgs) -> Iterator[str]:
    props = args.props
    if not is_among(PINNED_STACKS.of(args), args.urn):
        return
    if given(props, "releaseVersion") or given(props, "amiId"):
        return
    ami_type = read(props, "amiType")
    # A launch template with an image of its own forbids amiType, or reads CUSTOM after creation.
    if ami_type == "CUSTOM" or (ami_type is None and given(props, "launchTemplate")):
        return
    found = "have no AMI release version and get the newest at creation"
    yield _unpinned(args, found, _RELEASE_FIX)


def _template_image(args: ResourceValidationArgs) -> Iterator[str]:
    image = str(read(args.props, "imageId") or "")
    if not image.startswith("resolve:ssm:") or not is_among(PINNED_STACKS.of(args), args.urn):
        return
    # resolve:ssm:<parameter>:<version> is one value for ever, resolve:ssm:<parameter> is not.
    version = image.removeprefix("resolve:ssm:").rpartition(":")[2]
    if not (version.isascii() and version.isdecimal()):
        yield _unpinned(args, f"get whatever image {image} means at the time", _IMAGE_FIX)


AMI_VERSIONS_PINNED = Rule(
    "ami-versions-pinned",
    "Nodes of production stacks must run a pinned AMI version.",
    checks={
        NODE_GROUP: _node_group_image,
        LAUNCH_TEMPLATE: _template_image,
    },
    severity=Severity.MEDIUM,
    fix=_RELEASE_FIX,
    settings=(PINNED_STACKS,),
)
