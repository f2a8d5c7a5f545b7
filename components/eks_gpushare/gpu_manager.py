"""Who runs the device plugin in an environment: its own chart, or the GPU Operator."""

import pulumi

from eks_gpushare.config.component_specs import (
    DevicePluginSpec,
    EnvironmentSpec,
    GpuOperatorSpec,
)
from eks_gpushare.config.pools import Pool
from eks_gpushare.device_plugin import DevicePlugin
from eks_gpushare.sharing.bottlerocket import pools_of_chart

_DEVICE_PLUGIN = ("device-plugin", "DevicePlugin")
_GPU_OPERATOR = ("gpu-operator", "GpuOperator")
"""What the name of a manager ends with, and its class."""


def register_manager(
    name: str,
    spec: EnvironmentSpec,
    provider: pulumi.ProviderResource,
    nodes: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> None:
    """Register the manager, who goes before the nodes do when the stack is destroyed.

    Args:
        name: Name of the environment.
        spec: The environment.
        provider: Kubernetes provider for its cluster.
        nodes: Its nodes.
        opts: Options that name the parent.
    """
    pools = pools_of_chart(spec.pools)
    if not pools:  # Bottlerocket brings its own
        return
    operator = spec.gpu_stack.manager == "gpuOperator"
    (role, _), before = (
        (_GPU_OPERATOR, _DEVICE_PLUGIN) if operator else (_DEVICE_PLUGIN, _GPU_OPERATOR)
    )
    wired = pulumi.ResourceOptions(
        providers=[provider],
        depends_on=nodes,
        # Where the other one was before, Pulumi takes this one for the same, under another name:
        # so it removes the one before it installs the other. The last thing that a chart does is
        # to take away all labels of feature discovery, which is in both.
        aliases=[pulumi.Alias(name=f"{name}-{before[0]}", type_=f"eks-gpushare:index:{before[1]}")],
    )
    register = _gpu_operator if operator else _device_plugin
    register(f"{name}-{role}", spec, pools, pulumi.ResourceOptions.merge(opts, wired))


def _device_plugin(
    name: str, spec: EnvironmentSpec, pools: dict[str, Pool], opts: pulumi.ResourceOptions
) -> None:
    plugin = DevicePluginSpec.model_construct(
        pools=pools,
        namespace=spec.gpu_stack.namespace,
        chart=spec.charts.device_plugin,
        catalog=spec.catalog,
    )
    DevicePlugin._from_spec(name, plugin, opts)


def _gpu_operator(
    name: str, spec: EnvironmentSpec, pools: dict[str, Pool], opts: pulumi.ResourceOptions
) -> None:
    from eks_gpushare.gpu_operator import GpuOperator

    operator = GpuOperatorSpec.model_construct(
        pools=pools,
        namespace=spec.gpu_stack.namespace,
        chart=spec.charts.gpu_operator,
        mig_taint_remover_image=spec.gpu_stack.mig_taint_remover_image,
        catalog=spec.catalog,
    )
    GpuOperator._from_spec(name, operator, opts)
