"""What of a node runs out before the shares of its GPUs do: pods, CPU and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eks_gpushare.catalog.instances import LARGE_NODE_PODS, SMALL_NODE_PODS, SMALL_NODE_VCPUS

if TYPE_CHECKING:
    from fractions import Fraction

    from eks_gpushare.catalog.instances import InstanceType

SYSTEM_PODS: Final = 8
"""Pods of DaemonSets on a GPU node: aws-node, kube-proxy, Pod Identity agent, node monitoring
agent and its DCGM, device plugin, GPU feature discovery, NFD worker; MPS adds one."""
_LEAST: Final = (("a CPU", 1000), ("1 GiB of memory", 1024))
"""Of CPU in thousandths, and of memory in MiB."""


def most_pods(
    instance_type: InstanceType, *, by_karpenter: bool, prefixes: bool = False
) -> int | None:
    """How many pods a node runs untold, those of the system among them; None if unknown.

    Karpenter keeps to what the network interfaces allow
    (https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet), EKS caps that. EKS knows of
    prefixes of addresses, with which the cap is all that counts
    (https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses-procedure.html).
    """
    if prefixes and not by_karpenter:
        return SMALL_NODE_PODS if instance_type.vcpus < SMALL_NODE_VCPUS else LARGE_NODE_PODS
    return (by_karpenter and instance_type.eni_pods) or instance_type.max_pods


def are_more_than_pods(shares: int, pods: int | None) -> bool:
    """Whether some of the shares have no pod on a node that runs so many pods."""
    return pods is not None and shares > pods - SYSTEM_PODS


def thin(cpu_millis: int, memory_mib: int, shares: int) -> tuple[str, ...]:
    """What each of some shares gets too little of, of what a node has for pods."""
    room = (cpu_millis, memory_mib)
    return tuple(
        what for (what, least), has in zip(_LEAST, room, strict=True) if has < shares * least
    )


def fit_before_shares(room: Fraction, asked: Fraction, shares: int, pods: int) -> int | None:
    """How many pods fill a node before its shares are taken; None where shares go first.

    Args:
        room: What a node has of CPU or memory.
        asked: What a pod asks of it.
        shares: For how many pods the shares are.
        pods: How many pods there are at most: fewer leave room for others.
    """
    fit = int(room / asked) if asked > 0 else shares
    # Where not one fits, it is no question of how many shares are reached.
    return fit if 0 < fit < min(shares, pods) else None
