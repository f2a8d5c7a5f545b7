"""Nodes as EKS would have them, with no GPUs yet: those are the device plugin's to advertise."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from eks_gpushare.catalog import Catalog
from eks_gpushare.sharing.nodes import allocatable
from eks_gpushare_lab.observing.declared_pools import MADE_FOR
from eks_gpushare_lab.simulated_node import efa
from eks_gpushare_lab.simulated_node.boot import boot
from eks_gpushare_lab.simulated_node.user_data import (
    AMI_RELEASE,
    AMI_TYPE,
    USER_DATA,
    max_pods,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare_lab.client import Object
    from eks_gpushare_lab.install.desired_cluster import NodePool

SIMULATED = {"kwok.x-k8s.io/node": "fake"}
"""The annotation by which kwok plays the kubelet of a node."""
POOL = MADE_FOR
"""Annotation of a node: the pool it was made for."""

_DEFAULT_PODS = 110
_FULL_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_SMALL_DISK_RESERVE = 0.9
"""kubelet evicts pods below 10 % of free disk
(https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/)."""


@dataclass(frozen=True, slots=True)
class LabNode:
    """A node of the lab and what was declared of it."""

    name: str
    """Its name: pool and number."""
    pool: str
    """Its pool."""
    instance_type: str
    """Its instance type."""
    declared: Mapping[str, int]
    """What it is to advertise; empty for a node that no GPU pool has."""
    object: Object
    """The node, as it joins."""
    joins: bool = True
    """Whether it joins at all: a machine may stop while it boots."""
    said: str = ""
    """What its boot said of its settings and GPUs."""


class UnknownTypeError(Exception):
    """An instance type that the catalog does not know; the text names it."""


def nodes_of(pool: NodePool) -> Iterator[LabNode]:
    """The nodes of a pool.

    Raises:
        UnknownTypeError: If the catalog does not know an instance type.
    """
    for number in range(pool.nodes):
        kind = pool.instance_types[number % len(pool.instance_types)]
        found = Catalog().find(kind)
        if found is None:
            raise UnknownTypeError(f"instance type {kind} is not in the catalog")
        name = f"{pool.name.replace('/', '-').lower()}-{number}"
        node = machine_node(name, pool, found, number)
        joining = boot(node)
        yield LabNode(
            name,
            pool.name,
            kind,
            pool.declared.get(kind, {}),
            joining.node or node,
            joins=joining.node is not None,
            said=joining.said,
        )


def machine_node(name: str, pool: NodePool, kind: InstanceType, number: int = 0) -> Object:
    """A node as it would register if its user data did nothing.

    Args:
        name: of the node.
        pool: what it was launched for.
        kind: its instance type.
        number: which of the pool's, by which its zone is chosen.
    """
    zones = pool.zones or (f"{pool.region}a",)
    managed = {
        "eks.amazonaws.com/nodegroup": pool.group,
        "eks.amazonaws.com/capacityType": pool.capacity_type,
    }
    labels = {
        **pool.labels,
        **(managed if pool.group else {}),
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": kind.arch,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": kind.name,
        "topology.kubernetes.io/region": pool.region,
        "topology.kubernetes.io/zone": zones[number % len(zones)],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": _annotations(pool, kind)},
        "spec": {
            "taints": [dict(taint) for taint in pool.taints],
            "providerID": f"aws:///{zones[number % len(zones)]}/i-{_instance_id(name)}",
        },
        "status": _status(name, pool, kind),
    }


def _annotations(pool: NodePool, kind: InstanceType) -> dict[str, str]:
    """What the simulated node has to know of the machine."""
    elsewhere = 0 if pool.group else pool.declared.get(kind.name, {}).get(efa.RESOURCE, 0)
    launched = {
        AMI_TYPE: pool.ami_type,
        USER_DATA: pool.user_data,
        AMI_RELEASE: pool.release,
        efa.INTERFACES: str(pool.efa_interfaces or elsewhere or ""),
    }
    return {**SIMULATED, POOL: pool.name, **{key: text for key, text in launched.items() if text}}


def _status(name: str, pool: NodePool, kind: InstanceType) -> Object:
    left = allocatable(kind)
    pods = str(max_pods(pool.user_data) or left.pods or _DEFAULT_PODS)
    disk = pool.disk_gib * 1024
    return {
        "capacity": {
            "cpu": str(kind.vcpus),
            "memory": f"{kind.memory_mib}Mi",
            "pods": pods,
            "ephemeral-storage": f"{disk}Mi",
        },
        "allocatable": {
            "cpu": f"{left.cpu_millis}m",
            "memory": f"{left.memory_mib}Mi",
            "pods": pods,
            "ephemeral-storage": f"{int(disk * _SMALL_DISK_RESERVE)}Mi",
        },
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated"},
        ],
        "nodeInfo": {
            "architecture": kind.arch,
            "operatingSystem": "linux",
            "kubeletVersion": f"v{_version(pool.version)}-eks-lab",
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "containerd://2.1.5",
            "kernelVersion": "6.12.0",
            "osImage": _os_image(pool),
            "bootID": "",
            "machineID": "",
            "systemUUID": "",
        },
    }


def _os_image(pool: NodePool) -> str:
    """As the OS calls itself; Bottlerocket by its release, where that is known."""
    if not pool.ami_type.startswith("BOTTLEROCKET"):
        return "Amazon Linux 2023 (simulated)"
    release = pool.release.partition("-")[0]
    return f"Bottlerocket OS {release} (simulated)".replace("  ", " ")


def _instance_id(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:17]


def _version(given: str) -> str:
    found = _FULL_VERSION.match(given)
    return found.group() if found else f"{given or '1.35'}.0"
