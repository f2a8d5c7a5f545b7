"""The plan of a pool and of a whole environment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.config.sharing import Mig
from eks_gpushare.sharing import resources
from eks_gpushare.sharing.efa import advertised_interfaces
from eks_gpushare.sharing.labels import POOL_LABEL, node_labels
from eks_gpushare.sharing.nodes import Sizes, reserved, sizes
from eks_gpushare.sharing.scaling_range import range_json, scaling_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog import Catalog, InstanceType
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.taints import Taint
    from eks_gpushare.sharing.resources import Share
    from eks_gpushare.sharing.scaling_range import ScalingRange


@dataclass(frozen=True, slots=True)
class Cost:
    """What the nodes of a pool cost on demand, in USD per hour; of types that differ, at most."""

    at_desired: float | None
    """All nodes that are kept, and the instances that are reserved beyond them; None where it is
    not known how many these are."""
    per_node: Mapping[str, float]
    """One node, by instance type."""
    per_share: float
    """One share of the kind that `request` names: the price of a node over the shares on it."""
    by_share: Mapping[str, Mapping[str, float]]
    """One share of each kind by instance type, by its resource; what a MIG layout leaves unused is
    in the price of the devices beside it."""


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """What the nodes of one pool will be, advertise and cost."""

    name: str
    pool: Pool
    sizes: Sizes
    gpus_per_node: Mapping[str, int]
    """GPUs of a node, by instance type."""
    per_node: Mapping[str, Mapping[str, int]]
    """Resources a node advertises, by instance type."""
    request: Mapping[str, int]
    """What a pod asks for to get one share: of several kinds, the most numerous."""
    shares: Mapping[str, tuple[Share, ...]]
    """Every kind of share on a node, by instance type, the one of `request` first."""
    labels: Mapping[str, str]
    """All labels of the nodes."""
    taints: tuple[Taint, ...]
    """All taints that the nodes join with."""
    node_selector: Mapping[str, str]
    """What a pod selects to land on this pool and no other."""
    tolerations: tuple[Mapping[str, str], ...]
    """What a pod must tolerate to run here. EKS adds a toleration by itself only for the taint
    that has the name of the requested resource."""
    cost: Cost | None
    """None where the price is unknown: capacity blocks, types without a list price, and spot where
    the stack gives none."""
    scaling: ScalingRange | None = None
    """How far an autoscaler takes it; None where none does."""

    @property
    def kept(self) -> int:
        """Nodes that there are when no pod asks for one: those of the warm room among them."""
        return max(self.sizes.desired, self.scaling.least if self.scaling else 0)

    @property
    def reserved(self) -> int | None:
        """Instances that are paid for, used or not; None where it is not known how many."""
        return reserved(self.pool, self.sizes)

    def at(self, nodes: int) -> dict[str, int]:
        """Resources that a number of nodes advertise together.

        Where the types of the pool differ, the smallest count of each resource: so much is sure.
        """
        names = dict.fromkeys(name for node in self.per_node.values() for name in node)
        return {
            name: nodes * min(node.get(name, 0) for node in self.per_node.values())
            for name in names
        }

    def as_json(self) -> dict[str, Any]:
        """The pool as `preview --json` and the stack's outputs show it."""
        cost = self.cost
        return {
            "provisioner": self.pool.provisioner,
            "instanceTypes": list(self.pool.instance_types),
            "nodes": {"min": self.sizes.min, "desired": self.sizes.desired, "max": self.sizes.max},
            "gpusPerNode": dict(self.gpus_per_node),
            "perNode": {name: dict(node) for name, node in self.per_node.items()},
            "atDesired": self.at(self.kept),
            "atMax": self.at(self.sizes.max),
            "usdPerHour": cost and {"atDesired": cost.at_desired, "perShare": cost.per_share},
            "request": dict(self.request),
            "shares": self._kinds(),
            "nodeSelector": dict(self.node_selector),
            "tolerations": [dict(toleration) for toleration in self.tolerations],
            **self._scaling(),
        }

    def _scaling(self) -> dict[str, Any]:
        """From what to what an autoscaler takes the pool; nothing where none does."""
        if self.scaling is None:
            return {}
        prices = None if self.cost is None else self.cost.per_node
        return {"scaling": range_json(self.scaling, self.at, prices)}

    def _kinds(self) -> list[dict[str, Any]]:
        """Every kind of share as JSON; of types that differ, the least memory and the price each.

        `usdPerHour` is then the greatest, and `usdPerHourByType` says which is whose.
        """
        kinds: dict[str, dict[str, Any]] = {}
        for instance_type, shares in self.shares.items():
            for share in shares:
                kind = kinds.setdefault(
                    share.resource,
                    {"resource": share.resource, "perNode": {}, "memoryMiB": share.memory_mib},
                )
                kind["perNode"][instance_type] = share.per_node
                if share.memory_mib is None or share.memory_mib < (kind["memoryMiB"] or 0):
                    kind["memoryMiB"] = share.memory_mib
        prices = self.cost.by_share if self.cost else {}
        return [{**kind, **_share_prices(prices.get(name))} for name, kind in kinds.items()]


def _share_prices(by_type: Mapping[str, float] | None) -> dict[str, Any]:
    if not by_type:
        return {"usdPerHour": None}
    most = max(by_type.values())
    each = {"usdPerHourByType": dict(by_type)} if len({*by_type.values()}) > 1 else {}
    return {"usdPerHour": most, **each}


def plan_pool(name: str, pool: Pool, catalog: Catalog, region: str | None = None) -> PoolPlan:
    """Plan one pool.

    Args:
        name: The pool's name, which is also its key in the device plugin's ConfigMap.
        pool: A pool that the rules have accepted.
        catalog: Where the instance types are looked up.
        region: AWS region for prices. Without it, costs are unknown.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    types = [_known(catalog, instance_type) for instance_type in pool.instance_types]
    shares = {t.name: resources.shares(pool, t, catalog) for t in types}
    per_node = {
        t.name: {**resources.advertised(pool, t, catalog), **advertised_interfaces(pool, t)}
        for t in types
    }
    size = _sizes(pool, per_node)
    request = shares[types[0].name][0].resource
    scaling = scaling_range(pool, size, per_node, request, catalog)
    plan = PoolPlan(
        name=name,
        pool=pool,
        sizes=size,
        gpus_per_node={t.name: t.gpu_count for t in types},
        per_node=per_node,
        request={request: 1},
        shares=shares,
        labels={**node_labels(name, pool), **_mig_labels(pool, catalog)},
        taints=(*pool.taints, *startup_taints(pool)),
        node_selector={POOL_LABEL: name},
        tolerations=tuple(taint.toleration() for taint in pool.taints),
        cost=None,
        scaling=scaling,
    )
    return replace(plan, cost=_cost(plan, types, region))


def _sizes(pool: Pool, per_node: Mapping[str, Mapping[str, int]]) -> Sizes:
    if pool.provisioner != "karpenter":
        return sizes(pool.nodes)
    from eks_gpushare.sharing.scaling import sizes_of

    return sizes_of(pool, per_node)


def _mig_labels(pool: Pool, catalog: Catalog) -> Mapping[str, str]:
    if not isinstance(pool.sharing, Mig):
        return {}
    from eks_gpushare.sharing.mig_manager import mig_labels

    return mig_labels(pool, catalog)


def startup_taints(pool: Pool) -> tuple[Taint, ...]:
    """Taints that nodes join with and lose once they are ready for pods, which tolerate none.

    One goes when the MIG layout is there; what else a pool of Karpenter's names, something of the
    user's own takes away.
    """
    own = pool.karpenter.startup_taints if pool.karpenter else ()
    if not isinstance(pool.sharing, Mig):
        return own
    from eks_gpushare.sharing import mig_manager

    return (*mig_manager.startup_taints(pool), *own)


def plan_environment(
    environment: Environment, catalog: Catalog, region: str | None = None
) -> dict[str, PoolPlan]:
    """Plan every pool of an environment, by name.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    return {
        name: plan_pool(name, pool, catalog, region) for name, pool in environment.pools.items()
    }


def _known(catalog: Catalog, name: str) -> InstanceType:
    found = catalog.find(name)
    if found is None:
        raise KeyError(name)
    return found


def _cost(plan: PoolPlan, types: list[InstanceType], region: str | None) -> Cost | None:
    """Of several types the dearest counts, for any of them may be what is launched."""
    shares = plan.shares
    if region is None:
        return None
    priced = ((t.name, t.price(region, plan.pool.bought_as)) for t in types if t.gpu_count)
    prices = {name: price for name, price in priced if price is not None}
    if not prices or len(prices) < len(types):
        return None
    by_share: dict[str, dict[str, float]] = {}
    for name, price in prices.items():
        for share in shares[name]:
            by_share.setdefault(share.resource, {})[name] = round(price * share.of_node, 6)
    of_request = max(by_share[shares[types[0].name][0].resource].values())
    dearest = max(prices.values())
    paid = None if plan.reserved is None else round(dearest * max(plan.kept, plan.reserved), 4)
    return Cost(paid, prices, of_request, by_share)
