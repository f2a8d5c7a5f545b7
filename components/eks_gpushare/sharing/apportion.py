"""Amounts in whole units that add up: what rounding each alone would gain or lose is not lost."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


def apportioned(total: int, exact: Sequence[Fraction]) -> list[int]:
    """Exact amounts in whole units, so that they add up to a total.

    By the method of the largest remainder: each is rounded down, and what is then left of the total
    goes by one unit to those that lost most, of equals to the first. So none is off by a whole
    unit, and what is a whole number stays.

    Args:
        total: The sum of the amounts, rounded up or down.
        exact: The amounts in units, none below 0.

    Returns:
        A number for each of them.

    Raises:
        ValueError: If the total is not their sum.
    """
    whole = sum(exact)
    if total not in {floor(whole), ceil(whole)}:
        raise ValueError(f"{total} is not the rounded sum, {float(whole)}")
    found = [floor(amount) for amount in exact]
    by_loss = sorted(range(len(exact)), key=lambda at: found[at] - exact[at])
    for at in by_loss[: total - sum(found)]:
        found[at] += 1
    return found
