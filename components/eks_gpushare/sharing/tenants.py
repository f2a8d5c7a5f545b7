"""What tenants have of pools: from their contracts to counts of resources, in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import ceil, gcd, lcm
from typing import TYPE_CHECKING, NamedTuple

from eks_gpushare.sharing.turns import turns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.config.tenants import Tenant, TenantAmount, TenantPool
    from eks_gpushare.facts.isolation import Isolation, Turns
    from eks_gpushare.sharing.plan import PoolPlan

TENANT_LABEL = "eks-gpushare.io/tenant"
"""Names the tenant that a namespace belongs to."""
ISOLATION_LABEL = "eks-gpushare.io/isolation"
"""Says how far a tenant is to be kept apart."""
ISOLATED = "isolated"
"""Its value for tenants that no fault of others may reach, `fault` in a stack file."""
ISOLATION_VALUES: Mapping[Isolation, str] = {"none": "none", "memory": "memory", "fault": ISOLATED}
"""Its value for each class."""
COST_LABEL = "eks-gpushare.io/cost-center"
"""Names who pays for what is in a namespace."""
PREFIX = "nvidia.com/"
"""What contracts leave out of the names of resources."""
UNITS = {
    "shares": "shares",
    "shares_of": "sharesOf",
    "gpus": "gpus",
    "gpu_memory_gib": "gpuMemoryGiB",
}
"""Units of an amount, of which one is given: their fields and keys."""
_CLOSER: tuple[Turns, ...] = ("exclusive", "mps", "timeSlicing")
"""From those who have a GPU or MIG device each to those who share one with nothing between."""
_GIB = 1024


class AmountError(Exception):
    """An amount that the shares of a pool do not make."""

    def __init__(self, key: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.key = key
        """The key of the amount, as the stack file has it."""
        self.message = message
        """What is wrong."""
        self.fix = fix
        """What to do about it."""


class Counted(NamedTuple):
    """An amount in shares."""

    counts: Mapping[str, int]
    """Of each resource."""
    rounded: str | None = None
    """What became more by being whole shares."""


class PoolContract(NamedTuple):
    """What a tenant has of a pool."""

    tenant: str
    pool: str
    guaranteed: Mapping[str, int]
    """Of each resource."""
    maximum: Mapping[str, int]
    """Of each resource, with what it borrows."""
    maximum_gib: int | None
    """GiB of GPU memory at most, of any mix; None where counts alone limit it."""
    rounded: str | None
    """What became more by being whole shares."""
    usd_per_hour: float | None
    """What the guaranteed shares cost on demand; None where the price is not known."""

    def as_json(self) -> dict[str, object]:
        """It as `preview --json` and the stack's outputs show it."""
        return {
            "guaranteed": dict(self.guaranteed),
            "maximum": dict(self.maximum),
            "maximumGiB": self.maximum_gib,
            "rounded": self.rounded,
            "usdPerHour": self.usd_per_hour,
        }


def owners(tenants: Mapping[str, Tenant]) -> dict[str, str]:
    """Tenants by each of their namespaces, whoever makes these."""
    return {space: name for name, tenant in tenants.items() for space in tenant.every_namespace}


def kinds(plan: PoolPlan) -> dict[str, int]:
    """The kinds of shares of a pool, with how many of each a node has at least."""
    names = dict.fromkeys(share.resource for shares in plan.shares.values() for share in shares)
    on_a_node = plan.at(1)
    return {name: on_a_node[name] for name in names}


def memory_gib(plan: PoolPlan, resource: str) -> int | None:
    """GiB of one share, as names of MIG profiles count them; None where that is not known.

    Of types that differ the least. NVML's figure is a little below the one in a profile's name
    (4,864 MiB of 1g.5gb), so it is rounded up.
    """
    found = [
        share.memory_mib
        for shares in plan.shares.values()
        for share in shares
        if share.resource == resource
    ]
    known = [mib for mib in found if mib is not None]
    return ceil(min(known) / _GIB) if known and len(known) == len(found) else None


def gib_of(counts: Mapping[str, int], plan: PoolPlan) -> int:
    """GiB of shares together, 0 of those of which it is not known."""
    return sum(count * (memory_gib(plan, name) or 0) for name, count in counts.items())


def counted(amount: TenantAmount, plan: PoolPlan) -> Counted:
    """An amount in shares of a pool.

    Args:
        amount: The amount, with one unit.
        plan: The pool.

    Raises:
        AmountError: If the pool's shares do not make it.
    """
    if amount.shares is not None:
        return _by_number(amount.shares, plan)
    if amount.shares_of is not None:
        return _by_kind(amount.shares_of, plan)
    if amount.gpus is not None:
        return _by_gpus(amount.gpus, plan)
    return _by_memory(amount.gpu_memory_gib or 0, plan)


def _short(resource: str) -> str:
    return resource.removeprefix(PREFIX)


def _by_number(shares: int, plan: PoolPlan) -> Counted:
    there = kinds(plan)
    if len(there) == 1:
        return Counted({next(iter(there)): shares})
    listed = ", ".join(f"{_short(name)}: 1" for name in there)
    raise AmountError(
        "shares",
        f"{plan.name} has {len(there)} kinds of shares, and {shares} of which is not said.",
        f"Write sharesOf: {{{listed}}}, each with its number, or an amount in gpus.",
    )


def _by_kind(by_kind: Mapping[str, int], plan: PoolPlan) -> Counted:
    there = {_short(name): name for name in kinds(plan)}
    allowed = ", ".join(there)
    for name, count in by_kind.items():
        if name not in there:
            message = f"{plan.name} has no {name}; it has {allowed}."
            raise AmountError("sharesOf", message, f"Use one of {allowed}.")
        if count < 1:
            message = f"{count} of {name} is no number of shares."
            raise AmountError("sharesOf", message, "Use 1 or more, or leave the kind out.")
    if not by_kind:
        message = "No kind of share is named."
        raise AmountError("sharesOf", message, f"Name one or more of {allowed}, with a number.")
    return Counted({there[name]: count for name, count in by_kind.items()})


def _by_gpus(gpus: float, plan: PoolPlan) -> Counted:
    asked = Fraction(str(gpus))
    of_types = {
        tuple(Fraction(node.get(name, 0), plan.gpus_per_node[kind] or 1) for name in kinds(plan))
        for kind, node in plan.per_node.items()
    }
    if len(of_types) > 1:
        raise AmountError(
            "gpus",
            f"The instance types of {plan.name} have different numbers of shares on a GPU.",
            "Give the amount in shares.",
        )
    per_gpu = dict(zip(kinds(plan), next(iter(of_types)), strict=True))
    counts = {name: asked * of_one for name, of_one in per_gpu.items()}
    if all(count.denominator == 1 for count in counts.values()):
        return Counted({name: int(count) for name, count in counts.items() if count})
    # Each kind has whole shares at multiples of one part of a GPU; all of them at the multiples of
    # the least part that is a multiple of each.
    parts = [1 / of_one for of_one in per_gpu.values() if of_one]
    step = Fraction(lcm(*(part.numerator for part in parts)), gcd(*(p.denominator for p in parts)))
    below, above = asked // step * step, (asked // step + 1) * step
    near = f"{float(above):g}" if not below else f"{float(below):g} or {float(above):g}"
    raise AmountError(
        "gpus",
        f"{gpus:g} GPUs of {plan.name} are no whole number of its shares.",
        f"Use {near}: multiples of {float(step):g} are whole shares.",
    )


def _by_memory(gib: int, plan: PoolPlan) -> Counted:
    there = kinds(plan)
    undivided = [name for name in there if turns_of(plan.pool, name) == "timeSlicing"]
    if undivided:
        raise AmountError(
            "gpuMemoryGiB",
            f"Pods of {plan.name} take turns by time slicing, which divides no memory.",
            "Give the amount in shares or gpus.",
        )
    sizes = {name: memory_gib(plan, name) for name in there}
    known = {name: size for name, size in sizes.items() if size}
    if len(known) < len(there):
        unknown = ", ".join(_short(name) for name in there if name not in known)
        message = f"How much memory {unknown} of {plan.name} has is not known."
        raise AmountError("gpuMemoryGiB", message, "Give the amount in shares or gpus.")
    node = sum(count * known[name] for name, count in there.items())
    counts = {name: ceil(Fraction(gib * count, node)) for name, count in there.items()}
    got = gib_of(counts, plan)
    listed = ", ".join(f"{count} {_short(name)}" for name, count in counts.items())
    return Counted(counts, None if got == gib else f"{gib} GiB are {listed}: {got} GiB")


def contracts(
    tenants: Mapping[str, Tenant], plans: Mapping[str, PoolPlan]
) -> tuple[PoolContract, ...]:
    """What tenants have of pools, in the order of the stack file.

    Args:
        tenants: Tenants that the rules have accepted.
        plans: The plans of the pools by name.

    Raises:
        AmountError: If the shares of a pool do not make an amount.
    """
    found = []
    for name, tenant in tenants.items():
        for pool, given in tenant.pools.items():
            plan, what = plans[pool], counted(given.guaranteed, plans[pool])
            most, gib = borrowed(given, plan, what.counts)
            price = _price(what.counts, plan)
            found.append(PoolContract(name, pool, what.counts, most, gib, what.rounded, price))
    return tuple(found)


def borrowed(
    given: TenantPool, plan: PoolPlan, sure: Mapping[str, int]
) -> tuple[Mapping[str, int], int | None]:
    """What a tenant has of a pool at most: shares of each resource, and GiB of any mix of them.

    Args:
        given: What it has of the pool.
        plan: The pool.
        sure: What is guaranteed, in shares.

    Raises:
        AmountError: If the pool's shares do not make it.
    """
    amount = given.maximum
    if amount is None:
        return sure, None
    gib = amount.gpu_memory_gib
    if gib is None:
        return counted(amount, plan).counts, None
    counted(amount, plan)  # which refuses what has no memory of its own
    sizes = {name: memory_gib(plan, name) or 1 for name in kinds(plan)}
    return {name: max(gib // size, sure.get(name, 0)) for name, size in sizes.items()}, gib


def _price(counts: Mapping[str, int], plan: PoolPlan) -> float | None:
    if plan.cost is None:
        return None
    by_share = plan.cost.by_share
    return round(sum(n * max(by_share[name].values()) for name, n in counts.items()), 4)


def of_tenant(tenant: str, every: Iterable[PoolContract]) -> dict[str, int]:
    """What a tenant may have of each resource at most, in all pools together."""
    sums: dict[str, int] = {}
    for contract in every:
        if contract.tenant == tenant:
            for name, count in contract.maximum.items():
                sums[name] = sums.get(name, 0) + count
    return sums


def met(
    contract: PoolContract, every: Iterable[PoolContract], plans: Mapping[str, PoolPlan]
) -> list[str]:
    """Other tenants whose pods may be on one GPU or MIG device with those of a tenant.

    Args:
        contract: What the tenant has of a pool.
        every: What tenants have of pools.
        plans: The plans of the pools by name.
    """
    pool = plans[contract.pool].pool
    shared = {name for name in contract.maximum if turns_of(pool, name) != "exclusive"}
    return [
        other.tenant
        for other in every
        if other.pool == contract.pool
        and other.tenant != contract.tenant
        and shared & other.maximum.keys()
    ]


def meetings(
    every: Iterable[PoolContract], plans: Mapping[str, PoolPlan]
) -> dict[str, dict[str, Turns]]:
    """How close each tenant's pods may come to those of each other one; nothing where never.

    `exclusive` says that they may be on one node, each with a GPU or MIG device of its own. Of
    several pools the closest.

    Args:
        every: What tenants have of pools.
        plans: The plans of the pools by name.
    """
    by_pool: dict[str, list[PoolContract]] = {}
    for contract in every:
        by_pool.setdefault(contract.pool, []).append(contract)
    found: dict[str, dict[str, Turns]] = {}
    for pool, contracts in by_pool.items():
        _in_pool(found, contracts, plans[pool])
    return found


def _in_pool(
    found: dict[str, dict[str, Turns]], contracts: Sequence[PoolContract], plan: PoolPlan
) -> None:
    turns: dict[str, Turns] = {name: turns_of(plan.pool, name) for name in plan.at(1)}
    for one, other in combinations(contracts, 2):
        both = one.maximum.keys() & other.maximum.keys()
        alone: Turns = "exclusive"
        here: Turns = max((turns[name] for name in both), key=_CLOSER.index, default=alone)
        for a, b in ((one.tenant, other.tenant), (other.tenant, one.tenant)):
            of = found.setdefault(a, {})
            of[b] = max(here, of.get(b, here), key=_CLOSER.index)


def tenants_json(
    tenants: Mapping[str, Tenant], every: Sequence[PoolContract], plans: Mapping[str, PoolPlan]
) -> dict[str, dict[str, object]]:
    """Tenants as `preview --json` and the stack's outputs show them, by name.

    Args:
        tenants: The tenants.
        every: What they have of pools.
        plans: The plans of the pools by name.
    """
    found: dict[str, dict[str, object]] = {}
    neighbours = meetings(every, plans)
    for name, tenant in tenants.items():
        own = [contract for contract in every if contract.tenant == name]
        prices = [contract.usd_per_hour for contract in own]
        known = [price for price in prices if price is not None]
        found[name] = {
            "namespaces": list(tenant.every_namespace),
            "isolation": tenant.isolation,
            "queue": tenant.queue,
            "admission": tenant.admission,
            "pools": {
                contract.pool: {**contract.as_json(), "meets": met(contract, every, plans)}
                for contract in own
            },
            "neighbours": dict(neighbours.get(name, {})),
            "quota": of_tenant(name, own),
            "usdPerHour": round(sum(known), 4) if len(known) == len(prices) else None,
            "costCenter": tenant.cost.center if tenant.cost else None,
        }
    return found


def sure_nodes(plan: PoolPlan) -> int:
    """Nodes of a pool that are there whatever pods want."""
    return plan.scaling.least if plan.scaling is not None else plan.sizes.desired
