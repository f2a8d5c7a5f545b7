"""Teams that share the GPUs of a cluster: what each is sure of, and how far it is kept apart."""

from typing import Literal

from pydantic import Field

from eks_gpushare.config.base import Items, Model


class TenantAmount(Model):
    """An amount of what a pool has, in one of three units."""

    shares: int | None = Field(default=None, ge=1, le=1_000_000)
    """Shares, where the pool has one kind of them."""
    shares_of: dict[str, int] | None = None
    """Shares by kind, as the pool advertises them, without `nvidia.com/`: `{mig-3g.20gb: 2}`."""
    gpus: float | None = Field(default=None, gt=0, le=100_000)
    """GPUs, or a part of one that shares make exactly, such as 0.5; with a MIG layout, of each
    kind of device the part that goes with it."""
    gpu_memory_gib: int | None = Field(default=None, alias="gpuMemoryGiB", ge=1, le=10_000_000)
    """Memory of GPUs in GiB, as the names of MIG profiles count it, where the sharing divides it:
    of whole GPUs, MIG devices and MPS. It becomes whole shares, rounded up; with several kinds of
    MIG devices, of each the same part."""


class TenantPool(Model):
    """What a tenant has of one pool."""

    guaranteed: TenantAmount
    """What it may take at any time, and nobody else."""
    maximum: TenantAmount | None = None
    """What it may have at most, with what it borrows while others leave it; with `queue` only. GiB
    of GPU memory are then of any mix of the pool's devices. Default: as `guaranteed`."""


class TenantCost(Model):
    """Who pays for a tenant."""

    center: str
    """Cost centre, a label of its namespace and a column of cost reports."""


class Tenant(Model):
    """A team with a namespace of its own, and a contract of what it has of each pool."""

    namespaces: Items[str] = ()
    """Its namespaces, which the stack makes: with `existingNamespaces` one together, and more with
    `queue` only."""
    existing_namespaces: Items[str] = ()
    """Namespaces that others make: they get the tenant's labels and guards, and outlive it."""
    pools: dict[str, TenantPool]
    """What it has of each pool, by name; of all others it has nothing."""
    isolation: Literal["none", "memory", "fault"] = "none"
    """What of a neighbour on the same GPU must not reach it: nothing is asked for, `memory` of its
    own, or `fault`, so that no neighbour's fault ends its pods either. Whatever the class, pods
    of a node share its kernel and driver."""
    admins: Items[str] = ()
    """IAM roles and users by ARN who are admins of its namespace, and of nothing else."""
    queue: bool = False
    """Let Kueue, which the stack then installs, admit its pods: what is too much waits instead of
    being refused, and it may borrow up to `maximum`. Default: a quota refuses what is too much."""
    priority: Literal["low", "normal", "high"] = "normal"
    """With `queue`, how much of what is free it gets while others borrow too: half as much as
    normal, or twice as much."""
    admission: bool = True
    """Refuse pods of its namespace that reach for GPUs past the contract: other pools, variables
    and devices of NVIDIA's container runtime, tolerations of GPU nodes without a request."""
    cost: TenantCost | None = None
    """Who pays for it. Default: nobody is named."""

    @property
    def every_namespace(self) -> tuple[str, ...]:
        """Its namespaces, whoever makes them."""
        return (*self.namespaces, *self.existing_namespaces)
