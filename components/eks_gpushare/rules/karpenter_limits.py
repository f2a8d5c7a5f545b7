"""Rules about how far Karpenter may scale a pool."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.facts.index import rule_of
from eks_gpushare.facts.karpenter_pools import NODES, OF_EVERY_NODE, is_idle_limit
from eks_gpushare.findings.rule import Rule
from eks_gpushare.rules.planned import planned
from eks_gpushare.rules.registry import Scope, check
from eks_gpushare.sharing.efa import EFA
from eks_gpushare.sharing.karpenter.limits import promised_by_type
from eks_gpushare.sharing.scaling import most_by_type, static_nodes
from eks_gpushare.validation.shape import similar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.findings.finding import FieldPath, Finding
    from eks_gpushare.rules.context import Context

_LIMITS = "https://karpenter.sh/docs/concepts/nodepools/#speclimits"

IDLE_LIMIT = rule_of("GPU744")
FORBIDDING_LIMIT = Rule(
    "GPU745",
    "error",
    "The limits of a pool allow it a node.",
    "Karpenter adds a node only where the limit still holds with all of it. It says nothing, and "
    "pods wait for ever.",
    _LIMITS,
)
NO_LIMIT = rule_of("GPU746")
BAD_LIMIT = Rule(
    "GPU747",
    "error",
    "A limit is a quantity above 0, and of shares a whole number.",
    "The NodePool is refused, or its limit forbids every node.",
    "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/",
)
NEVER_LAUNCHED = Rule(
    "GPU767",
    "warning",
    "Every type of a pool may be launched under its limits.",
    "One node of such a type is more than the limit allows, so Karpenter never chooses it.",
    _LIMITS,
)
COUNTED_BY_LARGEST = Rule(
    "GPU756",
    "info",
    "Of types of several sizes nodes.max counts the largest.",
    "Karpenter has no limit of nodes for such a pool, but of resources: of smaller types there may "
    "be more nodes, with as many shares in all.",
    _LIMITS,
)

_KARPENTERS_PART = Fraction("0.925")
"""Of a type's memory: what Karpenter takes for there, by its vmMemoryOverheadPercent."""
_MIB = Fraction(2**20)


@check(Scope.POOL, IDLE_LIMIT, FORBIDDING_LIMIT, BAD_LIMIT, NEVER_LAUNCHED)
def limits(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    own = pool.karpenter if pool.provisioner == "karpenter" else None
    if own is None or own.limits is None:
        return
    at = ("pools", name, "karpenter", "limits")
    if not own.limits:
        yield BAD_LIMIT.finding(at, "There is no limit in it.", "Name one, or remove the key.")
    plan = planned(ctx, name, pool)
    nodes = promised_by_type(plan) if plan else None
    for resource, given in own.limits.items():
        shares = resource not in OF_EVERY_NODE
        limit = _read(given, whole=shares or resource == "pods")
        if isinstance(limit, str):
            fix = "Write a number such as 40, or 256Gi of memory."
            yield BAD_LIMIT.finding((*at, resource), f"{resource}: {limit}", fix)
        elif pool.is_static:
            yield from _static((*at, resource), resource, limit, static_nodes(pool))
        elif nodes is None:
            continue
        elif is_idle_limit(resource, _had(pool, nodes), static=False):
            yield IDLE_LIMIT.finding((*at, resource), *_idle(resource, nodes))
        else:
            has = _by_type(ctx, resource, nodes)
            yield from _too_small((*at, resource), resource, str(given), limit, has)


def _static(at: FieldPath, resource: str, limit: Fraction, wanted: int) -> Iterator[Finding]:
    """Findings on the limit of a static pool; what is none of nodes has another rule."""
    if resource == NODES and limit < wanted:
        yield FORBIDDING_LIMIT.finding(
            at,
            f"The pool keeps {wanted} nodes, more than the limit of {limit}.",
            f"Set {wanted + 1} or more, so that one can be exchanged, or lower nodes.desired.",
        )


def _read(given: int | str, *, whole: bool) -> Fraction | str:
    """How much a limit is, or what is wrong with it."""
    found = quantity(str(given))
    if found is None:
        return f'"{given}" is no quantity.'
    if found <= 0:
        return f"{given} lets the pool have no node."
    if whole and found.denominator != 1:
        return f"{given} is not a whole number."
    return found


def _had(pool: Pool, nodes: Mapping[str, Mapping[str, int]]) -> set[str]:
    """What nodes have besides what every node has."""
    shares = {name for node in nodes.values() for name, count in node.items() if count}
    return shares | {EFA} if pool.efa else shares


def _idle(resource: str, nodes: Mapping[str, Mapping[str, int]]) -> tuple[str, str]:
    """What to say of a limit that holds nothing back."""
    had = sorted({name for node in nodes.values() for name, count in node.items() if count})
    if resource == NODES:
        message = "Of a pool that is not static Karpenter counts nodes between its rounds alone."
        return message, "Use nodes: {max: ...} of the pool, which becomes a limit of its shares."
    meant = similar(resource, [*had, *OF_EVERY_NODE])
    message = f"No node of this pool has {resource}: they advertise {', '.join(had)}."
    return message, f"Write {meant or had[0]}, in which pods and Karpenter count here."


def _too_small(
    at: FieldPath, resource: str, given: str, limit: Fraction, has: Mapping[str, Fraction | None]
) -> Iterator[Finding]:
    """Findings on a limit under which types have no node, all of them or some."""
    above = {item: count for item, count in has.items() if count is not None and count > limit}
    if above and len(above) == len(has):
        least = _text(resource, min(above.values()))
        yield FORBIDDING_LIMIT.finding(
            at,
            f"One node has {least} of {resource} at least, more than the limit of {given}.",
            f"Set {least} or more: so much for each node that there may be.",
        )
        return
    for item, count in above.items():
        yield NEVER_LAUNCHED.finding(
            at,
            f"A {item} has {_text(resource, count)} of {resource}, more than the limit.",
            f"Raise the limit, or remove {item} from instanceTypes.",
        )


def _by_type(
    ctx: Context, resource: str, nodes: Mapping[str, Mapping[str, int]]
) -> dict[str, Fraction | None]:
    """What Karpenter believes a node of each type to have; None where that is not known."""
    types = [found for node in nodes if (found := ctx.catalog.find(node)) is not None]
    return {found.name: _of_node(found, resource, nodes) for found in types}


def _of_node(
    found: InstanceType, resource: str, nodes: Mapping[str, Mapping[str, int]]
) -> Fraction | None:
    if resource == "cpu":
        return Fraction(found.vcpus)
    if resource == "memory":
        return found.memory_mib * _MIB * _KARPENTERS_PART
    if resource == EFA:
        return Fraction(found.efa_interfaces)
    count = nodes[found.name].get(resource)
    return None if count is None else Fraction(count)


def _text(resource: str, count: Fraction) -> str:
    return f"{-(-count // _MIB)}Mi" if resource == "memory" else f"{-(-count // 1)}"


@check(Scope.POOL, NO_LIMIT, COUNTED_BY_LARGEST)
def unlimited(ctx: Context, name: str, pool: Pool) -> Iterator[Finding]:
    if pool.provisioner != "karpenter" or pool.is_static:
        return
    own = pool.karpenter
    if pool.nodes.max is None and not (own and own.limits):
        yield NO_LIMIT.finding(
            ("pools", name, "nodes"),
            "Nothing limits how many nodes Karpenter launches for this pool.",
            "Set nodes: {max: ...}, or karpenter: {limits: {...}}.",
        )
    plan = planned(ctx, name, pool)
    if plan is None or pool.nodes.max is None:
        return
    nodes = promised_by_type(plan)
    given = (own.limits if own else None) or {}
    if {resource for node in nodes.values() for resource in node} & given.keys():
        return  # which says how many shares there may be
    most = most_by_type(pool, nodes)
    more = {item: count for item, count in most.items() if count and count > pool.nodes.max}
    if more:
        smallest = max(more, key=lambda instance_type: more[instance_type])
        yield COUNTED_BY_LARGEST.finding(
            ("pools", name, "nodes", "max"),
            f"max {pool.nodes.max} is counted in shares of the largest type: of {smallest} there "
            f"may be {more[smallest]} nodes.",
            "Nothing to change, unless few nodes matter more than few shares: make a pool of each "
            "type then.",
        )
