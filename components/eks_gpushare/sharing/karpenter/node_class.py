"""The EC2NodeClass of a pool: image, volumes, network and user data of its nodes.

One for each pool: what a node does at boot is a pool's own, and names in a cluster are so too.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import nvidia_ami
from eks_gpushare.sharing.driver_gate import waits_for_driver
from eks_gpushare.sharing.efa import efa_cards
from eks_gpushare.sharing.karpenter.images import ami_family, ami_terms, family_of
from eks_gpushare.sharing.karpenter.kubelet import kubelet_of_class, kubelet_of_user_data
from eks_gpushare.sharing.user_data import node_user_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eks_gpushare.catalog import Catalog, InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.plan import PoolPlan

NODE_CLASSES = "karpenter.k8s.aws/v1"
"""API version of an EC2NodeClass."""
_ENCRYPTED = {"volumeType": "gp3", "encrypted": True, "deleteOnTermination": True}
_BOTTLEROCKET_SYSTEM_GIB = 4
"""Size of the image's own volume in the NVIDIA variants (os-image-size-gib in variants/*/Cargo.toml
of bottlerocket-os/bottlerocket), and Karpenter's default for it, which wants a size."""


def node_class(
    plan: PoolPlan,
    catalog: Catalog,
    *,
    role: Any,
    subnet_terms: Sequence[Any],
    security_group_terms: Sequence[Any],
    user_data: Any = None,
    version: str | None = None,
    tags: Mapping[str, Any] | None = None,
    placement_group: Any = None,
) -> dict[str, Any]:
    """The EC2NodeClass of a pool, named like it.

    What is of type Any goes where it belongs as it is, so that it may be known later.

    Args:
        plan: Plan of the pool.
        catalog: Where the types are looked up.
        role: Name of the nodes' IAM role.
        subnet_terms: `spec.subnetSelectorTerms`: private subnets, by ID or tags.
        security_group_terms: `spec.securityGroupSelectorTerms`, by ID or tags.
        user_data: What `user_data_of` says. Default: none.
        version: Kubernetes version of the cluster, for the image where the pool names none.
        tags: Tags of the environment; for instances only where the pool says so. Default: none.
        placement_group: Name of the placement group, of a pool with one. Default: none.

    Raises:
        eks_gpushare.sharing.karpenter.images.UnknownReleaseError: No release of the image is known.
    """
    pool, first = plan.pool, _first(plan, catalog)
    spec: dict[str, Any] = {
        "amiFamily": ami_family(pool),
        "amiSelectorTerms": ami_terms(pool, version),
        "role": role,
        "subnetSelectorTerms": list(subnet_terms),
        "securityGroupSelectorTerms": list(security_group_terms),
        "associatePublicIPAddress": False,
        "blockDeviceMappings": _volumes(pool, first),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": pool.metadata_hop_limit,
            "httpTokens": "required",
        },
    }
    if user_data is not None:
        spec["userData"] = user_data
    if kubelet := kubelet_of_class(pool):
        spec["kubelet"] = kubelet
    if pool.local_storage == "raid0":
        spec["instanceStorePolicy"] = "RAID0"
    if pool.reservation is not None:
        spec["capacityReservationSelectorTerms"] = [{"id": pool.reservation.id}]
    if placement_group is not None:
        spec["placementGroupSelector"] = {"name": placement_group}
    if pool.efa and first is not None:
        spec["networkInterfaces"] = network_interfaces(first)
    if tags and pool.tag_instances:
        spec["tags"] = dict(tags)
    return {
        "apiVersion": NODE_CLASSES,
        "kind": "EC2NodeClass",
        "metadata": {"name": plan.name},
        "spec": spec,
    }


def user_data_of(plan: PoolPlan, catalog: Catalog, *, manager: str = "devicePlugin") -> str | None:
    """What the nodes of a pool are told at boot, as `spec.userData`; None if there is nothing.

    As text and not base64. Karpenter adds the cluster, labels, taints and its own part of the
    kubelet's settings behind it, whoever made the image; what it has a key for is not in here.

    Args:
        plan: Plan of the pool.
        catalog: Where types, MIG profiles and layouts are looked up.
        manager: Who runs the device plugin, as in `gpuStack.manager`: nodes of the GPU Operator
            wait for their driver unless the pool says otherwise.

    Raises:
        KeyError: For an instance type that the catalog does not have.
        eks_gpushare.sharing.mig.layout.LayoutError: For a layout that the rules refuse.
    """
    pool = plan.pool
    told = pool.model_copy(
        update={
            "wait_for_driver": waits_for_driver(pool, manager) or None,
            "kubelet": kubelet_of_user_data(pool) or None,
            "local_storage": None,  # the class's instanceStorePolicy
        }
    )
    text = node_user_data(told, catalog).for_eks_image()
    return None if text is None else base64.b64decode(text).decode()


def _volumes(pool: Pool, first: InstanceType | None) -> list[dict[str, Any]]:
    """Encrypted volumes, whatever the account's default is; Bottlerocket's images are on a second.

    By its device Karpenter knows which one the pods' files are on.
    """
    ami = nvidia_ami(family_of(pool), first.arch if first else "amd64")
    device = ami.disk_device if ami else "/dev/xvda"
    images = {
        "deviceName": device,
        "ebs": {"volumeSize": f"{pool.root_volume_gib}Gi", **_ENCRYPTED},
    }
    if ami is None or ami.data_device is None:
        return [images]
    size = f"{_BOTTLEROCKET_SYSTEM_GIB}Gi"
    return [{"deviceName": ami.root_device, "ebs": {"volumeSize": size, **_ENCRYPTED}}, images]


def network_interfaces(instance_type: InstanceType) -> list[dict[str, Any]]:
    """Network interfaces of one node: one for IP traffic, and one for EFA alone on each card.

    Karpenter would else add them only to nodes that it launches for pods which ask for EFA.
    """
    made = [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}]
    for card, device in efa_cards(instance_type):
        made.append({"networkCardIndex": card, "deviceIndex": device, "interfaceType": "efa-only"})
    return made


def _first(plan: PoolPlan, catalog: Catalog) -> InstanceType | None:
    return catalog.find(next(iter(plan.pool.instance_types), ""))
