"""The rule on images that change by themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import given, peek, read, stack_of
from gpushare_policies.reading.launches import launch_of, on_launches
from gpushare_policies.rule import ResourcePolicy, is_among, stacks
from gpushare_policies.tokens import NODE_GROUP
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


# As EKS writes them: 1.35.8-20260930 for Amazon Linux, 1.57.0-7d6dd4bc for Bottlerocket.
_RELEASE = re.compile(r"v?[0-9]+(\.[0-9]+)+-[0-9A-Za-z.]+")


def _has_text(props: Any, key: str) -> bool:
    """Whether there is more than an empty text; what is not known yet counts."""
    return given(props, key) and peek(props, key) != ""


def is_release(props: Any) -> bool:
    """Whether a node group names one AMI release version; what is not known yet counts."""
    if not _has_text(props, "releaseVersion"):
        return False
    release = peek(props, "releaseVersion")
    return release is None or bool(_RELEASE.fullmatch(str(release)))


def _node_group_image(args: ResourceValidationArgs) -> Iterator[str]:
    props = args.props
    if not is_among(PINNED_STACKS.of(args), args.urn):
        return
    if is_release(props) or _has_text(props, "amiId"):
        return
    ami_type = read(props, "amiType")
    # A launch template with an image of its own forbids amiType, or reads CUSTOM after creation.
    if ami_type == "CUSTOM" or (ami_type is None and given(props, "launchTemplate")):
        return
    release = peek(props, "releaseVersion")
    what = f"the AMI release version {release}" if release else "no AMI release version"
    yield _unpinned(args, f"have {what} and get the newest at creation", _RELEASE_FIX)


def _launched_image(args: ResourceValidationArgs) -> Iterator[str]:
    for launch in launch_of(args):
        image = launch.image() or ""
        if not image.startswith("resolve:ssm:") or not is_among(PINNED_STACKS.of(args), args.urn):
            continue
        # resolve:ssm:<parameter>:<version> is one value for ever, resolve:ssm:<parameter> is not.
        version = image.removeprefix("resolve:ssm:").rpartition(":")[2]
        if not (version.isascii() and version.isdecimal()):
            yield _unpinned(args, f"get whatever image {image} means at the time", _IMAGE_FIX)


AMI_VERSIONS_PINNED = ResourcePolicy(
    "ami-versions-pinned",
    "Nodes of production stacks must run a pinned AMI version.",
    checks={
        NODE_GROUP: _node_group_image,
        **on_launches(_launched_image),
    },
    severity=Severity.MEDIUM,
    fix=_RELEASE_FIX,
    settings=(PINNED_STACKS,),
)
