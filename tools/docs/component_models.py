"""Which models stand for which typed dictionaries of the components' arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare import args
from eks_gpushare.config import (
    autoscaling,
    cluster,
    component_specs,
    environment,
    iam,
    network,
    pools,
    queues,
    sharing,
    taints,
    verifier,
    windows,
    workloads,
)
from eks_gpushare.config.component_specs import DevicePluginSpec, GpuOperatorSpec

if TYPE_CHECKING:
    from eks_gpushare.config.base import Model

COMPONENTS = [
    "ClusterAutoscaler",
    "DevicePlugin",
    "EfaDevicePlugin",
    "EksCluster",
    "GpuOperator",
    "GpuPool",
    "GpuSharingEnvironment",
    "Karpenter",
    "KarpenterPool",
    "Keda",
    "Kueue",
    "Network",
    "ShareVerifier",
    "SharedWorkload",
    "SystemNodes",
]
SPECS: dict[str, type[Model]] = {
    "ClusterAutoscaler": component_specs.ClusterAutoscalerSpec,
    "DevicePlugin": DevicePluginSpec,
    "EfaDevicePlugin": component_specs.EfaDevicePluginSpec,
    "EksCluster": component_specs.EksClusterSpec,
    "GpuOperator": GpuOperatorSpec,
    "GpuPool": component_specs.GpuPoolSpec,
    "GpuSharingEnvironment": component_specs.EnvironmentSpec,
    "Karpenter": component_specs.KarpenterSpec,
    "KarpenterPool": component_specs.KarpenterPoolSpec,
    "Keda": component_specs.KedaSpec,
    "Kueue": queues.KueueSpec,
    "Network": component_specs.NetworkSpec,
    "ShareVerifier": component_specs.ShareVerifierSpec,
    "SharedWorkload": component_specs.SharedWorkloadSpec,
    "SystemNodes": component_specs.SystemNodesSpec,
}
ELSEWHERE = {
    "SystemNodes": {"zones", "node_role"},
    "GpuPool": {"node_role"},
    "Karpenter": {"node_role"},
    "KarpenterPool": {"node_role"},
    "Keda": {"install"},
    "SharedWorkload": {"pool", "pools", "create_namespace"},
}
"""Fields of a stack file's block that its program has turned into something else, such as zones
into subnets, and those that may be outputs here: a role is often made by the same program."""
BLOCKS: list[tuple[type, tuple[type[Model], ...]]] = [
    (args.Addon, (cluster.Addon,)),
    (args.Addons, (cluster.Addons,)),
    (args.Amounts, (workloads.Amounts,)),
    (args.Bottlerocket, (pools.Bottlerocket,)),
    (args.CatalogAdditions, (environment.CatalogAdditions,)),
    (args.CatalogGpu, (environment.CatalogGpu,)),
    (args.CatalogInstanceType, (environment.CatalogInstanceType,)),
    (args.CatalogMigProfile, (environment.CatalogMigProfile,)),
    (args.Chart, (environment.Chart,)),
    (args.Charts, (environment.Charts,)),
    (args.Cluster, (cluster.NewCluster, cluster.ExistingCluster)),
    (args.ClusterAutoscaler, (autoscaling.ClusterAutoscaler,)),
    (args.ClusterFacts, (component_specs.ClusterFacts,)),
    (args.CustomAmi, (pools.CustomAmi,)),
    (args.DisruptionBudget, (autoscaling.DisruptionBudget,)),
    (args.Endpoint, (cluster.Endpoint,)),
    (args.ExistingCluster, (cluster.ClusterByName, cluster.ClusterByKubeconfig)),
    (args.GpuStack, (environment.GpuStack,)),
    (args.Iam, (iam.Iam,)),
    (args.Idle, (workloads.Idle,)),
    (args.KarpenterBlock, (autoscaling.Karpenter,)),
    (args.KarpenterPoolBlock, (autoscaling.KarpenterPool,)),
    (args.KedaBlock, (workloads.Keda,)),
    (args.QueuePool, (queues.QueuePool,)),
    (args.TenantQuota, (queues.TenantQuota,)),
    (args.QueuedTenant, (queues.QueuedTenant,)),
    (args.NetworkBlock, (network.NewNetwork, network.ExistingNetwork)),
    (args.Nodes, (pools.NodeCounts,)),
    (args.OverUse, (workloads.OverUse,)),
    (args.PodBudget, (workloads.PodBudget,)),
    (args.PodIdentity, (cluster.PodIdentity,)),
    (args.PodResources, (workloads.PodResources,)),
    (args.Pool, (pools.Pool,)),
    (args.Prometheus, (workloads.Prometheus,)),
    (args.Replicas, (workloads.Replicas,)),
    (args.Reservation, (pools.Reservation,)),
    (args.SecretKey, (workloads.SecretKey,)),
    (args.ServedPool, (component_specs.ServedPool,)),
    (args.SharedMigDevices, (sharing.SharedMigDevices,)),
    (args.Sharing, (sharing.Exclusive, sharing.TimeSlicing, sharing.Mps, sharing.Mig)),
    (args.SystemBlock, (environment.SystemNodes,)),
    (args.Taint, (taints.Taint,)),
    (args.UserDataPart, (pools.UserDataPart,)),
    (args.VerifierBlock, (verifier.Verifier,)),
    (args.Wake, (workloads.Wake,)),
    (args.ReplicaWindow, (windows.ReplicaWindow,)),
    (args.WarmRoom, (autoscaling.WarmRoom,)),
    (args.Window, (windows.Window,)),
    (args.Workload, (workloads.Workload,)),
]
"""Each typed dictionary with the models it stands for; of several, the `mode` or the keys tell."""
