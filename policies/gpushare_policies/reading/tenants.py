"""Namespaces of tenants, and what a program puts into them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, partly_known, some
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading.objects import Kind, KubernetesObject
from gpushare_policies.reading.program_objects import PlacedObject, objects_in
from gpushare_policies.rule import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pulumi_policy import PolicyResource, StackValidationArgs

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

    @property
    def shown(self) -> str:
        """Its name, as messages have it."""
        return "that is yet to be named" if self.name is UNKNOWN else str(self.name)


def unprotected(
    args: StackValidationArgs,
    kinds: Sequence[Kind],
    protects: Callable[[KubernetesObject], bool | None],
    what: str,
) -> Iterator[TenantNamespace | Unjudged]:
    """The namespaces of tenants in which no object of some kinds does what one has to.

    Args:
        args: The stack.
        kinds: Kinds of the objects.
        protects: Whether one does; None where that is not known.
        what: How messages call the objects: `the quotas`.
    """
    for space in _tenant_namespaces(args.resources, TENANT_LABEL.of(args), kinds):
        if space.labels is UNKNOWN:
            yield Unjudged(f"the labels of the namespace {space.shown}")
            continue
        verdict = some(map(protects, space.objects))
        if verdict is None:
            yield Unjudged(f"{what} of the namespace {space.shown}")
        elif not verdict:
            yield space


def exposed(
    args: StackValidationArgs,
    kinds: Sequence[Kind],
    protects: Callable[[KubernetesObject], bool | None],
    opens: Callable[[KubernetesObject], bool],
) -> Iterator[tuple[TenantNamespace, KubernetesObject]]:
    """The namespaces of tenants that one object protects, each with one that undoes it.

    Args:
        args: The stack.
        kinds: Kinds of the objects.
        protects: Whether one does.
        opens: Whether one takes the protection of all back.
    """
    for space in _tenant_namespaces(args.resources, TENANT_LABEL.of(args), kinds):
        if space.labels is not UNKNOWN and some(map(protects, space.objects)):
            yield from ((space, each) for each in space.objects if opens(each))


def _tenant_namespaces(
    resources: Sequence[PolicyResource], label: str, kinds: Sequence[Kind]
) -> Iterator[TenantNamespace]:
    """The namespaces of tenants, with the objects of some kinds that are in them.

    One whose labels are not known has `UNKNOWN` for them. An object whose namespace is not known
    may be in any, and is in all.
    """
    spaces: list[tuple[str, TenantNamespace]] = []
    others: list[PlacedObject] = []
    for obj in objects_in(resources, (_NAMESPACE, *kinds)):
        if obj.object.kind != _NAMESPACE:
            others.append(obj)
            continue
        labels = at(obj.object.body, "metadata", "labels")
        if _is_tenant(labels, label):
            spaces.append((obj.cluster, TenantNamespace(obj.object.name, obj.urn, labels)))
    for cluster, space in spaces:
        for obj in others:
            sure = UNKNOWN not in (obj.namespace, space.name)
            if obj.cluster == cluster and (obj.namespace == space.name or not sure):
                space.objects.append(_whole(obj.object))
        yield space


def _whole(given: KubernetesObject) -> KubernetesObject:
    """An object, of which a patch says only a part: what it leaves out is in the cluster."""
    return replace(given, body=partly_known(given.body)) if given.patch else given


def _is_tenant(labels: Any, label: str) -> bool:
    return labels is UNKNOWN or (isinstance(labels, dict) and label in labels)
