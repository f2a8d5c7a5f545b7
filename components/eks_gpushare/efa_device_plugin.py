"""AWS's device plugin for Elastic Fabric Adapters, on the pools that have them."""

from collections.abc import Iterator
from typing import NotRequired, TypedDict

import pulumi

from eks_gpushare.args import Chart, Taint
from eks_gpushare.catalog import versions
from eks_gpushare.config.component_specs import EfaDevicePluginSpec
from eks_gpushare.findings.finding import Finding
from eks_gpushare.in_cluster.chart_parts import chart_release
from eks_gpushare.inputs.component import FromSpec, props, validate_args, warn
from eks_gpushare.kubernetes_provider import missing_provider
from eks_gpushare.rules.component_rules import check_efa_device_plugin
from eks_gpushare.sharing.charts import release_source
from eks_gpushare.sharing.efa import efa_plugin_values

RELEASE_NAME = "aws-efa-k8s-device-plugin"
NAMESPACE = "kube-system"
"""Where AWS's instructions put it, and where another one of the cluster would be found."""
_TIMEOUT_SECONDS = 600


class EfaDevicePluginArgs(TypedDict):
    """Which pools the plugin serves, and what is changed about its chart."""

    pools: list[str]
    """Names of the pools with EFA: values of their nodes' label `eks-gpushare/pool`."""
    taints: NotRequired[list[Taint]]
    """Taints of their nodes. Default: `nvidia.com/gpu=true:NoSchedule`."""
    chart: NotRequired[Chart]
    """Version, mirror and values of the chart. Default: the version this release is for."""


class EfaDevicePlugin(pulumi.ComponentResource):
    """The EFA device plugin on exactly the nodes of the pools: `vpc.amazonaws.com/efa`.

    A cluster has one, in the namespace kube-system: two would register the same devices.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of the release."""

    def __init__(
        self, name: str, args: EfaDevicePluginArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the plugin.

        Args:
            name: Name of the component, which its children's names start with.
            args: Which pools it serves.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """

        def ruled(spec: EfaDevicePluginSpec) -> Iterator[Finding]:
            yield from missing_provider("EfaDevicePlugin", opts)
            yield from check_efa_device_plugin(spec)

        spec, found = validate_args(EfaDevicePluginSpec, EfaDevicePluginArgs, args, ruled)
        self._register(name, spec, opts)
        warn(found, self)

    def _register(
        self, name: str, spec: EfaDevicePluginSpec, opts: pulumi.ResourceOptions | None
    ) -> None:
        super().__init__("eks-gpushare:index:EfaDevicePlugin", name, props(spec), opts)
        self._release = chart_release(
            f"{name}-release",
            RELEASE_NAME,
            NAMESPACE,
            release_source(spec.chart, versions.EFA_DEVICE_PLUGIN),
            efa_plugin_values(spec.pools, spec.taints, spec.chart.values),
            spec.chart.timeout_seconds or _TIMEOUT_SECONDS,
            pulumi.ResourceOptions(parent=self),
        )
        self.namespace = pulumi.Output.from_input(NAMESPACE)
        self.register_outputs({"namespace": self.namespace})

    _from_spec = FromSpec(_register)
