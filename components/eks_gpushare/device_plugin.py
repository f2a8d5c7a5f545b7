"""NVIDIA's device plugin, configured for the pools it serves."""

from typing import NotRequired

import pulumi

from eks_gpushare.args.charts import ManagerSettings
from eks_gpushare.catalog import versions
from eks_gpushare.config.additions import catalog_of
from eks_gpushare.config.component_specs import DevicePluginSpec
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.in_cluster.chart_parts import (
    Predecessor,
    chart_release,
    child_options,
    immutable_config_map,
    privileged_namespace,
)
from eks_gpushare.inputs.component import FromSpec, props, warn
from eks_gpushare.kubernetes_provider import manage
from eks_gpushare.rules.component_rules import check_device_plugin
from eks_gpushare.served import checked_manager
from eks_gpushare.sharing.bottlerocket import is_bottlerocket, pools_of_chart
from eks_gpushare.sharing.charts import device_plugin_values, release_source
from eks_gpushare.sharing.device_plugin_config import config_map_data

DEFAULT_NAMESPACE = "nvidia-device-plugin"
RELEASE_NAME = "nvidia-device-plugin"
_TIMEOUT_SECONDS = 600
_SHARING = {"provisioner", "instance_types", "sharing", "taints", "gpus_on_request_only"}
"""What of a pool concerns the plugin; a new size or disk does not show it as changed."""
_BOTTLEROCKET = {"ami_family", "custom_ami", "bottlerocket"}
"""What more does where the image may bring a device plugin."""


class DevicePluginArgs(ManagerSettings):
    """Which pools the plugin serves, and what is changed about its chart."""

    namespace: NotRequired[str]
    """Namespace, made by the component. Default: nvidia-device-plugin."""


class DevicePlugin(pulumi.ComponentResource):
    """The device plugin and GPU feature discovery on exactly the nodes of the pools.

    The configuration is an immutable ConfigMap. Nothing watches it for changes, so a change is a
    new one with a name of its own, which rolls the plugin's pods and no node.
    Needs a Kubernetes provider: `opts=ResourceOptions(providers=[cluster.provider])`.
    """

    namespace: pulumi.Output[str]
    """Namespace of the release."""
    config_map_name: pulumi.Output[str]
    """Name of the ConfigMap with a key per pool."""

    def __init__(
        self, name: str, args: DevicePluginArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the plugin.

        Args:
            name: Name of the component, which its children's names start with.
            args: Which pools it serves.
            opts: Pulumi's resource options, with a Kubernetes provider among `providers`.

        Raises:
            pulumi.InputPropertiesError: If the arguments are wrong, naming every field.
        """
        spec, found = checked_manager(
            name, DevicePluginSpec, DevicePluginArgs, args, opts, check_device_plugin
        )
        self._register(name, spec, opts)
        warn(found, self)

    def _register(
        self,
        name: str,
        spec: DevicePluginSpec,
        opts: pulumi.ResourceOptions | None,
        before: Predecessor | None = None,
    ) -> None:
        served = pools_of_chart(spec.pools)
        pools = {
            pool: props(
                chosen, only=_SHARING | (_BOTTLEROCKET if is_bottlerocket(chosen) else set())
            )
            for pool, chosen in served.items()
        }
        super().__init__(
            "eks-gpushare:index:DevicePlugin",
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
            f"{name}-config", f"{RELEASE_NAME}-config", namespace.metadata.name, data, child
        )
        values = merge_values(
            device_plugin_values(served, spec.chart.values),
            {"config": {"name": config.metadata.name}},
            keep_null=True,
        )
        self._release = chart_release(
            f"{name}-release",
            RELEASE_NAME,
            namespace.metadata.name,
            release_source(spec.chart, versions.DEVICE_PLUGIN),
            values,
            spec.chart.timeout_seconds or _TIMEOUT_SECONDS,
            child_options(self, "release", before),
        )
        self.namespace = namespace.metadata.name
        self.config_map_name = config.metadata.name
        self.register_outputs({"namespace": self.namespace, "configMapName": self.config_map_name})

    _from_spec = FromSpec(_register)
