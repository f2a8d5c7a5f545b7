"""Type tokens by what rules on whole stacks look at, for the documentation."""

from __future__ import annotations

from gpushare_policies.reading.nodes import NODE_TOKENS
from gpushare_policies.reading.objects import POD_TEMPLATES
from gpushare_policies.tokens import CHART_V4, RELEASE

CHARTS = (RELEASE, CHART_V4)
"""Charts."""

KARPENTER = (
    "kubernetes:karpenter.sh/v1:NodePool",
    "kubernetes:karpenter.sh/v1alpha1:NodeOverlay",
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
)
"""Objects of Karpenter."""

NODES = (*NODE_TOKENS, KARPENTER[0])
"""What makes nodes."""

WORKLOADS = tuple(
    f"kubernetes:{template.group or 'core'}/v1:{template.kind}" for template in POD_TEMPLATES
)
"""What makes pods."""
