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
_HOST_PODS: Final = 2
"""Pods that are counted besides those with an address: they are in the node's own network."""
MOST_LISTED_BYTES: Final = 4 * 1024 * 1024
"""The longest list of devices that a kubelet takes from a device plugin: gRPC's default, which it
leaves as it is (pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go)."""
_DEVICE_BYTES: Final = 53
"""Of a device in that list: a UUID with its prefix, its health, and protobuf's marks."""
_LEAST: Final = (("a CPU", 1000), ("1 GiB of memory", 1024))
"""Of CPU in thousandths, and of memory in MiB."""


def most_pods(
    instance_type: InstanceType,
    *,
    by_karpenter: bool,
    prefixes: bool = False,
    taken_interfaces: int = 0,
) -> int | None:
    """How many pods a node runs untold, those of the system among them; None if unknown.

    An interface for EFA alone is one of those that the default network card has, and no pod's
    address is on it: so Karpenter counts (pkg/providers/instancetype/types.go, ENILimitedPods). EKS
    lets pods come that get no address.

    Karpenter keeps to what the network interfaces allow
    (https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet), EKS caps that. EKS knows of
    prefixes of addresses, with which the cap is all that counts
    (https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses-procedure.html).

    Args:
        instance_type: The type of the node.
        by_karpenter: Whether Karpenter makes it.
        prefixes: Whether the cluster has prefix delegation.
        taken_interfaces: Interfaces of the default network card that are for EFA alone.
    """
    if prefixes and not by_karpenter:
        return SMALL_NODE_PODS if instance_type.vcpus < SMALL_NODE_VCPUS else LARGE_NODE_PODS
    most = (by_karpenter and instance_type.eni_pods) or instance_type.max_pods
    each, every = instance_type.interface_pods, instance_type.eni_pods
    if not taken_interfaces or most is None or each is None or every is None:
        return most
    left = every - taken_interfaces * each
    return min(most, left) if left > _HOST_PODS else 0


def are_more_than_pods(shares: int, pods: int | None) -> bool:
    """Whether some of the shares have no pod on a node that runs so many pods."""
    return pods is not None and shares > pods - SYSTEM_PODS


def listed_bytes(devices: int, replicas: int) -> int:
    """How long the list is by which the device plugin tells the kubelet of one resource.

    Each replica of a device is `UUID::number` in it.

    Args:
        devices: GPUs, or MIG devices of one profile.
        replicas: Pods that share each of them; 1 where none do.
    """
    if replicas == 1:
        return devices * _DEVICE_BYTES
    digits, low = len("0"), 1
    while low < replicas:
        digits += len(str(low)) * (min(replicas, low * 10) - low)
        low *= 10
    return devices * (replicas * (_DEVICE_BYTES + len("::")) + digits)


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
