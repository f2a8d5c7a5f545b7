"""How far the ways of sharing a GPU keep those apart who share it.

| | memory | faults |
|---|---|---|
| exclusive, MIG | of its own | end nobody else's pods |
| MPS | limited by its server for each process | end every client's |
| time slicing | nobody's: out of memory hits neighbours | mostly one's own |

Sources: https://docs.nvidia.com/deploy/mps/index.html (memory limits, error containment),
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ (isolation of instances),
https://github.com/NVIDIA/k8s-device-plugin/issues/323 and 461 (time slicing); read in August 2026.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Isolation: TypeAlias = Literal["none", "memory", "fault"]
"""What of a neighbour must not reach a tenant."""
Turns: TypeAlias = Literal["exclusive", "mps", "timeSlicing"]
"""How pods are on one GPU or MIG device: alone, or together in one of two ways."""

_ENOUGH: dict[Isolation, frozenset[Turns]] = {
    "none": frozenset(("exclusive", "mps", "timeSlicing")),
    "memory": frozenset(("exclusive", "mps")),
    "fault": frozenset(("exclusive",)),
}


WHAT_REACHES: dict[Turns, str] = {
    "exclusive": "on one node, each with a GPU or MIG device of its own: kernel and driver are one",
    "mps": "on one GPU by MPS: memory is limited for each process, a fault ends all",
    "timeSlicing": "on one GPU by time slicing: no memory is kept apart, faults mostly are",
}
"""What two are to each other who meet in one of these ways."""


def keeps_apart(isolation: Isolation, turns: Turns) -> bool:
    """Whether a way of sharing is enough for a tenant that has neighbours on its GPUs.

    Args:
        isolation: What the tenant asks for.
        turns: How pods are on one GPU, or on one MIG device.
    """
    return turns in _ENOUGH[isolation]
