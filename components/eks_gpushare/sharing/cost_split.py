"""Whose every cent of nodes is: what pods hold, what tenants are sure of and leave, what is free.

Whatever is known of use, the parts of a pool add up to the price of its nodes. Idle shares have an
owner: the tenant as far as it is sure of them, since nobody else could count on them; the platform
for the rest. A share that somebody borrowed is paid for by whoever uses it.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Use: TypeAlias = Literal["used", "guaranteed", "idle"]
USES: tuple[Use, ...] = ("used", "guaranteed", "idle")
"""What can be with a share: a pod holds it; its tenant is sure of it, and leaves it; it is free."""
_NOTHING = Fraction(0)


class PaidNodes(NamedTuple):
    """Nodes of one type in a pool, which cost the same whoever uses them."""

    pool: str
    instance_type: str
    number: Fraction
    """How many; over a time so many on average."""
    price: Fraction | None
    """USD per hour of one; None where it is not known."""
    parts: Mapping[str, Fraction]
    """What part of a node's price one share of each kind has, by its resource."""
    offered: Mapping[str, Fraction]
    """Shares of each of these kinds that all of them advertise together."""
    is_there: bool = True
    """Whether they are; an instance that is reserved may not be."""


class PodShares(NamedTuple):
    """Shares that the pods of a namespace hold in a pool; over a time so many on average."""

    pool: str
    namespace: str
    resource: str
    shares: Fraction
    instance_type: str = ""
    """Of nodes of this type; empty where it is not known, and then of any."""
    payers: tuple[tuple[str, Fraction], ...] = ()
    """Namespaces that pay for them by what their pods use of the node, each with its part, which
    add up to 1. Default: the one that holds them."""


class CostLine(NamedTuple):
    """What one owner has of one kind of shares in a pool, in one use."""

    tenant: str | None
    """Who pays; None is the platform."""
    namespace: str | None
    """Whose pods hold it; None of what no pod holds."""
    pool: str
    resource: str | None
    """The kind of share; None of what nodes do not advertise, or what has no node."""
    use: Use
    shares: Fraction
    usd: Fraction
    """USD per hour, as far as prices are known."""
    is_known: bool
    """Whether all its prices are known."""


class _Piece(NamedTuple):
    """A part of some nodes."""

    tenant: str | None
    namespace: str | None
    resource: str | None
    use: Use
    shares: Fraction
    nodes: Fraction
    """As how many nodes it counts."""
    price: Fraction | None


def split_cost(
    nodes: Iterable[PaidNodes],
    holdings: Iterable[PodShares],
    owners: Mapping[str, str],
    guarantees: Mapping[tuple[str, str], Mapping[str, int]],
) -> tuple[CostLine, ...]:
    """Divide what nodes cost among tenants and the platform.

    Shares that pods hold and nodes do not have, such as of a resource that the pool does not
    declare, cost nothing here: what they are on is in what nobody has. Where pods hold more than
    there is, they divide what there is.

    Args:
        nodes: All that is paid for.
        holdings: What pods hold of it.
        owners: Tenants by their namespaces.
        guarantees: What tenants are sure of, by tenant and pool, of each resource.

    Returns:
        Lines in the order of the pools, of which the known ones add up to what nodes cost.
    """
    by_pool: dict[str, list[PaidNodes]] = {}
    for each in nodes:
        by_pool.setdefault(each.pool, []).append(each)
    held: dict[str, list[PodShares]] = defaultdict(list)
    for holding in holdings:
        held[holding.pool].append(holding)
    sure: dict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
    for (tenant, pool), counts in guarantees.items():
        sure[pool][tenant] = counts
    return tuple(
        line
        for pool, of_pool in by_pool.items()
        for line in _lines(pool, _pieces(of_pool, held[pool], owners, sure[pool]))
    )


def average_lines(moments: Iterable[tuple[Fraction, CostLine]]) -> list[CostLine]:
    """Lines of several moments as one of each kind, on average over the time.

    Args:
        moments: Lines, each with the part of the time for which it is so.
    """
    found: dict[tuple[object, ...], CostLine] = {}
    for part, line in moments:
        shares, usd, is_known = line.shares * part, line.usd * part, line.is_known
        if (before := found.get(line[:5])) is not None:
            shares, usd = shares + before.shares, usd + before.usd
            is_known = is_known and before.is_known
        found[line[:5]] = line._replace(shares=shares, usd=usd, is_known=is_known)
    return list(found.values())


def average_nodes(moments: Iterable[tuple[Fraction, PaidNodes]]) -> list[PaidNodes]:
    """The same of nodes.

    Args:
        moments: Nodes, each with the part of the time for which they are there.
    """
    found: dict[tuple[object, ...], PaidNodes] = {}
    for part, each in moments:
        key = (*each[:2], each.price, bool(each.offered), each.is_there)
        number = each.number * part
        offered = {name: shares * part for name, shares in each.offered.items()}
        if (before := found.get(key)) is not None:
            number += before.number
            offered = {name: shares + before.offered[name] for name, shares in offered.items()}
        found[key] = each._replace(number=number, offered=offered)
    return list(found.values())


def _lines(pool: str, pieces: Iterable[_Piece]) -> Iterator[CostLine]:
    """Pieces of several types, as a line for each owner, kind and use."""
    found: dict[tuple[str | None, str | None, str | None, Use], list[_Piece]] = {}
    for piece in pieces:
        found.setdefault(piece[:4], []).append(piece)
    for (tenant, namespace, resource, use), own in found.items():
        yield CostLine(
            tenant,
            namespace,
            pool,
            resource,
            use,
            shares=sum((piece.shares for piece in own), _NOTHING),
            usd=sum((piece.nodes * (piece.price or 0) for piece in own), _NOTHING),
            is_known=all(piece.price is not None for piece in own),
        )


def _pieces(
    nodes: Sequence[PaidNodes],
    holdings: Iterable[PodShares],
    owners: Mapping[str, str],
    sure: Mapping[str, Mapping[str, int]],
) -> Iterator[_Piece]:
    holdings = tuple(holdings)
    used = _used(nodes, holdings)
    paid = _used(nodes, _by_payer(holdings))
    left = [each.number for each in nodes]
    free: dict[tuple[int, str], Fraction] = {}
    for at, each in enumerate(nodes):
        own = {key[1:]: shares for key, shares in used.items() if key[0] == at}
        asked = sum((shares * each.parts[name] for (_, name), shares in own.items()), _NOTHING)
        fits = min(Fraction(1), each.number / asked) if asked else Fraction(1)
        for (_, namespace, resource), shares in (x for x in paid.items() if x[0][0] == at):
            part = shares * each.parts[resource] * fits
            tenant = owners.get(namespace)
            yield _Piece(tenant, namespace, resource, "used", shares, part, each.price)
        left[at] -= asked * fits
        free |= {(at, name): shares for name, shares in _free(each, own, left[at]).items()}
    for (tenant, at, resource), shares in _given(free, _unused(used, owners, sure)).items():
        part, price = nodes[at].parts[resource] * shares, nodes[at].price
        yield _Piece(tenant, None, resource, "guaranteed", shares, part, price)
        left[at] -= part
        free[at, resource] -= shares
    for (at, resource), shares in free.items():
        if shares:
            part = nodes[at].parts[resource] * shares
            yield _Piece(None, None, resource, "idle", shares, part, nodes[at].price)
            left[at] -= part
    for each, rest in zip(nodes, left, strict=True):
        if rest or not each.offered:
            yield _Piece(None, None, None, "idle", _NOTHING, rest, each.price)


def _by_payer(holdings: Iterable[PodShares]) -> Iterator[PodShares]:
    """Holdings as of those who pay for them: as many, under other names."""
    for holding in holdings:
        for namespace, part in holding.payers or ((holding.namespace, Fraction(1)),):
            yield holding._replace(namespace=namespace, shares=holding.shares * part, payers=())


def _used(
    nodes: Sequence[PaidNodes], holdings: Iterable[PodShares]
) -> dict[tuple[int, str, str], Fraction]:
    """Shares by place in the list of nodes, namespace and resource.

    Of whichever type they are, there are as many on each as it has of all.
    """
    found: dict[tuple[int, str, str], Fraction] = defaultdict(Fraction)
    for holding in holdings:
        name = holding.resource
        fits = [
            (at, each.offered.get(name, _NOTHING))
            for at, each in enumerate(nodes)
            if name in each.parts and holding.instance_type in {"", each.instance_type}
        ]
        there = sum((shares for _, shares in fits), _NOTHING)
        for at, shares in fits:
            part = shares / there if there else Fraction(1, len(fits))
            if part and holding.shares:
                found[at, holding.namespace, name] += holding.shares * part
    return found


def _free(
    nodes: PaidNodes, used: Mapping[tuple[str, str], Fraction], left: Fraction
) -> dict[str, Fraction]:
    """Shares that nodes offer and no pod holds, as far as something of the nodes is left."""
    held: dict[str, Fraction] = defaultdict(Fraction)
    for (_, resource), shares in used.items():
        held[resource] += shares
    found = {
        name: max(_NOTHING, shares - held[name])
        for name, shares in nodes.offered.items()
        if name in nodes.parts
    }
    counted = sum((shares * nodes.parts[name] for name, shares in found.items()), _NOTHING)
    fits = left / counted if counted > left else Fraction(1)
    return {name: shares * fits for name, shares in found.items()}


def _unused(
    used: Mapping[tuple[int, str, str], Fraction],
    owners: Mapping[str, str],
    sure: Mapping[str, Mapping[str, int]],
) -> dict[tuple[str, str], Fraction]:
    """What tenants are sure of and do not use, by tenant and resource."""
    held: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for (_, namespace, resource), shares in used.items():
        if namespace in owners:
            held[owners[namespace], resource] += shares
    return {
        (tenant, resource): left
        for tenant, counts in sure.items()
        for resource, count in counts.items()
        if (left := count - held[tenant, resource]) > 0
    }


def _given(
    free: Mapping[tuple[int, str], Fraction], unused: Mapping[tuple[str, str], Fraction]
) -> dict[tuple[str, int, str], Fraction]:
    """Free shares of those who are sure of them: of all types the same part.

    Where fewer are free than tenants could claim, such as where others borrowed some, or nodes are
    not there, they have them in proportion.
    """
    there: dict[str, Fraction] = defaultdict(Fraction)
    for (_, resource), shares in free.items():
        there[resource] += shares
    claimed: dict[str, Fraction] = defaultdict(Fraction)
    for (_, resource), shares in unused.items():
        claimed[resource] += shares
    return {
        (tenant, at, resource): shares / max(claimed[resource], there[resource]) * has
        for (tenant, resource), shares in unused.items()
        for (at, name), has in free.items()
        if name == resource and has
    }
