"""What a rule of Kyverno writes into pods, where it is certain that it does and what.

A rule with a condition, a context or a variable is none of these. Of a JSON patch missing parents
are made, and every pod has tolerations by the time that policies see it, from the plugin
DefaultTolerationSeconds. Sources, November 2026: `applyPatchesWithOptions` of
pkg/engine/mutate/patch/patchJSON6902.go in kyverno/kyverno;
https://kyverno.io/docs/policy-types/cluster-policy/mutate/;
https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import PART_OF_POD
from eks_gpushare.inventory.matching import selects
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, has_unknown, items, pairs
from eks_gpushare.manifests.strategic_merge import PatchError, patched
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.inventory.items import Workload

_TOLERATIONS: Final = "tolerations"
_SELECTOR: Final = "nodeSelector"
_WHOLE: Final = f"/spec/{_TOLERATIONS}"
_PLACES: Final = (["", "spec", _TOLERATIONS], ["", "spec", _SELECTOR])
_LEFT_OUT: Final = ("kube-system", "kube-public", "kube-node-lease", "kyverno")
"""Namespaces that Kyverno's chart has its webhooks, or itself, pass over."""
_OF_POLICIES: Final = frozenset(
    (
        *("rules", "background", "failurePolicy", "schemaValidation", "webhookTimeoutSeconds"),
        *("validationFailureAction", "mutateExistingOnPolicyUpdate", "emitWarning"),
    )
)
"""What of a policy does not tell whether its rules change a pod that is made."""
_OF_RULES: Final = frozenset(("name", "match", "mutate", "skipBackgroundRequests"))
_OF_CONDITIONS: Final = frozenset(
    ("kinds", "operations", "namespaces", "namespaceSelector", "selector")
)
_VARIABLE: Final = "{{"
_ANCHOR: Final = re.compile(r"'[+<=^X]?\(")
"""A key with a condition, in what Python shows of a patch."""


class UnsureError(Exception):
    """It is not certain what is made of a pod."""


def made_of(policy: Any, rule: Any, item: Workload, labels: Any) -> Mapping[str, Any]:
    """What a rule makes of where the pods of a workload go, by field.

    Args:
        policy: The whole object.
        rule: One of its rules.
        item: The workload.
        labels: Those of its namespace.

    Raises:
        UnsureError: If it is not certain that it is for them, or what it makes.
    """
    operations = _operations(policy, rule)
    written = [at(item.spec, name) for name in (_TOLERATIONS, _SELECTOR)]
    if item.kind == PART_OF_POD or has_unknown([written, operations]):
        raise UnsureError
    given = {_TOLERATIONS: items(written[0]), _SELECTOR: dict(pairs(written[1]))}
    if not any(_is_for(each, item, labels) for each in _conditions(rule)):
        raise UnsureError
    if given[_TOLERATIONS] and any(each["path"] == _WHOLE for each in operations):
        raise UnsureError  # what goes over what hangs on how it is merged
    try:
        made = patched({"spec": given}, operations)["spec"]
    except PatchError as error:
        raise UnsureError from error
    if not _is_well_formed(made):
        raise UnsureError
    return {name: made[name] for name in given if made[name] != given[name]}


def _is_well_formed(spec: Any) -> bool:
    """Whether Kubernetes takes the pod, as nothing else looks at what a policy writes."""
    given = [spec[_SELECTOR], *items(spec[_TOLERATIONS])]
    texts = [value for each in given for key, value in pairs(each) if key != "tolerationSeconds"]
    are_lists = isinstance(spec[_TOLERATIONS], list) and all(isinstance(e, dict) for e in given)
    return are_lists and all(isinstance(value, str) for value in texts)


def _operations(policy: Any, rule: Any) -> list[Any]:
    """A rule as a JSON patch, of which all is about where pods go."""
    mutate = at(rule, "mutate")
    is_plain = at(policy, "kind") == "ClusterPolicy" and _keys(at(policy, "spec")) <= _OF_POLICIES
    if not is_plain or not _keys(rule) <= _OF_RULES or len(_keys(mutate)) != 1:
        raise UnsureError
    if _VARIABLE in str(mutate):
        raise UnsureError
    if "patchesJson6902" in mutate:
        written = mutate["patchesJson6902"]
        if isinstance(written, str):
            written = next((each.value for each in read_texts(written, "").documents), None)
        operations = items(written)
    else:
        operations = _of_merge(at(mutate, "patchStrategicMerge"))
    wanted = [each for each in operations if not str(at(each, "path")).startswith("/metadata/")]
    if not wanted or any(at(each, "op") != "add" for each in operations):
        raise UnsureError
    if any(str(at(each, "path")).split("/")[:3] not in _PLACES for each in wanted):
        raise UnsureError
    return wanted


def _of_merge(patch: Any) -> list[Any]:
    """A strategic merge as operations, which adds to selectors and goes over tolerations."""
    if _ANCHOR.search(str(patch)) or "$patch" in str(patch):
        raise UnsureError
    selector = pairs(at(patch, "spec", _SELECTOR))
    operations = [
        {"op": "add", "path": f"/spec/{_SELECTOR}/{key.replace('/', '~1')}", "value": value}
        for key, value in selector
    ]
    tolerations = at(patch, "spec", _TOLERATIONS)
    whole = {"op": "add", "path": _WHOLE, "value": tolerations}
    return operations if tolerations is None else [*operations, whole]


def _conditions(rule: Any) -> list[Any]:
    """Those of which one is enough."""
    match = at(rule, "match")
    every = items(at(match, "any")) or items(at(match, "all")) or [match]
    is_one = len(every) == 1 or at(match, "all") is None
    if not is_one or any(_keys(each) != {"resources"} for each in every):
        raise UnsureError
    return [each["resources"] for each in every]


def _is_for(condition: Any, item: Workload, labels: Any) -> bool:
    """Whether a condition is certainly met by a workload's pods as they are made."""
    if has_unknown(condition) or not _keys(condition) <= _OF_CONDITIONS:
        return False
    if item.namespace in _LEFT_OUT:
        return False
    if not any(str(kind).rpartition("/")[2] == "Pod" for kind in items(at(condition, "kinds"))):
        return False
    spaces, operations = items(at(condition, "namespaces")), items(at(condition, "operations"))
    if operations and "CREATE" not in operations:
        return False
    if spaces and (
        item.namespace is UNKNOWN or not any(fnmatchcase(item.namespace, str(s)) for s in spaces)
    ):
        return False
    selected = (("namespaceSelector", labels), ("selector", item.labels))
    return all(
        name not in _keys(condition) or selects(at(condition, name), given) is True
        for name, given in selected
    )


def _keys(value: Any) -> set[str]:
    return {key for key, _ in pairs(value)}
