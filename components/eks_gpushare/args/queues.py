"""The arguments about tenants' queues; `eks_gpushare.args` has them too."""

# As in `args`: no postponed annotations, unions, literals or tuples.

from typing import NotRequired, TypedDict

from eks_gpushare.args.nodes import Taint


class QueuePool(TypedDict):
    """Nodes of one kind, as pods find them."""

    node_selector: dict[str, str]
    """Labels of the pool's nodes."""
    taints: NotRequired[list[Taint]]
    """Taints of the pool's nodes. Default: none."""
    advertised: NotRequired[dict[str, int]]
    """By resource, what its nodes have in all: what no tenant is sure of, each may borrow. Default:
    they borrow of each other only."""
    gib: NotRequired[dict[str, int]]
    """By resource, GiB of GPU memory of one; required where a tenant has `maximum_gib`."""


class TenantQuota(TypedDict):
    """What a tenant has of one pool."""

    guaranteed: dict[str, int]
    """By resource, how many it gets whenever it asks."""
    maximum: NotRequired[dict[str, int]]
    """By resource, how many it has at most, with what it borrows. Default: as guaranteed."""
    maximum_gib: NotRequired[int]
    """GiB of GPU memory that it has at most. Default: what `maximum` comes to."""


class QueuedTenant(TypedDict):
    """A tenant and its part of each pool."""

    namespaces: list[str]
    """Its namespaces, which are there."""
    pools: dict[str, TenantQuota]
    """By pool, what it has of it."""
    priority: NotRequired[str]
    """low, normal or high: who gets more of what is free. Default: normal."""
