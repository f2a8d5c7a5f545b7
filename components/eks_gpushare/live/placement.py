"""Why a pod does not fit a node, in words: the scheduler counts nodes and names no taint.

The rules are those of Kubernetes' scheduler (`inventory.scheduling`), and requests are added up as
it does. The real scheduler (of 1.35) decides; this explains it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.matching import (
    KEEPS_OFF,
    is_tolerated,
    meets_expression,
    required_terms,
)
from eks_gpushare.live.amounts import quantity
from eks_gpushare.live.pods import requested

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.live.pods import Object


def taints_of(node: Object) -> list[NodeTaint]:
    """The taints of a node."""
    given = node["spec"].get("taints") or ()
    return [NodeTaint(taint["key"], taint.get("value", ""), taint["effect"]) for taint in given]


def untolerated(spec: Object, node: Object) -> list[str]:
    """Taints of a node that keep a pod off it."""
    tolerations = spec.get("tolerations")
    return [
        str(taint)
        for taint in taints_of(node)
        if taint.effect in KEEPS_OFF and not is_tolerated(taint, tolerations)
    ]


def mismatches(spec: Object, node: Object) -> list[str]:
    """What of a pod's node selector and required affinity a node does not have."""
    labels = node["metadata"].get("labels") or {}
    found = [
        f"nodeSelector wants {key}={value} and the node {_has(labels, key)}"
        for key, value in (spec.get("nodeSelector") or {}).items()
        if labels.get(key) != value
    ]
    terms = [list(_unmet(term, labels, node)) for term in required_terms(spec) or ()]
    if all(terms) and terms:
        found.append("affinity wants " + " or ".join(" and ".join(term) for term in terms))
    return found


def keeping_off(spec: Object, node: Object) -> list[str]:
    """What keeps a pod off a node for good, its taints first."""
    found = [f"it does not tolerate the taint {taint}" for taint in untolerated(spec, node)]
    return [*found, *mismatches(spec, node)]


def allocatable(node: Object) -> dict[str, Decimal]:
    """What a node can give, by resource."""
    return {
        name: quantity(amount) for name, amount in node["status"].get("allocatable", {}).items()
    }


def shortages(spec: Object, node: Object, used: Mapping[str, Decimal]) -> list[tuple[str, str]]:
    """Resources of which a node has too little left: name, and the sentence about it."""
    there = allocatable(node)
    found = []
    for name, amount in requested(spec).items():
        has = there.get(name, Decimal())
        free = has - used.get(name, Decimal())
        if amount > free:
            text = (
                f"no {name}"
                if not has
                else f"{_number(max(free, Decimal()))} of {_number(has)} {name} free"
            )
            found.append((name, f"{text}, {_number(amount)} asked for"))
    return found


def _number(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _unmet(term: Mapping[str, Any], labels: Mapping[str, str], node: Object) -> Iterator[str]:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        yield "no node, by an empty term"
    for expression in expressions:
        if not meets_expression(expression, labels.get):
            yield f"{_wanted(expression)} (the node {_has(labels, expression['key'])})"
    names = {"metadata.name": node["metadata"]["name"]}
    for field in fields:
        if not meets_expression(field, names.get):
            yield _wanted(field)


def _wanted(expression: Mapping[str, Any]) -> str:
    values: Iterable[str] = expression.get("values") or ()
    return " ".join([expression["key"], expression["operator"], ", ".join(values)]).rstrip()


def _has(labels: Mapping[str, str], key: str) -> str:
    return f"has {key}={labels[key]}" if key in labels else f"has no label {key}"
