"""Which nodes let kubelet wait for the NVIDIA driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.sharing.mig_boot import boots

if TYPE_CHECKING:
    from eks_gpushare.config.pools import Pool


def waits_for_driver(pool: Pool, manager: str) -> bool:
    """Whether the nodes of a pool wait: those of the GPU Operator do, where the pool says nothing.

    Args:
        pool: The pool.
        manager: Who runs the device plugin, as in `gpuStack.manager`.
    """
    if why_no_gate(pool) is not None:
        return False
    asked = pool.wait_for_driver
    return manager == "gpuOperator" if asked is None else asked


def why_no_gate(pool: Pool) -> str | None:
    """Why waiting makes no sense on the nodes of a pool, None if it does."""
    if pool.provisioner == "existing":
        return "this stack does not make these nodes"
    family = pool.custom_ami.family if pool.custom_ami else pool.ami_family
    if family == "bottlerocket":
        return "Bottlerocket orders its driver before kubelet itself"
    if pool.custom_ami is not None and not pool.custom_ami.driver_included:
        return "a pod installs the driver of this AMI, and pods need kubelet"
    if boots(pool):
        return "kubelet waits here for the MIG layout already, and with it for the driver"
    return None
