"""The rule on GPU nodes that run when nobody needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from gpushare_policies.props import stack_of
from gpushare_policies.reading.delivered import charts_named
from gpushare_policies.reading.node_groups import nodes_of
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy, is_among, stacks
from gpushare_policies.tokens import CHART_V4, NODE_GROUP, RELEASE, SCALING_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpushare_policies.reading.node_groups import NodeGroup

STEADY_STACKS = stacks(
    "Stacks that keep GPU nodes at hand, as patterns of stack names (`*` matches anything)."
)
_RAW = "Set `minSize: 0` (`scalingConfig.minSize`)."
_FIX = Fix("Set `pools.<pool>.nodes.min: 0` in the stack file.", _RAW, _RAW)
_AUTOSCALERS = ("cluster-autoscaler", "karpenter")


def _is_autoscaled(args: StackValidationArgs) -> bool:
    charts = (chart for resource in args.resources for chart in charts_named(resource))
    return any(name in chart for chart in charts for name in _AUTOSCALERS)


def _to_zero(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    def judge(nodes: NodeGroup) -> Iterator[tuple[str, str]]:
        urn = nodes.group.urn
        least, _, _ = nodes.sizes()
        if least and nodes.has_gpu() and not is_among(STEADY_STACKS.of(args), urn):
            message = (
                f"{nodes.called} keeps {least} GPU nodes when nobody needs them. In the stack "
                f"{stack_of(urn)}, which has an autoscaler, it must go down to none. {_FIX.of(urn)}"
            )
            yield message, urn

    if _is_autoscaled(args):
        yield from over_each(nodes_of(args.resources), judge)


GPU_NODES_TO_ZERO = StackPolicy(
    "gpu-nodes-to-zero",
    "Outside production the autoscaler of a stack must be able to stop every GPU node.",
    check=_to_zero,
    applies_to=(NODE_GROUP, SCALING_GROUP, RELEASE, CHART_V4),
    level=EnforcementLevel.ADVISORY,
    unseen="nodes that Karpenter makes, which stop by themselves.",
    severity=Severity.LOW,
    fix=_FIX,
    settings=(STEADY_STACKS,),
)
