"""What tenants are sure of and may borrow, as the component of their queues takes it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from eks_gpushare.config.base import Items, Model
from eks_gpushare.config.environment import Chart
from eks_gpushare.config.taints import Taint

TenantPriority: TypeAlias = Literal["low", "normal", "high"]


class QueuePool(Model):
    """Nodes of one kind, as pods find them."""

    node_selector: dict[str, str]
    """Labels of the pool's nodes."""
    taints: Items[Taint] = ()
    """Taints of the pool's nodes."""
    advertised: dict[str, int] = Field(default_factory=dict)
    """By resource, what its nodes have in all: what no tenant is sure of, each may borrow. Default:
    they borrow of each other only."""
    gib: dict[str, int] = Field(default_factory=dict)
    """By resource, GiB of GPU memory of one; required where a tenant has `maximum_gib`."""


class TenantQuota(Model):
    """What a tenant has of one pool."""

    guaranteed: dict[str, int]
    """By resource, how many it gets whenever it asks."""
    maximum: dict[str, int] = Field(default_factory=dict)
    """By resource, how many it has at most, with what it borrows. Default: as guaranteed."""
    maximum_gib: int | None = Field(default=None, ge=1)
    """GiB of GPU memory that it has at most. Default: what `maximum` comes to."""


class QueuedTenant(Model):
    """A tenant and its part of each pool."""

    namespaces: Items[str]
    """Its namespaces, which are there."""
    pools: dict[str, TenantQuota]
    """By pool, what it has of it."""
    priority: TenantPriority = "normal"
    """low, normal or high: who gets more of what is free."""


class KueueSpec(Model):
    """Kueue, its chart and its queues."""

    pools: dict[str, QueuePool]
    """Pools by name."""
    tenants: dict[str, QueuedTenant]
    """Tenants by name."""
    namespace: str = "kueue-system"
    """Namespace, made by the component."""
    replicas: int = Field(default=2, ge=1, le=5)
    """Copies of its controller; one of them works, and all of them answer the API server."""
    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""
