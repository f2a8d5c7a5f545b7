"""Keeping what several rules work out of the resources of the same stack."""

from __future__ import annotations

from functools import wraps
from operator import is_
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pulumi_policy import PolicyResource

T = TypeVar("T")


def of_stack(
    function: Callable[[Sequence[PolicyResource]], T],
) -> Callable[[Sequence[PolicyResource]], T]:
    """A function of a stack's resources that remembers the latest stack's result.

    The rules of a stack are asked one after the other. The resources are kept, so no others have
    their place in memory.
    """
    latest: list[tuple[tuple[PolicyResource, ...], T]] = []

    @wraps(function)
    def of(resources: Sequence[PolicyResource]) -> T:
        for known, found in latest:
            if len(known) == len(resources) and all(map(is_, known, resources)):
                return found
        latest.clear()
        given = tuple(resources)
        found = function(given)
        latest.append((given, found))
        return found

    return of
