"""What is there of a cluster, whoever has looked: the lists of `verify` and the watches of a lab.

What both say of it is judged on this alone, and once. `docs/decisions/0038-cluster-state.md` has
what is said by one of them only, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eks_gpushare.live.pods import Object


class ClusterState(Protocol):
    """Objects of one cluster."""

    def of(self, kind: str) -> Sequence[Object]:
        """All objects of a kind, such as `Node`, `Pod`, `ConfigMap`, `DaemonSet` and `Event`.

        Args:
            kind: The kind. None are there of one that is not read.
        """
        ...
