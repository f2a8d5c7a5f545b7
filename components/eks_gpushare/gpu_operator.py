"""NVIDIA's GPU Operator, configured for the pools it serves."""

from typing import NotRequired

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace

from eks_gpushare.args.charts import ManagerSettings
from eks_gpushare.catalog import Catalog, versions
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.component_specs import GpuOperatorSpec
from eks_gpushare.in_cluster.chart_parts import (
    Predecessor,
    chart_release,
    child_options,
    immutable_config_map,
    privileged_namespace,
)
from eks_gpushare.in_cluster.mig_taint_remover import register_mig_taint_remover
from eks_gpushare.inputs.component import FromSpec, props, warn
from eks_gpushare.kubernetes_provider import manage
from eks_gpushare.rules.component_rules import check_gpu_operator
from eks_gpushare.served import checked_manager
from eks_gpushare.sharing.bottlerocket import pools_of_chart
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.device_plugin_config import config_map_data
from eks_gpushare.sharing.gpu_operator import gpu_operator_values
from eks_gpushare.sharing.mig_manager import expected_nodes, mig_parted_data, uses_mig_manager

DEFAULT_NAMESPACE = "gpu-operator"
RELEASE_NAME = "gpu-operator"
_TIMEOUT_SECONDS = 900
_CONCERNS = {
    *("provisioner", "instance_types", "sharing", "taints"),
    *("ami_family", "custom_ami", "bottlerocket", "gpus_on_request_only"),
}
"""What of a pool concerns the operator; a new size or disk does not show it as changed."""


class GpuOperatorArgs(ManagerSettings):
    """Which pools the operator serves, and what is changed about its chart."""

    namespace: NotRequired[str]
    """Namespace, made by the component. Default: gpu-operator."""
    mig_taint_remover_image: NotRequired[pulumi.Input[str]]
    """Image with Python 3.11 or later for the controller that frees nodes with MIG layouts.
    Default: Python's own on Amazon's public registry. Unused where no layout is MIG manager's."""
    node_monitoring_agent: NotRequired[bool]
    """Whether EKS's node monitoring agent runs on the nodes, as it does where `EksCluster` makes
    the cluster. It brings a host engine of DCGM, which the operator's exporter then uses: NVIDIA
    does not support two of them on a node. Default: false."""


class GpuOperator(pulumi.ComponentResource):
    """The GPU Operator, with device plugin, feature discovery and DCGM exporter, for the pools.

    Configurations are immutable ConfigMaps. The operator does not watch them, so a change is a new
    one with a name of its own, which rolls the device plugin's pods and no node.
    A cluster has room for one. Needs a Kubernetes provider:
    `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of the release."""
    config_map_name: pulumi.Output[str]
    """Name of the device plugin's ConfigMap with a key per pool."""

    def __init__(
        self, name: str, args: GpuOperatorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the operator.

        Args:
            name: Name of the component, which its children's names start with.
            args: Which pools it serves.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        spec, found = checked_manager(
            name, GpuOperatorSpec, GpuOperatorArgs, args, opts, check_gpu_operator
        )
        self._register(name, spec, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: GpuOperatorSpec,
        opts: pulumi.ResourceOptions | None,
        before: Predecessor | None = None,
    ) -> None:
        served = pools_of_chart(spec.pools)
        pools = {pool: props(declared, only=_CONCERNS) for pool, declared in served.items()}
        super().__init__(
            "eks-gpushare:index:GpuOperator",
            name,
            props(spec, "served", "pools", pools=pools),
            opts,
        )
        manage(self, opts)
        child = pulumi.ResourceOptions(parent=self)
        called = spec.namespace or DEFAULT_NAMESPACE
        namespace = privileged_namespace(
            f"{name}-namespace",
            called,
            # The other manager's namespace is another one, unless it was given for both.
            child_options(self, "namespace", before if spec.namespace else None),
        )
        catalog, _ = catalog_of(spec.catalog, None)
        data = config_map_data(served, catalog)
        config = immutable_config_map(
            f"{name}-config", "device-plugin-config", namespace.metadata.name, data, child
        )
        mig_config = _mig_manager(name, spec, catalog, namespace, child)
        values = gpu_operator_values(
            served,
            catalog,
            spec.chart.values,
            config.metadata.name,
            mig_config.metadata.name if mig_config else None,
            node_monitoring_agent=bool(spec.node_monitoring_agent),
        )
        # Hooks stay on: one of them upgrades the custom resource definitions, which Helm itself
        # never does.
        self._release = chart_release(
            f"{name}-release",
            RELEASE_NAME,
            namespace.metadata.name,
            release_source(spec.chart, versions.GPU_OPERATOR),
            values,
            spec.chart.timeout_seconds or _TIMEOUT_SECONDS,
            child_options(self, "release", before),
        )
        self.namespace = namespace.metadata.name
        self.config_map_name = config.metadata.name
        self.register_outputs({"namespace": self.namespace, "configMapName": self.config_map_name})

    _from_spec = FromSpec(_register)


def _mig_manager(
    name: str,
    spec: GpuOperatorSpec,
    catalog: Catalog,
    namespace: Namespace,
    opts: pulumi.ResourceOptions,
) -> ConfigMap | None:
    """What MIG manager applies, and who frees the nodes afterwards; None if no pool wants it."""
    if not uses_mig_manager(spec.pools):
        return None
    register_mig_taint_remover(
        name,
        namespace.metadata.name,
        spec.mig_taint_remover_image,
        expected_nodes(spec.pools, catalog),
        opts,
    )
    data = mig_parted_data(spec.pools, catalog)
    return immutable_config_map(
        f"{name}-mig-config", "mig-parted-config", namespace.metadata.name, data, opts
    )
