"""The rule on the repair of nodes that only their launch template makes GPU nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from gpushare_policies.reading.node_groups import NodeGroup, nodes_of
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy
from gpushare_policies.rules.nodes.node_repair_on import REPAIR, unrepaired
from gpushare_policies.tokens import LAUNCH_TEMPLATE, NODE_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator


def _judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
    if not nodes.is_managed or nodes.start is None or nodes.has_gpu_by_itself():
        return
    if nodes.has_gpu():
        for message in unrepaired(nodes.group):
            yield message, nodes.group.urn


def _repaired(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    yield from over_each(nodes_of(args.resources), _judge)


GPU_LAUNCH_TEMPLATE_REPAIR = StackPolicy(
    "gpu-launch-template-repair",
    "EKS must repair nodes whose launch template names a GPU type.",
    check=_repaired,
    applies_to=(NODE_GROUP, LAUNCH_TEMPLATE),
    level=EnforcementLevel.ADVISORY,
    unseen="launch templates of other stacks.",
    severity=Severity.LOW,
    fix=REPAIR,
)
