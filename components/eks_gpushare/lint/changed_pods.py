"""Pods that a policy changes as they are made: what it writes of them is not known.

Kyverno's rules, https://kyverno.io/docs/policy-types/cluster-policy/match-exclude/ and .../mutate/,
its policies by CEL, Kubernetes' own MutatingAdmissionPolicy,
https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/, and Gatekeeper's
mutations, https://open-policy-agent.github.io/gatekeeper/website/docs/mutation/; November 2026.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from eks_gpushare.inventory.items import POD_CHANGE, POD_DEFAULT, Namespace, Pointer, Workload
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, pairs, text
from eks_gpushare.lint.policy_patches import UnsureError, made_of
from eks_gpushare.manifests.document import value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.inventory.items import Item

_NAMES: Final = ("tolerations", "nodeSelector", "affinity", "schedulerName")
_FIELDS: Final = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b")
"""What of a pod says where it goes."""


class PolicyChange(NamedTuple):
    """What a policy changes, and of which pods: of those of one condition at least."""

    fields: frozenset[str]
    conditions: Sequence[Mapping[str, Any]]
    excluded: Sequence[Mapping[str, Any]]
    policy: Any = None
    """The whole object of Kyverno."""
    rule: Any = None
    """Which of its rules it is."""


def changes_in(found: Iterable[Item]) -> list[PolicyChange]:
    """What policies among some items change of pods."""
    policies = (each for each in found if isinstance(each, Pointer) and each.kind == POD_CHANGE)
    return [change for each in policies for change in _changes(each.spec, value_of(each))]


def changed(found: Sequence[Item], changes: Sequence[PolicyChange]) -> list[Item]:
    """The items, with workloads of which policies may change something.

    Args:
        found: The items of a scope.
        changes: What policies change, which may lie anywhere.
    """
    if not changes:
        return list(found)
    labels: dict[Any, Any] = {}
    for space in found:
        if isinstance(space, Namespace) and space.labels is not UNKNOWN:
            labels[space.name] = {"kubernetes.io/metadata.name": space.name, **space.labels}
    near = changes_in(found)
    return [
        _changed(item, changes, near, labels) if isinstance(item, Workload) else item
        for item in found
    ]


def _changed(
    item: Workload,
    changes: Iterable[PolicyChange],
    near: Sequence[PolicyChange],
    labels: Mapping[Any, Any],
) -> Workload:
    if item.spec is UNKNOWN:
        return item
    found = [
        change
        for change in changes
        if any(_may_be(each, item, labels) for each in change.conditions)
        and not any(_is_named(each, item) for each in change.excluded)
    ]
    if not found:
        return item
    spec = {**item.spec, **dict.fromkeys(frozenset().union(*(e.fields for e in found)), UNKNOWN)}
    by = ""
    for change in found:
        # Of several, which is first is for others to say.
        is_alone = all(each is change or not each.fields & change.fields for each in found)
        if is_alone and change in near:
            with suppress(UnsureError):
                spec |= made_of(change.policy, change.rule, item, labels.get(item.namespace))
                by = f"the ClusterPolicy {text(at(change.policy, 'metadata', 'name'))}"
    return replace(item, spec=spec, changed_by=by)


def _changes(spec: Any, whole: Any) -> Iterator[PolicyChange]:
    rules = items(at(spec, "rules"))
    for rule in rules:  # of Kyverno
        fields = _fields(at(rule, "mutate"))
        if fields:
            excluded = _told(at(rule, "exclude"))
            yield PolicyChange(fields, _told(at(rule, "match")), excluded, whole, rule)
    fields = frozenset() if rules else frozenset(_FIELDS.findall(str(spec)))
    if fields:
        own = {"selector": at(spec, "selector"), "namespaces": [at(whole, "metadata", "namespace")]}
        of_kubeflow = own if at(whole, "kind") == POD_DEFAULT else {}
        told = at(spec, "matchConstraints") or at(spec, "match") or of_kubeflow
        yield PolicyChange(fields, [told], ())


def _fields(mutate: Any) -> frozenset[str]:
    """What a rule of Kyverno may change; anything, where its patch as a whole is not known."""
    patches = [mutate, *dict(pairs(mutate)).values(), at(mutate, "patchStrategicMerge", "spec")]
    return frozenset(_NAMES if UNKNOWN in patches else _FIELDS.findall(str(mutate)))


def _told(match: Any) -> list[Any]:
    """The conditions of a rule, of which one has to hold; of several that have to, the first."""
    if match is None:
        return []
    every = items(at(match, "any")) or items(at(match, "all"))[:1] or [match]
    return [at(each, "resources") or {} for each in every]


def _may_be(condition: Any, item: Workload, labels: Mapping[Any, Any]) -> bool:
    """Whether it may be for pods of a workload; only what is certain says no."""
    kinds = items(at(condition, "kinds"))
    plain = {kind.rpartition("/")[2] for kind in kinds if isinstance(kind, str)}
    if plain and len(plain) == len(kinds) and not {"Pod", "*", item.kind} & plain:
        return False
    if not _is_in(at(condition, "namespaces"), item, unknown=True):
        return False
    of_space = at(condition, "namespaceSelector")
    if of_space is not None and selects(of_space, labels.get(item.namespace, UNKNOWN)) is False:
        return False
    own = [at(condition, name) for name in ("selector", "objectSelector", "labelSelector")]
    return all(each is None or selects(each, item.labels) is not False for each in own)


def _is_named(condition: Any, item: Workload) -> bool:
    """Whether a condition leaves out a namespace, and says no more."""
    spaces = at(condition, "namespaces")
    return set(condition) <= {"kinds", "namespaces"} and (
        spaces is not None and _is_in(spaces, item, unknown=False)
    )


def _is_in(spaces: Any, item: Workload, *, unknown: bool) -> bool:
    """Whether a workload is in one of some namespaces, which may have stars in them."""
    known = [text(each) for each in items(spaces)]
    if not known:
        return True
    if UNKNOWN in (*known, item.namespace):
        return unknown
    return any(fnmatchcase(str(item.namespace), str(each)) for each in known)
