"""What an exporter can tell of pods that share GPUs, and what it cannot.

One table for all that speaks of it: what `preview` and the documentation say, what rules and boards
ask for, and what the exporter is told.

Source: NVIDIA/dcgm-exporter 4.5.3-4.8.2, internal/pkg/transformation; its pull request 594 and
issues 151, 307, 587 and 642; read 2026-11-27. Nothing of it was measured on a GPU here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from eks_gpushare.config.sharing import Mig, Mps
from eks_gpushare.sharing.resources import is_left_whole, replicas
from eks_gpushare.sharing.scaled_object import tells_pods_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.config.observability import Observability
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.plan import PoolPlan

Level = Literal["pod", "instance", "device", "nothing"]
"""Of whom a number is: a pod, a MIG instance and all pods on it, a GPU and all pods on it."""
Quantity = Literal["compute", "memory", "profiling", "power"]
QUANTITIES: Final[tuple[Quantity, ...]] = ("compute", "memory", "profiling", "power")

_OF_SPLIT: Final[Mapping[str, Quantity]] = {"memory": "memory", "activity": "compute"}
"""What has to be known of pods, by what costs are split by; by shares nothing has to."""
_BOTTLEROCKET: Final = "https://github.com/NVIDIA/dcgm-exporter/issues/636"


class MeasuredShare(NamedTuple):
    """Of whom the numbers of one kind of share are."""

    pool: str
    """Name of the pool."""
    resource: str
    """What a pod asks for."""
    compute: Level
    """Time in which it computes."""
    memory: Level
    """GPU memory in use."""
    profiling: Level
    """Tensor cores and memory bandwidth."""
    power: Level
    """Power, clocks and temperature."""
    why: str
    """What keeps numbers from pods, in words; empty where nothing does."""
    is_unproven: bool = False
    """Whether it is so by the code of the exporter, and nobody has seen it on a GPU."""

    def level(self, quantity: Quantity) -> Level:
        """Of whom a number is."""
        found: Level = getattr(self, quantity)
        return found

    def as_json(self) -> dict[str, object]:
        """The kind of share as `preview --json` and `rules --json` show it."""
        return {
            "resource": self.resource,
            **{quantity: self.level(quantity) for quantity in QUANTITIES},
            "why": self.why,
            "unproven": self.is_unproven,
        }


def measured_share(name: str, pool: Pool, resource: str) -> MeasuredShare:
    """Of whom the numbers of one kind of share are, with an exporter as this package has it told.

    Args:
        name: The pool's name.
        pool: The pool.
        resource: What its pods ask for.
    """
    if pool.runs_bottlerocket:
        why = f"the exporter does not start on Bottlerocket ({_BOTTLEROCKET})"
        return MeasuredShare(name, resource, "nothing", "nothing", "nothing", "nothing", why)
    if is_on_instance(pool, resource):
        if replicas(pool) == 1:
            why = "power and clocks are those of the GPU that the instance is a part of"
            return MeasuredShare(name, resource, "pod", "pod", "pod", "device", why)
        why = "NVML has no samples of processes on a MIG instance that pods take turns on"
        return MeasuredShare(name, resource, "instance", "pod", "instance", "device", why)
    if replicas(pool) == 1 or is_left_whole(pool, resource):
        return MeasuredShare(name, resource, "pod", "pod", "pod", "pod", "")
    why = "only use and memory are known by process; the rest is of the GPU, copied to each pod"
    compute: Level = "pod" if tells_pods_apart(pool, resource, process_metrics=True) else "device"
    unproven = isinstance(pool.sharing, Mps)
    return MeasuredShare(name, resource, compute, "pod", "device", "device", why, unproven)


def is_on_instance(pool: Pool, resource: str) -> bool:
    """Whether a share is a MIG instance or a part of one, and no GPU."""
    return isinstance(pool.sharing, Mig) and not is_left_whole(pool, resource)


def measured_pool(plan: PoolPlan) -> tuple[MeasuredShare, ...]:
    """Of whom the numbers of each kind of share of a pool are."""
    resources = dict.fromkeys(share.resource for node in plan.shares.values() for share in node)
    return tuple(measured_share(plan.name, plan.pool, resource) for resource in resources)


def measured(plans: Mapping[str, PoolPlan]) -> tuple[MeasuredShare, ...]:
    """The same of every pool."""
    return tuple(found for plan in plans.values() for found in measured_pool(plan))


def cost_split(block: Observability) -> str:
    """By what costs are split: by shares where the exporter is not one that a stack sets.

    Args:
        block: The block of the stack, whose `cost.split` is what is wanted.
    """
    return "share" if block.metrics == "cloudwatch" else block.cost.split


def split_quantity(split: str) -> Quantity | None:
    """What costs are split by, as `observability.cost.split` says; None is by shares."""
    return _OF_SPLIT.get(split)


def unmeasured(plan: PoolPlan, split: str) -> tuple[MeasuredShare, ...]:
    """Kinds of shares of a pool of whose pods nothing says what costs are to be split by.

    One is enough for a pool to be split by shares: pods whose use nobody knows would pay nothing
    beside those whose use is known.

    Args:
        plan: The pool.
        split: What `observability.cost.split` says.
    """
    quantity = split_quantity(split)
    if quantity is None:
        return ()
    return tuple(share for share in measured_pool(plan) if share.level(quantity) != "pod")


def is_split_by_use(plan: PoolPlan, split: str) -> bool:
    """Whether the cost of a pool is split by what is measured of its pods.

    Args:
        plan: The pool.
        split: What `observability.cost.split` says.
    """
    return split_quantity(split) is not None and not unmeasured(plan, split)


def needs_processes(pools: Iterable[Pool]) -> bool:
    """Whether pods can be told apart by their processes alone, which takes hostPID."""
    return any(replicas(pool) > 1 for pool in pools)


def needs_profiling(pools: Iterable[Pool]) -> bool:
    """Whether use is measured by profiling alone, which takes SYS_ADMIN: MIG has no other."""
    return any(isinstance(pool.sharing, Mig) for pool in pools)
