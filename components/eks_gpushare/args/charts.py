"""The arguments about charts and who runs the device plugin; `eks_gpushare.args` has them too."""

# As in `args`: no postponed annotations, unions, literals or tuples.

from typing import Any, NotRequired, TypedDict

from pulumi import Input

from eks_gpushare.args.catalog import CatalogAdditions
from eks_gpushare.args.pools import Pool, ServedPool


class Chart(TypedDict):
    """What is changed about a chart."""

    version: NotRequired[str]
    """Exact chart version. Default: the one this release was written for."""
    repository: NotRequired[str]
    """URL of the chart repository or mirror. Default: the publisher's."""
    path: NotRequired[str]
    """Path of a chart on disk, instead of a repository."""
    values: NotRequired[dict[str, Any]]
    """Values merged last, over the derived ones."""
    timeout_seconds: NotRequired[int]
    """How long an update waits until what the chart installs is ready, in seconds, 30 to 7200.
    Default: 600 for the device plugin, 900 for the GPU Operator."""


class Charts(TypedDict):
    """Versions, mirrors and values of the charts."""

    device_plugin: NotRequired[Chart]
    """nvidia-device-plugin."""
    gpu_operator: NotRequired[Chart]
    """gpu-operator."""
    karpenter: NotRequired[Chart]
    """karpenter."""
    karpenter_crd: NotRequired[Chart]
    """karpenter-crd. Default: of the version of `karpenter`, and beside it in a mirror."""
    cluster_autoscaler: NotRequired[Chart]
    """cluster-autoscaler."""
    efa_device_plugin: NotRequired[Chart]
    """aws-efa-k8s-device-plugin."""
    dcgm_exporter: NotRequired[Chart]
    """dcgm-exporter."""
    keda: NotRequired[Chart]
    """keda."""
    kueue: NotRequired[Chart]
    """kueue."""
    prometheus: NotRequired[Chart]
    """kube-prometheus-stack."""


class GpuStack(TypedDict):
    """Who runs the device plugin."""

    manager: NotRequired[str]
    """devicePlugin or gpuOperator. Default: devicePlugin."""
    namespace: NotRequired[str]
    """Namespace of the chart."""
    mig_taint_remover_image: NotRequired[Input[str]]
    """Image for the controller that frees nodes once MIG manager has made their layout."""
    efa_device_plugin: NotRequired[bool]
    """Install AWS's device plugin for pools with `efa`. Default: true."""
    dcgm_exporter: NotRequired[bool]
    """Install NVIDIA's DCGM exporter beside the device plugin. Default: false."""


class ManagerSettings(TypedDict):
    """Which pools a device plugin or GPU Operator serves, and what is changed about its chart."""

    pools: NotRequired[dict[str, Pool]]
    """Pools whose nodes others make, by name. The nodes carry the label
    `nvidia.com/device-plugin.config`, but for Bottlerocket's, which bring a device plugin of their
    own: those are passed over."""
    served: NotRequired[list[ServedPool]]
    """Pools of this program: `pool.served` of each `GpuPool`. At least one pool is given, here or
    in `pools`."""
    chart: NotRequired[Chart]
    """Version, mirror and values of the chart. Default: the version this release is for."""
    catalog: NotRequired[CatalogAdditions]
    """Instance types, MIG profiles and layouts that this release does not know. Default: none."""
