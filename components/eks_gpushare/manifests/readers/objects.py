"""What is wrong with an object of Kubernetes as it is written, beside its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.documents.quantity import quantity
from eks_gpushare.documents.reading import is_guide
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.pod_fields import CONTAINER, ONLY_PODS, POD
from eks_gpushare.manifests.readers.old_apis import ONLY_SPELLING, SERVED_NOW
from eks_gpushare.manifests.readers.values import mappings
from eks_gpushare.manifests.readers.words import close_to
from eks_gpushare.manifests.rules.kubernetes import COUNTS_NOTHING, GPU_FOR_ALL, NO_FIELD, OLD_API

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.source import Source
    from eks_gpushare.manifests.document import Document

_GPUS = "nvidia.com/"
_LIMITS = "limits."
_REQUESTS = "requests."
_OF_HAMI = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores")
_QUOTAS: dict[str, tuple[FieldPath, ...]] = {
    **dict.fromkeys(("ResourceQuota", "HierarchicalResourceQuota"), (("spec", "hard"),)),
    **dict.fromkeys(("AccountQuota", "ClusterResourceQuota"), (("spec", "quota", "hard"),)),
    "Profile": (("spec", "resourceQuotaSpec", "hard"),),
}
"""Where quotas of namespaces stand: Kubernetes' own, and what kiosk, OpenShift, Kubeflow and the
hierarchical namespaces make such of. Capsule's tenants have a list of them."""
_STAND_IN = {
    "default": (),
    "defaultRequest": (),
    "max": ("default",),
    "min": ("default", "defaultRequest", "max"),
}
"""Parts of a LimitRange that become the default of a container, and where the API server looks
before: `SetDefaults_LimitRangeItem` in pkg/apis/core/v1/defaults.go of Kubernetes 1.35."""
_AROUND_PODS = {
    **dict.fromkeys(
        ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"),
        (("spec",), ("spec", "template")),
    ),
    "CronJob": (
        *(("spec",), ("spec", "jobTemplate"), ("spec", "jobTemplate", "spec")),
        ("spec", "jobTemplate", "spec", "template"),
    ),
}
"""Where kinds are written around their pods, and people put what belongs into those."""
_OF_KSERVE = ("predictor", "transformer", "explainer")
_RUNTIMES = (
    *("model", "huggingface", "lightgbm", "onnx", "paddle", "pmml", "pytorch", "sklearn"),
    *("tensorflow", "triton", "xgboost"),
)
"""Containers in what a pod of KServe's is written as: `PredictorSpec` in pkg/apis/serving/v1beta1/
predictor.go of kserve/kserve 0.15."""
_OF_COMPONENTS = frozenset(
    (
        *(*_RUNTIMES, "name", "storageUris", "storageContainerName", "workerSpec", "minReplicas"),
        *("maxReplicas", "scaleTarget", "scaleMetric", "scaleMetricType", "autoScaling"),
        *("containerConcurrency", "timeout", "canaryTrafficPercent", "logger", "batcher"),
        *("labels", "annotations", "deploymentStrategy"),
    )
)
"""Fields that KServe adds to a pod's: `ComponentExtensionSpec` in component.go beside it, of
August 2026 (aaac4e29)."""


def judge_object(document: Document, source: Source) -> Iterator[Problem]:
    """What is wrong with it."""
    value: Mapping[str, Any] = document.value
    yield from _version(value, source)
    kind = value["kind"]
    for place in quota_places(value):
        yield from _quota(value, source, place)
    if kind == "LimitRange":
        yield from _limits(value, source)
    elif kind in _AROUND_PODS:
        places = _AROUND_PODS[kind]
        yield from _misplaced(value, source, places, (*places[-1], "spec"))
    elif kind == "InferenceService":
        for part in _OF_KSERVE:
            places = tuple(("spec", part, runtime) for runtime in _RUNTIMES)
            yield from _misplaced(value, source, places, ("spec", part))
            # Explainers have had many further fields, one for each library.
            if value["apiVersion"] == "serving.kserve.io/v1beta1" and part != "explainer":
                yield from _unknown_fields(value, source, ("spec", part))


def quota_places(value: Mapping[str, Any]) -> Iterator[FieldPath]:
    """Where quotas of namespaces stand in an object."""
    kind = value["kind"]
    yield from _QUOTAS.get(kind, ())
    listed = at(value, "spec", "resourceQuotas", "items") if kind == "Tenant" else None
    for index, _ in mappings(listed):
        yield ("spec", "resourceQuotas", "items", index, "hard")


def _version(value: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    given, kind = value["apiVersion"], value["kind"]
    found = SERVED_NOW.get((given, kind))
    if found is None:
        return
    version, gone = found
    message = f"{given} has had no {kind} since Kubernetes {gone}."
    fix = f"Write apiVersion: {version}."
    certain = kind in ONLY_SPELLING and (
        not version.startswith("apps/") or at(value, "spec", "selector") is not None
    )
    edits = (Edit("set", ("apiVersion",), version),) if certain else ()
    if version == "resource.k8s.io/v1":
        fix = f"Write it anew for {version}, which has DeviceClass and spec.devices."
    yield Problem(OLD_API, source, ("apiVersion",), message, fix, None, edits)


def _quota(value: Mapping[str, Any], source: Source, place: FieldPath) -> Iterator[Problem]:
    hard = at(value, *place)
    if isinstance(hard, dict) and any(f"{_LIMITS}{each}" in hard for each in _OF_HAMI):
        return  # HAMi's scheduler reads it by this prefix (using-resourcequota.md of its site)
    for key in hard if isinstance(hard, dict) else ():
        bare = key.removeprefix(_LIMITS)
        if not bare.startswith(_GPUS):
            continue
        wanted = f"{_REQUESTS}{bare}"
        path: FieldPath = (*place, key)
        message = f"{key} counts nothing in {source.name}."
        edits = (Edit("rename", path, wanted),) if wanted not in hard else ()
        fix = f"Write {wanted}."
        severity: Severity | None = None
        if wanted in hard and str(hard[wanted]) == str(hard[key]):  # which counts what is meant
            fix, severity = f"Leave it out: {wanted} bounds them already.", "info"
        yield Problem(COUNTS_NOTHING, source, path, message, fix, severity, edits)


def _limits(value: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    """What containers get that name nothing: a default, or the bound that stands in for one."""
    for index, limit in mappings(at(value, "spec", "limits")):
        of_containers = limit.get("type") in (None, "Container")
        given = {part: at(limit, part) for part in _STAND_IN}
        held = {part: own if isinstance(own, dict) else {} for part, own in given.items()}
        for part, before in _STAND_IN.items() if of_containers else ():
            for key, amount in held[part].items():
                is_given = not any(key in held[other] for other in before)
                if not key.startswith(_GPUS) or not is_given or quantity(str(amount)) == 0:
                    continue
                path = ("spec", "limits", index, part, key)
                message = f"{source.name} gives {key} to every container that does not say."
                told = f"{message[:1].upper()}{message[1:]}"
                fix = "Remove it; containers that need a GPU ask for it."
                if before:
                    told += f" It has no default for it, and what is under {part} becomes that."
                    fix = f'Write default: {{{key}: "0"}} beside it, or remove it.'
                yield Problem(GPU_FOR_ALL, source, path, told, fix)


def _misplaced(
    value: Mapping[str, Any], source: Source, places: tuple[FieldPath, ...], template: FieldPath
) -> Iterator[Problem]:
    shown = [at(value, "spec", key) for key in ("selector", "template")]
    if source.document is not None and is_guide(source.document.file) and shown == [None, None]:
        return  # a guide that leaves out what is around the pod
    for place in places:
        given = at(value, *place)
        for key in given if isinstance(given, dict) else ():
            if key in ONLY_PODS:
                message = f"{key} stands in {'.'.join(map(str, place))} of {source.name}."
                fix = f"Move it to {'.'.join(map(str, template))}."
                yield Problem(NO_FIELD, source, (*place, key), message, fix)


def _unknown_fields(
    value: Mapping[str, Any], source: Source, place: FieldPath
) -> Iterator[Problem]:
    """Fields that neither a pod nor KServe has, and those of containers that are misspelt."""
    pod = at(value, *place)
    for key in pod if isinstance(pod, dict) else ():
        if key in POD or key in _OF_COMPONENTS:
            continue
        close = close_to(key, POD | _OF_COMPONENTS)
        fix = f"Did you mean {close}?" if close else "Write a pod's fields here by themselves."
        if key in CONTAINER:
            fix = "Move it into the model or the container that it is for."
        yield _no_field(source, place[-1], (*place, key), fix)
    for index, container in mappings(at(pod, "containers")):
        for key in container:
            if key not in CONTAINER and (close := close_to(key, CONTAINER)):
                path = (*place, "containers", index, key)
                yield _no_field(source, "container", path, f"Did you mean {close}?")


def _no_field(source: Source, what: object, path: FieldPath, fix: str) -> Problem:
    message = f"The {what} of {source.name} has no field {path[-1]}."
    return Problem(NO_FIELD, source, path, message, fix)
