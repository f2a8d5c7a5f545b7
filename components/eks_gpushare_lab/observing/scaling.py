"""How pools that autoscalers scale come out: nodes against what their pods need."""

from __future__ import annotations

import time
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from eks_gpushare.live.node_pool_limits import room_of
from eks_gpushare.live.pods import requested
from eks_gpushare_lab.observing.autoscalers import Autoscalers
from eks_gpushare_lab.observing.node_history import NodeHistory, asks_for, waiting_for
from eks_gpushare_lab.observing.observer import workload_of
from eks_gpushare_lab.observing.packing import least_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare_lab.client import Client, Object
    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.observing.node_history import NodeRecord
    from eks_gpushare_lab.observing.packing import Amounts
    from eks_gpushare_lab.observing.watches import Watches

RUNAWAY, LOOP = "runaway", "launches and removes"
"""Why waiting would not help: the autoscaler never comes to an end."""

_MORE = 3
"""Nodes more than are needed before a pool is taken for a runaway."""
_LOST = 2
"""Nodes that went without having run a pod before that is taken for a loop."""
_LASTS_SECONDS = 2.0
"""How long nodes have to look like a runaway: pods land on new ones within that."""
_LOOK_SECONDS = 1.0


class Scaling:
    """What came and went of nodes, what autoscalers say of it, and whether it goes on."""

    def __init__(self, client: Client, watches: Watches) -> None:
        """Start to listen; nothing of autoscalers is watched before there is one."""
        self.history = NodeHistory(watches)
        """Every machine of the run."""
        self.autoscalers = Autoscalers(client, watches)
        """What autoscalers say."""
        self.autoscalers.listen(self.history.on_claim)
        self.pools: Mapping[str, DeclaredPool] = {}
        """GPU pools of the stack, by name."""
        self.began = time.monotonic()
        """When the stack was there, from which on seconds count."""
        self.needed: Counter[str] = Counter()
        """By pool, the fewest nodes that the pods could do with when they were most."""
        self.endless: dict[str, str] = {}
        """Pools that never come to rest: why, by name."""
        self._watches = watches
        self._looked = 0.0
        self._suspect: dict[str, float] = {}

    def begin(self, pools: Mapping[str, DeclaredPool], charts: Iterable[str] = ()) -> None:
        """Hold nodes against the pools of a stack that is about to be installed.

        Args:
            pools: its GPU pools, by name.
            charts: names of the charts that it installs.
        """
        self.pools = pools
        self.autoscalers.installed = frozenset(charts)
        self.needed.clear()
        self.endless.clear()
        self._suspect.clear()
        self.history.begin(pools)

    def installed(self) -> None:
        """Count seconds from now on."""
        self.began = time.monotonic()
        self._looked = 0.0

    @property
    def changed(self) -> float:
        """When a node last came, came a step further, or went, by `time.monotonic`."""
        return max(self.history.changed, self.autoscalers.changed)

    @property
    def scaled(self) -> list[DeclaredPool]:
        """The pools that an autoscaler scales."""
        return [pool for pool in self.pools.values() if pool.scaled_by]

    def look(self) -> None:
        """Look for autoscalers, and whether one has run away; once a second at most."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        self.autoscalers.look()
        for pool in self.scaled:
            why = self._why_endless(pool, now)
            if why:
                self.endless.setdefault(pool.name, why)

    def coming(self, quiet: float) -> str:
        """What an autoscaler has under way, in words; `""` for nothing."""
        if not self.autoscalers.present:
            return ""
        pods = self._watches.pods.all()
        waiting = [pod for pool in self.scaled for pod in waiting_for(pool, pods)]
        late = (
            f"node {record.name} gives out no share yet"
            for pool in self.scaled
            for record in self.history.of_pool(pool.name, alive=True)
            if record.ready is None
        )
        return self.autoscalers.coming(waiting, quiet) or next(late, "")

    def take_stock(self) -> None:
        """Note how many nodes the pods need that are there now, and judge what does not move."""
        pods = self._watches.pods.all()
        for pool in self.pools.values():
            self.needed[pool.name] = max(self.needed[pool.name], self._least(pool, pods))
        for pool in self.scaled:
            alive = self.history.of_pool(pool.name, alive=True)
            if len(alive) >= _MORE and self._looks_like_a_runaway(pool, alive):
                self.endless.setdefault(pool.name, RUNAWAY)

    def nodes_now(self) -> dict[str, int]:
        """Nodes of each GPU pool that are there."""
        return {name: len(self.history.of_pool(name, alive=True)) for name in self.pools}

    def is_idle(self) -> bool:
        """Whether every pool that an autoscaler scales has its fewest nodes, and none is going."""
        now = self.nodes_now()
        return all(now[pool.name] <= pool.least for pool in self.scaled)

    def pods_of(self, pool: DeclaredPool, pods: Iterable[Object]) -> list[Object]:
        """Pods that ask for shares of a pool: on its nodes, or waiting and its to run.

        One that waits and that several pools could run is counted for the first of them.
        """
        found = []
        for pod in pods:
            if pod["status"].get("phase") in {"Succeeded", "Failed"}:
                continue
            if workload_of(pod).kind == "DaemonSet" or not asks_for(pool, pod):
                continue
            node = pod["spec"].get("nodeName")
            if node:
                record = self.history.record_of(node)
                if record is not None and record.pool == pool.name:
                    found.append(pod)
            elif next(p for p in self.pools.values() if asks_for(p, pod)) is pool:
                found.append(pod)
        return found

    def _least(self, pool: DeclaredPool, pods: Iterable[Object]) -> int:
        kinds = [room_of(kind, shares) for kind, shares in pool.per_node.items()]
        wanted = [_wanted(pod) for pod in self.pods_of(pool, pods)]
        fit = [pod for pod in wanted if any(_fits(pod, kind) for kind in kinds)]
        return least_nodes(fit, kinds) or 0

    def _why_endless(self, pool: DeclaredPool, now: float) -> str:
        records = self.history.of_pool(pool.name)
        if sum(record.missed for record in records) >= _LOST:
            return LOOP
        alive = [record for record in records if not record.gone]
        if len(alive) < _MORE or not self._looks_like_a_runaway(pool, alive):
            self._suspect.pop(pool.name, None)
            return ""
        since = self._suspect.setdefault(pool.name, now)
        return RUNAWAY if now - since >= _LASTS_SECONDS else ""

    def _looks_like_a_runaway(self, pool: DeclaredPool, alive: Sequence[NodeRecord]) -> bool:
        """Whether there is a node for each pod, or each new one takes one, where one takes many."""
        if max((sum(shares.values()) for shares in pool.per_node.values()), default=0) < _MORE - 1:
            return False
        pods = self._watches.pods.all()
        needed = max(self.needed[pool.name], self._least(pool, pods), pool.least)
        if len(alive) < needed + _MORE:
            return False
        mine = self.pods_of(pool, pods)
        if any(map(wants_a_node_alone, mine)):
            return False
        on_nodes = Counter(pod["spec"].get("nodeName") or "" for pod in mine)
        ready = [record for record in alive if record.ready is not None]
        each = [on_nodes[record.name] for record in ready]
        one_each = max(each, default=0) <= 1 or len(alive) >= len(mine)
        return len(ready) > 1 and sum(each) > 1 and one_each


def _wanted(pod: Object) -> Amounts:
    return {**requested(pod["spec"]), "pods": Decimal(1)}


def _fits(pod: Amounts, room: Amounts) -> bool:
    return all(room[name] >= amount for name, amount in pod.items() if name in room)


def wants_a_node_alone(pod: Object) -> bool:
    """Whether a pod is told to keep off others, so that one a node is what was asked for."""
    affinity = pod["spec"].get("affinity") or {}
    return bool(affinity.get("podAntiAffinity") or pod["spec"].get("topologySpreadConstraints"))
