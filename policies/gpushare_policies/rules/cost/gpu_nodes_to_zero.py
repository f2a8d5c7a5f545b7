"""The rule on GPU nodes that run when nobody needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from eks_gpushare.inventory.values import at
from gpushare_policies.props import stack_of
from gpushare_policies.reading.charts import CHART_TOKENS, charts_of
from gpushare_policies.reading.delivered import charts_delivered, charts_named
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
_DOWN = "scale-down-enabled"
"""https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md, of its flags."""
_AUTOSCALERS = ("cluster-autoscaler", "karpenter")


def _is_autoscaled(args: StackValidationArgs) -> bool:
    charts = (chart for resource in args.resources for chart in charts_named(resource))
    return any(name in chart for chart in charts for name in _AUTOSCALERS)


def _kept(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    """Autoscalers that are told to stop no node."""
    for resource in args.resources:
        token, props = resource.resource_type, resource.props
        charts = [*charts_of(props)] if token in CHART_TOKENS else []
        delivered = [*charts_delivered(token, props)]
        for name, values in [
            *((chart.name, chart.values) for chart in charts),
            *((str(made.get("chart")), made.get("values")) for made in delivered),
        ]:
            down = at(values, "extraArgs", _DOWN)
            is_theirs = name == _AUTOSCALERS[0] and str(down).lower() == "false"
            if is_theirs and not is_among(STEADY_STACKS.of(args), resource.urn):
                message = (
                    f"The autoscaler of {resource.name} has `extraArgs.{_DOWN}: false`, so GPU "
                    f"nodes stay when nobody needs them. It must stop them. Remove it."
                )
                yield message, resource.urn


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
        yield from _kept(args)
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
