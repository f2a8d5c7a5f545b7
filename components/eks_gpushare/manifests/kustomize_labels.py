"""Labels that a kustomization gives to all that it builds.

Source: api/internal/konfig/builtinpluginconsts (commonlabels.go, metadatalabels.go,
templatelabels.go) of kubernetes-sigs/kustomize 12f9e639, August 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.values import at, items

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath

_OWN: Final = ("metadata", "labels")
_LABELS: Final = ("template", *_OWN)
_MATCH: Final = ("selector", "matchLabels")
_KEPT: Final = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
_TEMPLATES: Final[Mapping[str, tuple[FieldPath, ...]]] = {
    **dict.fromkeys((*_KEPT, "Job", "ReplicationController"), (("spec", *_LABELS),)),
    "CronJob": (("spec", "jobTemplate", *_OWN), ("spec", "jobTemplate", "spec", *_LABELS)),
}
_SELECTORS: Final[Mapping[str, tuple[FieldPath, ...]]] = {
    **dict.fromkeys(("Service", "ReplicationController"), (("spec", "selector"),)),
    **dict.fromkeys(_KEPT, (("spec", *_MATCH),)),
    "StatefulSet": (("spec", *_MATCH), ("spec", "volumeClaimTemplates", *_OWN)),
}
"""Those that are made if they are not there."""
_TERMS: Final = (
    ("requiredDuringSchedulingIgnoredDuringExecution",),
    ("preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
)
_POD: Final = ("spec", "template", "spec")
_OF_PODS: Final[tuple[FieldPath, ...]] = (
    *(
        (*_POD, "affinity", kind, *term, "labelSelector", "matchLabels")
        for kind in ("podAffinity", "podAntiAffinity")
        for term in _TERMS
    ),
    (*_POD, "topologySpreadConstraints", "labelSelector", "matchLabels"),
)
_WHERE_THERE: Final[Mapping[str, tuple[FieldPath, ...]]] = {
    **dict.fromkeys(("Deployment", "StatefulSet"), _OF_PODS),
    **dict.fromkeys(("Job", "PodDisruptionBudget"), (("spec", *_MATCH),)),
    "CronJob": (("spec", "jobTemplate", "spec", *_MATCH),),
    "NetworkPolicy": (
        ("spec", "podSelector", "matchLabels"),
        ("spec", "ingress", "from", "podSelector", "matchLabels"),
        ("spec", "egress", "to", "podSelector", "matchLabels"),
    ),
}
"""Those to which labels are added only where there are some."""


def with_labels(value: Any, kustomization: Any) -> Any:
    """An object with the labels of a kustomization.

    Args:
        value: The object.
        kustomization: The kustomization.
    """
    kind = str(at(value, "kind"))
    for labels, templates, selectors in _given(kustomization):
        value = _with(value, _OWN, labels, make=True)
        for path in _TEMPLATES.get(kind, ()) if templates else ():
            value = _with(value, path, labels, make=True)
        for path in _SELECTORS.get(kind, ()) if selectors else ():
            value = _with(value, path, labels, make=True)
        for path in _WHERE_THERE.get(kind, ()) if selectors else ():
            value = _with(value, path, labels, make=False)
    return value


def _given(kustomization: Any) -> Iterator[tuple[dict[str, Any], bool, bool]]:
    """Labels, and whether templates of pods and selectors get them too."""
    for each in items(at(kustomization, "labels")):
        pairs = at(each, "pairs")
        if isinstance(pairs, dict):
            selectors = at(each, "includeSelectors") is True
            yield pairs, selectors or at(each, "includeTemplates") is True, selectors
    common = at(kustomization, "commonLabels")
    if isinstance(common, dict):
        yield common, True, True


def _with(value: Any, path: FieldPath, labels: Mapping[str, Any], *, make: bool) -> Any:
    """A value with labels at a path, which leads into each item of a list."""
    if isinstance(value, list):
        return [_with(each, path, labels, make=make) for each in value]
    if not path:
        return {**value, **labels} if isinstance(value, dict) else value
    if not isinstance(value, dict):
        return value
    key, *rest = path
    if value.get(key) is None and not make:
        return value
    inner = {} if value.get(key) is None else value[key]
    return {**value, key: _with(inner, tuple(rest), labels, make=make)}
