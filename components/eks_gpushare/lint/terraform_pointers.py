"""Resources of Terraform that are no nodes and no objects, and that something else hangs on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import (
    AKS_POOL,
    CLUSTER_VERSION,
    GKE_POOL,
    NODE_ROLE,
    OTHER_NODES,
    SERVICE_QUOTA,
    SUBNET,
    Pointer,
)
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import PartlyKnown, at
from eks_gpushare.lint.hcl.registry_parts import ENTRY, OF_HYBRID
from eks_gpushare.lint.pod_identities import OF_TERRAFORM, association
from eks_gpushare.manifests.plain import mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.source import Source

_POOLS: Final = {
    "azurerm_kubernetes_cluster_node_pool": AKS_POOL,
    "google_container_node_pool": GKE_POOL,
}
_MAKING_NODES: Final = {
    "aws_eks_cluster": ("remote_network_config",),
    "google_container_cluster": (
        *("enable_autopilot", "cluster_autoscaling", "node_pool", "node_config"),
    ),
    "aws_sagemaker_cluster": ("orchestrator",),
    "awscc_sagemaker_cluster": ("orchestrator",),
}
"""By which a cluster has nodes beside those of its pools and groups."""


def pointers(source: Source, kind: str, given: Any) -> Iterator[Pointer]:
    """What stands for a resource.

    Args:
        source: The resource, called by its address.
        kind: Its type.
        given: Its arguments.
    """
    match kind:
        case _ if kind in _POOLS:
            yield Pointer(source=source, kind=_POOLS[kind], name=source.name, spec=given)
        case "aws_subnet":
            yield _subnet(source, at(given, "availability_zone"), at(given, "tags"))
        case "aws_ec2_tag":  # of anything, by its ID
            yield _subnet(source, UNKNOWN, UNKNOWN)
        case "aws_servicequotas_service_quota":
            name = text(at(given, "quota_code"))
            yield Pointer(source=source, kind=SERVICE_QUOTA, name=name, spec=given)
        case "aws_iam_role" if at(given, "node_iam_role_name") is not None:
            name = text(at(given, "node_iam_role_name"))
            yield Pointer(source=source, kind=NODE_ROLE, name=name, spec=given)
        case "aws_eks_cluster":
            name = text(at(given, "version"), "")
            yield Pointer(source=source, kind=CLUSTER_VERSION, name=name, spec=given)
        case _ if kind == OF_TERRAFORM:
            yield association(source, at(given, "namespace"), at(given, "service_account"))
        case _:
            pass
    if _brings_others(kind, given):
        yield Pointer(source=source, kind=OTHER_NODES, name=source.name)


def _brings_others(kind: str, given: Any) -> bool:
    """Whether a cluster has nodes that are declared nowhere, or may make some."""
    if kind == ENTRY:
        return bool(at(given, "type") == OF_HYBRID)
    return any(at(given, each) for each in _MAKING_NODES.get(kind, ()))


def _subnet(source: Source, zone: Any, tags: Any) -> Pointer:
    known = UNKNOWN if tags is UNKNOWN or isinstance(tags, PartlyKnown) else mapping(tags)
    spec = {"zone": zone if isinstance(zone, str) else UNKNOWN, "tags": known}
    return Pointer(source=source, kind=SUBNET, name=source.name, namespace="", spec=spec)


def switched_off(groups: Iterable[NodeSet]) -> Iterator[Pointer]:
    """What stands for groups with GPUs that a condition leaves out."""
    for nodes in groups:
        if has_gpus(nodes):
            yield Pointer(source=nodes.source, kind=OTHER_NODES, name=nodes.source.name)
