"""The arguments of GPU pools; `eks_gpushare.args` has them too."""

# As in `args`: no postponed annotations, unions, literals or tuples.

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from pulumi import Input

from eks_gpushare.args.autoscaling import KarpenterPoolBlock, WarmRoom
from eks_gpushare.args.catalog import CatalogAdditions
from eks_gpushare.args.nodes import Nodes, NodeSettings, Taint


class SharedMigDevices(TypedDict):
    """Time slicing on top of MIG devices."""

    replicas: int
    """Pods that may share one MIG device, at least 2."""
    rename: NotRequired[bool]
    """Add `.shared` to the resource name. Default: true on karpenter pools, else false."""


class Sharing(TypedDict):
    """How GPUs are shared. Which keys belong to which mode stands in the stack file reference."""

    mode: str
    """exclusive, timeSlicing, mps or mig."""
    replicas: NotRequired[int]
    """Pods that may share one GPU; timeSlicing and mps."""
    rename: NotRequired[bool]
    """Advertise `nvidia.com/gpu.shared`; timeSlicing and mps. Default: true on karpenter pools."""
    fail_requests_greater_than_one: NotRequired[bool]
    """Refuse pods that ask for more than one share; timeSlicing and mps. Default: true."""
    layout: NotRequired[Any]
    """A named layout, devices per GPU, or a list of `{gpus, devices}`; mig."""
    strategy: NotRequired[str]
    """mixed or single; mig. Default: mixed, on Bottlerocket single."""
    apply: NotRequired[str]
    """boot or migManager; mig. Default: boot."""
    time_slicing: NotRequired[SharedMigDevices]
    """Time slicing on top; mig. Default: none."""


class CustomAmi(TypedDict):
    """An AMI of the user's own."""

    id: Input[str]
    """AMI ID, `ami-...`."""
    family: str
    """al2023 or bottlerocket: what its user data must look like."""
    driver_included: bool
    """Whether the NVIDIA driver and container toolkit are in the image."""


class Bottlerocket(TypedDict):
    """What only Bottlerocket nodes have."""

    device_plugin: NotRequired[str]
    """builtIn, or chart with the built-in device plugin switched off. Default: builtIn."""


class Reservation(TypedDict):
    """A capacity reservation or capacity block bought beforehand."""

    id: Input[str]
    """`cr-...`."""
    instances: NotRequired[int]
    """How many of its instances are for this pool: they are paid for, used or not. Default: as many
    as the pool may have nodes."""


class SharedNodes(TypedDict):
    """What decides how GPUs of nodes are shared."""

    provisioner: NotRequired[str]
    """managedNodeGroup, karpenter or existing. Default: managedNodeGroup."""
    instance_types: list[str]
    """EC2 instance types."""
    ami_family: NotRequired[str]
    """al2023, bottlerocket or custom. Default: al2023."""
    custom_ami: NotRequired[CustomAmi]
    """Only with `ami_family` custom."""
    bottlerocket: NotRequired[Bottlerocket]
    """Only on Bottlerocket nodes. Default: their built-in device plugin."""
    taints: NotRequired[list[Taint]]
    """Taints of the nodes. Default: `nvidia.com/gpu=true:NoSchedule`."""
    sharing: Sharing
    """How the GPUs are shared."""
    gpus_on_request_only: NotRequired[bool]
    """Give GPUs to containers that ask for them alone, whatever `NVIDIA_VISIBLE_DEVICES` an image
    sets; Bottlerocket does so by itself. Default: true in an environment whose tenants share the
    pool, else false. A pool that stands alone does not know its tenants."""


class Pool(SharedNodes, NodeSettings):
    """Nodes of one kind and how their GPUs are shared; defaults as in the stack file."""

    nodes: NotRequired[Nodes]
    """How many nodes. Default: one."""
    ami_version: NotRequired[str]
    """EKS AMI release version. Default: the newest at creation."""
    zones: NotRequired[list[str]]
    """Availability zones. Default: the network's."""
    subnet_ids: NotRequired[Input[Sequence[Input[str]]]]
    """Subnets by ID, in a network that is there already. Default: its private subnets."""
    capacity_type: NotRequired[str]
    """onDemand, spot, reserved or capacityBlock. Default: onDemand."""
    reservation: NotRequired[Reservation]
    """Only with `capacity_type` reserved or capacityBlock."""
    root_volume_gib: NotRequired[int]
    """Size of the encrypted gp3 root volume in GiB. Default: 200."""
    labels: NotRequired[dict[str, Input[str]]]
    """Further node labels."""
    scaled_by: NotRequired[str]
    """stack or autoscaler: who decides the desired size after creation. Default: stack."""
    karpenter: NotRequired[KarpenterPoolBlock]
    """Only with `provisioner` karpenter: limits, weight and how nodes go."""
    warm: NotRequired[WarmRoom]
    """Room to keep free, of a pool that an autoscaler scales. Default: none."""
    node_repair: NotRequired[bool]
    """Let EKS replace nodes with a broken GPU. Default: true."""
    wait_for_driver: NotRequired[bool]
    """Let kubelet start only once the NVIDIA driver is there, 300 s after its first start at the
    latest; AL2023 nodes only. Default: true in a stack with the GPU Operator, else false. A GpuPool
    that stands alone does not know who serves it: give true where GpuOperator does."""
    efa: NotRequired[bool]
    """Elastic Fabric Adapter network interfaces. Default: false."""
    placement_group: NotRequired[bool]
    """Put the nodes into a cluster placement group. Default: false."""
    metadata_hop_limit: NotRequired[int]
    """1, or 2 to let pods reach the node's credentials. Default: 1."""
    tag_instances: NotRequired[bool]
    """Tag instances and volumes too; each change then rolls the nodes. Default: false."""
    local_storage: NotRequired[str]
    """`raid0`: images and pods' files are on the instance store. Default: it is not used."""


class ServedPool(SharedNodes):
    """What a device plugin or GPU Operator has to know of a pool; `GpuPool.served` is one."""

    name: str
    """Name of the pool: the value of a label of its nodes."""
    catalog: NotRequired[CatalogAdditions]
    """Instance types, MIG profiles and layouts that this release does not know. Default: none."""
