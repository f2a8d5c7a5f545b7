"""Pods that another object of the scope completes: a template, and who uses it.

Sources, December 2026: `MergePodSpec` of pkg/controller/v1beta1/inferenceservice/utils/utils.go in
kserve/kserve, and the pages of Kubernetes, Kubeflow's trainer and Argo Workflows on each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from eks_gpushare.inventory.items import INFERENCE_SERVICE, ConfigMap, Pointer, Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, items, may_be_same, pairs
from eks_gpushare.manifests.document import value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare.inventory.items import Item

_OF_ALL: Final = "ClusterServingRuntime"
_RUNTIMES: Final = ("ServingRuntime", _OF_ALL)
_TEMPLATES: Final = (
    *(*_RUNTIMES, "TrainingRuntime", "ClusterTrainingRuntime"),
    *("WorkflowTemplate", "ClusterWorkflowTemplate"),
)
"""Kinds of which others make pods."""
_WORKFLOWS: Final = ("Workflow", "CronWorkflow")
_NAMED: Final = "templates"
_CONTROLLER: Final = "workflow-controller-configmap"
_TOLERATIONS: Final = "tolerations"
_WHERE: Final = (_TOLERATIONS, "nodeSelector", "affinity")
_BUILT_IN: Final = "kserve-"
"""What the names of runtimes begin with that KServe's chart brings, none of which has any."""


def completed(found: Sequence[Item]) -> list[Item]:
    """The items, with pods as far as it is known where they go.

    Args:
        found: The items of a scope.
    """
    runtimes = [each for each in found if isinstance(each, Workload) and each.kind in _RUNTIMES]
    controllers = (each for each in found if isinstance(each, ConfigMap))
    defaults = any(
        each.name == _CONTROLLER and at(each.data, "workflowDefaults") is not None
        for each in controllers
    )
    classes = {
        each.name: at(value_of(each), "scheduling")
        for each in found
        if isinstance(each, Pointer) and each.kind == "RuntimeClass"
    }
    scheduling = {name: given for name, given in classes.items() if given}
    made = [_completed(each, runtimes, defaults=defaults) for each in found]
    return [_of_class(each, scheduling) for each in made] if scheduling else made


def _completed(item: Item, runtimes: Sequence[Workload], *, defaults: bool) -> Item:
    if not isinstance(item, Workload) or item.spec is UNKNOWN:
        return item
    if item.kind in _TEMPLATES:
        return _with(item, {_TOLERATIONS: UNKNOWN, **_unless_told(item)})
    if item.kind == INFERENCE_SERVICE:
        return _with_runtime(item, runtimes)
    if item.kind in _WORKFLOWS:
        return _of_workflow(item, defaults=defaults)
    return item


def _of_class(item: Item, scheduling: Mapping[Any, Any]) -> Item:
    """A pod with what its RuntimeClass has for it."""
    if not isinstance(item, Workload) or item.spec is UNKNOWN:
        return item
    given = scheduling.get(at(item.spec, "runtimeClassName"))
    told = [at(item.spec, key) for key in (_TOLERATIONS, "nodeSelector")]
    if given is None or UNKNOWN in told:
        return item
    tolerations = [*items(told[0]), *items(at(given, _TOLERATIONS))]
    selector = {**dict(pairs(at(given, "nodeSelector"))), **dict(pairs(told[1]))}
    return _with(item, {_TOLERATIONS: tolerations, "nodeSelector": selector})


def _with(item: Workload, fields: Mapping[str, Any]) -> Workload:
    return replace(item, spec={**item.spec, **fields}) if fields else item  # type: ignore[dict-item]


def _unless_told(item: Workload) -> dict[str, Any]:
    """Where pods go is not known, as far as they do not say."""
    return {key: UNKNOWN for key in _WHERE if at(item.spec, key) is None}


def _with_runtime(item: Workload, runtimes: Sequence[Workload]) -> Workload:
    """A model's server with what its runtime says; not known of one that is not here."""
    model = at(value_of(item), *item.spec_path)
    name = at(model, "runtime")
    if item.spec_path[-1:] == ("predictor",) or not isinstance(model, dict):
        return item  # its container is its own
    alike = [each for each in runtimes if name is None or may_be_same(each.name, name)]
    mine = [e for e in alike if e.kind == _OF_ALL or may_be_same(e.namespace, item.namespace)]
    if not mine:
        is_told = name is None or str(name).startswith(_BUILT_IN)
        return item if is_told else _with(item, _unless_told(item))
    return _with(item, {key: _merged(key, item, mine) for key in _WHERE})


def _merged(key: str, item: Workload, runtimes: Iterable[Workload]) -> Any:
    own = at(item.spec, key)
    made = []
    for each in runtimes:
        given = at(each.spec, key)
        both = isinstance(own, dict) and isinstance(given, dict)
        made.append({**given, **own} if both else given if own is None else own)
    return made[0] if all(each == made[0] for each in made) else UNKNOWN


def _of_workflow(item: Workload, *, defaults: bool) -> Workload:
    value = value_of(item)
    spec = at(value, "spec", "workflowSpec") or at(value, "spec")
    patched = [at(spec, "podSpecPatch"), *(at(e, "podSpecPatch") for e in items(at(spec, _NAMED)))]
    if defaults or any(patched):
        return _with(item, {_TOLERATIONS: UNKNOWN, **_unless_told(item)})
    told = at(spec, "templateDefaults")
    labels = item.labels
    if labels is not UNKNOWN:
        labels = {**dict(pairs(at(spec, "podMetadata", "labels"))), **labels}
    fields = {key: at(told, key) for key in _unless_told(item) if at(told, key) is not None}
    return replace(_with(item, fields), labels=labels)
