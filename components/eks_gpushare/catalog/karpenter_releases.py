"""What Karpenter can do since which release.

Source: website/content/en/docs/upgrading/compatibility.md and the release notes of
aws/karpenter-provider-aws, and charts/karpenter of its tags and Go module; read 2026-11-27.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.catalog.chart_releases import parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping

SINCE_KUBERNETES: Mapping[str, str] = {
    "1.30": "0.37.0",
    "1.31": "1.0.5",
    "1.32": "1.2.0",
    "1.33": "1.5.0",
    "1.34": "1.6.0",
    "1.35": "1.9.0",
    "1.36": "1.13.0",
}
"""First release for each Kubernetes version."""
FEATURE_GATES: Mapping[str, str] = {
    "capacityBuffer": "1.14.0",
    "nodeOverlay": "1.7.0",
    "nodeRepair": "1.1.0",
    "podDeletionCostManagement": "1.15.0",
    "reservedCapacity": "1.3.0",
    "spotToSpotConsolidation": "1.0.0",
    "staticCapacity": "1.8.0",
    "terminateFirstDrift": "1.15.0",
    "terminateFirstRepair": "1.15.0",
}
"""What charts/karpenter/templates/deployment.yaml reads below `settings.featureGates`, and since
which release, from 1.0.0 on; read at every tag up to GATES_READ."""
GATES_READ = "1.15.2"
"""The newest release whose chart was looked at: of later ones nobody here knows all gates."""
SINCE_V1 = "1.0.0"
"""NodePool and EC2NodeClass of API version v1."""
SINCE_RESERVED = "1.3.0"
"""Capacity reservations that it is told of."""
SINCE_BLOCKS = "1.6.0"
"""Capacity blocks."""
SINCE_OVERLAYS = FEATURE_GATES["nodeOverlay"]
"""NodeOverlay, without which it knows no shares."""
SINCE_STATIC = FEATURE_GATES["staticCapacity"]
"""Static pools."""


def has_gate(gate: str, version: str | None) -> bool | None:
    """Whether a release of the chart reads a feature gate; None where that is not known.

    Args:
        gate: Its name in the chart's values.
        version: The release; None for a chart that nobody has looked at.
    """
    release, newest = (parse_version(text) for text in (version or "", GATES_READ))
    if release is None or newest is None:
        return None
    first = parse_version(FEATURE_GATES.get(gate, ""))
    if first is None:
        return None if release > newest else False
    return release >= first
