"""GPU sharing on Amazon EKS: Pulumi components for one checked environment.

What is in `__all__` is public, and of `args` and `testing` what is in theirs. Every other module is
private, whatever its name: it may change in any release.

The components are imported on first use, so that `import eks_gpushare`, `eks-gpushare check` and
`--help` load no Pulumi SDK. They come with the distribution `eks-gpushare`; this file is of
`eks-gpushare-checks`, which may be there alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from eks_gpushare import args, testing
    from eks_gpushare.cluster import EksCluster, EksClusterArgs
    from eks_gpushare.cluster_autoscaler import ClusterAutoscaler, ClusterAutoscalerArgs
    from eks_gpushare.device_plugin import DevicePlugin, DevicePluginArgs
    from eks_gpushare.efa_device_plugin import EfaDevicePlugin, EfaDevicePluginArgs
    from eks_gpushare.environment import GpuSharingEnvironment, GpuSharingEnvironmentArgs
    from eks_gpushare.gpu_metrics import GpuMetrics, GpuMetricsArgs
    from eks_gpushare.gpu_operator import GpuOperator, GpuOperatorArgs
    from eks_gpushare.gpu_pool import GpuPool, GpuPoolArgs
    from eks_gpushare.karpenter import Karpenter, KarpenterArgs
    from eks_gpushare.karpenter_pool import KarpenterPool, KarpenterPoolArgs
    from eks_gpushare.keda import Keda, KedaArgs
    from eks_gpushare.kueue import Kueue, KueueArgs
    from eks_gpushare.network import Network, NetworkArgs
    from eks_gpushare.share_verifier import ShareVerifier, ShareVerifierArgs
    from eks_gpushare.shared_workload import SharedWorkload, SharedWorkloadArgs
    from eks_gpushare.system_nodes import SystemNodes, SystemNodesArgs
    from eks_gpushare.tenants import Tenants, TenantsArgs

    __version__: str

__all__ = [
    "ClusterAutoscaler",
    "ClusterAutoscalerArgs",
    "DevicePlugin",
    "DevicePluginArgs",
    "EfaDevicePlugin",
    "EfaDevicePluginArgs",
    "EksCluster",
    "EksClusterArgs",
    "GpuMetrics",
    "GpuMetricsArgs",
    "GpuOperator",
    "GpuOperatorArgs",
    "GpuPool",
    "GpuPoolArgs",
    "GpuSharingEnvironment",
    "GpuSharingEnvironmentArgs",
    "Karpenter",
    "KarpenterArgs",
    "KarpenterPool",
    "KarpenterPoolArgs",
    "Keda",
    "KedaArgs",
    "Kueue",
    "KueueArgs",
    "Network",
    "NetworkArgs",
    "ShareVerifier",
    "ShareVerifierArgs",
    "SharedWorkload",
    "SharedWorkloadArgs",
    "SystemNodes",
    "SystemNodesArgs",
    "Tenants",
    "TenantsArgs",
    "__version__",
    "args",
    "testing",
]

_MODULES = {
    "ClusterAutoscaler": "cluster_autoscaler",
    "DevicePlugin": "device_plugin",
    "EfaDevicePlugin": "efa_device_plugin",
    "EksCluster": "cluster",
    "GpuMetrics": "gpu_metrics",
    "GpuOperator": "gpu_operator",
    "GpuPool": "gpu_pool",
    "GpuSharingEnvironment": "environment",
    "Karpenter": "karpenter",
    "KarpenterPool": "karpenter_pool",
    "Keda": "keda",
    "Kueue": "kueue",
    "Network": "network",
    "ShareVerifier": "share_verifier",
    "SharedWorkload": "shared_workload",
    "SystemNodes": "system_nodes",
    "Tenants": "tenants",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("eks-gpushare-checks")
    elif name in {"args", "testing"}:
        value = _imported(name, name)
    elif name in __all__:
        value = getattr(_imported(_MODULES[name.removesuffix("Args")], name), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # the next look-up finds it without coming here
    return value


def _imported(module: str, name: str) -> ModuleType:
    """A module of what is installed beside the checks, for the sake of a name."""
    full = f"{__name__}.{module}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        fix = "pip install eks-gpushare"
        raise ImportError(f"{name} comes with the components: {fix}", name=full) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
