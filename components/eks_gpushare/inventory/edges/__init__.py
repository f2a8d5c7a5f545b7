"""The checks of inventories, a module for each thing that has to agree.

`EDGES` are all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eks_gpushare.inventory.registry import Edge

EDGES: tuple[Edge, ...] = ()
"""Every check."""
