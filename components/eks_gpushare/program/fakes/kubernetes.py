"""Fakes for what installs many Kubernetes objects at once: files, charts, kustomizations.

Objects in YAML are read as the plugin reads them and registered below their component. What a chart
or a kustomization renders is known to the plugin alone, and what an address holds to nobody who
does not ask: the plan says so. Source: pulumi/pulumi-kubernetes 4.34, ``provider/pkg/provider``:
``yaml/v2/yaml.go``, ``yaml/v2/configgroup.go``, ``helm/v4/chart.go``.
"""

from __future__ import annotations

import json
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eks_gpushare.program.errors import PlanError
from eks_gpushare.program.fakes.eks.children import Children, reference, unwrap
from eks_gpushare.program.fakes.types import Component
from eks_gpushare.program.values import UNKNOWN, Properties, Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eks_gpushare.program.fakes.types import Function, Plan
    from eks_gpushare.program.recording import Resource


def _rendered(plan: Plan, component: Resource) -> Properties:
    kind = component.type.removeprefix("kubernetes:")
    plan.assume(f"The objects of {component.name} ({kind}) are not known here: policies miss them.")
    return {"resources": UNKNOWN if plan.preview else []}


def _decoded(_plan: Plan, args: Properties, _provider: str) -> Properties:
    """Objects of a YAML text, as version 1 of ConfigFile and ConfigGroup ask for them."""
    return {"result": _objects(str(args.get("text", "")), "a ConfigFile or ConfigGroup")}


def _objects(text: str, where: str) -> list[Properties]:
    """The objects of a YAML text; lists are taken apart."""
    try:
        documents = [document for document in yaml.safe_load_all(text) if document]
    except yaml.YAMLError as error:
        raise PlanError(f"the YAML of {where} cannot be read: {error}") from None
    flat: list[Properties] = []
    for document in documents:
        if not isinstance(document, dict):
            raise PlanError(
                f"the YAML of {where} holds something else than objects: {document!r:.60}"
            )
        is_list = str(document.get("kind", "")).endswith("List") and isinstance(
            document.get("items"), list
        )
        flat += document["items"] if is_list else [document]
    return flat


def _config_file(plan: Plan, component: Resource) -> Properties:
    given = component.inputs.get("file")
    return _registered(plan, component, [] if given is None else [given])


def _config_group(plan: Plan, component: Resource) -> Properties:
    given = unwrap(component.inputs.get("files"))
    files = [given] if isinstance(given, str) else given or []
    if files is UNKNOWN:
        return _rendered(plan, component)
    return _registered(plan, component, files)


def _registered(plan: Plan, component: Resource, files: Sequence[Any]) -> Properties:
    """Register the objects of files, of text and of data; what is not known is said."""
    args, known_whole = component.inputs, True
    objects: list[Properties] = []
    for file in map(unwrap, files):
        if not isinstance(file, str) or "://" in file:
            known_whole = False
            continue
        for path in _paths(component, file):
            objects += _objects(_text(component, path), str(path))
    text, data = unwrap(args.get("yaml")), unwrap(args.get("objs"))
    if isinstance(text, str):
        objects += _objects(text, component.name)
    for each in map(unwrap, data if isinstance(data, list) else ()):
        known_whole = known_whole and isinstance(each, dict)
        objects += [each] if isinstance(each, dict) else []
    if not known_whole or UNKNOWN in (text, data):
        _rendered(plan, component)
    prefix = unwrap(args.get("resourcePrefix"))
    prefix = component.name if prefix is None else str(prefix)
    made = [_register(plan, component, prefix, manifest) for manifest in _of_lists(objects)]
    return {"resources": [reference(resource) for resource in made]}


def _of_lists(objects: Iterable[Properties]) -> Iterator[Properties]:
    """Objects, those of a list in its place, as the provider takes them (`yaml/v2/yaml.go`)."""
    for obj in objects:
        items = unwrap(obj.get("items"))
        if isinstance(items, list):  # that is what makes it one, whatever its kind
            yield from _of_lists(item for item in map(unwrap, items) if isinstance(item, dict))
        else:
            yield obj


def _paths(component: Resource, file: str) -> list[Path]:
    """The files that a path or a pattern names, from the program's directory."""
    if component.type.endswith("ConfigFile"):
        return [Path(file)]
    found = sorted(glob(file))  # noqa: PTH207  (patterns may be absolute)
    if not found:
        raise PlanError(f"{component.urn}: no file is found at {file!r}")
    return [Path(path) for path in found]


def _text(component: Resource, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise PlanError(f"{component.urn}: {path} cannot be read: {error}") from None


_OF_THE_CLUSTER = {
    "APIService",
    "CSIDriver",
    "CSINode",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "DeviceClass",
    "FlowSchema",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ResourceSlice",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
}
"""Kinds of Kubernetes itself that are in no namespace."""


def _register(plan: Plan, component: Resource, prefix: str, given: Properties) -> Resource:
    version, kind = str(given.get("apiVersion") or ""), str(given.get("kind") or "")
    metadata = unwrap(given.get("metadata")) or {}
    name = metadata.get("name")
    if not version or not kind or not name:
        raise PlanError(
            f"{component.urn}: every object needs apiVersion, kind and metadata.name; one has "
            f"{version or 'none'}, {kind or 'none'}, {name or 'none'}"
        )
    version = version.removeprefix("core/")
    namespace = metadata.get("namespace")
    if namespace is None and _is_namespaced(version, kind):
        namespace = _default_namespace(plan, component)
        metadata = {**metadata, "namespace": namespace}
    inputs = {**given, "apiVersion": version, "metadata": metadata}
    if (version, kind) == ("v1", "Secret"):
        secret: Properties = {
            key: Secret(given[key]) for key in ("data", "stringData") if key in given
        }
        inputs |= secret
    token = f"kubernetes:{version if '/' in version else f'core/{version}'}:{kind}"
    path = f"{namespace}/{name}" if namespace else str(name)
    return Children(plan, component).add(token, f"{prefix}:{path}" if prefix else path, inputs)


def _is_namespaced(version: str, kind: str) -> bool:
    """Of a kind that somebody defined, the plugin asks the cluster: there none is filled in."""
    group = version.rpartition("/")[0]
    own = "." not in group or (group.endswith(".k8s.io") and group.count(".") <= _OWN_DOTS)
    return own and kind not in _OF_THE_CLUSTER


_OWN_DOTS = 3
"""In groups of Kubernetes itself, such as rbac.authorization.k8s.io."""


def _default_namespace(plan: Plan, component: Resource) -> Any:
    provider = component.providers.get("kubernetes", "")
    given = plan.resource(provider).inputs.get("namespace") if provider else None
    return "default" if given is None else unwrap(given)


def _not_rendered(plan: Plan, args: Properties, _provider: str) -> Properties:
    what = f"the kustomization {args.get('directory')}"
    if "jsonOpts" in args:
        options = json.loads(str(args["jsonOpts"]))
        what = f"the chart {options.get('chart') or options.get('path') or 'without a name'}"
    plan.assume(f"What {what} renders is not known here: policies miss it.")
    return {"result": []}


COMPONENTS: Mapping[str, Component] = {
    kind: Component(_rendered)
    for kind in (
        "kubernetes:helm.sh/v4:Chart",
        "kubernetes:kustomize/v2:Directory",
    )
} | {
    "kubernetes:yaml/v2:ConfigFile": Component(_config_file),
    "kubernetes:yaml/v2:ConfigGroup": Component(_config_group),
}
"""Type token to fake."""

FUNCTIONS: Mapping[str, Function] = {
    "kubernetes:helm:template": _not_rendered,
    "kubernetes:kustomize:directory": _not_rendered,
    "kubernetes:yaml:decode": _decoded,
}
"""Token to fake."""
