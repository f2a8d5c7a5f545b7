"""The arguments of nodes that several blocks have."""

# No postponed annotations, unions, literals or tuples here: the component host reads these types.

from typing import NotRequired, TypedDict


class Taint(TypedDict):
    """A taint of the nodes of a pool."""

    key: str
    """Label-like key, for example `nvidia.com/gpu`."""
    value: NotRequired[str]
    """Value. Default: empty."""
    effect: str
    """NoSchedule, PreferNoSchedule or NoExecute."""


class Nodes(TypedDict):
    """How many nodes a pool may have."""

    min: NotRequired[int]
    """Fewest nodes. Default: 0."""
    desired: NotRequired[int]
    """Nodes at the start. Default: `min`, but at least 1 if `max` allows it."""
    max: NotRequired[int]
    """Most nodes. Default: `desired`."""
