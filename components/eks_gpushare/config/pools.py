"""A pool: nodes of one kind, and how their GPUs are shared."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticKnownError

from eks_gpushare.config.autoscaling import CapacityType, KarpenterPool, WarmRoom
from eks_gpushare.config.base import Items, Model, TextInput
from eks_gpushare.config.sharing import Sharing
from eks_gpushare.config.taints import DEFAULT_TAINT, Taint

Provisioner: TypeAlias = Literal["managedNodeGroup", "karpenter", "existing"]
AmiFamily: TypeAlias = Literal["al2023", "bottlerocket", "custom"]


def _not_boolean(value: Any) -> Any:
    if isinstance(value, bool):  # which Python takes for 1
        raise PydanticKnownError("int_type")
    return value


def _unavailable_kind(value: Any) -> str:
    return "<percent>" if isinstance(value, str) else "<count>"


MaxUnavailable: TypeAlias = Annotated[
    Annotated[int, Tag("<count>")] | Annotated[str, Tag("<percent>")],
    Discriminator(_unavailable_kind),
]
HopLimit: TypeAlias = Annotated[Literal[1, 2], BeforeValidator(_not_boolean)]


NodeCount: TypeAlias = Annotated[int, Field(le=100_000)]
"""As many as the largest clusters of Amazon EKS have."""


class NodeCounts(Model):
    """How many nodes a pool may have."""

    min: NodeCount | None = None
    """Fewest nodes. Default: 0."""
    desired: NodeCount | None = None
    """Nodes at the start. Default: `min`, but at least 1 if `max` allows it."""
    max: NodeCount | None = None
    """Most nodes. Default: `desired`."""


class CustomAmi(Model):
    """An AMI of the user's own."""

    id: TextInput
    """AMI ID, `ami-...`."""
    family: Literal["al2023", "bottlerocket"]
    """What its user data must look like."""
    driver_included: bool
    """Whether the NVIDIA driver and container toolkit are in the image."""


class Bottlerocket(Model):
    """What only Bottlerocket nodes have."""

    device_plugin: Literal["builtIn", "chart"] = "builtIn"
    """Which device plugin advertises the GPUs: the image's own, configured by settings in the
    user data, or the chart's, with the image's own switched off."""


class Reservation(Model):
    """A capacity reservation or capacity block bought beforehand."""

    id: TextInput
    """`cr-...`, the ID of the On-Demand Capacity Reservation or Capacity Block."""
    instances: int | None = None
    """How many of its instances are for this pool: they are paid for, used or not. Default: as many
    as the pool may have nodes; where the pool is bought in other ways too, that is not known."""


class UserDataPart(Model):
    """A further part of the user data of nodes."""

    content_type: str
    """Such as `text/x-shellscript`, `text/cloud-config` or `application/node.eks.aws`; on
    Bottlerocket `application/toml`."""
    content: str
    """The part itself."""


class Pool(Model):
    """Nodes of one kind and how their GPUs are shared."""

    provisioner: Provisioner = "managedNodeGroup"
    """Who makes the nodes; `existing` leaves that to somebody else."""
    instance_types: Items[str]
    """EC2 instance types, best first. The order does not matter to a node group."""
    nodes: NodeCounts = NodeCounts.model_construct()
    """How many nodes. Default: one."""
    ami_family: AmiFamily = "al2023"
    """Which EKS-optimised NVIDIA AMI; `custom` needs `customAmi`."""
    custom_ami: CustomAmi | None = None
    """Only with `amiFamily: custom`."""
    bottlerocket: Bottlerocket | None = None
    """Only on Bottlerocket nodes. Default: their built-in device plugin."""
    ami_version: str | None = None
    """EKS AMI release version, for example `1.35.8-20260930`. Default: the newest at creation."""
    zones: Items[str] | None = None
    """Availability zones. Default: the network's; pinned, a new zone replaces no pool."""
    subnet_ids: Items[TextInput] | None = None
    """Subnets by ID, in a network that this stack does not make. Default: its private subnets."""
    capacity_type: CapacityType = "onDemand"
    """How the instances are bought; reserved and capacityBlock need `reservation`."""
    reservation: Reservation | None = None
    """Only with `capacityType: reserved` or `capacityBlock`."""
    root_volume_gib: int = Field(default=200, alias="rootVolumeGiB")
    """Size of the encrypted gp3 root volume in GiB."""
    labels: dict[str, TextInput] = Field(default_factory=dict)
    """Further node labels."""
    taints: Items[Taint] = (DEFAULT_TAINT,)
    """Taints of the nodes. Default: `nvidia.com/gpu=true:NoSchedule`."""
    sharing: Sharing
    """How the GPUs are shared."""
    scaled_by: Literal["stack", "autoscaler"] = "stack"
    """Who decides the desired size after creation; with `autoscaler`, updates leave it alone."""
    karpenter: KarpenterPool | None = None
    """Only with `provisioner: karpenter`: limits, weight and how nodes go."""
    warm: WarmRoom | None = None
    """Room to keep free, of a pool that an autoscaler scales. Default: none."""
    node_repair: bool = True
    """Let EKS replace nodes with a broken GPU."""
    wait_for_driver: bool | None = None
    """Let kubelet start only once the NVIDIA driver is there, 300 s after its first start at the
    latest; AL2023 nodes only. Default: true with the GPU Operator, else false."""
    gpus_on_request_only: bool | None = None
    """Give GPUs to containers that ask for them alone, whatever `NVIDIA_VISIBLE_DEVICES` an image
    sets; Bottlerocket does so by itself. Default: true where two of `tenants` share the pool, or
    one whose isolation is memory or fault, else false."""
    efa: bool = False
    """Elastic Fabric Adapter network interfaces, on types that have them."""
    placement_group: bool = False
    """Put the nodes into a cluster placement group, in one zone."""
    metadata_hop_limit: HopLimit = 1
    """How far IMDSv2 answers travel; 2 lets pods reach the node's credentials."""
    tag_instances: bool = False
    """Put the environment's tags on instances and volumes too; each change then rolls the nodes."""
    node_role: TextInput | None = None
    """IAM role of the nodes by ARN, with all policies that they need. Default: one is made."""
    user_data: Items[UserDataPart] | None = None
    """Further parts of the nodes' user data, before the pool's own script. Default: none."""
    kubelet: dict[str, Any] | None = None
    """Fields of `KubeletConfiguration`, such as `maxPods`. Default: those of the AMI."""
    max_unavailable: MaxUnavailable | None = None
    """How many nodes are exchanged at a time, or how many in a hundred: `"33%"`. Default: 1."""
    local_storage: Literal["raid0"] | None = None
    """Put images and pods' files on the instance store, all its disks as one. Default: unused."""

    @property
    def bought_as(self) -> tuple[CapacityType, ...]:
        """Ways to buy the instances: Karpenter may have several to choose from."""
        own = self.karpenter if self.provisioner == "karpenter" else None
        return (own and own.capacity_types) or (self.capacity_type,)

    @property
    def is_static(self) -> bool:
        """Whether Karpenter keeps a number of nodes, whatever pods there are."""
        own = self.karpenter if self.provisioner == "karpenter" else None
        return own is not None and own.static

    @property
    def runs_bottlerocket(self) -> bool:
        """Whether the nodes run Bottlerocket, EKS's or an image of the user's own."""
        if self.ami_family == "custom":
            return self.custom_ami is not None and self.custom_ami.family == "bottlerocket"
        return self.ami_family == "bottlerocket"
