"""Namespaces of tenants, and what a program puts into them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.plain import at
from gpushare_policies.reading.program_objects import Placed, objects_in
from gpushare_policies.rule import Setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pulumi_policy import PolicyResource

_NAMESPACE = Kind("", "Namespace")

TENANT_LABEL = Setting(
    "tenantLabel",
    "eks-gpushare.io/tenant",
    "Label of the namespaces that belong to a tenant, whatever its value.",
    {"type": "string", "default": "eks-gpushare.io/tenant"},
    str,
)


@dataclass(slots=True)
class TenantNamespace:
    """A namespace with the label, and the objects in it."""

    name: Any
    urn: str
    labels: Any
    objects: list[KubernetesObject] = field(default_factory=list)

    def of(self, *kinds: Kind) -> Iterator[KubernetesObject]:
        """Its objects of some kinds."""
        return (each for each in self.objects if each.kind in kinds)


def tenant_namespaces(
    resources: Sequence[PolicyResource], label: str, kinds: Sequence[Kind]
) -> Iterator[TenantNamespace]:
    """The namespaces of tenants, with the objects of some kinds that are in them.

    One whose labels are not known has `UNKNOWN` for them. An object whose namespace is not known
    may be in any, and is in all.
    """
    spaces: list[tuple[str, TenantNamespace]] = []
    others: list[Placed] = []
    for each in objects_in(resources, (_NAMESPACE, *kinds)):
        if each.object.kind != _NAMESPACE:
            others.append(each)
            continue
        labels = at(each.object.body, "metadata", "labels")
        if _is_tenant(labels, label):
            spaces.append((each.cluster, TenantNamespace(each.object.name, each.urn, labels)))
    for cluster, space in spaces:
        for each in others:
            sure = UNKNOWN not in (each.namespace, space.name)
            if each.cluster == cluster and (each.namespace == space.name or not sure):
                space.objects.append(each.object)
        yield space


def _is_tenant(labels: Any, label: str) -> bool:
    return labels is UNKNOWN or (isinstance(labels, dict) and label in labels)
