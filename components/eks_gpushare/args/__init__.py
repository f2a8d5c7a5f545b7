"""The plain parts of component arguments, and how they are checked.

Arguments are typed dictionaries: Pulumi's component host hands a component plain dictionaries, so
the same classes serve Python programs now and programs in other languages later. What decides
which resources there are is plain; what wires resources together may be an output, and so may what
AWS and Kubernetes get as it is, such as tags, ARNs and IDs.
"""

# No postponed annotations, unions, literals or tuples here: the component host reads these types.

from eks_gpushare.args.account import Iam
from eks_gpushare.args.autoscaling import (
    ClusterAutoscaler,
    DisruptionBudget,
    KarpenterBlock,
    KarpenterPoolBlock,
    WarmRoom,
    Window,
)
from eks_gpushare.args.catalog import (
    CatalogAdditions,
    CatalogGpu,
    CatalogInstanceType,
    CatalogMigProfile,
)
from eks_gpushare.args.charts import Chart, Charts, GpuStack
from eks_gpushare.args.cluster import (
    Addon,
    Addons,
    Cluster,
    ClusterFacts,
    Endpoint,
    ExistingCluster,
    NetworkBlock,
    PodIdentity,
)
from eks_gpushare.args.nodes import Nodes, SystemBlock, Taint, UserDataPart
from eks_gpushare.args.observability import (
    AlertSettings,
    CostSplit,
    MetricsStore,
    ObservabilityBlock,
    ServiceObjectives,
)
from eks_gpushare.args.pools import (
    Bottlerocket,
    CustomAmi,
    Pool,
    Reservation,
    ServedPool,
    SharedMigDevices,
    Sharing,
)
from eks_gpushare.args.queues import QueuedTenant, QueuePool, TenantQuota
from eks_gpushare.args.tenants import Tenant, TenantAmount, TenantCost, TenantPool
from eks_gpushare.args.workloads import (
    Amounts,
    Idle,
    KedaBlock,
    OverUse,
    PodBudget,
    PodResources,
    Prometheus,
    Replicas,
    ReplicaWindow,
    SecretKey,
    VerifierBlock,
    Wake,
    Workload,
)

__all__ = [
    "Addon",
    "Addons",
    "AlertSettings",
    "Amounts",
    "Bottlerocket",
    "CatalogAdditions",
    "CatalogGpu",
    "CatalogInstanceType",
    "CatalogMigProfile",
    "Chart",
    "Charts",
    "Cluster",
    "ClusterAutoscaler",
    "ClusterFacts",
    "CostSplit",
    "CustomAmi",
    "DisruptionBudget",
    "Endpoint",
    "ExistingCluster",
    "GpuStack",
    "Iam",
    "Idle",
    "KarpenterBlock",
    "KarpenterPoolBlock",
    "KedaBlock",
    "MetricsStore",
    "NetworkBlock",
    "Nodes",
    "ObservabilityBlock",
    "OverUse",
    "PodBudget",
    "PodIdentity",
    "PodResources",
    "Pool",
    "Prometheus",
    "QueuePool",
    "QueuedTenant",
    "ReplicaWindow",
    "Replicas",
    "Reservation",
    "SecretKey",
    "ServedPool",
    "ServiceObjectives",
    "SharedMigDevices",
    "Sharing",
    "SystemBlock",
    "Taint",
    "Tenant",
    "TenantAmount",
    "TenantCost",
    "TenantPool",
    "TenantQuota",
    "UserDataPart",
    "VerifierBlock",
    "Wake",
    "WarmRoom",
    "Window",
    "Workload",
]
