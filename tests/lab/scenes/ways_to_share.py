"""Every way to share a GPU, renamed and not, with what a node of it has."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"


@dataclass(frozen=True)
class Way:
    """A pool with a way to share, and its shares."""

    sharing: str
    """As in a stack file."""
    resource: str
    """What a pod of it asks for."""
    shares: int
    """How many a node has."""
    instance_type: str = "g5.xlarge"
    """Type of its nodes."""


_P4D = "p4d.24xlarge"
_SLICED = "mode: timeSlicing, replicas: 10"
_MPS = "mode: mps, replicas: 4"
_SEVENTHS = "mode: mig, layout: all-1g.5gb"
_HALVES = "mode: mig, layout: all-3g.20gb"
_TWICE = "timeSlicing: {replicas: 4"
_HALF = "nvidia.com/mig-3g.20gb"

WAYS = {
    "whole": Way("mode: exclusive", GPU, 1),
    "slices": Way(f"{_SLICED}, rename: true", SHARED, 10),
    "plain-slices": Way(f"{_SLICED}, rename: false", GPU, 10),
    "slices-of-four": Way(_SLICED, SHARED, 40, "g5.12xlarge"),
    "mps": Way(f"{_MPS}, rename: true", SHARED, 4, "g6.2xlarge"),
    "plain-mps": Way(f"{_MPS}, rename: false", GPU, 4, "g6.2xlarge"),
    "mixed": Way("mode: mig, layout: all-balanced", "nvidia.com/mig-1g.5gb", 16, _P4D),
    "single": Way(f"{_SEVENTHS}, strategy: single", GPU, 56, _P4D),
    "mixed-slices": Way(f"{_HALVES}, {_TWICE}, rename: true}}", f"{_HALF}.shared", 64, _P4D),
    "plain-mixed-slices": Way(f"{_HALVES}, {_TWICE}, rename: false}}", _HALF, 64, _P4D),
    "single-slices": Way(
        f"{_SEVENTHS}, strategy: single, {_TWICE}, rename: true}}", SHARED, 224, _P4D
    ),
    "plain-single-slices": Way(
        f"{_SEVENTHS}, strategy: single, {_TWICE}, rename: false}}", GPU, 224, _P4D
    ),
}
"""By the name of the pool. `plain` ones keep the name of the resource."""


def as_pools(*keys: str) -> str:
    """All of them as `pools` of a stack file, each with these keys besides."""
    pools = (
        "\n".join(
            [
                f"{name}:",
                f"  instanceTypes: [{way.instance_type}]",
                f"  sharing: {{{way.sharing}}}",
                *(f"  {key}" for key in keys),
            ]
        )
        for name, way in WAYS.items()
    )
    return indent("\n".join(pools), " " * 6)
