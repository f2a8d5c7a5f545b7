"""How pods are on one GPU or MIG device of a pool: alone, or together in one of two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.sharing import Mig, Mps, TimeSlicing
from eks_gpushare.sharing.resources import is_left_whole

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.facts.isolation import Turns


def turns_of(pool: Pool, resource: str) -> Turns:
    """How pods are on one GPU or MIG device of a pool.

    Args:
        pool: A pool that the rules have accepted.
        resource: What the pods ask for there.
    """
    sharing = pool.sharing
    if isinstance(sharing, Mps):
        return "mps"
    if isinstance(sharing, TimeSlicing):
        return "timeSlicing"
    if isinstance(sharing, Mig) and sharing.time_slicing and not is_left_whole(pool, resource):
        return "timeSlicing"
    return "exclusive"
