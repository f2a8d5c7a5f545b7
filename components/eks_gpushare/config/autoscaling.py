"""Who adds and removes nodes: Karpenter or Cluster Autoscaler, and what a pool asks of them."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from eks_gpushare.config.base import Items, Model, TextInput
from eks_gpushare.config.taints import Taint
from eks_gpushare.config.windows import Window

CapacityType: TypeAlias = Literal["onDemand", "spot", "reserved", "capacityBlock"]
ConsolidationPolicy: TypeAlias = Literal["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]
DisruptionReason: TypeAlias = Literal["Empty", "Underutilized", "Drifted"]
Expander: TypeAlias = Literal[
    "least-waste", "least-nodes", "most-pods", "price", "priority", "random"
]


def _amount_kind(value: Any) -> str:
    return "<text>" if isinstance(value, str) else "<number>"


Amount: TypeAlias = Annotated[
    Annotated[int, Tag("<number>")] | Annotated[str, Tag("<text>")],
    Discriminator(_amount_kind),
]
"""A whole number, or a text such as `10%` or `256Gi`."""


class DisruptionBudget(Model):
    """How many nodes Karpenter may take away at a time, as in a NodePool."""

    nodes: Amount
    """A number of nodes, or how many in a hundred: `"10%"`. 0 forbids it."""
    reasons: Items[DisruptionReason] | None = None
    """For which reasons it holds. Default: for all."""
    schedule: str | None = None
    """When it begins to hold, as five fields of cron in UTC; needs `duration`. Default: always."""
    duration: str | None = None
    """How long it holds from then, such as `8h`."""


class KarpenterPool(Model):
    """What only a pool of Karpenter's has; becomes fields of its NodePool."""

    static: bool = False
    """Keep `nodes.desired` nodes whether pods need them or not; needs the gate StaticCapacity,
    which the stack then turns on. A pool cannot change from one to the other."""
    weight: int | None = Field(default=None, ge=1, le=100)
    """Which pool is tried first where several can run a pod: the greater. Default: none."""
    limits: dict[str, Amount] | None = None
    """Most of each resource that all nodes together may have, in the units that they advertise:
    shares, not GPUs. Default: what `nodes.max` nodes of the largest type have."""
    capacity_types: Items[CapacityType] | None = None
    """Ways to buy an instance, of which Karpenter takes the cheapest that there is, `reserved`
    before all. Default: the pool's `capacityType`."""
    consolidation_policy: ConsolidationPolicy = "WhenEmpty"
    """Which nodes Karpenter takes away to save money. All but `WhenEmpty` evict running pods."""
    consolidate_after: str = "5m"
    """How long a node has to be so, such as `300s`, or `Never`. Default: 5 minutes."""
    budgets: Items[DisruptionBudget] | None = None
    """How many nodes may go at a time, by reason and schedule. Default: one in ten."""
    expire_after: str = "720h"
    """Age at which a node is replaced, or `Never`. Default: 30 days, for new images."""
    termination_grace_period: str | None = None
    """How long pods may hold up the removal of a node, such as `24h`; then they are deleted.
    Default: for ever."""
    startup_taints: Items[Taint] = ()
    """Taints that new nodes have until something takes them away; pods need not tolerate them."""


class WarmRoom(Model):
    """Room that is kept free, so that pods need not wait for a node: by pods of low priority."""

    shares: int | None = Field(default=None, ge=1, le=10_000)
    """Shares that are kept free."""
    nodes: int | None = Field(default=None, ge=1, le=1000)
    """Nodes that are kept, however little runs on them."""
    schedule: Items[Window] | None = None
    """When; needs `keda`. Default: always."""
    image: TextInput | None = None
    """Image of the placeholder pods, which do nothing. Default: Kubernetes' own pause image."""


class Karpenter(Model):
    """Karpenter, installed in the cluster."""

    install: bool = True
    """Install it, with its role, its queue and the role of its nodes. With false the cluster has
    one already, whose `nodeRole` is given, and the stack makes its pools only."""
    namespace: str = "kube-system"
    """Namespace of the controller."""
    replicas: int = Field(default=2, ge=1, le=10)
    """Copies of the controller, on nodes that it does not manage; one of them works."""
    interruption_queue: bool = True
    """Have EC2 tell it of spot interruptions, health events and ending reservations in time."""
    node_role: TextInput | None = None
    """IAM role of the nodes by ARN, with all policies that they need. Default: one is made."""
    access_entry: bool | None = None
    """Make the access entry by which nodes with that role may join. Default: true, but where a
    node group of this stack has the same role, whose entry EKS makes, or nothing is installed."""


class ClusterAutoscaler(Model):
    """Cluster Autoscaler, installed in the cluster, for pools with `scaledBy: autoscaler`."""

    namespace: str = "kube-system"
    """Namespace of the controller."""
    replicas: int = Field(default=2, ge=1, le=10)
    """Copies of it; one of them works."""
    expander: Expander = "least-waste"
    """How it chooses among pools that can run the pods."""
    priorities: dict[str, Annotated[int, Field(ge=1, le=1_000_000)]] | None = None
    """Priority of each pool that it scales, by the pool's name: the greatest is tried first. Only
    with `expander: priority`, which needs it."""
    scale_down_after: str = "10m"
    """How long a node has to be unneeded before it goes. Default: 10 minutes."""
    scale_down_delay_after_add: str = "10m"
    """How long after a new node none is taken away. Default: 10 minutes."""
    utilization_threshold: float = Field(default=0.5, ge=0, le=1)
    """Part of a GPU node's GPUs in use below which it is unneeded, if its pods fit elsewhere."""
