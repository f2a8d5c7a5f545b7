"""Whether what holds tenants to their contracts is in the cluster as the stack declares it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.config.cluster import NewCluster
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.live import rules
from eks_gpushare.live.faults import ClusterFault, Link
from eks_gpushare.live.nodes import writer_of
from eks_gpushare.live.objects import name_of, namespace_of
from eks_gpushare.sharing import tenant_objects
from eks_gpushare.sharing.kueue import kueue_objects, pool_shares, unguaranteed
from eks_gpushare.sharing.tenant_queues import queues
from eks_gpushare.sharing.tenants import contracts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.config.tenants import Tenant
    from eks_gpushare.lint.stack_side import Stack
    from eks_gpushare.live.objects import ClusterObjects
    from eks_gpushare.live.pods import Object
    from eks_gpushare.sharing.plan import PoolPlan
    from eks_gpushare.sharing.tenants import PoolContract

_PARTS: Final = ("spec", "data")
"""What of an object the stack declares; its labels of a namespace alone, which are what it is for.
"""
_NAMED: Final = 3
"""So many names are told of objects that are all missing."""


class _Declared(NamedTuple):
    """An object that a stack makes for its tenants."""

    tenant: str | None
    """Whose; None of one for all of them."""
    document: Object

    @property
    def called(self) -> str:
        """Kind and name, as messages have it."""
        space, name = namespace_of(self.document), name_of(self.document)
        return f"{self.document['kind']} {f'{space}/' if space else ''}{name}"

    @property
    def whose(self) -> str:
        """Whose it is, as messages have it."""
        return "its tenants" if self.tenant is None else f"tenants.{self.tenant}"


class _Difference(NamedTuple):
    """The first field that is not as it was declared."""

    path: tuple[str, ...]
    declared: Any
    there: Any
    """None where nothing is."""


def tenant_faults(objects: ClusterObjects, stack: Stack) -> Iterator[ClusterFault]:
    """Objects of tenants that are not there, or other than the stack declares.

    Of kinds that were not read nothing is said; those are among what is unknown of the cluster.

    Args:
        objects: The cluster.
        stack: What it should be.
    """
    missing: dict[tuple[str | None, str], list[_Declared]] = {}
    gone: set[str] = set()
    for each in _declared(stack):
        kind, space = each.document["kind"], namespace_of(each.document)
        if kind not in objects.by_kind or kind in objects.unread or space in gone:
            continue
        found = _find(objects, each.document)
        if found is None:
            missing.setdefault((each.tenant, kind), []).append(each)
            if kind == "Namespace":
                gone.add(name_of(each.document))
        elif (differs := _difference(each.document, found)) is not None:
            yield _changed(each, differs, found)
    for group in missing.values():
        yield _missing(group)


def unread_kinds(objects: ClusterObjects, stack: Stack) -> dict[str, str]:
    """Kinds by which tenants are held to their contracts, and of which nothing was read."""
    wanted = dict.fromkeys(each.document["kind"] for each in _declared(stack))
    return {
        kind: f"no {kind} was read, so it is not known whether tenants are held to their contracts"
        for kind in wanted
        if kind not in objects.by_kind and kind not in objects.unread
    }


def _declared(stack: Stack) -> Iterator[_Declared]:
    """What a stack makes for its tenants, namespaces first."""
    environment, plans = stack.environment, stack.plans
    if environment is None or not environment.tenants:
        return
    tenants = environment.tenants
    every = contracts(tenants, plans)
    for name, tenant in tenants.items():
        for called in tenant.every_namespace:
            yield _Declared(name, tenant_objects.namespace(called, name, tenant))
    for name, tenant in tenants.items():
        for called in tenant.every_namespace:
            guards = tenant_objects.guards(called, name, tenant, every, plans)
            guards.pop("admins", None)  # rights are not read
            yield from (_Declared(name, guard) for guard in guards.values())
    cluster = environment.cluster
    version = cluster.version if isinstance(cluster, NewCluster) else None
    for document in tenant_objects.admission(tenants, every, plans, version):
        of_one = name_of(document) if document["kind"] == "ConfigMap" else None
        yield _Declared(of_one, document)
    yield from _queues(tenants, every, plans)


def _queues(
    tenants: Mapping[str, Tenant], every: Sequence[PoolContract], plans: Mapping[str, PoolPlan]
) -> Iterator[_Declared]:
    queued = queues(tenants, every, plans)
    if queued is None:
        return
    shares = pool_shares(queued.pools, queued.tenants)
    whose = {space: name for name, each in tenants.items() for space in each.every_namespace}
    for document in kueue_objects(shares, unguaranteed(queued.pools, shares)):
        if document["kind"] == "ClusterQueue":
            yield _Declared(name_of(document), document)
        elif document["kind"] == "LocalQueue":
            yield _Declared(whose[namespace_of(document)], document)
        else:
            yield _Declared(None, document)


def _find(objects: ClusterObjects, document: Object) -> Object | None:
    place = namespace_of(document), name_of(document)
    found = (
        given
        for given in objects.of(document["kind"])
        if (namespace_of(given), name_of(given)) == place
    )
    return next(found, None)


def _difference(declared: Object, there: Object) -> _Difference | None:
    if declared["kind"] == "Namespace":
        wanted, has = (each["metadata"].get("labels") or {} for each in (declared, there))
        return _differs(wanted, has, ("metadata", "labels"))
    parts = (_differs(declared.get(part), there.get(part), (part,)) for part in _PARTS)
    return next(filter(None, parts), None)


def _differs(declared: Any, there: Any, path: tuple[str, ...]) -> _Difference | None:
    """The first place where something else stands; what only the cluster has is its default."""
    if isinstance(declared, Mapping) and isinstance(there, Mapping | None):
        inner = (
            _differs(value, (there or {}).get(key), (*path, key)) for key, value in declared.items()
        )
        return next(filter(None, inner), None)
    if (
        isinstance(declared, list | tuple)
        and isinstance(there, list)
        and len(declared) == len(there)
    ):
        pairs = enumerate(zip(declared, there, strict=True))
        items = (_differs(one, other, (*path, str(place))) for place, (one, other) in pairs)
        return next(filter(None, items), None)
    if _same(declared, there):
        return None
    return _Difference(path, declared, there)


def _same(declared: Any, there: Any) -> bool:
    if isinstance(declared, str | bool | Mapping | list | tuple) and not declared:
        return not there  # which is its default, written out or not
    # An API server writes amounts as texts of its own, whatever they were.
    one, other = str(declared), str(there)
    return one == other or (quantity(one) is not None and quantity(one) == quantity(other))


def _changed(each: _Declared, differs: _Difference, there: Object) -> ClusterFault:
    path = ".".join(differs.path)
    has = "missing" if differs.there is None else _shown(differs.there)
    wanted = _shown(differs.declared)
    what = "not as" if None in (has, wanted) else f"{has} and not {wanted}, as"
    finding = rules.CONTRACT_DIFFERS.finding(
        _place(each),
        f"{each.called}: {path} is {what} the stack declares for {each.whose}.",
        "Run pulumi up --refresh, which puts it back, and see who wrote to it.",
    )
    written = writer_of(there, *(f"f:{part}" for part in differs.path))
    return ClusterFault(
        finding,
        Link.PODS,
        evidence=(f"{path} {written}".rstrip(),),
        is_cause_only=True,
        parts=_parts(each.document),
    )


def _shown(value: Any) -> str | None:
    """A value as text; None of one that is too long, or none."""
    text = str(value)
    return text if isinstance(value, str | int) and len(text) <= _LONGEST else None


_LONGEST: Final = 60


def _missing(group: Sequence[_Declared]) -> ClusterFault:
    names = [each.called for each in group]
    listed = ", ".join(names)
    if len(names) > _NAMED:
        listed = f"{names[0]} and {len(names) - 1} more of its kind"
    finding = rules.CONTRACT_DIFFERS.finding(
        _place(group[0]),
        f"{listed}: missing, which the stack declares for {group[0].whose}.",
        "Run pulumi up --refresh, which makes what is missing, and see who deleted it.",
    )
    return ClusterFault(finding, Link.PODS, is_cause_only=True)


def _place(each: _Declared) -> tuple[str, ...]:
    return ("tenants",) if each.tenant is None else ("tenants", each.tenant)


def _parts(document: Object) -> tuple[str, ...]:
    """What a fault names that comes of it: pods that a quota refuses, a quota above all nodes."""
    space, name = namespace_of(document), name_of(document)
    if document["kind"] == "ResourceQuota":
        return space, name
    return (f"{document['kind']} {name}",) if document["kind"] == "ClusterQueue" else ()
