"""What came of the inversions of a module."""

from __future__ import annotations

from dataclasses import dataclass, field

NOT_TRIED: tuple[str, ...] = (
    "components/eks_gpushare/live/cluster_inventory.py",
    "components/eks_gpushare/live/connection.py",
    "components/eks_gpushare/live/declared.py",
    "components/eks_gpushare/live/die_with_parent.py",
    "components/eks_gpushare/live/drawn_nodes.py",
    "components/eks_gpushare/live/drift.py",
    "components/eks_gpushare/live/dumps.py",
    "components/eks_gpushare/live/faults.py",
    "components/eks_gpushare/live/held_shares.py",
    "components/eks_gpushare/live/json_lists.py",
    "components/eks_gpushare/live/kinds.py",
    "components/eks_gpushare/live/listing.py",
    "components/eks_gpushare/live/metrics.py",
    "components/eks_gpushare/live/nodes.py",
    "components/eks_gpushare/live/objects.py",
    "components/eks_gpushare/live/one_pod.py",
    "components/eks_gpushare/live/placement.py",
    "components/eks_gpushare/live/pods.py",
    "components/eks_gpushare/live/same_cluster.py",
    "components/eks_gpushare/live/shapes.py",
    "components/eks_gpushare/live/share_map.py",
    "components/eks_gpushare/live/silencing.py",
    "components/eks_gpushare/live/slim.py",
    "components/eks_gpushare/live/usage_answer.py",
    "components/eks_gpushare/live/usage_shares.py",
    "components/eks_gpushare/live/verdict.py",
    "components/eks_gpushare/live/checks/waiting.py",
)
"""Modules that nobody has tried yet."""


@dataclass
class Result:
    """What became of a module's inversions."""

    tried: int = 0
    survived: list[str] = field(default_factory=list)
    """What each changes that no test noticed."""
    untested: list[str] = field(default_factory=list)
    """The same of those whose line no test runs."""
