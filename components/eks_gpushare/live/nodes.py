"""Nodes with GPUs of a running cluster: whose they are, how they are, what they give out."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.catalog import Catalog
from eks_gpushare.inventory.advertised import is_gpu_resource
from eks_gpushare.inventory.capacity import way_named
from eks_gpushare.inventory.values import at, items
from eks_gpushare.live.amounts import quantity
from eks_gpushare.live.objects import name_of
from eks_gpushare.live.placement import taints_of
from eks_gpushare.live.pods import holders_by_node, used_of
from eks_gpushare.sharing.labels import CONFIG_LABEL, POOL_LABEL
from eks_gpushare.sharing.resources import MIG_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object, ShareHolder
    from eks_gpushare.sharing.plan import PoolPlan

TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
NODEPOOL_LABEL: Final = "karpenter.sh/nodepool"
GROUP_LABEL: Final = "eks.amazonaws.com/nodegroup"
CAPACITY_LABELS: Final = ("karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType")
_REGION_LABEL: Final = "topology.kubernetes.io/region"
_POOL_LABELS: Final = (
    POOL_LABEL,
    *(NODEPOOL_LABEL, GROUP_LABEL, "alpha.eksctl.io/nodegroup-name"),
)
"""By which nodes belong together, the surest first."""
LEAVING: Final = (
    *("karpenter.sh/disrupted", "karpenter.sh/disruption", "ToBeDeletedByClusterAutoscaler"),
    "aws-node-termination-handler/",
)
"""Beginnings of taints by which autoscalers and AWS's handler mark nodes that they take away."""
UNREGISTERED: Final = "karpenter.sh/unregistered"
SPARE: Final = "DeletionCandidateOfClusterAutoscaler"
"""Key of the taint, which keeps no pod off, of a node that may be taken away, and is as any other:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md."""
JOINING_SECONDS: Final = 180.0
"""How long a node may take until its GPUs are advertised, which comes 60 to 90 s after it is ready:
https://github.com/aws/karpenter-provider-aws/issues/3376."""
_MIG_SIGNS: Final = ("nvidia.com/mig-", "nvidia.com/mig.config", "eks-gpushare/mig")
_SIGNS: Final = ("nvidia.com/gpu.present", "nvidia.com/gpu.count")
_CATALOG: Final = Catalog()
_NONE: Final[Mapping[str, PoolPlan]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LiveNode:
    """A node with GPUs, as its cluster shows it."""

    name: str
    pool: str
    """Of the stack, or NodePool or node group; its instance type where no label says more."""
    type: InstanceType | None
    """None where the catalog does not know it."""
    type_name: str
    labels: Mapping[str, str]
    taints: Sequence[NodeTaint]
    conditions: Mapping[str, Object]
    """By type."""
    advertised: Mapping[str, int]
    """GPU resources that pods can ask for: what is allocatable of them, none of which is 0."""
    capacity: Mapping[str, int]
    """The same before devices that are unhealthy are taken off."""
    used: Mapping[str, int]
    """What the pods on it have asked for."""
    holders: Sequence[ShareHolder]
    """The same by pod."""
    age: float | None
    """Seconds since it joined."""
    object: Object = field(repr=False)

    @property
    def is_ready(self) -> bool:
        """Whether its kubelet says that it is."""
        return str(at(self.conditions.get("Ready"), "status")) == "True"

    @property
    def usd_per_hour(self) -> float | None:
        """What it costs by AWS's list, which has no spot; None where that is not known."""
        known = self.type
        told = next((self.labels[key] for key in CAPACITY_LABELS if key in self.labels), "")
        way = way_named(told.replace("-", "_"))
        return None if known is None else known.price(self.labels.get(_REGION_LABEL, ""), (way,))

    @property
    def is_cordoned(self) -> bool:
        """Whether somebody has said that no more pods shall come."""
        return at(self.object, "spec", "unschedulable") is True

    @property
    def is_joining(self) -> bool:
        """Whether it is so young that nothing can be expected of it."""
        return self.age is not None and self.age < JOINING_SECONDS

    @property
    def may_be_cut(self) -> bool:
        """Whether something on it tells of MIG, by whom ever its GPUs are cut."""
        signs = [*self.labels, *self.advertised, *self.capacity]
        return any(key.startswith((*_MIG_SIGNS, MIG_PREFIX)) for key in signs)

    @property
    def is_leaving(self) -> bool:
        """Whether it is about to go."""
        return is_leaving(self.object)

    @property
    def is_spare(self) -> bool:
        """Whether an autoscaler may take it away once it has been without use for long enough."""
        return any(taint.key == SPARE for taint in self.taints)


def is_leaving(node: Object) -> bool:
    """Whether a node is about to go, by its own mark or by that of an autoscaler."""
    gone = at(node, "metadata", "deletionTimestamp") is not None
    return gone or any(taint.key.startswith(LEAVING) for taint in taints_of(node))


def is_of_windows(node: Object) -> bool:
    """Whether it runs Windows, for which NVIDIA has no device plugin."""
    return bool(at(node, "metadata", "labels", "kubernetes.io/os") == "windows")


def is_unregistered(node: Object) -> bool:
    """Whether Karpenter has not given it the labels and taints of its NodePool yet."""
    return any(taint.key == UNREGISTERED for taint in taints_of(node))


def as_if_it_stayed(node: Object) -> Object:
    """A node without the marks of one that is about to go."""
    taints = [
        given
        for given in items(at(node, "spec", "taints"))
        if not str(at(given, "key")).startswith(LEAVING)
    ]
    return {**node, "spec": {**node["spec"], "taints": taints}}


def gpu_nodes_of(
    objects: ClusterObjects, pools: Mapping[str, PoolPlan] = _NONE
) -> tuple[LiveNode, ...]:
    """All nodes with GPUs of NVIDIA, by pool and name.

    Args:
        objects: The cluster.
        pools: Those of a stack, whose nodes are known by other signs where they lost their label.
    """
    holders = holders_by_node(objects.of("Pod"))
    found = (_live(objects, node, holders, pools) for node in objects.of("Node"))
    return tuple(sorted(filter(None, found), key=lambda node: (node.pool, node.name)))


def _live(
    objects: ClusterObjects,
    node: Object,
    holders: Mapping[str, Sequence[ShareHolder]],
    pools: Mapping[str, PoolPlan],
) -> LiveNode | None:
    labels: dict[str, str] = {
        str(key): str(value) for key, value in (at(node, "metadata", "labels") or {}).items()
    }
    if is_of_windows(node):
        return None
    name, type_name = name_of(node), labels.get(TYPE_LABEL, "")
    known = _CATALOG.find(type_name)
    advertised, capacity = (_gpus(at(node, "status", part)) for part in ("allocatable", "capacity"))
    if known is not None and not known.gpu_count:
        return None
    if known is None and not advertised and not capacity and not set(_SIGNS) & set(labels):
        return None
    pool = _pool(labels, pools) or type_name or name
    conditions = {
        str(at(condition, "type")): condition
        for condition in items(at(node, "status", "conditions"))
    }
    held = tuple(one for one in holders.get(name, ()) if is_gpu_resource(one.resource))
    return LiveNode(
        name=name,
        pool=pool,
        type=known,
        type_name=type_name,
        labels=labels,
        taints=taints_of(node),
        conditions=conditions,
        advertised=advertised,
        capacity=capacity,
        used=dict(used_of(held)),
        holders=held,
        age=objects.seconds_since(at(node, "metadata", "creationTimestamp")),
        object=node,
    )


def _pool(labels: Mapping[str, str], pools: Mapping[str, PoolPlan]) -> str | None:
    """The pool of a node, or what it belongs to by another label."""
    own, config = labels.get(POOL_LABEL), labels.get(CONFIG_LABEL)
    group = labels.get(GROUP_LABEL, "")
    named = (pool for pool in pools if f"-{pool}-" in f"-{group}-")
    of_group = max(named, key=len, default=None)  # a node group is called by stack and pool
    if of_group is not None and of_group == config:
        return of_group  # whatever somebody has written at the pool's label
    of_labels = own or config
    if of_labels in pools or of_group is not None:
        return of_labels if of_labels in pools else of_group
    key = next((key for key in _POOL_LABELS if labels.get(key)), None)
    if key is None:
        return None
    name = labels[key]
    # Somebody else's group may be called as a pool of the stack.
    is_others = key != POOL_LABEL and name in pools and not _is_of(pools[name], key)
    return f"{name} ({key})" if is_others else name


def _is_of(plan: PoolPlan, key: str) -> bool:
    """Whether nodes of a pool have a label, of Karpenter or of node groups."""
    by = plan.pool.provisioner
    return by == "existing" or (by == "karpenter") is key.startswith("karpenter.sh/")


def _gpus(given: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, amount in (given or {}).items():
        if is_gpu_resource(str(name)):
            try:
                count = int(quantity(amount))
            except ValueError:
                continue
            if count:
                found[str(name)] = count
    return found


def writer_of(given: Object, *path: str) -> str:
    """Who wrote a field of an object, and when, by its managed fields; empty where none says.

    Args:
        given: The object.
        path: Names of fields as `fieldsV1` has them, such as `f:spec`, `f:taints`.
    """
    newest: tuple[str, str] = ("", "")
    for entry in items(at(given, "metadata", "managedFields")):
        if at(entry, "fieldsV1", *path) is None:
            continue
        newest = max(newest, (str(at(entry, "time") or ""), str(at(entry, "manager") or "")))
    time, manager = newest
    return f"set by {manager}{f' at {time}' if time else ''}" if manager else ""


def counted_names(nodes: Iterable[str]) -> str:
    """Names as text: all of a few, else the first and how many more."""
    names = sorted(nodes)
    if len(names) <= _FEW:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} more"


_FEW = 3
