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
    Pointer,
)
from eks_gpushare.inventory.nodes import has_gpus
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.hcl.registry_parts import ENTRY, OF_HYBRID
from eks_gpushare.lint.pod_identities import OF_TERRAFORM, association
from eks_gpushare.manifests.plain import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eks_gpushare.inventory.items import NodeSet
    from eks_gpushare.inventory.source import Source

_MAKES_NODES: Final = ("enable_autopilot", "cluster_autoscaling", "node_pool", "node_config")
"""By which a cluster of Google's has nodes beside those of pools, or may make some."""


def pointers(source: Source, kind: str, given: Any) -> Iterator[Pointer]:
    """What stands for a resource.

    Args:
        source: The resource, called by its address.
        kind: Its type.
        given: Its arguments.
    """
    match kind:
        case "azurerm_kubernetes_cluster_node_pool":
            yield Pointer(source=source, kind=AKS_POOL, name=source.name, spec=given)
        case "google_container_node_pool":
            yield Pointer(source=source, kind=GKE_POOL, name=source.name, spec=given)
        case "google_container_cluster" if any(at(given, each) for each in _MAKES_NODES):
            yield Pointer(source=source, kind=OTHER_NODES, name=source.name)
        case "aws_servicequotas_service_quota":
            name = text(at(given, "quota_code"))
            yield Pointer(source=source, kind=SERVICE_QUOTA, name=name, spec=given)
        case "aws_iam_role" if at(given, "node_iam_role_name") is not None:
            name = text(at(given, "node_iam_role_name"))
            yield Pointer(source=source, kind=NODE_ROLE, name=name, spec=given)
        case "aws_eks_cluster":
            name = text(at(given, "version"), "")
            yield Pointer(source=source, kind=CLUSTER_VERSION, name=name, spec=given)
            if at(given, "remote_network_config"):
                yield Pointer(source=source, kind=OTHER_NODES, name=source.name)
        case _ if kind == OF_TERRAFORM:
            yield association(source, at(given, "namespace"), at(given, "service_account"))
        case _ if kind == ENTRY and at(given, "type") == OF_HYBRID:
            yield Pointer(source=source, kind=OTHER_NODES, name=source.name)
        case _:
            pass


def switched_off(groups: Iterable[NodeSet]) -> Iterator[Pointer]:
    """What stands for groups with GPUs that a condition leaves out."""
    for nodes in groups:
        if has_gpus(nodes):
            yield Pointer(source=nodes.source, kind=OTHER_NODES, name=nodes.source.name)
