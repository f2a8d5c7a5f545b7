"""What is wrong within one pod, whatever nodes there are."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from eks_gpushare.findings.finding import dotted
from eks_gpushare.inventory.items import SecretKeys, Workload
from eks_gpushare.inventory.plugin_configs import find_map
from eks_gpushare.inventory.problem import Edit, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.requests import has_the_only_gpu
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at, may_be_same, pairs
from eks_gpushare.manifests import pod_fields as fields
from eks_gpushare.manifests.readers.values import mappings, walk
from eks_gpushare.manifests.readers.words import close_to, plain, shown
from eks_gpushare.manifests.rules.kubernetes import (
    BAD_TOLERATION,
    DEVICES_BY_HAND,
    NO_FIELD,
    WRONG_KIND,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath, Severity
    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement

_CONTAINERS = ("initContainers", "containers")
_WITH_ENV = (*_CONTAINERS, "ephemeralContainers")
"""Those that debug a pod have variables, and ask for nothing."""
_LISTS = frozenset((*_WITH_ENV, "sidecars"))
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_MOUNTED = "/var/run/nvidia-container-devices"
"""Where the container runtime looks for devices by the names of paths, if it is told to:
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html."""
_HIDDEN = f"takes {_VISIBLE} out of a Secret"
_OF_THE_POD = f"takes {_VISIBLE} out of its own fields"
_KUBELETS = ("/device-plugins", "/pod-resources")
"""Ends of folders in which a node's kubelet has sockets of devices and of pods."""
_NO_DEVICE = frozenset(("", "none", "void"))
ASK_FOR_IT = "Remove it, and ask for a GPU under resources.limits."
_NVIDIAS = ("nvcr.io/nvidia/", "nvidia/")
_EXPORTER = re.compile(
    r"(?:(?:gpu|nvidia|nvml|smi)[-_]exporter|(?:datadog|datadoghq)/agent|netdata/netdata"
    r"|(?:^|/)telegraf|newrelic/(?:nri-kubernetes|infrastructure[a-z0-9-]*))(?=[:@]|$)"
)
"""Images of others that tell of every GPU of a node, such as utkuozdemir/nvidia_gpu_exporter, and
agents that do: https://docs.datadoghq.com/gpu_monitoring/setup/."""
_OF_NODES = ("k8s-", "k8s/", "gpu-", "dcgm", "driver", "cloud-native/", "container-toolkit", "mig-")
"""How NVIDIA's images for nodes are called, other than those in which people run their programs."""


@edge(NO_FIELD)
def fields_are_known(inventory: Inventory) -> Iterator[Judgement]:
    """In pods of Kubernetes' own kinds; others have pods with fields of their own."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN or not fields.is_plain(workload.kind):
            continue
        for path, given, known in _parts(workload.spec):
            for key in given:
                if key not in known:
                    yield _no_field(workload, path, key, given, known)
            named = given.get("fieldPath") if path[-1:] == ("fieldRef",) else None
            if isinstance(named, str) and fields.is_no_path(named):
                yield Problem(
                    NO_FIELD,
                    workload.source,
                    (*workload.spec_path, *path, "fieldPath"),
                    f"{named} is no field of a pod that a variable can have.",
                    f"Write one of {', '.join(fields.PATHS)}, or a key of labels or annotations.",
                )


@edge(WRONG_KIND)
def values_are_text(inventory: Inventory) -> Iterator[Judgement]:
    """Selectors, labels, tolerations and variables."""
    for workload in inventory.of(Workload):
        if workload.spec is UNKNOWN:
            continue
        for path, value in _texts(workload.spec):
            if value is None or value is UNKNOWN or isinstance(value, str | dict | list):
                continue
            text = _as_text(value)
            message = f"{dotted(path)} of {workload.source.name} is {shown(value)}, not text."
            where = (*workload.spec_path, *path)
            edits = (Edit("set", where, text),)
            fix = f'Put it in quotes: "{text}".'
            yield Problem(WRONG_KIND, workload.source, where, message, fix, None, edits)
        for key, value in pairs(workload.labels):
            if isinstance(value, str) and _NO_LABEL.fullmatch(value):
                yield Problem(
                    WRONG_KIND,
                    workload.source,
                    (*workload.spec_path[:-1], "metadata", "labels", key),
                    f"The label {key} of {workload.source.name} is {shown(value)}, and no label "
                    "has spaces or one of / : @ , in it.",
                    "Write letters, digits, and - _ . between them.",
                )


@edge(BAD_TOLERATION)
def tolerations_are_valid(inventory: Inventory) -> Iterator[Judgement]:
    """As the API server validates them."""
    for workload in inventory.of(Workload):
        for index, given in mappings(at(workload.spec, "tolerations")):
            path = (*workload.spec_path, "tolerations", index)
            for key, message, fix, edits in _toleration(given, path):
                told = f"A toleration of {workload.source.name} {message}"
                place = (*path, key) if key in given else path
                yield Problem(BAD_TOLERATION, workload.source, place, told, fix, None, edits)


@edge(DEVICES_BY_HAND)
def devices_are_given(inventory: Inventory) -> Iterator[Judgement]:
    """By the device plugin; NVIDIA's own programs need to see all of them."""
    for workload in inventory.of(Workload):
        if _gives_out_or_tells(workload):
            continue
        severity: Severity | None = "info" if has_the_only_gpu(inventory, workload) else None
        for part in _WITH_ENV:
            for index, container in mappings(at(workload.spec, part)):
                if _may_see_all(container):
                    continue
                path = (*workload.spec_path, part, index)
                for place, what in _given_by_hand(inventory, workload, container):
                    name = workload.source.name
                    told = f"{name[:1].upper()}{name[1:]} {what}."
                    where = (*path, *place)
                    yield Problem(
                        DEVICES_BY_HAND, workload.source, where, told, ASK_FOR_IT, severity
                    )


def _given_by_hand(
    inventory: Inventory, workload: Workload, container: Mapping[str, Any]
) -> Iterator[tuple[FieldPath, str]]:
    """Where a container names devices by a variable, or by a path as of `volume-mounts`, and how.

    The variable may come out of a ConfigMap or a Secret, by its key or with all others. What a
    Secret says is nobody's to read; whoever means no device has no need to hide it.
    """
    yield from _by_key(inventory, workload, container)
    yield from _with_all(inventory, workload, container)
    for number, mount in mappings(container.get("volumeMounts")):
        folder, _, device = str(mount.get("mountPath")).rstrip("/").partition(f"{_MOUNTED}/")
        if not folder and device:
            yield ("volumeMounts", number, "mountPath"), _sets(device)


def _by_key(
    inventory: Inventory, workload: Workload, container: Mapping[str, Any]
) -> Iterator[tuple[FieldPath, str]]:
    for number, variable in mappings(container.get("env")):
        if variable.get("name") != _VISIBLE:
            continue
        place: FieldPath = ("env", number, "value")
        value = variable.get("value")
        if (reference := at(variable, "valueFrom", "configMapKeyRef")) is not None:
            place = ("env", number, "valueFrom")
            value = _of_map(inventory, workload, reference, at(reference, "key"))
        if isinstance(at(variable, "valueFrom", "secretKeyRef"), dict):
            yield ("env", number, "valueFrom"), _HIDDEN
        elif isinstance(at(variable, "valueFrom", "fieldRef"), dict):
            if at(workload.spec, "schedulerName") not in (None, "", "default-scheduler"):
                continue  # which may give out devices by annotations, as HiveD does
            yield ("env", number, "valueFrom"), _OF_THE_POD
        elif _gives(value):
            yield place, _sets(value)


def _with_all(
    inventory: Inventory, workload: Workload, container: Mapping[str, Any]
) -> Iterator[tuple[FieldPath, str]]:
    if any(variable.get("name") == _VISIBLE for _, variable in mappings(container.get("env"))):
        return  # what stands under env goes over it
    for number, source in mappings(container.get("envFrom")):
        prefix = str(source.get("prefix") or "")
        if _VISIBLE.startswith(prefix):
            key = _VISIBLE.removeprefix(prefix)
            value = _of_map(inventory, workload, source.get("configMapRef"), key)
            if _gives(value):
                yield ("envFrom", number), _sets(value)
            if _is_in_secret(inventory, workload, source.get("secretRef"), key):
                yield ("envFrom", number), _HIDDEN


def _of_map(inventory: Inventory, workload: Workload, reference: Any, key: Any) -> Any:
    config_map = find_map(inventory, workload, at(reference, "name"))
    return None if config_map is None else at(config_map.data, str(key))


def named_outside(value: Any) -> Iterator[tuple[FieldPath, str]]:
    """Where values of a chart, or an object of somebody's own kind, name devices by the variable.

    Containers in lists are left out, which pods have.
    """
    for path, inner in walk(value):
        if not any(key in _LISTS and isinstance(number, int) for key, number in pairwise(path)):
            if _gives(inner.get(_VISIBLE)):
                yield (*path, _VISIBLE), _sets(inner[_VISIBLE])
            elif inner.get("name") == _VISIBLE and _gives(inner.get("value")):
                yield (*path, "value"), _sets(inner["value"])
            elif inner.get("name") == _VISIBLE and at(inner, "valueFrom", "secretKeyRef"):
                yield (*path, "valueFrom"), _HIDDEN


def _is_in_secret(inventory: Inventory, workload: Workload, reference: Any, key: str) -> bool:
    return any(
        secret.keys is not UNKNOWN and key in secret.keys
        for secret in inventory.of(SecretKeys, workload.cluster)
        if secret.name == at(reference, "name")
        and may_be_same(secret.namespace, workload.namespace)
    )


def _sets(value: Any) -> str:
    return f"sets {_VISIBLE} to {shown(value)}"


def _gives(value: Any) -> bool:
    return isinstance(value, str | int) and value not in _NO_DEVICE


def _gives_out_or_tells(workload: Workload) -> bool:
    """Whether it is a device plugin, or what watches beside it or tells of pods: of every GPU.

    They have a folder of the kubelet's, https://kubernetes.io/docs/concepts/extend-kubernetes/
    compute-storage-net/device-plugins/.
    """
    volumes = mappings(at(workload.spec, "volumes")) if workload.kind == "DaemonSet" else ()
    return any(
        str(at(volume, "hostPath", "path")).rstrip("/").endswith(_KUBELETS) for _, volume in volumes
    )


def _may_see_all(container: Mapping[str, Any]) -> bool:
    """Whether it reaches every device anyway, or is a program for nodes that needs to."""
    if at(container, "securityContext", "privileged") is True:
        return True
    image = container.get("image")
    if image is UNKNOWN:
        return True  # for all that is known
    # What is in capitals is no image: the operator fills it in.
    if not isinstance(image, str):
        return False
    named = next(
        (image.removeprefix(prefix) for prefix in _NVIDIAS if image.startswith(prefix)), ""
    )
    return named.startswith(_OF_NODES) or image.isupper() or bool(_EXPORTER.search(image))


def _parts(
    spec: Mapping[str, Any],
) -> Iterator[tuple[FieldPath, Mapping[str, Any], Collection[str]]]:
    yield (), spec, fields.POD
    yield from _inner((), spec, fields.WITHIN_POD)
    for part in _CONTAINERS:
        for index, container in mappings(spec.get(part)):
            yield (part, index), container, fields.CONTAINER
            yield from _inner((part, index), container, fields.WITHIN_CONTAINER)
            for number, variable in mappings(container.get("env")):
                place: FieldPath = (part, index, "env", number, "valueFrom")
                whence = variable.get("valueFrom")
                if isinstance(whence, dict):
                    yield place, whence, fields.VALUE_FROM
                    yield from _inner(place, whence, fields.VALUE_FROM)


def _inner(
    path: FieldPath, given: Mapping[str, Any], known: Mapping[str, Collection[str]]
) -> Iterator[tuple[FieldPath, Mapping[str, Any], Collection[str]]]:
    """What stands under its fields, by itself or in a list."""
    for key, inner in known.items():
        one = given.get(key)
        if isinstance(one, dict) and key not in fields.LISTS:
            yield (*path, key), one, inner
        for index, each in mappings(one) if key in fields.LISTS else ():
            yield (*path, key, index), each, inner


def _no_field(
    workload: Workload,
    path: FieldPath,
    key: str,
    given: Mapping[str, Any],
    known: Collection[str],
) -> Problem:
    where = (*workload.spec_path, *path, key)
    what = "A pod" if known is fields.POD else "A container" if known is fields.CONTAINER else None
    message = f"{what or _last_name(path)} has no field {key}."
    edits: tuple[Edit, ...] = ()
    close = close_to(key, known)
    if known is fields.RESOURCES and "/" in key:
        message = f"{key} stands under resources itself, so nothing is asked for."
        fix = f"Write limits: {{{key}: {shown(given[key])}}} under resources."
    elif known is fields.CONTAINER and key in fields.POD:
        fix = "Move it out of the container, beside containers."
    elif known is fields.POD and key in fields.CONTAINER and plain(key) != plain(close or ""):
        fix = "Move it into the container that it is for."
    elif close is not None:
        fix = f"Did you mean {close}?"
        # Another beginning may be of a key of another object: a Deployment has a selector.
        is_misspelt = close not in given and close[:1].lower() == key[:1].lower()
        edits = (Edit("rename", where, close),) if is_misspelt else ()
    else:
        fix = "Remove it."
    return Problem(NO_FIELD, workload.source, where, message, fix, None, edits)


def _last_name(path: FieldPath) -> str:
    """What a path leads to, by the last key on it."""
    return next(step for step in reversed(path) if isinstance(step, str))


_NO_LABEL = re.compile(r"(?=.*[ /:@,])[A-Za-z0-9._/:@, -]+")
"""Of plain text, that is no placeholder; what a label's value may be:
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


def _texts(spec: Mapping[str, Any]) -> Iterator[tuple[FieldPath, Any]]:
    selector = spec.get("nodeSelector")
    for key, value in selector.items() if isinstance(selector, dict) else ():
        yield ("nodeSelector", key), value
    for index, toleration in mappings(spec.get("tolerations")):
        for key in ("key", "value"):
            yield ("tolerations", index, key), toleration.get(key)
    yield from _affinity(spec)
    for part in _WITH_ENV:
        for index, container in mappings(spec.get(part)):
            for number, variable in mappings(container.get("env")):
                yield (part, index, "env", number, "value"), variable.get("value")
            for key in ("command", "args"):
                words = container.get(key)
                for number, word in enumerate(words if isinstance(words, list) else ()):
                    yield (part, index, key, number), word


def _affinity(spec: Mapping[str, Any]) -> Iterator[tuple[FieldPath, Any]]:
    top: FieldPath = ("affinity", "nodeAffinity")
    required: FieldPath = (*top, "requiredDuringSchedulingIgnoredDuringExecution")
    terms = [
        (*required, "nodeSelectorTerms", index)
        for index, _ in mappings(at(spec, *required, "nodeSelectorTerms"))
    ]
    preferred: FieldPath = (*top, "preferredDuringSchedulingIgnoredDuringExecution")
    terms += [(*preferred, index, "preference") for index, _ in mappings(at(spec, *preferred))]
    for term in terms:
        path = (*term, "matchExpressions")
        for index, each in mappings(at(spec, *path)):
            values = each.get("values")
            for number, value in enumerate(values if isinstance(values, list) else ()):
                yield (*path, index, "values", number), value


def _toleration(
    given: Mapping[str, Any], path: FieldPath
) -> Iterator[tuple[str, str, str, tuple[Edit, ...]]]:
    key, value = given.get("key"), given.get("value")
    operator, effect = given.get("operator"), given.get("effect")
    if UNKNOWN in (key, value, operator, effect):
        return
    if operator not in (None, "", *fields.OPERATORS):
        close = close_to(str(operator), fields.OPERATORS)
        edits = (Edit("set", (*path, "operator"), close),) if close else ()
        fix = f"Write {close}." if close else f"Write one of {', '.join(fields.OPERATORS)}."
        yield "operator", f"has the operator {shown(operator)}.", fix, edits
    if effect not in (None, "", *fields.EFFECTS):
        close = close_to(str(effect), fields.EFFECTS)
        edits = (Edit("set", (*path, "effect"), close),) if close else ()
        fix = f"Write {close}." if close else f"Write one of {', '.join(fields.EFFECTS)}."
        yield "effect", f"has the effect {shown(effect)}.", fix, edits
    if operator == "Exists" and value not in (None, ""):
        fix = "Remove the value; Exists goes with any."
        edits = (Edit("remove", (*path, "value")),)
        yield "value", f"has the operator Exists and the value {shown(value)}.", fix, edits
    if given.get("tolerationSeconds") not in (None, UNKNOWN) and effect != "NoExecute":
        fix = "Remove it, or write effect: NoExecute; other effects end no pod that runs."
        edits = (Edit("remove", (*path, "tolerationSeconds")),) if effect in fields.EFFECTS else ()
        said = f"the effect {shown(effect)}" if effect else "no effect"
        yield "tolerationSeconds", f"has tolerationSeconds and {said}.", fix, edits
    if key in (None, "") and operator in (None, "", "Equal"):
        fix = "Write its key, or operator: Exists for every taint."
        yield "key", "has no key.", fix, ()


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
