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


class TenantCost(TypedDict):
    """Who pays for a tenant."""

    center: str
    """Cost centre, a label of its namespace and a column of cost reports."""


class Tenant(TypedDict):
    """A team with a namespace of its own, and a contract of what it has of each pool."""

    namespaces: list[str]
    """Its namespace, which the component makes."""
    pools: dict[str, TenantPool]
    """What it has of each pool, by name; of all others it has nothing."""
    isolation: NotRequired[str]
    """What of a neighbour on the same GPU must not reach it: `none`, `memory` or `fault`.
    Default: none."""
    admins: NotRequired[list[str]]
    """IAM roles and users by ARN who are admins of its namespace, and of nothing else. Default:
    nobody."""
    admission: NotRequired[bool]
    """Refuse pods of its namespace that reach for GPUs past the contract. Default: true."""
    cost: NotRequired[TenantCost]
    """Who pays for it. Default: nobody is named."""
