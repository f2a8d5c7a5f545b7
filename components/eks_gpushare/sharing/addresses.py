"""How many addresses nodes and their pods take from subnets, and how many a subnet has.

Each pod has an address of the VPC, and so has each node. With prefix delegation the VPC CNI takes
whole prefixes of 16, and keeps one more at hand:
https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html. AWS keeps five
addresses of each subnet: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from eks_gpushare.catalog.instances import LARGE_NODE_PODS, SMALL_NODE_PODS, SMALL_NODE_VCPUS
from eks_gpushare.sharing.subnets import cut

if TYPE_CHECKING:
    from eks_gpushare.catalog import InstanceType

_KEPT_BY_AWS = 5
"""https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html"""
_PREFIX = 16
"""https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html"""


def of_subnet(cidr: str) -> int:
    """Addresses of one private subnet in a VPC of this range that are left for nodes and pods."""
    return IPv4Network(cut(cidr, 1)[0].private).num_addresses - _KEPT_BY_AWS


def of_node(instance_type: InstanceType, *, prefixes: bool, max_pods: int | None = None) -> int:
    """Addresses of a node that runs as many pods as it may; 0 where that is not known.

    Args:
        instance_type: The type of the node.
        prefixes: Whether prefix delegation is on.
        max_pods: What the kubelet is told. Default: what EKS tells it.
    """
    pods = max_pods or instance_type.max_pods
    if prefixes and not max_pods:
        small = instance_type.vcpus < SMALL_NODE_VCPUS
        pods = SMALL_NODE_PODS if small else LARGE_NODE_PODS
    if pods is None:
        return 0
    return (-(-pods // _PREFIX) + 1) * _PREFIX + 1 if prefixes else pods + 1
