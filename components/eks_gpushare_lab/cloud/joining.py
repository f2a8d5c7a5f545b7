"""The node that an instance joins the cluster as."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog
from eks_gpushare_lab.cloud.auto_scaling import pool_of
from eks_gpushare_lab.cloud.node_groups import SCALING_GROUP, scaling_group_of
from eks_gpushare_lab.install.desired_cluster import NodePool
from eks_gpushare_lab.install.nodes import machine_node
from eks_gpushare_lab.simulated_node.boot import CONSOLE, boot
from eks_gpushare_lab.simulated_node.registration import KubeletError, registration
from eks_gpushare_lab.simulated_node.user_data import PLUGIN_AFTER, UserDataError

if TYPE_CHECKING:
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.cloud.account import Account
    from eks_gpushare_lab.cloud.images import MachineImage

_POOL_TAGS = ("karpenter.sh/nodepool", "eks:nodegroup-name")
_DISK_GIB = 20


class NotJoinedError(Exception):
    """A machine that never joins; the text is what is on its console."""


def node_of(instance: Any, image: MachineImage | None, account: Account, plugin: float) -> Object:
    """The node as it registers.

    Labels and taints are those of the user data. What the cloud controller manager adds of the
    instance is there at once.

    Args:
        instance: moto's instance.
        image: its AMI, if AWS publishes it.
        account: what it is in.
        plugin: seconds after which its device plugin may start.

    Raises:
        NotJoinedError: If the machine stops while it boots, or its kubelet does.
    """
    kind = Catalog().find(instance.instance_type)
    if kind is None:
        raise NotJoinedError(f"instance type {instance.instance_type} is not in the catalog")
    zone = instance.placement.zone
    group = pool_of(instance)
    if group is None:
        pool = _as_told(instance, kind.name, image, account)
    else:  # EKS tells its nodes of labels and taints itself, beside the user data
        pool = replace(group, instance_types=(kind.name,), zones=(zone,))
    node = machine_node(instance.private_dns_name, pool, kind)
    node["spec"]["providerID"] = f"aws:///{zone}/{instance.id}"
    # For its first minute Cluster Autoscaler takes no node for a model of its group.
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for condition in node["status"]["conditions"]:
        condition |= {"lastHeartbeatTime": now, "lastTransitionTime": now}
    if group is not None:
        node["metadata"]["annotations"][SCALING_GROUP] = scaling_group_of(group)
    if plugin:
        node["metadata"]["annotations"][PLUGIN_AFTER] = f"{time.time() + plugin:.3f}"
    joining = boot(node)
    if joining.node is None:
        raise NotJoinedError(joining.said or "the machine stops while it boots")
    if joining.said:
        joining.node["metadata"]["annotations"][CONSOLE] = joining.said
    return joining.node


def _as_told(instance: Any, kind: str, image: MachineImage | None, account: Account) -> NodePool:
    """What the user data of a machine makes of it."""
    user_data = str(instance.user_data or "")
    try:
        told = registration(user_data)
    except (KubeletError, UserDataError) as error:
        raise NotJoinedError(str(error)) from None
    tags = {tag["key"]: tag["value"] for tag in instance.get_tags()}
    return NodePool(
        name=next((tags[key] for key in _POOL_TAGS if key in tags), ""),
        instance_types=(kind,),
        nodes=1,
        labels=told.labels,
        taints=told.taints,
        zones=(instance.placement.zone,),
        region=account.region,
        version=_version(image) or account.version,
        disk_gib=_disk(instance),
        ami_type=image.ami_type if image else "CUSTOM",
        release=image.release if image else "",
        user_data=user_data,
    )


def _version(image: MachineImage | None) -> str:
    """Kubernetes version of an AMI; releases of Bottlerocket are counted otherwise."""
    is_dated = image is not None and not image.ami_type.startswith("BOTTLEROCKET")
    return image.release if image is not None and is_dated else ""


def _disk(instance: Any) -> int:
    """GiB of the largest volume."""
    volumes = [device.size for _, device in instance.get_block_device_mapping]
    return max((int(volume) for volume in volumes if volume), default=_DISK_GIB)
