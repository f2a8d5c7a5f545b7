"""Why a pod does not fit a node, in words: the scheduler of 1.35 counts nodes and names no taint.

The rules are those of Kubernetes' scheduler for taints, node selectors, required node affinity and
requests (https://kubernetes.io/docs/concepts/scheduling-eviction/). The real scheduler decides;
this only explains what it decided.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare_lab.client import Object

_KEEPS_OFF = ("NoSchedule", "NoExecute")
_QUANTITY = re.compile(r"([0-9.]+)([a-zA-Z]*)")
_UNITS = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}


def taint_text(taint: Mapping[str, str]) -> str:
    """A taint as kubectl writes it: nvidia.com/gpu=true:NoSchedule."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def untolerated(spec: Object, node: Object) -> list[str]:
    """Taints of a node that keep a pod off it."""
    tolerations = spec.get("tolerations") or ()
    return [
        taint_text(taint)
        for taint in node["spec"].get("taints") or ()
        if taint["effect"] in _KEEPS_OFF and not any(_tolerates(t, taint) for t in tolerations)
    ]


def mismatches(spec: Object, node: Object) -> list[str]:
    """What of a pod's node selector and required affinity a node does not have."""
    labels = node["metadata"].get("labels") or {}
    found = [
        f"nodeSelector wants {key}={value} and the node {_has(labels, key)}"
        for key, value in (spec.get("nodeSelector") or {}).items()
        if labels.get(key) != value
    ]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required:
        terms = [list(_unmet(term, labels, node)) for term in required["nodeSelectorTerms"]]
        if all(terms):
            found.append("affinity wants " + " or ".join(" and ".join(term) for term in terms))
    return found


def requested(spec: Object) -> dict[str, Decimal]:
    """What a pod asks for in all, by resource; init containers count where they ask for more."""
    total: dict[str, Decimal] = {}
    for container in spec["containers"]:
        for name, amount in _requests(container).items():
            total[name] = total.get(name, Decimal()) + amount
    for container in spec.get("initContainers") or ():
        for name, amount in _requests(container).items():
            total[name] = max(total.get(name, Decimal()), amount)
    return total


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


def quantity(given: str | float) -> Decimal:
    """A Kubernetes quantity as a number: 500m is 0.5, 2Gi is 2147483648."""
    found = _QUANTITY.fullmatch(str(given))
    if found is None or found.group(2) not in _UNITS:
        return Decimal(str(given))
    return Decimal(found.group(1)) * _UNITS[found.group(2)]


def _number(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _requests(container: Mapping[str, Any]) -> dict[str, Decimal]:
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity(amount) for name, amount in asked.items()}


def _tolerates(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint["key"]
    same_value = toleration.get("value", "") == taint.get("value", "")
    return toleration.get("key") == taint["key"] and same_value


def _unmet(term: Mapping[str, Any], labels: Mapping[str, str], node: Object) -> Iterator[str]:
    for each in term.get("matchExpressions") or ():
        if not _matches(each, labels):
            yield f"{_wanted(each)} (the node {_has(labels, each['key'])})"
    names = {"metadata.name": node["metadata"]["name"]}
    for each in term.get("matchFields") or ():
        if not _matches(each, names):
            yield _wanted(each)


def _matches(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    there = labels.get(key)
    match expression["operator"]:
        case "In":
            return there in values
        case "NotIn":
            return there not in values
        case "Exists":
            return there is not None
        case "DoesNotExist":
            return there is None
        case operator:
            return _compares(operator, there, values)


def _compares(operator: str, there: str | None, values: Sequence[str]) -> bool:
    if there is None or not re.fullmatch("[+-]?[0-9]+", there) or not values:
        return False
    return int(there) > int(values[0]) if operator == "Gt" else int(there) < int(values[0])


def _wanted(expression: Mapping[str, Any]) -> str:
    values: Iterable[str] = expression.get("values") or ()
    return " ".join([expression["key"], expression["operator"], ", ".join(values)]).rstrip()


def _has(labels: Mapping[str, str], key: str) -> str:
    return f"has {key}={labels[key]}" if key in labels else f"has no label {key}"
