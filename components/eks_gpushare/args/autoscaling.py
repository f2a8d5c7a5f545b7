"""The arguments of Karpenter and Cluster Autoscaler, and what a pool asks of them."""

# No postponed annotations, unions, literals or tuples here: the component host reads these types.

from typing import Any, NotRequired, TypedDict

from pulumi import Input

from eks_gpushare.args.nodes import Taint


class DisruptionBudget(TypedDict):
    """How many nodes Karpenter may take away at a time."""

    nodes: Any
    """A number of nodes, or how many in a hundred: `"10%"`. 0 forbids it."""
    reasons: NotRequired[list[str]]
    """Empty, Underutilized and Drifted. Default: all."""
    schedule: NotRequired[str]
    """When it begins to hold, as five fields of cron in UTC. Default: always."""
    duration: NotRequired[str]
    """How long it holds from then, such as `8h`."""


class KarpenterPoolBlock(TypedDict):
    """What only a pool of Karpenter's has."""

    static: NotRequired[bool]
    """Keep `nodes.desired` nodes whether pods need them or not. Default: false."""
    weight: NotRequired[int]
    """Which pool is tried first where several can run a pod: the greater, 1 to 100."""
    limits: NotRequired[dict[str, Any]]
    """Most of each resource that all nodes together may have, in the units that they advertise.
    Default: what `nodes.max` nodes of the largest type have."""
    capacity_types: NotRequired[list[str]]
    """onDemand, spot, reserved and capacityBlock. Default: the pool's `capacity_type`."""
    consolidation_policy: NotRequired[str]
    """WhenEmpty, WhenEmptyOrUnderutilized or Balanced. Default: WhenEmpty."""
    consolidate_after: NotRequired[str]
    """How long a node has to be so, or Never. Default: `5m`."""
    budgets: NotRequired[list[DisruptionBudget]]
    """How many nodes may go at a time. Default: one in ten."""
    expire_after: NotRequired[str]
    """Age at which a node is replaced, or Never. Default: `720h`."""
    termination_grace_period: NotRequired[str]
    """How long pods may hold up the removal of a node. Default: for ever."""
    startup_taints: NotRequired[list[Taint]]
    """Taints that new nodes have until something takes them away. Default: none."""


class Window(TypedDict):
    """A span of time that comes again, from when `start` falls to when `end` does."""

    start: str
    """When it begins, as five fields of cron."""
    end: str
    """When it ends, likewise."""
    time_zone: NotRequired[str]
    """Whose clock that is, such as `Europe/Berlin`. Default: UTC."""


class WarmRoom(TypedDict):
    """Room that is kept free by pods of low priority."""

    shares: NotRequired[int]
    """Shares that are kept free."""
    nodes: NotRequired[int]
    """Nodes that are kept, however little runs on them."""
    schedule: NotRequired[list[Window]]
    """When; needs KEDA. Default: always."""
    image: NotRequired[Input[str]]
    """Image of the placeholder pods. Default: Kubernetes' own pause image."""


class KarpenterBlock(TypedDict):
    """Karpenter, installed in the cluster."""

    install: NotRequired[bool]
    """Install it; false where the cluster has one, whose `node_role` is given. Default: true."""
    namespace: NotRequired[str]
    """Namespace of the controller. Default: kube-system."""
    replicas: NotRequired[int]
    """Copies of the controller. Default: 2."""
    interruption_queue: NotRequired[bool]
    """Have EC2 tell it of interruptions in time. Default: true."""
    node_role: NotRequired[Input[str]]
    """IAM role of the nodes by ARN, with all policies that they need. Default: one is made."""
    access_entry: NotRequired[bool]
    """Make the access entry by which nodes with that role may join. Default: true, but where a
    node group has the same role, whose entry EKS makes."""


class ClusterAutoscaler(TypedDict):
    """Cluster Autoscaler, installed in the cluster."""

    namespace: NotRequired[str]
    """Namespace of the controller. Default: kube-system."""
    replicas: NotRequired[int]
    """Copies of it. Default: 2."""
    expander: NotRequired[str]
    """least-waste, least-nodes, most-pods, price, priority or random. Default: least-waste."""
    priorities: NotRequired[dict[str, int]]
    """Priority of each pool that it scales, by the pool's name: the greatest is tried first. Only
    with `expander` priority."""
    scale_down_after: NotRequired[str]
    """How long a node has to be unneeded before it goes. Default: `10m`."""
    scale_down_delay_after_add: NotRequired[str]
    """How long after a new node none is taken away. Default: `10m`."""
    utilization_threshold: NotRequired[float]
    """Part of a GPU node's GPUs in use below which it is unneeded. Default: 0.5."""
