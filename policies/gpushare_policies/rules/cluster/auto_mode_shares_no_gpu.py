"""The rule on GPU sharing in a cluster whose nodes are all EKS Auto Mode's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from gpushare_policies.props import is_true, peek
from gpushare_policies.reading.charts import chart_name
from gpushare_policies.reading.delivered import charts_delivered
from gpushare_policies.reading.node_groups import nodes_of, settled
from gpushare_policies.reading.unknowns import over_each
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import AWS_CLUSTER, CHART_V4, NODE_GROUP, RELEASE, SCALING_GROUP
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CHARTS = ("nvidia-device-plugin", "gpu-operator")
_NODE_CLASS = "EC2NodeClass"
_RAW = (
    "Share GPUs on nodes of your own (aws.eks.NodeGroup, or Karpenter with an EC2NodeClass), or "
    "remove the chart: Auto Mode has a device plugin of its own."
)
_FIX = Fix("A stack file makes no Auto Mode: remove what turns it on.", _RAW, _RAW)


def _shares(resources: Sequence[PolicyResource]) -> PolicyResource | None:
    for resource in resources:
        token, props = resource.resource_type, resource.props
        charts = [peek(props, "chart")] if token in (RELEASE, CHART_V4) else []
        charts += [made.get("chart") for made in charts_delivered(token, props)]
        if any(str(chart_name(chart)).startswith(_CHARTS) for chart in charts):
            return resource
    return None


def _has_nodes(resources: Sequence[PolicyResource]) -> bool:
    """Whether there are nodes of its own that may have GPUs."""
    classes = (resource.resource_type.endswith(f":{_NODE_CLASS}") for resource in resources)
    return any(classes) or any(
        nodes.has_gpu() or (nodes.start is None and nodes.has_template())
        for nodes in nodes_of(resources)
    )


def _auto(args: StackValidationArgs) -> Iterator[tuple[str, str]]:
    chart = _shares(args.resources)
    if chart is None or _has_nodes(args.resources):
        return

    def judge(cluster: PolicyResource) -> Iterator[tuple[str, str]]:
        if is_true(settled(cluster, "computeConfig", "enabled")):
            # https://docs.aws.amazon.com/eks/latest/userguide/auto-accelerated.html, 2026-11-22
            message = (
                f"{chart.name} is for nodes that the cluster {name_of(cluster.urn)} does not have: "
                f"all nodes for GPUs of this stack are EKS Auto Mode's, whose device plugin is "
                f"AWS's and shares nothing. GPUs must be shared on other nodes. "
                f"{_FIX.of(chart.urn)}"
            )
            yield message, chart.urn

    clusters = [found for found in args.resources if found.resource_type == AWS_CLUSTER]
    yield from over_each(clusters, judge)


AUTO_MODE_SHARES_NO_GPU = StackPolicy(
    "auto-mode-shares-no-gpu",
    "GPUs must not be shared on nodes of EKS Auto Mode, which cannot.",
    check=_auto,
    applies_to=(AWS_CLUSTER, RELEASE, CHART_V4, NODE_GROUP, SCALING_GROUP),
    severity=Severity.MEDIUM,
    fix=_FIX,
)
