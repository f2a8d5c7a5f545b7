"""Which settings of the kubelet Karpenter has to know, and which go into the user data.

It computes from the first what of a node is left for pods, and writes `maxPods` whatever the user
data says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.kubelet import KARPENTER_FIELDS

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool


def kubelet_of_class(pool: Pool) -> dict[str, Any]:
    """What goes below `spec.kubelet` of an EC2NodeClass."""
    given = sorted((pool.kubelet or {}).items())
    return {name: value for name, value in given if name in KARPENTER_FIELDS}


def kubelet_of_user_data(pool: Pool) -> dict[str, Any]:
    """What stays for the nodes' own user data."""
    given = (pool.kubelet or {}).items()
    return {name: value for name, value in given if name not in KARPENTER_FIELDS}
