"""The rule on GPU nodes that run when nobody needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import EnforcementLevel, Severity, StackValidationArgs

from eks_gpushare.inventory.values import at
from gpushare_policies.props import stack_of
from gpushare_policies.reading.charts import CHART_TOKENS, charts_of
from gpushare_policies.reading.delivered import charts_delivered, charts_named
from gpushare_policies.reading.karpenter import NODE_POOL, gives_gpus
from gpushare_policies.reading.node_groups import nodes_of
from gpushare_policies.reading.node_images import running
from gpushare_policies.reading.objects import objects_of_stack, words_of
from gpushare_policies.reading.plain import count, items, mappings
from gpushare_policies.reading.program_objects import objects_in
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
_STOP = (
    "Leave `replicas` and that annotation out, set `disruption.consolidateAfter` to a time such as "
    "5m, and let a budget give some nodes up."
)
_OF_POOLS = Fix(_STOP, _STOP, _STOP)
_DOWN = "scale-down-enabled"
"""https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md, of its flags."""
_AUTOSCALERS = ("cluster-autoscaler", "karpenter")


def _is_autoscaled(args: StackValidationArgs) -> bool:
    charts = (chart for resource in args.resources for chart in charts_named(resource))
    return any(name in chart for chart in charts for name in _AUTOSCALERS) or any(
        running(name, obj)
        for _, objects in objects_of_stack(args.resources)
        for obj in objects
        for name in _AUTOSCALERS
    )


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
                yield _told(resource.name, f"extraArgs.{_DOWN}: false"), resource.urn
    for resource, objects in objects_of_stack(args.resources):
        for container in (one for obj in objects for one in running(_AUTOSCALERS[0], obj)):
            off = f"--{_DOWN}=false" in words_of(container)
            if off and not is_among(STEADY_STACKS.of(args), resource.urn):
                yield _told(resource.name, f"--{_DOWN}=false"), resource.urn


def _told(name: str, switch: str) -> str:
    return (
        f"The autoscaler of {name} has `{switch}`, so GPU nodes stay when nobody needs them. It "
        f"must stop them. Remove it."
    )


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
    for pool in objects_in(args.resources, (NODE_POOL,)):
        how = _stays(at(pool.object.body, "spec"))
        if how and gives_gpus(pool.object.body) and not is_among(STEADY_STACKS.of(args), pool.urn):
            message = (
                f"The NodePool {pool.object.name} has {how}, so Karpenter keeps its GPU nodes when "
                f"nobody needs them. In the stack {stack_of(pool.urn)} it must stop them. "
                f"{_OF_POOLS.of(pool.urn)}"
            )
            yield message, pool.urn


def _stays(spec: Any) -> str:
    """By what a NodePool keeps nodes that are empty; nothing where Karpenter stops them.

    https://karpenter.sh/docs/concepts/disruption/ and .../nodepools/, read 2026-11-29.
    """
    replicas, disruption = count(at(spec, "replicas")), at(spec, "disruption")
    if isinstance(replicas, int) and replicas:
        return f"replicas: {replicas}"
    if str(at(disruption, "consolidateAfter")) == "Never":
        return "disruption.consolidateAfter: Never"
    if str(at(spec, "template", "metadata", "annotations", _DO_NOT) or "") == "true":
        return f"the annotation {_DO_NOT} in its template"
    for _, budget in mappings(at(disruption, "budgets")):
        of_empty = at(budget, "reasons") is None or "Empty" in items(at(budget, "reasons"))
        if of_empty and at(budget, "schedule") is None and at(budget, "nodes") in _NONE:
            return f"a budget of {budget.get('nodes')} nodes"
    return ""


_DO_NOT = "karpenter.sh/do-not-disrupt"
_NONE = (0, "0", "0%")


GPU_NODES_TO_ZERO = StackPolicy(
    "gpu-nodes-to-zero",
    "Outside production the autoscaler of a stack must be able to stop every GPU node.",
    check=_to_zero,
    applies_to=(NODE_GROUP, SCALING_GROUP, RELEASE, CHART_V4),
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    fix=_FIX,
    settings=(STEADY_STACKS,),
)
