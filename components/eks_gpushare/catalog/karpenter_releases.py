"""What Karpenter can do since which release.

Source: website/content/en/docs/upgrading/compatibility.md and the release notes of
aws/karpenter-provider-aws; read 2026-11-22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
FEATURE_GATES = (
    "capacityBuffer",
    "nodeOverlay",
    "nodeRepair",
    "reservedCapacity",
    "spotToSpotConsolidation",
    "staticCapacity",
)
"""Below `settings.featureGates` of the chart's values.yaml, 1.14.1."""
SINCE_V1 = "1.0.0"
"""NodePool and EC2NodeClass of API version v1."""
SINCE_RESERVED = "1.3.0"
"""Capacity reservations that it is told of."""
SINCE_BLOCKS = "1.6.0"
"""Capacity blocks."""
SINCE_OVERLAYS = "1.7.0"
"""NodeOverlay, without which it knows no shares."""
SINCE_STATIC = "1.8.0"
"""Static pools."""
