"""Kubernetes objects of a program, whichever of its resources they stand in.

An object may be a resource of its own type or a CustomResource, a patch of one that is in the
cluster already (`DeploymentPatch`), or one of several in a list (`DeploymentList`, `List`). Charts
of version 3, and files of YAML, register an object for each that they hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.manifests.readers.values import walk
from gpushare_policies.reading.of_stack import of_stack
from gpushare_policies.reading.plain import item_of, items, mappings, plain, text
from gpushare_policies.reading.pod_shapes import pods_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pulumi_policy import PolicyResource

    from eks_gpushare.findings.finding import FieldPath

_PACKAGE = "kubernetes:"
_COLONS = 2
"""Of a type token: `kubernetes:apps/v1:Deployment`."""
_PATCH, _LIST = "Patch", "List"
_HELM = "helm.sh"


class Kind(NamedTuple):
    """What an object is; its version does not matter to rules."""

    group: str
    """Empty for the core of Kubernetes."""
    kind: str


@dataclass(frozen=True, slots=True)
class KubernetesObject:
    """An object as it stands in a program."""

    kind: Kind
    version: str
    """`v1`, `v1beta1`, ..."""
    body: Mapping[str, Any]
    path: FieldPath = ()
    """Its place in the resource's properties."""
    patch: bool = False
    """Whether only some of its fields are given, because the rest is in the cluster."""

    @property
    def name(self) -> Any:
        """Its name; `UNKNOWN` where Pulumi or the cluster makes it up."""
        given = at(self.body, "metadata", "name")
        return UNKNOWN if given is None else text(given)

    @property
    def namespace(self) -> Any:
        """Its own namespace, None where none is given."""
        return at(self.body, "metadata", "namespace")


@cache
def kind_of(token: str) -> tuple[Kind, str, str] | None:
    """Kind, version and `Patch`, `List` or nothing, out of a resource's type token."""
    if not token.startswith(_PACKAGE):
        return None
    _, module, kind = token.split(":") if token.count(":") == _COLONS else ("", "", "")
    group, _, version = module.rpartition("/")
    if not kind or group == _HELM:
        return None
    wrapped = next(
        (suffix for suffix in (_PATCH, _LIST) if kind.endswith(suffix) and kind != suffix), ""
    )
    if kind == _LIST:
        wrapped = _LIST
    group = "" if group == "core" else group
    return Kind(group, kind.removesuffix(wrapped) if wrapped else kind), version, wrapped


def objects_of(token: str, props: Any) -> Iterator[KubernetesObject]:
    """The objects in a resource; none if it is something else."""
    found = kind_of(token)
    if found is None:
        return
    kind, version, wrapped = found
    if wrapped == _LIST:
        listed = item_of(props, "items") if any(key == "items" for key in props) else None
        if listed is UNKNOWN:
            yield KubernetesObject(kind, version, {"metadata": UNKNOWN, "spec": UNKNOWN})
        for index, obj in mappings(listed):
            yield _listed(kind, version, obj, ("items", index))
        return
    yield KubernetesObject(kind, version, _body_of(props), patch=wrapped == _PATCH)


@of_stack
def objects_of_stack(
    resources: Sequence[PolicyResource],
) -> Sequence[tuple[PolicyResource, Sequence[KubernetesObject]]]:
    """The resources of a stack that are Kubernetes objects, each with its objects."""
    read = (
        (resource, tuple(objects_of(resource.resource_type, resource.props)))
        for resource in resources
    )
    return [(resource, objects) for resource, objects in read if objects]


_RBAC = "rbac.authorization.k8s.io"
_RBAC_DEFINITION = Kind("rbacmanager.reactiveops.io", "RBACDefinition")
_TENANT = Kind("capsule.clastix.io", "Tenant")
LIMIT_RANGE = Kind("", "LimitRange")
_NOT_MADE = frozenset(("status", "openAPIV3Schema", "match", "exclude", "validate"))


def carried_by(each: KubernetesObject) -> Iterator[KubernetesObject]:
    """Objects of Kubernetes that a controller makes out of what somebody else's kind holds.

    Kyverno generates them, Crossplane and Open Cluster Management apply them, rbac-manager makes
    bindings of its own list. Those that make pods are left out: `pod_templates` has their pods.
    """
    if each.kind == _RBAC_DEFINITION:
        for index, listed in mappings(at(each.body, "rbacBindings")):
            for of in ("ClusterRole", "Role"):
                key = f"{of[0].lower()}{of[1:]}Bindings"
                for place, bound in mappings(listed.get(key)):
                    named = bound.get("clusterRole")
                    role = {"kind": "ClusterRole", "name": named} if named else {"kind": "Role"}
                    binding = {
                        "metadata": {"name": listed.get("name")},
                        "roleRef": {"name": bound.get("role"), **role},
                        "subjects": listed.get("subjects"),
                    }
                    path: FieldPath = ("rbacBindings", index, key, place)
                    yield KubernetesObject(Kind(_RBAC, f"{of}Binding"), "v1", binding, path)
    if each.kind == _TENANT:
        place_of_limits = ("spec", "limitRanges", "items")
        for index, limits in mappings(at(each.body, *place_of_limits)):
            named = {"metadata": {"name": f"of the Tenant {each.name}"}, "spec": limits}
            yield KubernetesObject(LIMIT_RANGE, "v1", named, (*place_of_limits, index))
    for path, found in _walked(each.body):
        version, kind = found.get("apiVersion"), found.get("kind")
        if not path or not isinstance(version, str) or not isinstance(kind, str):
            continue
        data = found.get("data")
        of_kyverno = {**data, "metadata": found} if isinstance(data, dict) else found
        body = found if isinstance(found.get("metadata"), dict) else of_kyverno
        carried = Kind(version.rpartition("/")[0], kind)
        is_whole = isinstance(body.get("metadata"), dict) and not _NOT_MADE.intersection(path)
        if is_whole and not is_theirs(carried) and carried not in POD_TEMPLATES:
            yield KubernetesObject(carried, version.rpartition("/")[2], body, path)


def _walked(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """Every mapping, also of objects that are written out in a text, as charts take them."""
    if isinstance(value, str) and "apiVersion" in value:
        for document in _written_out(value):
            yield from walk(document, path)
    elif isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from _walked(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walked(inner, (*path, index))


@lru_cache(maxsize=64)  # each rule on objects asks
def _written_out(given: str) -> tuple[Any, ...]:
    try:
        return tuple(yaml.safe_load_all(given))
    except (yaml.YAMLError, RecursionError, ValueError):
        return ()  # a template, of which an expression makes an object later


_latest: list[tuple[Any, Any]] = []
"""The latest properties with their plain values: each rule on objects asks for the same ones."""


def _body_of(props: Any) -> Any:
    if not _latest or _latest[0][0] is not props:
        _latest[:] = [(props, plain(props))]
    return _latest[0][1]


def _listed(kind: Kind, version: str, body: Mapping[str, Any], path: FieldPath) -> KubernetesObject:
    """An item of a list, which may say itself what it is."""
    own_version, own_kind = text(body.get("apiVersion")), text(body.get("kind"))
    if own_version and own_version is not UNKNOWN:
        group, _, version = own_version.rpartition("/")
        kind = Kind(group, kind.kind)
    if own_kind and own_kind is not UNKNOWN:
        kind = Kind(kind.group, own_kind)
    return KubernetesObject(kind, version, body, path)


POD_TEMPLATES: Mapping[Kind, FieldPath] = {
    Kind("", "Pod"): (),
    Kind("", "PodTemplate"): ("template",),
    Kind("", "ReplicationController"): ("spec", "template"),
    Kind("apps", "Deployment"): ("spec", "template"),
    Kind("apps", "DaemonSet"): ("spec", "template"),
    Kind("apps", "ReplicaSet"): ("spec", "template"),
    Kind("apps", "StatefulSet"): ("spec", "template"),
    Kind("batch", "Job"): ("spec", "template"),
    Kind("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
"""Where objects that make pods have the pod: kind to the path of its metadata and spec."""


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A pod as an object describes it."""

    path: FieldPath
    """Below the object."""
    metadata: Any
    spec: Any


def pod_templates(each: KubernetesObject) -> Iterator[PodTemplate]:
    """The pods that an object makes: one for those of Kubernetes, any number for others' kinds."""
    path = POD_TEMPLATES.get(each.kind)
    if path is not None:
        holder = at(each.body, *(str(part) for part in path))
        if holder is not None:
            yield PodTemplate(path, at(holder, "metadata"), at(holder, "spec"))
    elif is_theirs(each.kind):
        for found in pods_in(each.body):
            yield PodTemplate(found.path, found.metadata, found.spec)


def words_of(container: Any) -> list[str]:
    """What a container is told to run: the words of its command, then its arguments."""
    return [str(word) for key in ("command", "args") for word in items(at(container, key))]


_GROUPS = frozenset(
    f"{name}.k8s.io"
    for name in (
        *("admissionregistration", "apiextensions", "apiregistration", "authentication"),
        *("authorization", "certificates", "coordination", "discovery", "events"),
        *("flowcontrol.apiserver", "internal.apiserver", "metrics", "networking", "node"),
        *("rbac.authorization", "resource", "scheduling", "storage", "storagemigration"),
    )
)
"""Of Kubernetes itself, besides those without a dot; its projects have others of that ending.

https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.35/ (2026-11-25)"""


def is_theirs(kind: Kind) -> bool:
    """Whether somebody other than Kubernetes brings a kind to a cluster."""
    return "." in kind.group and kind.group not in _GROUPS
