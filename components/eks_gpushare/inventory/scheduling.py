"""Whether a pod may be on a node, by taints and labels, as Kubernetes' scheduler decides it.

Answers are yes, no, or None where it hangs on what is not known.

Source: `core/v1/toleration.go` of k8s.io/api and `scheduling/corev1/nodeaffinity` of
k8s.io/component-helpers 0.35, and the admission plugin ExtendedResourceToleration.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, every, items, pairs, some, text
from eks_gpushare.sharing.mig_manager import STARTUP_TAINT_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.inventory.source import Maybe

    # A label of a node by its key; None where it has none.
    Labels = Callable[[str], Maybe[str | None]]

_KEEPS_OFF = ("NoSchedule", "NoExecute")
# Taken away by Kubernetes, the cloud provider or an agent that starts by itself, or tolerated by
# every DaemonSet: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.alpha.kubernetes.io/")
_PASSING_END = "agent-not-ready"
_STARTING = (
    STARTUP_TAINT_KEY,
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
)
"""Beginnings of taints that nodes join with and lose once they are ready: of this project's
pools that MIG manager cuts, and those that Cluster Autoscaler knows as such."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Landing(NamedTuple):
    """What keeps a pod off a node."""

    taints: tuple[NodeTaint, ...] = ()
    """Taints that it does not tolerate."""
    labels: tuple[str, ...] = ()
    """What it wants of the node's labels and does not get, each in words."""
    unsure_of_taints: bool = False
    """Whether it hangs on taints or tolerations that are not known."""
    unsure_of_labels: bool = False
    """Whether it hangs on labels, or on what it wants of them, that are not known."""

    @property
    def lands(self) -> bool | None:
        """Whether it may be there, as far as is known."""
        if self.taints or self.labels:
            return False
        return None if self.unsure_of_taints or self.unsure_of_labels else True


def landing(spec: Any, taints: Maybe[Sequence[NodeTaint]], labels: Labels) -> Landing:
    """What keeps a pod off nodes.

    Args:
        spec: The pod's spec.
        taints: Those of the nodes.
        labels: What they have, by key.
    """
    tolerations = at(spec, "tolerations")
    verdicts = {
        taint: is_tolerated(taint, tolerations)
        for taint in (() if taints is UNKNOWN else keeping_off(taints))
    }
    wanted = {UNKNOWN: None} if spec is UNKNOWN else dict(_wanted(spec, labels))
    return Landing(
        tuple(taint for taint, verdict in verdicts.items() if verdict is False),
        tuple(str(words) for words, verdict in wanted.items() if verdict is False),
        taints is UNKNOWN or None in verdicts.values(),
        None in wanted.values(),
    )


def keeping_off(taints: Sequence[NodeTaint]) -> Iterator[NodeTaint]:
    """The taints that keep pods off for good."""
    for taint in taints:
        passing = taint.key.startswith(_PASSING) or taint.key.endswith(_PASSING_END)
        if taint.effect in _KEEPS_OFF and not passing:
            yield taint


def lasting(taints: Maybe[Sequence[NodeTaint]]) -> Maybe[Sequence[NodeTaint]]:
    """The taints without those that nodes lose before pods are placed there."""
    if taints is UNKNOWN:
        return UNKNOWN
    return tuple(each for each in taints if lasts(each.key))


def lasts(key: str) -> bool:
    """Whether a taint stays on a node, as far as its key tells."""
    return not key.startswith(_STARTING)


def is_tolerated(taint: NodeTaint, tolerations: Any) -> bool | None:
    """Whether one of a pod's tolerations is for a taint."""
    if tolerations is UNKNOWN:
        return None
    return some(_tolerates(each, taint) for each in items(tolerations))


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


def _wanted(spec: Any, labels: Labels) -> Iterator[tuple[str, bool | None]]:
    """What a pod wants of a node's labels, in words, and whether it gets it."""
    selector = at(spec, "nodeSelector")
    if selector is UNKNOWN:
        yield "its nodeSelector", None
    for key, value in pairs(selector):
        wanted = text(value)
        shown = "" if wanted is UNKNOWN else f"={wanted}"
        yield f"the label {key}{shown}", _has(labels(key), "In", [wanted])
    if at(spec, "affinity", "nodeAffinity", _REQUIRED) is UNKNOWN:
        yield "its node affinity", None
        return
    terms = required_terms(spec)
    if terms is not None:
        verdict = None if terms is UNKNOWN else some(_meets(each, labels) for each in items(terms))
        yield f"a node with {_terms_text(items(terms))}", verdict


def required_terms(spec: Any) -> Any:
    """The terms of which a node has to meet one, by a pod's node affinity; None without one."""
    required = at(spec, "affinity", "nodeAffinity", _REQUIRED)
    return None if required is None else at(required, "nodeSelectorTerms") or ()


def _meets(term: Any, labels: Labels) -> bool | None:
    if term is UNKNOWN:
        return None
    expressions, fields = (at(term, part) for part in ("matchExpressions", "matchFields"))
    if not expressions and not fields:  # such a term is for no node
        return False
    if UNKNOWN in (expressions, fields):
        return None
    found = [_meets_expression(each, labels) for each in items(expressions)]
    # A field is the node's name, which nobody has given yet.
    return every([*found, *([None] if items(fields) else [])])


def meets_requirements(requirements: Any, labels: Labels) -> bool | None:
    """Whether a node meets all of some requirements, as of a NodePool or an overlay."""
    if requirements is UNKNOWN:
        return None
    return every(_meets_expression(each, labels) for each in items(requirements))


def _meets_expression(expression: Any, labels: Labels) -> bool | None:
    key, operator = (text(at(expression, part)) for part in ("key", "operator"))
    if UNKNOWN in (key, operator):
        return None
    values = at(expression, "values")
    if values is UNKNOWN:
        return None
    return _has(labels(key), operator, [text(each) for each in items(values)])


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
        case "Gt" | "Lt":
            return _compares(label, operator, values)
        case _:
            return None  # refused by the API server, which is for others to say


def _compares(label: str | None, operator: str, values: Sequence[Any]) -> bool | None:
    if label is None:
        return False
    if UNKNOWN in values:
        return None
    both = [*values, label]
    if len(values) != 1 or not all(_INTEGER.fullmatch(each) for each in both):
        return False
    wanted, has = map(int, both)
    return has > wanted if operator == "Gt" else has < wanted


def _terms_text(terms: Sequence[Any]) -> str:
    return " or ".join(_term_text(each) for each in terms) or "none of no terms"


def _term_text(term: Any) -> str:
    found = []
    for each in items(at(term, "matchExpressions")):
        key, operator = (text(at(each, part)) for part in ("key", "operator"))
        values = ", ".join(
            "?" if each is UNKNOWN else str(text(each)) for each in items(at(each, "values"))
        )
        if operator == "In":
            found.append(f"{key}={values}" if "," not in values else f"{key} in ({values})")
        else:
            found.append(" ".join(str(part) for part in (key, operator, values) if part))
    return " and ".join(found) or "what an empty term says"


def containers(spec: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every container of a pod with its place in the spec."""
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(items(at(spec, kind))):
            yield (kind, index), container


def is_extended(resource: str) -> bool:
    """Whether a resource is one that Kubernetes itself does not know, such as a GPU."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io")


def with_extended_tolerations(spec: Any) -> Any:
    """A pod's spec as EKS's API server keeps it, tolerating taints called as what it asks for.

    EKS has the admission plugin ExtendedResourceToleration on:
    https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
    Where it may ask for more than is known, it may tolerate any.
    """
    tolerations = at(spec, "tolerations")
    if spec is UNKNOWN or tolerations is UNKNOWN:
        return spec
    given = [at(spec, "initContainers"), at(spec, "containers")]
    asked: dict[Any, None] = {}
    for _, container in containers(spec):
        parts = [at(container, "resources", part) for part in ("requests", "limits")]
        given += [container, at(container, "resources"), *parts]
        asked |= dict.fromkeys(
            name for part in parts for name, _ in pairs(part) if is_extended(name)
        )
    if any(each is UNKNOWN for each in given):
        asked[UNKNOWN] = None
    added = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in asked]
    return {**spec, "tolerations": [*items(tolerations), *added]} if spec else spec
