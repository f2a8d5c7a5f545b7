"""The rule on what a launch template leaves to the day: its own version, and the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import Severity, StackValidationArgs
from pulumi_policy.proxy import UnknownValueError

from gpushare_policies.props import is_true, stack_of
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, is_among
from gpushare_policies.rules.nodes.ami_versions_pinned import PINNED_STACKS, is_release
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP, SCALING_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAW = (
    "Set `launchTemplate.version` to a number, or to the `latestVersion` of a template of this "
    "program, and set `imageId` of the template or `releaseVersion` of the node group."
)
_FIX = Fix(
    "A stack file pins both where `pools.<pool>.amiVersion` is set: set it, and remove a transform "
    "that takes the version away.",
    _RAW,
    _RAW,
)
_MOVING = ("$latest", "$default", "latest", "default", "")


def _version(nodes: NodeGroup) -> Any:
    path: tuple[str, ...] = ("launchTemplate",)
    if settled(nodes.group, "mixedInstancesPolicy"):
        path = ("mixedInstancesPolicy", "launchTemplate", "launchTemplateSpecification")
    specification = settled(nodes.group, *path)
    return None if specification is None else settled(nodes.group, *path, "version")


def _moving(nodes: NodeGroup) -> Iterator[str]:
    try:
        version = str(_version(nodes) or "")
    except UnknownValueError:
        if nodes.start is None:
            raise
        return  # a number that the template of this stack gives
    shown = version or "$Default"
    if version.lower() not in _MOVING:
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


def _image(nodes: NodeGroup) -> Iterator[str]:
    launch = nodes.launch()
    if launch is None or not nodes.is_managed or launch.image() is not None:
        return
    # Where a node group names its AMI type, ami-versions-pinned judges it by itself.
    if settled(nodes.group, "amiType") or is_release(nodes.group.props):
        return
    yield (
        f"{launch.called} names no image, and the node group {nodes.group.name} neither an AMI "
        f"type nor a release version: its nodes get what EKS recommends at the time"
    )


def _pinned(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    def judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
        urn = nodes.group.urn
        if not nodes.has_template() or not is_among(PINNED_STACKS.of(args), urn):
            return
        for found in (*_moving(nodes), *_image(nodes)):
            must = f"In the stack {stack_of(urn)} it must be pinned."
            yield f"{found}. {must} {_FIX.of(urn)}", urn

    yield from over_each(nodes_of(args.resources), judge)


LAUNCH_TEMPLATE_PINNED = StackPolicy(
    "launch-template-pinned",
    "Nodes of production stacks must start from one version of a template, and from one image.",
    check=_pinned,
    applies_to=(NODE_GROUP, SCALING_GROUP, LAUNCH_TEMPLATE),
    unseen="what a version of another stack's template says.",
    severity=Severity.MEDIUM,
    fix=_FIX,
    settings=(PINNED_STACKS,),
)
