"""A recording in an order that is the same in every run.

Programs in other processes send at once what does not wait for each other, and it comes as it may.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.program.recording import Recording, Resource


def settle(recording: Recording) -> None:
    """Put resources in order, and assumptions and calls by their text."""
    recording.resources = ordered(recording.resources)
    recording.assumptions.sort()
    recording.calls.sort(key=lambda call: (call[0], repr(call[1])))


def ordered(resources: Sequence[Resource]) -> list[Resource]:
    """Resources after all that they need, and else as they stand in the program; then by URN."""
    by_urn = {resource.urn: resource for resource in resources}
    missing: dict[str, int] = {}
    needed_by: dict[str, list[str]] = {}
    for resource in resources:
        needs = {need for need in _needs(resource) if need in by_urn and need != resource.urn}
        missing[resource.urn] = len(needs)
        for need in needs:
            needed_by.setdefault(need, []).append(resource.urn)
    ready = sorted(_place(by_urn[urn]) for urn, number in missing.items() if not number)
    result: list[Resource] = []
    while ready:
        *_, urn = heappop(ready)
        result.append(by_urn[urn])
        for waiting in needed_by.get(urn, ()):
            missing[waiting] -= 1
            if not missing[waiting]:
                heappush(ready, _place(by_urn[waiting]))
    done = {resource.urn for resource in result}
    return [*result, *(resource for resource in resources if resource.urn not in done)]


def _place(resource: Resource) -> tuple[str, int, str]:
    return *place_of(resource.source), resource.urn


def place_of(source: str) -> tuple[str, int]:
    """File and line of a `file:line`, to sort by."""
    file, _, line = source.rpartition(":")
    return file, int(line) if line.isascii() and line.isdecimal() else 0


def _needs(resource: Resource) -> set[str]:
    properties = (urn for urns in resource.property_dependencies.values() for urn in urns)
    providers = (resource.provider, *resource.providers.values())
    return {resource.parent, *resource.dependencies, *properties, *providers} - {""}
