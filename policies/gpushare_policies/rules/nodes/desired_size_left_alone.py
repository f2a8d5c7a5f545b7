"""The rule on two who set the number of nodes: the program and an autoscaler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, PolicyResource, Severity, StackValidationArgs

from eks_gpushare.catalog.autoscaler_tags import AUTOSCALER_TAGS, ENABLED_TAG
from gpushare_policies.props import each, given, peek
from gpushare_policies.reading.delivered import charts_named
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of
from gpushare_policies.reading.node_images import running
from gpushare_policies.reading.objects import KubernetesObject, objects_of_stack, words_of
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import CHART_V4, NODE_GROUP, RELEASE, SCALING_GROUP, SCALING_POLICY
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CHART = "cluster-autoscaler"
_FIX = Fix(
    "Pools made from a stack file leave the number alone: remove what takes that away.",
    'Set the option `ignore_changes=["scalingConfig.desiredSize"]`, or `ignoreScalingChanges: '
    "true` of the ManagedNodeGroup.",
    'Set the option `ignore_changes=["scalingConfig.desiredSize"]` (of an Auto Scaling group '
    "`desiredCapacity`), or leave `desiredCapacity` out.",
)
# EKS puts them on the groups of its node groups:
# https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html, read 2026-11-22.
_IGNORED = ("scalingConfig", "scalingConfig.desiredSize", "desiredCapacity", "*")


def _judge(scaled: tuple[NodeGroup, str]) -> Iterator[tuple[str, str]]:
    nodes, whom = scaled
    least, _, most = nodes.sizes()
    path = ("scalingConfig", "desiredSize") if nodes.is_managed else ("desiredCapacity",)
    if least == most or not given(nodes.group.props, *path):
        return
    if not any(ignored in _IGNORED for ignored in nodes.group.opts.ignore_changes or ()):
        message = (
            f"{nodes.called} has its number of nodes from this program and from {whom}. It must "
            f"be left to one of them, or the next update stops nodes under running pods. "
            f"{_FIX.of(nodes.group.urn)}"
        )
        yield message, nodes.group.urn


def _autoscalers(resources: Sequence[PolicyResource]) -> Iterator[PolicyResource]:
    for resource in resources:
        if any(_CHART in chart for chart in charts_named(resource)):
            yield resource
    for resource, objects in objects_of_stack(resources):
        if any(_runs(obj) for obj in objects):
            yield resource


def _runs(obj: KubernetesObject) -> bool:
    """Whether an object has a pod of the autoscaler that finds its groups by their tags."""
    containers = running(_CHART, obj)
    return bool(containers) and not any("--nodes" in word for word in words_of(containers[0]))


def _has(autoscaler: PolicyResource, nodes: NodeGroup) -> bool:
    """Whether the autoscaler has a group: all that EKS tags, or those that its values name."""
    if not given(autoscaler.props, "values", "autoscalingGroups"):
        return nodes.is_managed or any(tag.startswith(AUTOSCALER_TAGS) for tag in nodes.tags)
    used = autoscaler.property_dependencies.get("values", [])
    named = {peek(group, "name") for group in _named(autoscaler)}
    return peek(nodes.group.props, "name") in named - {None} or any(
        found.urn == nodes.group.urn for found in used
    )


def _is_given(nodes: NodeGroup) -> bool:
    """Whether an Auto Scaling group is tagged for an autoscaler, of whatever stack."""
    return not nodes.is_managed and ENABLED_TAG in nodes.tags


def _named(autoscaler: PolicyResource) -> Sequence[Any]:
    return each(peek(autoscaler.props, "values", "autoscalingGroups"))


def _left_alone(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    autoscalers = list(_autoscalers(args.resources))
    policies = [found for found in args.resources if found.resource_type == SCALING_POLICY]
    followed = {
        group.urn
        for policy in policies
        for group in policy.property_dependencies.get("autoscalingGroupName", ())
    }
    scaled: list[tuple[NodeGroup, str]] = []
    for nodes in nodes_of(args.resources):
        if _is_given(nodes):
            scaled.append((nodes, "the Cluster Autoscaler that its tags let at it"))
        elif any(_has(autoscaler, nodes) for autoscaler in autoscalers):
            scaled.append((nodes, "the Cluster Autoscaler of this stack"))
        elif nodes.group.urn in followed:
            scaled.append((nodes, "a scaling policy of its own"))
    yield from over_each(scaled, _judge)


DESIRED_SIZE_LEFT_ALONE = StackPolicy(
    "desired-size-left-alone",
    "The number of nodes must be set by the program or by the autoscaler, not by both.",
    check=_left_alone,
    applies_to=(NODE_GROUP, SCALING_GROUP, RELEASE, CHART_V4),
    level=EnforcementLevel.ADVISORY,
    unseen="an autoscaler that another stack installs, of groups that are not tagged for one.",
    severity=Severity.MEDIUM,
    fix=_FIX,
)
