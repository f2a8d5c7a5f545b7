"""Pods in objects of any kind, known by their shape and not by the key that they stand under.

Operators call a pod's template what they like: `podTemplate`, `replicaSpecs.Worker.template`,
`driver`, or a list of steps with a `container` each. What makes it a pod are its containers, or
that it asks for what only a pod can have of its node.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from gpushare_policies.reading.plain import items

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.findings.finding import FieldPath

_DEEPEST = 24
_LISTS = ("containers", "initContainers", "ephemeralContainers")
_ONE = ("container", "script")
"""A step of a workflow has one container, and others beside it."""
_BESIDE = ("sidecars", "initContainers")
_OF_HOST = ("hostPID", "hostIPC", "hostNetwork")
_PROFILES = ("seccompProfile", "appArmorProfile")
_CONTAINER_ALONE = ("privileged", "capabilities", "allowPrivilegeEscalation", "procMount")
"""Keys of a security context that a container has and a pod has not."""
_WITH_IMAGE = (
    *("command", "args", "env", "envFrom", "resources", "securityContext"),
    *("volumeMounts", "ports", "imagePullPolicy", "privileged"),
)
_IN_PARTS = ("repository", "version", "tag")
_WRITTEN = re.compile(
    r"\b(?:privileged|hostPID|hostIPC|hostNetwork|hostPath|securityContext|image)\b"
)
"""What of a pod a text may have that is YAML, JSON or TOML: patches of Argo Workflows, Kyverno and
Flux, the agents of Jenkins, the configuration of GitLab's runners."""
_NEVER = ("status", "metadata", "openAPIV3Schema")


class FoundPod(NamedTuple):
    """Something that has the shape of a pod."""

    path: FieldPath
    """Of what holds its metadata and spec."""
    metadata: Any
    spec: Mapping[str, Any]


def pods_in(value: Any, path: FieldPath = ()) -> Iterator[FoundPod]:
    """The pods below a value, each once, the outermost first.

    Args:
        value: An object, or part of one, or values of a chart.
        path: Its place.
    """
    if len(path) > _DEEPEST:
        return
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from pods_in(inner, (*path, index))
        return
    if not isinstance(value, dict):
        return
    spec = value.get("spec")
    if isinstance(spec, dict) and (pod := _pod(spec)) is not None:
        yield FoundPod(path, value.get("metadata"), pod)
        taken = True
    elif (pod := _pod(value)) is not None:
        yield FoundPod(path, value.get("metadata"), pod)
        return
    else:
        taken = False
    for key, inner in value.items():
        if key not in _NEVER and not (taken and key == "spec"):
            yield from pods_in(_written(key, inner), (*path, key))
    if taken:
        # A workflow's spec is a pod's in part, and has the templates of its steps.
        yield from _below(spec, (*path, "spec"))


def _below(spec: Any, path: FieldPath) -> Iterator[FoundPod]:
    for key, inner in spec.items():
        if key not in (*_NEVER, *_LISTS, *_ONE, *_BESIDE, "volumes"):
            yield from pods_in(_written(key, inner), (*path, key))


def _written(key: str, given: Any) -> Any:
    """What is written out in a text, and what a patch of JSON leaves, by the places it names."""
    if isinstance(given, str) and key not in _NO_TEXT and _WRITTEN.search(given):
        given = _parsed(given)
    if isinstance(given, list) and any(at(each, "op") is not None for each in given):
        return [_patched(each) for each in given]
    return given


_NO_TEXT = ("image", "source", "script", "message", "description", "expression", "query")


@lru_cache(maxsize=256)  # each rule on pods asks
def _parsed(given: str) -> Any:
    for load in (yaml.safe_load, tomllib.loads):
        try:
            found = load(given)
        except (yaml.YAMLError, RecursionError, ValueError):
            continue  # a template, of which an expression makes an object later
        if isinstance(found, dict | list):
            return found
    return given


def _patched(given: Any) -> Any:
    """An operation of RFC 6902 as the value that it leaves at its path."""
    path, op = at(given, "path"), at(given, "op")
    if not isinstance(path, str) or op not in ("add", "replace"):
        return None
    made = given.get("value")
    for part in reversed(path.strip("/").split("/")):
        made = [made] if re.fullmatch("-|[0-9]+", part) else {part: made}
    return made


def _pod(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A mapping as the spec of a pod; None if it is something else."""
    if any(_is_container_list(given.get(key)) for key in _LISTS):
        return given
    one = [given[key] for key in _ONE if _is_image(at(given.get(key), "image"))]
    if one:
        beside = [each for key in _BESIDE for each in items(given.get(key))]
        return {**given, "containers": [*one, *beside], "initContainers": []}
    steps = [
        each
        for key in ("steps", "sidecars")  # of a Task of Tekton
        for each in items(given.get(key))
        if _is_image(at(each, "image"))
    ]
    if steps:
        return {**given, "containers": steps}
    if _is_container(given):
        return {**given, "containers": [given]}
    of_host = any(given.get(key) is True for key in _OF_HOST)
    context = given.get("securityContext")
    # A patch of a pod that names none of its containers.
    of_host = of_host or any(at(context, key, "type") == "Unconfined" for key in _PROFILES)
    volumes = [
        each
        for key, listed in given.items()
        if str(key).lower().endswith("volumes")  # `extraVolumes` in values of charts
        for each in items(listed)
        if at(each, "hostPath") is not None or at(each, "hostDisk") is not None  # of KubeVirt
    ]
    return {**given, "volumes": volumes} if of_host or volumes else None


def _is_container_list(given: Any) -> bool:
    return isinstance(given, list) and any(
        isinstance(each, dict) and ("image" in each or "name" in each) for each in given
    )


def _is_container(given: Mapping[str, Any]) -> bool:
    """Whether a mapping is a container by itself, as the driver of a Spark application is."""
    context = given.get("securityContext")
    if isinstance(context, dict) and any(key in context for key in _CONTAINER_ALONE):
        return True
    if any(key in given for key in _IN_PARTS):
        return False  # the image's name alone, as NVIDIA's operators have it
    return _is_image(given.get("image")) and any(key in given for key in _WITH_IMAGE)


def _is_image(given: Any) -> bool:
    return isinstance(given, str) or given is UNKNOWN
