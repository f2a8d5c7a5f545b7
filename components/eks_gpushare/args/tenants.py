"""The arguments about tenants; `eks_gpushare.args` has them too."""

# As in `args`: no postponed annotations, unions, literals or tuples.

from typing import NotRequired, TypedDict


class TenantAmount(TypedDict):
    """An amount of what a pool has, in one of its units."""

    shares: NotRequired[int]
    """Shares, where the pool has one kind of them."""
    shares_of: NotRequired[dict[str, int]]
    """Shares by kind, as the pool advertises them, without `nvidia.com/`: `{mig-3g.20gb: 2}`."""
    gpus: NotRequired[float]
    """GPUs, or a part of one that shares make exactly, such as 0.5."""
    gpu_memory_gib: NotRequired[int]
    """Memory of GPUs in GiB, where the sharing divides it. It becomes whole shares, rounded up."""


class TenantPool(TypedDict):
    """What a tenant has of one pool."""

    guaranteed: TenantAmount
    """What it may take at any time, and nobody else."""
    maximum: NotRequired[TenantAmount]
    """What it may have at most, with what it borrows; with `queue` only. Default: as guaranteed."""


class TenantCost(TypedDict):
    """Who pays for a tenant."""

    center: str
    """Cost centre, a label of its namespace and a column of cost reports."""


class Tenant(TypedDict):
    """A team with a namespace of its own, and a contract of what it has of each pool."""

    namespaces: NotRequired[list[str]]
    """Its namespaces, which the component makes: with `existing_namespaces` one together, and more
    with `queue` only. Default: none."""
    existing_namespaces: NotRequired[list[str]]
    """Namespaces that others make: they get the tenant's labels and guards, and outlive it.
    Default: none."""
    pools: dict[str, TenantPool]
    """What it has of each pool, by name; of all others it has nothing."""
    isolation: NotRequired[str]
    """What of a neighbour on the same GPU must not reach it: `none`, `memory` or `fault`.
    Default: none."""
    admins: NotRequired[list[str]]
    """IAM roles and users by ARN who are admins of its namespace, and of nothing else. Default:
    nobody."""
    queue: NotRequired[bool]
    """Let Kueue admit its pods: the component `Kueue` has to be beside this one. Default: false; a
    quota refuses what is too much."""
    priority: NotRequired[str]
    """With `queue`, how much of what is free it gets: low, normal or high. Default: normal."""
    admission: NotRequired[bool]
    """Refuse pods of its namespace that reach for GPUs past the contract. Default: true."""
    cost: NotRequired[TenantCost]
    """Who pays for it. Default: nobody is named."""
