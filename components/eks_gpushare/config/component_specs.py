"""The plain arguments of components: a part of the stack file, and what only its component takes.

What wires resources together is not here: it may be an output.
"""

from __future__ import annotations

from pydantic import Field

from eks_gpushare.config.autoscaling import ClusterAutoscaler, Karpenter
from eks_gpushare.config.base import Items, Model, TextInput
from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.config.environment import (
    CatalogAdditions,
    Chart,
    Environment,
    GpuStack,
    SystemNodes,
)
from eks_gpushare.config.iam import Iam
from eks_gpushare.config.network import NewNetwork
from eks_gpushare.config.observability import Observability
from eks_gpushare.config.pools import (
    AmiFamily,
    Bottlerocket,
    CustomAmi,
    NodeCounts,
    Pool,
    Provisioner,
)
from eks_gpushare.config.sharing import Sharing
from eks_gpushare.config.taints import DEFAULT_TAINT, Taint
from eks_gpushare.config.tenants import Tenant
from eks_gpushare.config.verifier import Verifier
from eks_gpushare.config.workloads import Keda, Prometheus, Workload


class Tagged(Model):
    """What makes something in AWS."""

    tags: dict[str, TextInput] = Field(default_factory=dict)
    """Tags of everything but instances, which have them with `tag_instances` only."""


class InAccount(Tagged):
    """What makes roles too."""

    iam: Iam | None = None
    """Permissions boundary and path of every role."""
    partition: str | None = None
    """AWS partition. Default: that of the region of the AWS provider's configuration."""


class NetworkSpec(InAccount, NewNetwork):
    """A VPC and its tags."""

    zones: Items[str]
    """Availability zones by name: a component asks the cloud nothing."""
    discovered_by: str | None = None
    """EKS cluster whose Karpenter finds the private subnets by their tag."""


class EksClusterSpec(InAccount, NewCluster):
    """A cluster and its tags."""

    gpu_taints: Items[Taint] = (DEFAULT_TAINT,)
    """Taints of GPU nodes, for add-ons that watch GPUs."""
    creator: str | None = None
    """ARN of who creates the cluster, as STS says it."""
    profile: str | None = None
    """AWS profile for the provider's kubeconfig."""
    startup_taints: Items[Taint] | None = None
    """Taints of nodes that those add-ons leave alone until it is gone."""
    network_policies: bool | None = None
    """Whether the VPC CNI add-on enforces NetworkPolicies."""


class SystemNodesSpec(InAccount, SystemNodes):
    """Nodes without GPUs and their tags."""

    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types that this release does not know."""
    version: str | None = None
    """Kubernetes version. Default: the cluster's at creation."""


class GpuPoolSpec(InAccount, Pool):
    """A pool that is a managed node group."""

    pool: str
    """Name of the pool."""
    version: str | None = None
    """Kubernetes version. Default: the cluster's at creation."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types that this release does not know or has wrong."""


class ServedPool(Model):
    """What a manager has to know of a pool; a new size or disk does not change it."""

    name: str
    """Name of the pool."""
    provisioner: Provisioner = "managedNodeGroup"
    """Who makes the nodes."""
    instance_types: Items[str]
    """EC2 instance types."""
    ami_family: AmiFamily = "al2023"
    """Which EKS-optimised NVIDIA AMI, or custom."""
    custom_ami: CustomAmi | None = None
    """Only with `ami_family` custom."""
    bottlerocket: Bottlerocket | None = None
    """Only on Bottlerocket nodes."""
    taints: Items[Taint] = (DEFAULT_TAINT,)
    """Taints of the nodes."""
    sharing: Sharing
    """How the GPUs are shared."""
    gpus_on_request_only: bool | None = None
    """Whether containers get GPUs on request only."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types, MIG profiles and layouts this release does not know or has wrong."""


class DevicePluginSpec(Model):
    """The pools that a manager serves, and its chart."""

    served: Items[ServedPool] = ()
    """Pools of the same program."""
    pools: dict[str, Pool] = Field(default_factory=dict)
    """Pools whose nodes others make, by name."""
    namespace: str | None = None
    """Namespace. Default: that of the manager."""
    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types, MIG profiles and layouts this release does not know or has wrong."""


class GpuOperatorSpec(DevicePluginSpec):
    """The same of the operator, and what it needs besides."""

    mig_taint_remover_image: TextInput | None = None
    """Image with Python 3.11 or later for the controller that frees nodes with MIG layouts."""
    node_monitoring_agent: bool | None = None
    """Whether EKS's node monitoring agent runs on the nodes, with a host engine of DCGM."""


class EfaDevicePluginSpec(Model):
    """The pools that the EFA device plugin serves, and its chart."""

    pools: Items[str]
    """Names of the pools."""
    taints: Items[Taint] = (DEFAULT_TAINT,)
    """Taints of their nodes."""
    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""


class KarpenterSpec(InAccount, Karpenter):
    """Karpenter, installed in one cluster."""

    feature_gates: dict[str, bool] = Field(default_factory=lambda: {"nodeOverlay": True})
    """Feature gates by their names in the chart's values."""
    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""
    crd_chart: Chart = Chart.model_construct()
    """Version and mirror of the chart with its custom resource definitions."""


class KarpenterPoolSpec(Tagged, Pool):
    """A pool whose nodes Karpenter makes."""

    provisioner: Provisioner = "karpenter"
    """Always karpenter."""
    pool: str
    """Name of the pool, and of its objects in the cluster."""
    version: str | None = None
    """Kubernetes version. Default: that of the cluster is not known."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types that this release does not know or has wrong."""


class ClusterAutoscalerSpec(InAccount, ClusterAutoscaler):
    """Cluster Autoscaler, and what it has to know of its cluster and of the pools it scales."""

    version: str
    """Kubernetes version of the cluster, which chooses the image."""
    pools: Items[str]
    """Names of the pools, in the order of their node groups."""
    nodes: Items[NodeCounts]
    """How many nodes each of them may have."""
    startup_taints: Items[str] = ()
    """Keys of taints that nodes of the pools join with and lose again."""
    status_taints: Items[str] = ()
    """Keys of taints by which single nodes say that something is wrong with them."""
    node_templates: Items[str] = ()
    """What it believes of a node of each of them: it starts anew where that changes."""
    region: str | None = None
    """AWS region of the cluster. Default: that of what is made here."""
    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""


class SharedWorkloadSpec(Workload):
    """A workload and the pools that it runs on."""

    name: str
    """Name of its objects in the cluster."""
    served: Items[ServedPool]
    """Its pools, the preferred one first."""
    prometheus: Prometheus | None = None
    """Where KEDA asks for the use of GPUs."""


class KedaSpec(InAccount, Keda):
    """KEDA and its chart."""

    queues: Items[str] | None = None
    """Queues whose length it may read."""

    chart: Chart = Chart.model_construct()
    """Version, mirror and values of the chart."""


class TenantsSpec(Tagged):
    """Tenants, and the pools that they share."""

    tenants: dict[str, Tenant]
    """Tenants by name."""
    pools: dict[str, Pool]
    """All GPU pools of the cluster by name."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types, MIG profiles and layouts that this release does not know."""
    region: str | None = None
    """AWS region, for prices."""
    version: str | None = None
    """Kubernetes version. Default: one with ValidatingAdmissionPolicies, and no later ones."""


class ShareVerifierSpec(Verifier):
    """What looks at the cluster."""


class GpuMetricsSpec(Tagged, Observability):
    """Metrics, rules and boards, and the pools and tenants that they are about."""

    pools: dict[str, Pool]
    """GPU pools of the cluster by name."""
    tenants: dict[str, Tenant] = Field(default_factory=dict)
    """Tenants by name."""
    gpu_stack: GpuStack = GpuStack.model_construct()
    """Who runs the device plugin, and with it an exporter or none."""
    verifier: Verifier | None = None
    """What looks at the cluster, whose silence is an alert."""
    catalog: CatalogAdditions = CatalogAdditions.model_construct()
    """Instance types, MIG profiles and layouts that this release does not know."""
    region: str | None = None
    """AWS region, for prices."""
    node_monitoring_agent: bool | None = None
    """Whether EKS's node monitoring agent runs on the nodes, with a host engine of DCGM."""
    exporter_chart: Chart = Chart.model_construct()
    """Version, mirror and values of the exporter's chart."""
    prometheus_chart: Chart = Chart.model_construct()
    """Version, mirror and values of Prometheus' chart."""


class ClusterFacts(Model):
    """What AWS says of an existing EKS cluster."""

    arn: TextInput
    """ARN of the cluster."""
    endpoint: TextInput
    """URL of its API server."""
    certificate_authority: TextInput
    """Certificate authority of the API server, base64."""
    version: str
    """Kubernetes version."""
    vpc_id: TextInput
    """VPC of the cluster."""
    subnet_ids: Items[TextInput]
    """Subnets of the cluster."""
    security_group_id: TextInput
    """Security group that EKS made for the cluster."""
    service_cidr: TextInput
    """Address range of Kubernetes services."""


class EnvironmentSpec(Environment):
    """An environment, and what its author looked up for it."""

    region: str | None = None
    """AWS region, for prices and checks."""
    availability_zones: Items[str] = ()
    """Zones to choose from; required where `network.zones` is a number."""
    cluster_facts: ClusterFacts | None = None
    """Required with `cluster.existing.name`."""
    zone_ids: dict[str, str] = Field(default_factory=dict)
    """ID of each availability zone by its name, which differ from account to account."""
    caller: str | None = None
    """ARN of who runs the program, as STS says it: whether EKS has to make it an admin."""
    profile: str | None = None
    """AWS profile for the kubeconfig of an EKS cluster."""
