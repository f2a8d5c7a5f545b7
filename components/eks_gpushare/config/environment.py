"""The whole environment of one stack file."""

from typing import Annotated, Any, Literal

from pydantic import Field

from eks_gpushare.config.autoscaling import ClusterAutoscaler, Karpenter
from eks_gpushare.config.base import AnyInput, Items, Model, TextInput
from eks_gpushare.config.cluster import Cluster
from eks_gpushare.config.iam import Iam
from eks_gpushare.config.network import Network, NewNetwork
from eks_gpushare.config.observability import Observability
from eks_gpushare.config.pools import MaxUnavailable, NodeCounts, Pool, UserDataPart
from eks_gpushare.config.tenants import Tenant
from eks_gpushare.config.verifier import Verifier
from eks_gpushare.config.workloads import Keda, Workload


class SystemNodes(Model):
    """Nodes without GPUs for everything that needs none."""

    instance_types: Items[str] = ("t3.large",)
    """EC2 instance types."""
    nodes: NodeCounts = NodeCounts.model_construct(min=2, desired=2, max=4)
    """How many nodes. Default: 2, at most 4."""
    ami_version: str | None = None
    """EKS AMI release version. Default: the newest at creation."""
    zones: Items[str] | None = None
    """Availability zones. Default: the network's; pinned, a new zone replaces no nodes."""
    root_volume_gib: int = Field(default=50, alias="rootVolumeGiB")
    """Size of the encrypted gp3 root volume in GiB."""
    node_role: TextInput | None = None
    """IAM role of the nodes by ARN, with all policies that they need. Default: one is made."""
    user_data: Items[UserDataPart] | None = None
    """Further parts of the nodes' user data. Default: none."""
    kubelet: dict[str, Any] | None = None
    """Fields of `KubeletConfiguration`, such as `maxPods`. Default: those of the AMI."""
    max_unavailable: MaxUnavailable | None = None
    """How many nodes are exchanged at a time, or how many in a hundred: `"33%"`. Default: 1."""


class GpuStack(Model):
    """Who runs the device plugin."""

    manager: Literal["devicePlugin", "gpuOperator"] = "devicePlugin"
    """NVIDIA's device plugin chart, or NVIDIA's GPU Operator."""
    namespace: str | None = None
    """Namespace of the chart. Default: `nvidia-device-plugin` or `gpu-operator`."""
    mig_taint_remover_image: TextInput | None = None
    """Image with Python 3.11 or later, by tag or digest, for the controller that frees nodes once
    MIG manager has made their layout. Default: Python's own on Amazon's public registry."""
    efa_device_plugin: bool | None = None
    """Install AWS's device plugin for pools with `efa`; false where the cluster has it already.
    Default: true."""
    dcgm_exporter: bool | None = None
    """Install NVIDIA's DCGM exporter, which measures the GPUs of the pools, beside the device
    plugin, and told what their sharing takes. Default: false; the GPU Operator brings one."""


class Chart(Model):
    """What a stack changes about a chart."""

    version: str | None = None
    """Exact chart version. Default: the one this release was written for."""
    repository: str | None = None
    """URL of the chart repository or mirror. Default: the publisher's."""
    path: str | None = None
    """Path of a chart on disk, instead of a repository."""
    values: dict[str, AnyInput] = Field(default_factory=dict)
    """Values merged last, over the derived ones."""
    timeout_seconds: int | None = Field(default=None, ge=30, le=7200)
    """How long an update waits until what the chart installs is ready, in seconds, 30 to 7200.
    Default: 600 for the device plugin, 900 for the GPU Operator."""


class Charts(Model):
    """Versions, mirrors and values of the charts."""

    device_plugin: Chart = Chart.model_construct()
    """nvidia-device-plugin."""
    gpu_operator: Chart = Chart.model_construct()
    """gpu-operator."""
    karpenter: Chart = Chart.model_construct()
    """karpenter."""
    karpenter_crd: Chart | None = None
    """karpenter-crd, its custom resource definitions. Default: of the version of `karpenter`, and
    beside it where that has a mirror."""
    cluster_autoscaler: Chart | None = None
    """cluster-autoscaler. Default: as this release has it."""
    efa_device_plugin: Chart | None = None
    """aws-efa-k8s-device-plugin. Default: as this release has it."""
    dcgm_exporter: Chart | None = None
    """dcgm-exporter. Default: as this release has it."""
    keda: Chart | None = None
    """keda. Default: as this release has it."""
    kueue: Chart | None = None
    """kueue. Default: as this release has it."""
    prometheus: Chart | None = None
    """kube-prometheus-stack. Default: as this release has it."""


_MOST_MIB = 2**30
"""A pebibyte."""
_MOST_SLICES = 16
"""Slices of a GPU: NVIDIA's have 12 at most. The search for places takes them all into account."""


class CatalogGpu(Model):
    """The GPU of an added or corrected instance type."""

    model: str | None = None
    """Model as EC2 calls it, for example `L4`."""
    count: int | None = Field(default=None, le=128)
    """GPUs that the driver sees on one instance."""
    memory_mib: int | None = Field(default=None, alias="memoryMiB", le=_MOST_MIB)
    """Memory of one GPU in MiB, best as `nvidia-smi` shows the total: EC2's figure differs."""
    compute_capability: str | None = None
    """CUDA compute capability, quoted: `"8.9"`."""
    mig: bool | None = None
    """Whether the GPU has MIG. Default: as other GPUs of the model in the catalog."""


class CatalogInstanceType(Model):
    """An instance type added to the catalog, or what is corrected about one that is there."""

    vcpus: int | None = Field(default=None, le=100_000)
    """vCPUs."""
    memory_mib: int | None = Field(default=None, alias="memoryMiB", le=_MOST_MIB)
    """Memory in MiB."""
    arch: Literal["amd64", "arm64"] | None = None
    """Processor architecture."""
    max_pods: int | None = Field(default=None, le=10_000)
    """Pods a node can run."""
    price_usd_per_hour: float | None = Field(default=None, le=1_000_000)
    """On-demand price in the stack's region in USD per hour."""
    spot_usd_per_hour: float | None = Field(default=None, le=1_000_000)
    """What it costs as spot in the stack's region in USD per hour, as EC2's price history or your
    bill has it: AWS lists none. Default: unknown."""
    zone_ids: Items[str] | None = None
    """Zones of the stack's region that offer it, by ID, such as `usw2-az1`."""
    gpu: CatalogGpu | None = None
    """Its GPUs."""


class CatalogMigProfile(Model):
    """One kind of MIG instance of a GPU, as `nvidia-smi mig -lgip` and `-lgipp` show it."""

    compute_slices: int = Field(le=_MOST_SLICES)
    """Compute slices that an instance takes: 3 of `3g.20gb`."""
    memory_slices: int = Field(le=_MOST_SLICES)
    """Memory slices that an instance takes; more than `computeSlices` on most GPUs."""
    memory_gb: int = Field(alias="memoryGB", le=100_000)
    """Memory in GB as in the name: 20 of `3g.20gb`."""
    max_count: int = Field(le=_MOST_SLICES)
    """Most instances on one GPU."""
    placements: Items[Annotated[int, Field(le=_MOST_SLICES - 1)]]
    """Memory slices at which an instance may begin, from 0."""


class CatalogAdditions(Model):
    """Facts this release does not have, or has wrong."""

    instance_types: dict[str, CatalogInstanceType] = Field(default_factory=dict)
    """Instance types by name."""
    mig_profiles: dict[str, Annotated[dict[str, CatalogMigProfile], Field(max_length=32)]] = Field(
        default_factory=dict
    )
    """MIG profiles by GPU, such as `A100-40GB`, and profile. Of a GPU that is not known, all of
    them, under the name that `instanceTypes` has as its `gpu.model`."""
    mig_layouts: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Layouts for `layout` by name: MIG devices per GPU by profile."""


class Environment(Model):
    """A GPU-sharing environment on Amazon EKS."""

    cluster: Cluster
    """The cluster, new or existing."""
    network: Network = NewNetwork.model_construct()
    """The network of a new cluster. Default: a VPC of its own in two zones."""
    system: SystemNodes | None = None
    """Nodes without GPUs. Default: two t3.large with a new cluster, none with an existing one."""
    gpu_stack: GpuStack = GpuStack.model_construct()
    """Who runs the device plugin."""
    pools: dict[str, Pool]
    """GPU pools by name."""
    karpenter: Karpenter | None = None
    """Karpenter. Default: installed if a pool has `provisioner: karpenter`."""
    cluster_autoscaler: ClusterAutoscaler | None = None
    """Cluster Autoscaler. Default: not installed; pools with `scaledBy: autoscaler` need one."""
    tenants: dict[str, Tenant] | None = None
    """Teams by name, with what each has of the pools. Default: whoever may make pods may take any
    share."""
    workloads: dict[str, Workload] | None = None
    """Programs on shares of the pools' GPUs, by name. Default: none."""
    keda: Keda | None = None
    """KEDA, for workloads whose pods follow their use. Default: not installed."""
    verifier: Verifier | None = None
    """What looks at the running cluster every few minutes, and says whether it is as declared
    here. Default: nothing does."""
    observability: Observability | None = None
    """Metrics of GPUs and shares, rules, alerts and boards. Default: nothing of it is installed."""
    charts: Charts = Charts.model_construct()
    """Chart versions, mirrors and values."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types and MIG profiles this release does not know or has wrong, and own layouts."""
    iam: Iam | None = None
    """Permissions boundary and path of every IAM role that the stack makes. Default: neither."""
    tags: dict[str, TextInput] = Field(default_factory=dict)
    """AWS tags of everything the stack makes, but instances and volumes."""
