"""The Kubernetes objects of a program by kind, each with its cluster and namespace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpushare_policies.reading.clusters import clusters_of, kubernetes_namespace
from gpushare_policies.reading.objects import Kind, KubernetesObject, objects_of_stack

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from pulumi_policy import PolicyResource


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """An object and where it is."""

    object: KubernetesObject
    cluster: str
    namespace: Any
    urn: str

    @property
    def place(self) -> tuple[str, Any]:
        """Cluster and namespace."""
        return self.cluster, self.namespace


def objects_in(
    resources: Sequence[PolicyResource], kinds: Container[Kind]
) -> Iterator[PlacedObject]:
    """The objects of some kinds, in the order in which they were registered."""
    clusters = clusters_of(resources)
    for resource, objects in objects_of_stack(resources):
        for obj in objects:
            if obj.kind in kinds:
                namespace = obj.namespace
                if namespace is None:
                    namespace = kubernetes_namespace(resource)
                yield PlacedObject(obj, clusters.get(resource.urn, ""), namespace, resource.urn)
