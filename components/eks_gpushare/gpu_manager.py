"""Who runs the device plugin in an environment: its own chart, or the GPU Operator."""

import pulumi

from eks_gpushare import args as plain
from eks_gpushare.checked import as_args
from eks_gpushare.config.component_specs import EnvironmentSpec
from eks_gpushare.config.pools import Pool
from eks_gpushare.device_plugin import DevicePlugin
from eks_gpushare.sharing.bottlerocket import is_bottlerocket, served_by_chart

_DEVICE_PLUGIN = ("device-plugin", "DevicePlugin")
_GPU_OPERATOR = ("gpu-operator", "GpuOperator")
"""What the name of a manager ends with, and its class."""
_IMAGE = {"ami_family", "custom_ami", "bottlerocket"}
"""What says which programs a node brings with it."""


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
    pools = {pool: each for pool, each in spec.pools.items() if served_by_chart(each)}
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
    stack = {"namespace": spec.gpu_stack.namespace} if spec.gpu_stack.namespace else {}
    DevicePlugin(
        name,
        {
            "pools": {pool: _shared(each) for pool, each in pools.items()},
            "chart": as_args(spec.charts.device_plugin),
            "catalog": as_args(spec.catalog),
            **stack,  # type: ignore[typeddict-item]  # the model's own fields
        },
        opts,
    )


def _gpu_operator(
    name: str, spec: EnvironmentSpec, pools: dict[str, Pool], opts: pulumi.ResourceOptions
) -> None:
    from eks_gpushare.gpu_operator import GpuOperator  # noqa: PLC0415  (most stacks have none)

    GpuOperator(
        name,
        {
            "pools": {pool: _shared(each, *_IMAGE) for pool, each in pools.items()},
            "chart": as_args(spec.charts.gpu_operator),
            "catalog": as_args(spec.catalog),
            **as_args(spec.gpu_stack, "manager"),  # type: ignore[typeddict-item]  # the model's own fields
        },
        opts,
    )


def _shared(pool: Pool, *more: str) -> plain.Pool:
    """What a manager has to know of a pool; a new size or disk does not change it."""
    kept = {"provisioner", "instance_types", "sharing", "taints", *more}
    if is_bottlerocket(pool):
        kept |= _IMAGE
    return pool.model_dump(exclude_unset=True, include=kept, mode="json")  # type: ignore[return-value]  # the model's own fields
