"""The checks of inventories, a module for each thing that has to agree.

`EDGES` are all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.inventory.edges import (
    amounts,
    budgets,
    claims,
    config_keys,
    configs,
    daemonsets,
    drains,
    drivers,
    engines,
    given_layouts,
    given_taints,
    hami,
    landing,
    launches,
    mig,
    mounts,
    mps,
    node_types,
    pinned,
    pointers,
    priorities,
    promises,
    queues,
    quotas,
    tenants,
    unseen,
    untold,
)
from eks_gpushare.inventory.registry import edges_in

if TYPE_CHECKING:
    from eks_gpushare.inventory.registry import Edge

EDGES: tuple[Edge, ...] = edges_in(
    *(daemonsets, landing, amounts, configs, mounts, mig, promises),
    *(quotas, tenants, mps, drivers, engines, hami, budgets, pointers, drains, unseen, untold),
    *(claims, node_types, pinned, launches, queues, priorities, config_keys),
    *(given_layouts, given_taints),
)
"""Every check."""
