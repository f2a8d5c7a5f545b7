"""Whether a pod may be on a node, by taints and labels, as Kubernetes' scheduler decides it.

Answers are yes, no, or None where it hangs on what is not known. Beside what pods say there is the
admission plugin ExtendedResourceToleration, and taints that do not last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eks_gpushare.inventory.matching import (
    KEEPS_OFF,
    is_tolerated,
    meets_expression,
    meets_term,
    required_terms,
)
from eks_gpushare.inventory.pod_totals import containers
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, some, text
from eks_gpushare.sharing.mig_manager import STARTUP_TAINT_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eks_gpushare.inventory.items import NodeTaint
    from eks_gpushare.inventory.matching import Labels
    from eks_gpushare.inventory.source import Maybe

# Taken away by Kubernetes, the cloud provider or an agent that starts by itself, or tolerated by
# every DaemonSet: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
_PASSING = (
    *("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.alpha.kubernetes.io/"),
    "karpenter.sh/unregistered",  # until Karpenter knows the node
)
_PASSING_END = "agent-not-ready"
_STARTING = (
    STARTUP_TAINT_KEY,
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
)
"""Beginnings of taints that nodes join with and lose once they are ready: of this project's
pools that MIG manager cuts, and those that Cluster Autoscaler knows as such."""


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
        if taint.effect in KEEPS_OFF and not passes(taint.key):
            yield taint


def passes(key: str) -> bool:
    """Whether Kubernetes, the cloud provider or an agent on the node takes a taint away."""
    return key.startswith(_PASSING) or is_of_agent(key)


def is_of_agent(key: str) -> bool:
    """Whether a taint is of an agent that takes it away once it runs, of a network or a driver."""
    return key.endswith(_PASSING_END)


def lasting(taints: Maybe[Sequence[NodeTaint]]) -> Maybe[Sequence[NodeTaint]]:
    """The taints without those that nodes lose before pods are placed there."""
    if taints is UNKNOWN:
        return UNKNOWN
    return tuple(taint for taint in taints if lasts(taint.key))


def lasts(key: str) -> bool:
    """Whether a taint stays on a node, as far as its key tells."""
    return not key.startswith(_STARTING)


def _wanted(spec: Any, labels: Labels) -> Iterator[tuple[str, bool | None]]:
    """What a pod wants of a node's labels, in words, and whether it gets it."""
    selector = at(spec, "nodeSelector")
    if selector is UNKNOWN:
        yield "its nodeSelector", None
    for key, value in pairs(selector):
        wanted = text(value)
        shown = "" if wanted is UNKNOWN else f"={wanted}"
        same = {"key": key, "operator": "In", "values": [value]}
        yield f"the label {key}{shown}", meets_expression(same, labels)
    terms = required_terms(spec)
    if terms is UNKNOWN:
        yield "its node affinity", None
    elif terms is not None:
        verdict = some(meets_term(term, labels) for term in items(terms))
        yield f"a node with {_terms_text(items(terms))}", verdict


def _terms_text(terms: Sequence[Any]) -> str:
    return " or ".join(_term_text(term) for term in terms) or "none of no terms"


def _term_text(term: Any) -> str:
    found = map(said, items(at(term, "matchExpressions")))
    return " and ".join(found) or "what an empty term says"


def said(expression: Any) -> str:
    """An expression on labels, in words."""
    key, operator = (text(at(expression, part)) for part in ("key", "operator"))
    values = ", ".join(
        "?" if operand is UNKNOWN else str(text(operand))
        for operand in items(at(expression, "values"))
    )
    if operator == "In":
        return f"{key}={values}" if "," not in values else f"{key} in ({values})"
    return " ".join(str(part) for part in (key, operator, values) if part)


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
    if any(operand is UNKNOWN for operand in given):
        asked[UNKNOWN] = None
    added = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in asked]
    return {**spec, "tolerations": [*items(tolerations), *added]} if spec else spec
