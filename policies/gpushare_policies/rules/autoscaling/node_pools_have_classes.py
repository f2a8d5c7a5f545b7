"""Karpenter finds the node class that a pool names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulumi_policy import PolicyResource, Severity, StackValidationArgs

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.checks import Unjudged
from gpushare_policies.reading import kinds
from gpushare_policies.reading.blanks import refuse_blanks
from gpushare_policies.reading.clusters import clusters_of
from gpushare_policies.reading.edges import ELSEWHERE
from gpushare_policies.reading.karpenter import CLASS_OF_AUTO_MODE, NODE_CLASS, NODE_POOL
from gpushare_policies.reading.objects import objects_of_stack
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import AWS_CLUSTER
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpushare_policies.reading.objects import Kind

_STACK_FILE = "A stack file's pools have one each: remove what changes it, such as a transform."
_RAW = "Set `spec.template.spec.nodeClassRef.name` to the name of an EC2NodeClass, or make it."
_CLASS = Fix(_STACK_FILE, _RAW, _RAW)


_KINDS = {kind.kind: kind for kind in (NODE_CLASS, CLASS_OF_AUTO_MODE)}
_BY_ITSELF: dict[str, set[object]] = {CLASS_OF_AUTO_MODE.kind: {"default"}}
"""What is there though nobody makes it:
https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html, read 2026-11-28."""


def _named(args: StackValidationArgs) -> Iterator[tuple[str, str] | Unjudged]:
    refuse_blanks(args)
    # Into a cluster that was there before, others may have put what is not here.
    elsewhere = all(resource.resource_type != AWS_CLUSTER for resource in args.resources)
    clusters = clusters_of(args.resources)
    classes: dict[tuple[str, str], set[object]] = {}
    pools: list[tuple[PolicyResource, object, Any]] = []
    for resource, objects in objects_of_stack(args.resources):
        for found in objects:
            if found.kind == NODE_POOL:
                ref = at(found.body, "spec", "template", "spec", "nodeClassRef")
                pools.append((resource, found.name, ref))
            elif found.kind in _KINDS.values() and not found.patch:
                place = (clusters.get(resource.urn, ""), found.kind.kind)
                classes.setdefault(place, set()).add(found.name)
    yield from (
        (_refused(resource, ref, other), resource.urn)
        for resource, _, ref in pools
        if (other := _other_class(ref)) is not None
    )
    for resource, pool, ref in pools:
        kind, name = str(at(ref, "kind") or NODE_CLASS.kind), at(ref, "name")
        if kind not in _KINDS or _other_class(ref) is not None:
            continue
        there = _BY_ITSELF.get(kind, set()) | classes.get(
            (clusters.get(resource.urn, ""), kind), set()
        )
        if name is UNKNOWN or (UNKNOWN in there and name not in there):
            yield Unjudged(f"the node class of the NodePool {resource.name}")
        elif name is not None and name not in there:
            if elsewhere:
                yield Unjudged(f"the node class {name} of {resource.name} ({ELSEWHERE})")
            else:
                yield _missing(resource, pool, (kind, str(name)), there), resource.urn


def _other_class(ref: Any) -> Kind | None:
    """The class that is meant, where the group has no such kind."""
    kind, group = at(ref, "kind"), at(ref, "group")
    if UNKNOWN in (kind, group) or kind is None:
        return None
    if (meant := _KINDS.get(str(kind))) is None:
        return next((known for known in _KINDS.values() if known.group == group), None)
    of_karpenter = str(group).endswith(("karpenter.sh", *(of.group for of in _KINDS.values())))
    return meant if of_karpenter and group != meant.group else None


def _refused(resource: PolicyResource, ref: Any, meant: Kind) -> str:
    return (
        f"The NodePool {name_of(resource.urn)} names a node class of the kind {at(ref, 'kind')} "
        f"and the group {at(ref, 'group')}, and there is no such kind, so Karpenter starts no "
        f"node. Write `group: {meant.group}` and `kind: {meant.kind}`."
    )


def _missing(
    resource: PolicyResource, pool: object, wanted: tuple[str, str], there: set[object]
) -> str:
    known = ", ".join(sorted(map(str, there))) or "none"
    called = name_of(resource.urn) if pool is UNKNOWN else pool
    of_auto = " of EKS Auto Mode" if wanted[0] == CLASS_OF_AUTO_MODE.kind else ""
    return (
        f"The NodePool {called} names the node class {wanted[1]}{of_auto}, which is not in this "
        f"stack (there are: {known}). It must be there, or Karpenter starts no node for the pool "
        f"and its pods wait for ever. {_CLASS.of(resource.urn)}"
    )


NODE_POOLS_HAVE_CLASSES = StackPolicy(
    "node-pools-have-classes",
    "The node class that a NodePool of Karpenter names must exist.",
    check=_named,
    applies_to=(kinds.KARPENTER[0], kinds.KARPENTER[2]),
    severity=Severity.HIGH,
    fix=_CLASS,
)
