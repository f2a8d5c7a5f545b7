"""Which nodes give GPUs to containers on request only, and what follows for their device plugin.

NVIDIA's container toolkit takes GPUs from annotations of CDI, from mounts below
`/var/run/nvidia-container-devices` if it is told to, and else from `NVIDIA_VISIBLE_DEVICES`, which
images set themselves. By its own default the variable counts for every container. EKS's AL2023
images leave that default, Bottlerocket's do not. Where it no longer counts, the device plugin has
to name devices otherwise: by mounts, or by CDI as the GPU Operator has it.

Source: `internal/config/image/cuda_image.go` and `api/config/v1/config.go` of
NVIDIA/nvidia-container-toolkit, `controllers/object_controls.go` of NVIDIA/gpu-operator, and
`nodeadm/internal/containerd` of awslabs/amazon-eks-ami; read in November 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.config.base import known_fields
from eks_gpushare.sharing.bottlerocket import is_bottlerocket, served_by_chart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.config.tenants import Tenant

_SEVERAL = 2


def needs_closing(name: str, tenants: Mapping[str, Tenant]) -> list[str]:
    """The tenants for whose sake a pool gives GPUs on request only; none where it need not.

    Args:
        name: Name of the pool.
        tenants: All tenants by name.
    """
    here = [called for called, tenant in tenants.items() if name in tenant.pools]
    apart = any(tenants[called].isolation != "none" for called in here)
    return here if apart or len(here) >= _SEVERAL else []


def closed_pools(environment: Environment) -> dict[str, Pool]:
    """The pools of an environment, each with what `gpusOnRequestOnly` comes to where it is on.

    Args:
        environment: An environment that the rules have accepted.
    """
    # Of what a component alone is not told, there is nothing.
    tenants = known_fields(environment).get("tenants") or {}
    return {name: closed_pool(name, pool, tenants) for name, pool in environment.pools.items()}


def closed_pool(name: str, pool: Pool, tenants: Mapping[str, Tenant]) -> Pool:
    """A pool with what `gpusOnRequestOnly` comes to, where it says nothing and that is on.

    Args:
        name: Its name.
        pool: The pool.
        tenants: All tenants by name.
    """
    if pool.gpus_on_request_only is not None or not _is_open(pool):
        return pool
    if not needs_closing(name, tenants):
        return pool
    return pool.model_copy(update={"gpus_on_request_only": True})


def _is_open(pool: Pool) -> bool:
    """Whether the nodes of a pool would hand out GPUs without a request, and are ours to tell."""
    return pool.provisioner != "existing" and not is_bottlerocket(pool)


def closes_at_boot(pool: Pool) -> bool:
    """Whether nodes are told at boot: those whose image has the toolkit."""
    has_toolkit = pool.custom_ami is None or pool.custom_ami.driver_included
    return bool(pool.gpus_on_request_only) and _is_open(pool) and has_toolkit


def toolkit_variables(pools: Mapping[str, Pool]) -> dict[str, Any]:
    """What the GPU Operator's toolkit is told, which it installs where no image has one.

    One container of the toolkit is for all nodes: a pool that is closed closes the others too.

    Args:
        pools: The pools that the operator serves.
    """
    closed = any(
        pool.gpus_on_request_only and pool.custom_ami and not pool.custom_ami.driver_included
        for pool in pools.values()
    )
    variables = {
        "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED": "false",
        "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS": "true",
    }
    listed = [{"name": name, "value": value} for name, value in variables.items()]
    return {"toolkit": {"env": listed}} if closed else {}


def chart_plugin_flags(pool: Pool) -> Mapping[str, str]:
    """What the device plugin's configuration needs below `flags.plugin` for a pool; mostly nothing.

    Bottlerocket's container runtime gives GPUs to an unprivileged container by a volume mount and
    ignores the environment variable, which is the chart's default
    (`settings.nvidia-container-runtime` of Bottlerocket 1.23 and later).
    """
    by_mounts = is_bottlerocket(pool) or bool(pool.gpus_on_request_only)
    if by_mounts and served_by_chart(pool):
        return {"deviceListStrategy": "volume-mounts"}
    return {}
