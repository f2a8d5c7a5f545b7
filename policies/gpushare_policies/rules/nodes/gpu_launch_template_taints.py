"""The rule on taints of nodes that only their launch template makes GPU nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.user_data import decoded, registered
from gpushare_policies.reading.node_groups import NodeGroup, nodes_of, settled
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy
from gpushare_policies.rules.nodes.gpu_nodes_tainted import (
    TAINT,
    keeps_out,
    keeps_pods_out,
    untainted,
)
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pulumi_policy import PolicyResource


def _judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
    # What the node group says itself is judged by gpu-nodes-tainted; taints of Auto Scaling groups
    # stand in user data.
    if not nodes.is_managed or nodes.start is None or nodes.has_gpu_by_itself():
        return
    if nodes.has_gpu() and not keeps_pods_out(nodes.group.props) and not _at_boot(nodes.start):
        yield untainted(nodes.group), nodes.group.urn


def _at_boot(start: PolicyResource) -> bool:
    """Whether kubelet registers its node with a taint that keeps pods out."""
    taints = registered(decoded(settled(start, "userData"))).taints
    return taints is not UNKNOWN and any(keeps_out(each.effect) for each in taints)


def _tainted(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    yield from over_each(nodes_of(args.resources), _judge)


GPU_LAUNCH_TEMPLATE_TAINTS = StackPolicy(
    "gpu-launch-template-taints",
    "Nodes whose launch template names a GPU type must have a taint that keeps other pods away.",
    check=_tainted,
    applies_to=(NODE_GROUP, LAUNCH_TEMPLATE),
    unseen=(
        "launch templates of other stacks, and taints of Auto Scaling groups, which stand "
        "in user data."
    ),
    severity=Severity.MEDIUM,
    fix=TAINT,
)
