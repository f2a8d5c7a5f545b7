"""How many nodes a pool has, and what a node keeps for pods besides its GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.pools import NodeCounts, Pool

_EVICTION_MIB = 100
_KUBELET_MIB = 255
_MIB_PER_POD = 11


class Sizes(NamedTuple):
    """Sizes of a node group, with defaults filled in."""

    min: int
    desired: int
    max: int


class Allocatable(NamedTuple):
    """What is left of a node for pods, or None where the catalog does not know."""

    cpu_millis: int
    memory_mib: int
    pods: int | None


def sizes(nodes: NodeCounts) -> Sizes:
    """Sizes with the defaults of the stack file: one node, from none to as many as desired."""
    low = nodes.min if nodes.min is not None else 0
    if nodes.desired is not None:
        desired = nodes.desired
    else:
        desired = max(low, 1 if nodes.max is None else min(1, nodes.max))
    return Sizes(low, desired, nodes.max if nodes.max is not None else max(desired, 1))


def reserved(pool: Pool, size: Sizes) -> int | None:
    """Instances that are paid for, used or not; None where it is not known how many.

    Where a pool is bought in no other way, its reservation is taken to have room for all its nodes.
    """
    if pool.reservation is None:
        return 0
    only = {*pool.bought_as} <= {"reserved", "capacityBlock"}
    limited = pool.provisioner != "karpenter" or pool.nodes.max is not None
    return (
        size.max
        if pool.reservation.instances is None and only and limited
        else (pool.reservation.instances)
    )


def allocatable(instance_type: InstanceType) -> Allocatable:
    """CPU, memory and pods after the reservations that EKS-optimised AMIs make.

    CPU: 6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest.
    Memory: 255 MiB and 11 MiB per pod for the kubelet, 100 MiB for eviction. Source:
    https://github.com/awslabs/amazon-eks-ami, nodeadm/internal/kubelet (v20260714).
    """
    pods = instance_type.max_pods
    reserved = _KUBELET_MIB + _EVICTION_MIB + _MIB_PER_POD * (pods or 110)
    return Allocatable(
        instance_type.vcpus * 1000 - _reserved_cpu(instance_type.vcpus),
        instance_type.memory_mib - reserved,
        pods,
    )


def _reserved_cpu(vcpus: int) -> int:
    bands = ((1, 60.0), (1, 10.0), (2, 5.0), (vcpus, 2.5))
    total, left = 0.0, vcpus
    for width, millis in bands:
        taken = min(left, width)
        total += taken * millis
        left -= taken
    return round(total)
