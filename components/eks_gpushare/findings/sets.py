"""Sets of codes of lint: what a team may want of this tool, or of another that it has."""

from __future__ import annotations

from typing import Final

GPU: Final = "gpu"
"""What is about GPUs and the nodes that have them: always on."""
KUBERNETES: Final = "kubernetes"
"""What holds of any object of Kubernetes. Where it is not switched on, it is said of objects alone
that say something of GPUs."""
SETS: Final = (GPU, KUBERNETES)

_OF_KUBERNETES: Final = frozenset(
    ("GPU1002", "GPU1004", "GPU1005", "GPU1006", "GPU1007", "GPU1192", "GPU1193")
)


def set_of(code: str) -> str:
    """The set that a code of lint is in."""
    return KUBERNETES if code in _OF_KUBERNETES else GPU
