"""Whether taints are tolerated and labels are as wanted, as Kubernetes' scheduler matches them.

Answers are yes, no, or None where it hangs on what is not known.

Source: `core/v1/toleration.go` of k8s.io/api, `scheduling/corev1/nodeaffinity` of
k8s.io/component-helpers and `pkg/labels/selector.go` of k8s.io/apimachinery, 0.35.
"""

from __future__ import annotations

import re
from itertools import product
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, every, items, pairs, some, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.inventory.source import Maybe

    # A label of a node by its key; None where it has none.
    Labels = Callable[[str], Maybe[str | None]]

KEEPS_OFF = ("NoSchedule", "NoExecute")
"""Effects of taints for which pods wait; another only makes a node the last choice."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DIGITS = re.compile(r"[0-9]{1,63}")
"""As many as a label may have."""
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {"Gt": gt, "Lt": lt, "Gte": ge, "Lte": le}
"""The last two are Karpenter's."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def is_tolerated(taint: NodeTaint, tolerations: Any) -> bool | None:
    """Whether one of a pod's tolerations is for a taint."""
    if tolerations is UNKNOWN:
        return None
    return some(_tolerates(toleration, taint) for toleration in items(tolerations))


def _tolerates(toleration: Any, taint: NodeTaint) -> bool | None:
    key, operator, value, effect = (
        text(at(toleration, part)) for part in ("key", "operator", "value", "effect")
    )
    return every(
        (
            _is_or_empty(effect, taint.effect),
            _is_or_empty(key, taint.key),
            None if operator is UNKNOWN else _value_fits(operator, value, taint.value),
        )
    )


def _is_or_empty(given: Any, wanted: str) -> bool | None:
    return None if given is UNKNOWN else given in ("", wanted)


def _value_fits(operator: str, given: Any, of_taint: str) -> bool | None:
    if operator == "Exists":
        return True
    if given is UNKNOWN:
        return None
    if operator in ("", "Equal"):
        return bool(given == of_taint)
    if operator in ("Lt", "Gt") and _INTEGER.fullmatch(given) and _INTEGER.fullmatch(of_taint):
        low, high = (of_taint, given) if operator == "Lt" else (given, of_taint)
        # Alpha in 1.35, so EKS has it not: the API server refuses the pod, or takes it some day.
        return None if int(low) < int(high) else False
    return False


def required_terms(spec: Any) -> Any:
    """The terms of which a node has to meet one, by a pod's node affinity; None without one."""
    required = at(spec, "affinity", "nodeAffinity", _REQUIRED)
    return None if required is None else at(required, "nodeSelectorTerms") or ()


def never_meet(one: Any, other: Any) -> bool:
    """Whether the selectors and affinities of two pods are for no node that both may be on."""
    return all(
        any(_excludes(each, another) or _excludes(another, each) for each, another in product(a, b))
        for a, b in product(_demands(one), _demands(other))
    )


def _demands(spec: Any) -> Iterator[list[tuple[Any, Any, list[Any]]]]:
    """Keys, operators and values that a node has to meet, for each term of the affinity."""
    chosen = [(key, "In", [text(value)]) for key, value in pairs(at(spec, "nodeSelector"))]
    terms = required_terms(spec)
    for term in [None] if terms is None or terms is UNKNOWN else items(terms):
        asked = (
            (at(each, "key"), at(each, "operator"), [text(v) for v in items(at(each, "values"))])
            for each in items(at(term, "matchExpressions"))
        )
        yield [*chosen, *asked]


def _excludes(one: tuple[Any, Any, list[Any]], other: tuple[Any, Any, list[Any]]) -> bool:
    (key, operator, values), (other_key, against, others) = one, other
    if key != other_key or key is UNKNOWN or UNKNOWN in (*values, *others):
        return False
    if operator == "In":
        if against in ("In", "NotIn"):
            return all((value in others) is (against == "NotIn") for value in values)
        return bool(against == "DoesNotExist")
    return bool(operator == "Exists" and against == "DoesNotExist")


def meets_term(term: Any, labels: Labels) -> bool | None:
    """Whether a node meets a term of a pod's node affinity."""
    if term is UNKNOWN:
        return None
    expressions, fields = (at(term, part) for part in ("matchExpressions", "matchFields"))
    if not expressions and not fields:  # such a term is for no node
        return False
    if UNKNOWN in (expressions, fields):
        return None
    found = [meets_expression(item, labels) for item in items(expressions)]
    # A field is the node's name, which nobody has given yet.
    return every([*found, *([None] if items(fields) else [])])


def meets_requirements(requirements: Any, labels: Labels) -> bool | None:
    """Whether a node meets all of some requirements, as of a NodePool or an overlay."""
    if requirements is UNKNOWN:
        return None
    return every(meets_expression(requirement, labels) for requirement in items(requirements))


def meets_expression(expression: Any, labels: Labels) -> bool | None:
    """Whether a node meets one of them.

    Args:
        expression: With `key`, `operator` and `values`.
        labels: What the node has, by key.
    """
    key, operator = (text(at(expression, part)) for part in ("key", "operator"))
    if UNKNOWN in (key, operator):
        return None
    values = at(expression, "values")
    if values is UNKNOWN:
        return None
    return _has(labels(key), operator, [text(value) for value in items(values)])


def _has(label: Maybe[str | None], operator: str, values: Sequence[Any]) -> bool | None:
    if label is UNKNOWN:
        return None
    match operator:
        case "Exists" | "DoesNotExist":
            return (label is not None) is (operator == "Exists")
        case "In" | "NotIn":
            among = some(None if value is UNKNOWN else value == label for value in values)
            found = False if label is None else among
            return found if operator == "In" or found is None else not found
        case _ if operator in _COMPARED:
            return _compares(label, operator, values)
        case _:
            return None  # refused by the API server, which is for others to say


def _compares(label: str | None, operator: str, values: Sequence[Any]) -> bool | None:
    if label is None:
        return False
    if UNKNOWN in values:
        return None
    wanted, has = _number(values[0]) if len(values) == 1 else None, _number(label)
    if wanted is None or has is None:
        return False
    return _COMPARED[operator](has, wanted)


def _number(given: str) -> int | None:
    """A number of 64 bits; a label has no sign."""
    if not _DIGITS.fullmatch(given) or int(given) >= 2**63:
        return None
    return int(given)


def selects(selector: Any, labels: Any) -> bool | None:
    """As a label selector of Kubernetes: an empty one selects all pods, and none at all none.

    Args:
        selector: With `matchLabels` and `matchExpressions`.
        labels: Those of the pods.
    """
    if selector is None:
        return False
    named, expressions = at(selector, "matchLabels"), at(selector, "matchExpressions")
    if UNKNOWN in (selector, named, expressions):
        return None
    same = [{"key": key, "operator": "In", "values": [value]} for key, value in pairs(named)]
    given = dict(pairs(labels))

    def label(key: str) -> Any:
        if labels is UNKNOWN:
            return UNKNOWN
        return text(given[key]) if key in given else None

    return meets_requirements([*same, *items(expressions)], label)
