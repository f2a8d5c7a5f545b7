"""Nodes as they come and go: when each was launched, had its shares, ran a pod and was removed.

It is told by watches of Nodes, Pods and, where Karpenter is there, NodeClaims, and reads nothing
else, so it sees what any autoscaler does. A NodeClaim tells of an instance before its node joins.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eks_gpushare.live.placement import allocatable
from eks_gpushare.live.pods import RUNNING, condition, requested, state_of
from eks_gpushare.sharing.labels import POOL_LABEL
from eks_gpushare_lab.observing.declared_pools import pool_of
from eks_gpushare_lab.observing.observer import workload_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.observing.declared_pools import DeclaredPool
    from eks_gpushare_lab.observing.watches import Watches

GPU_PREFIX = "nvidia.com/"
"""What the names of NVIDIA's resources begin with."""
GOING = {"karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler"}
"""Keys of the taints of nodes that an autoscaler is about to take away."""
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_CAPACITY = ("karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType")
_CAPACITIES = {"ON_DEMAND": "on-demand", "SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}


@dataclass(slots=True)
class NodeRecord:
    """One machine of the run, from its launch to its end."""

    key: str
    """The instance by its provider ID, or the name of the node."""
    name: str
    """Name of the node; of the NodeClaim until the node has joined."""
    pool: str
    """Its pool, or `""`."""
    instance_type: str = ""
    """Instance type."""
    zone: str = ""
    """Availability zone."""
    region: str = ""
    """AWS region."""
    capacity_type: str = "on-demand"
    """How it was bought: on-demand, spot, reserved or capacity-block."""
    launched: float = field(default_factory=time.monotonic)
    """When it was first heard of, by `time.monotonic`."""
    joined: float | None = None
    """When its node joined."""
    ready: float | None = None
    """When its node was ready and gave out what a pod of its pool can ask for."""
    removed: float | None = None
    """When it went."""
    ran: bool = False
    """Whether a pod that a DaemonSet did not make has run on it."""
    missed: bool = False
    """Whether, when it went without having run one, pods waited that asked for its shares."""
    advertised: Mapping[str, int] = field(default_factory=dict)
    """NVIDIA resources that it gives out, or gave out before it began to go."""

    @property
    def gone(self) -> bool:
        """Whether it has been removed."""
        return self.removed is not None


class NodeHistory:
    """Every machine that a run has seen, in the order in which they came."""

    def __init__(self, watches: Watches) -> None:
        """Start to listen to nodes and pods."""
        self.records: list[NodeRecord] = []
        """All of them."""
        self.peaks: Counter[str] = Counter()
        """The most nodes of each pool that there were at once."""
        self.changed = 0.0
        """When a machine last came, joined, got its shares or went, by `time.monotonic`."""
        self.pools: Mapping[str, DeclaredPool] = {}
        """GPU pools of the stack, by name."""
        self._watches = watches
        self._alive: dict[str, NodeRecord] = {}
        self._by_name: dict[str, NodeRecord] = {}
        self._lock = threading.RLock()
        watches.nodes.listen(self._on_node)
        watches.pods.listen(self._on_pod)

    def begin(self, pools: Mapping[str, DeclaredPool]) -> None:
        """Forget machines that went before, and hold the others against other pools."""
        with self._lock:
            self.pools = pools
            self.records = [record for record in self.records if not record.gone]
            self.peaks.clear()
            for node in self._watches.nodes.all():
                record = self._by_name.get(node["metadata"]["name"])
                if record is not None:
                    record.pool = pool_of(node, pools.values())
            for record in self.records:
                self.peaks[record.pool] += 1

    def of_pool(self, pool: str, *, alive: bool = False) -> list[NodeRecord]:
        """Machines of a pool, those alone that are there if that is asked for."""
        with self._lock:
            return [r for r in self.records if r.pool == pool and not (alive and r.gone)]

    def record_of(self, node: str) -> NodeRecord | None:
        """The machine that is there under the name of a node."""
        with self._lock:
            return self._by_name.get(node)

    def record_by_key(self, key: str) -> NodeRecord | None:
        """The machine that is there, by the provider ID of its instance."""
        with self._lock:
            return self._alive.get(key)

    def on_claim(self, kind: str, claim: Object) -> None:
        """Take in a NodeClaim: an instance that was launched, or that will not come any more."""
        provider_id = (claim.get("status") or {}).get("providerID", "")
        if not provider_id:  # nothing has been launched yet, or ever was
            return
        with self._lock:
            record = self._alive.get(provider_id)
            if kind == "DELETED":
                if record is not None and record.joined is None:
                    self._remove(record)
                return
            if "deletionTimestamp" in claim["metadata"] and record is None:
                return  # its instance has gone before
            if record is None:
                record = self._add(provider_id, claim["metadata"]["name"], claim)
            if record.joined is None:
                _describe(record, claim)

    def _on_node(self, kind: str, node: Object) -> None:
        name = node["metadata"]["name"]
        key = str(node["spec"].get("providerID") or name)
        with self._lock:
            record = self._by_name.get(name) or self._alive.get(key)
            if kind == "DELETED":
                if record is not None:
                    self._remove(record)
                return
            if record is None:
                record = self._add(key, name, node)
            if record.joined is None:
                record.name, record.joined = name, time.monotonic()
                self._by_name[name] = record
                self.changed = time.monotonic()
            if record.key != key:  # the cloud's controller has told what it is
                self._alive.pop(record.key, None)
                record.key = key
                self._alive[key] = record
            _describe(record, node)
            gpus = gpus_of(node)
            if gpus or not _is_going(node):  # its device plugin goes before it does
                record.advertised = gpus
            if record.ready is None and self._is_ready(record, node):
                record.ready = self.changed = time.monotonic()

    def _is_ready(self, record: NodeRecord, node: Object) -> bool:
        said = condition(node, "Ready")
        if said is None or said["status"] != "True":
            return False
        pool = self.pools.get(record.pool)
        return pool is None or not pool.resources or any(record.advertised.values())

    def _on_pod(self, kind: str, pod: Object) -> None:
        node = pod["spec"].get("nodeName")
        if not node or kind == "DELETED" or state_of(pod) != RUNNING:
            return
        if workload_of(pod).kind == "DaemonSet":
            return
        with self._lock:
            record = self._by_name.get(node)
            if record is not None:
                record.ran = True

    def _add(self, key: str, name: str, given: Object) -> NodeRecord:
        record = NodeRecord(key, name, pool_of(given, self.pools.values()))
        self.records.append(record)
        self._alive[key] = record
        alive = sum(1 for each in self._alive.values() if each.pool == record.pool)
        self.peaks[record.pool] = max(self.peaks[record.pool], alive)
        self.changed = time.monotonic()
        return record

    def _remove(self, record: NodeRecord) -> None:
        record.removed = self.changed = time.monotonic()
        self._alive.pop(record.key, None)
        if self._by_name.get(record.name) is record:
            del self._by_name[record.name]
        pool = self.pools.get(record.pool)
        if pool is not None and pool.scaled_by and not record.ran:
            record.missed = any(waiting_for(pool, self._watches.pods.all()))


def _is_going(node: Object) -> bool:
    """Whether a node is being taken away."""
    taints = (taint["key"] for taint in node["spec"].get("taints") or ())
    return "deletionTimestamp" in node["metadata"] or not GOING.isdisjoint(taints)


def gpus_of(node: Object) -> dict[str, int]:
    """NVIDIA resources that a node gives out, without those of which it has none."""
    there = allocatable(node)
    return {k: int(n) for k, n in there.items() if k.startswith(GPU_PREFIX) and n}


def waiting_for(pool: DeclaredPool, pods: Iterable[Object]) -> Iterable[Object]:
    """Pods without a node that ask for what nodes of a pool are to give."""
    for pod in pods:
        waits = not pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending"
        if waits and "deletionTimestamp" not in pod["metadata"] and asks_for(pool, pod):
            yield pod


def asks_for(pool: DeclaredPool, pod: Object) -> bool:
    """Whether a pod asks for a resource of a pool, and selects no other one."""
    selected = (pod["spec"].get("nodeSelector") or {}).get(POOL_LABEL, pool.called)
    asked = requested(pod["spec"])
    return selected == pool.called and any(asked.get(name) for name in pool.resources)


def _describe(record: NodeRecord, given: Object) -> None:
    labels = given["metadata"].get("labels") or {}
    record.instance_type = labels.get(INSTANCE_TYPE, record.instance_type)
    record.zone = labels.get(ZONE, record.zone)
    record.region = labels.get(REGION, record.region) or record.zone[:-1]
    bought = next((labels[key] for key in _CAPACITY if labels.get(key)), None)
    if bought:
        record.capacity_type = _CAPACITIES.get(bought, bought)
