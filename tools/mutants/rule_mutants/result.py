"""What came of the inversions of a module."""

from __future__ import annotations

from dataclasses import dataclass, field

NOT_TRIED: tuple[str, ...] = (
    "components/eks_gpushare/live/cluster_inventory.py",
    "components/eks_gpushare/live/measured_use.py",
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
