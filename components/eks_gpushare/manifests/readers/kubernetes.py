"""Objects of Kubernetes itself, and of those that bring pods of their own."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from eks_gpushare.inventory.items import (
    FEATURE_RULE,
    INFERENCE_SERVICE,
    POD_CHANGE,
    POD_DEFAULT,
    PROMISED,
    RAY_JOB,
    SCALERS,
    SCRAPERS,
    SERVICE_ACCOUNT,
    ConfigMap,
    DeviceClaim,
    Namespace,
    NodeSet,
    Pointer,
    Quota,
    SecretKeys,
    Workload,
)
from eks_gpushare.inventory.nodes import COMPUTE_TYPE
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import at, pairs
from eks_gpushare.manifests.document import Read
from eks_gpushare.manifests.plain import taints
from eks_gpushare.manifests.readers.device_plugin import DevicePluginConfigReader
from eks_gpushare.manifests.readers.lone_containers import lone_containers
from eks_gpushare.manifests.readers.machines import machine_nodes
from eks_gpushare.manifests.readers.mig_parted import MigPartedReader
from eks_gpushare.manifests.readers.objects import judge_object, quota_places
from eks_gpushare.manifests.readers.pods import pod_labels, pod_places
from eks_gpushare.manifests.readers.spark import is_spark, judge_spark, spark_pods
from eks_gpushare.manifests.readers.texts_and_amounts import judge_texts
from eks_gpushare.manifests.readers.values import mapping, mappings, text
from eks_gpushare.manifests.texts import read_texts, texts_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.inventory.items import Item
    from eks_gpushare.inventory.source import Maybe
    from eks_gpushare.manifests.document import Document
    from eks_gpushare.manifests.texts import Texts

_DOMAIN = "ComputeDomain"
_CLAIMS = frozenset(("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", _DOMAIN))
_POINTERS = frozenset(
    (
        *SCALERS,
        *("Service", "PodDisruptionBudget", "RuntimeClass", "PriorityClass", "LimitRange"),
        *("LocalQueue", "ResourceFlavor", "AdmissionCheck", "Configuration"),
        *("PersistentVolume", "PersistentVolumeClaim", "StorageClass"),
        *("Prometheus", "PrometheusRule", "ServiceMonitor", "PodMonitor", "NVIDIADriver"),
        *("PrometheusAgent", *SCRAPERS),
        *("NetworkPolicy", "CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy"),
        *(SERVICE_ACCOUNT, FEATURE_RULE),
    )
)
_WITHOUT_SPEC = frozenset(
    ("RuntimeClass", "PriorityClass", "Configuration", "StorageClass", SERVICE_ACCOUNT)
)
_OF_POLICIES = {
    **dict.fromkeys(("ClusterPolicy", "Policy"), ("kyverno.io",)),
    **dict.fromkeys(("MutatingPolicy", "NamespacedMutatingPolicy"), ("policies.kyverno.io",)),
    "MutatingAdmissionPolicy": ("admissionregistration.k8s.io",),
    **dict.fromkeys(("Assign", "ModifySet"), ("mutations.gatekeeper.sh",)),
    POD_DEFAULT: ("kubeflow.org",),
}
"""Kinds of policies that may change pods, with the groups of their APIs."""
_BESIDE_PODS = {INFERENCE_SERVICE: "serving.kserve.io/", RAY_JOB: "ray.io/"}
"""Kinds that say more than their pods do, with how their APIs begin."""
_CONFIGURATIONS = (DevicePluginConfigReader(), MigPartedReader())
_WITH_DATA = frozenset(("ConfigMap", "Secret"))
_REQUESTS = "requests."
_CHANNELS = ("channel", "resourceClaimTemplate", "name")
_OF_DOMAIN = {
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "channel",
                    "exactly": {"deviceClassName": "compute-domain-default-channel.nvidia.com"},
                }
            ]
        }
    }
}
"""What the driver's controller makes for pods of a ComputeDomain, under the name given there."""


class KubernetesReader:
    """Any object with `apiVersion` and `kind`; what is not about GPUs gives nothing."""

    name = "Kubernetes"

    def matches(self, document: Document) -> bool:
        """Whether it says what it is."""
        value = document.value
        if not isinstance(value, dict):
            return False
        return isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)

    def read(self, document: Document) -> Read:
        """Its items, and what stands within a ConfigMap."""
        inner = configurations_within(document)
        whence = source(document, object_name(document.value))
        judged = (
            *judge_object(document, whence),
            *judge_texts(document.value, whence),
            *judge_spark(document, whence),
        )
        return Read(items=tuple(_items(document)), judgements=judged, inner=tuple(inner))


def object_name(value: Mapping[str, Any]) -> Maybe[str]:
    """The name of an object, or the beginning of one that is yet to be made."""
    found = at(value, "metadata", "name")
    return text(found if found is not None else at(value, "metadata", "generateName"))


def namespace_of(value: Mapping[str, Any]) -> Maybe[str]:
    """The namespace that an object names; without one whoever applies it says where."""
    found = at(value, "metadata", "namespace")
    return found if isinstance(found, str) and found else UNKNOWN


def source(document: Document, name: Maybe[str]) -> Source:
    """Its source, called by kind and name."""
    called = "" if name is UNKNOWN or not name else f" {name}"
    return Source(f"the {document.value['kind']}{called}", document)


def _items(document: Document) -> Iterator[Item]:
    value: Mapping[str, Any] = document.value
    kind = value["kind"]
    name = object_name(value)
    whence = source(document, name)
    space = namespace_of(value)
    if kind in _WITH_DATA:
        yield _with_data(kind, value, source=whence, name=name, namespace=space)
    elif kind == "Namespace":
        yield Namespace(source=whence, name=name, labels=_labels(value))
    elif kind in _QUEUES or _has_quota(value):
        yield from _quotas(value, whence, name)
    elif kind == "Node":
        yield _node(value, whence, name)
    elif kind in _CLAIMS:
        yield _claim(value, whence, name)
    elif kind in _POINTERS and _is_of_pods(value):
        spec = mapping(value if kind in _WITHOUT_SPEC else value.get("spec"))
        yield Pointer(source=whence, kind=kind, name=name, namespace=space, spec=spec)
    else:
        yield from policies(document)
        yield from machine_nodes(value, whence, name)
        yield from _flags(value, whence)
        if value["apiVersion"].startswith(_BESIDE_PODS.get(kind, "-")):
            spec = mapping(value.get("spec"))
            yield Pointer(source=whence, kind=kind, name=name, namespace=space, spec=spec)
        for place in pod_places(kind, value):
            spec = at(value, *place.spec)
            if isinstance(spec, dict) and isinstance(spec.get("containers", []), list):
                yield Workload(
                    source=whence,
                    kind=kind,
                    name=name,
                    namespace=space,
                    replicas=place.replicas,
                    labels=pod_labels(value, place.template),
                    spec=spec,
                    spec_path=place.spec,
                )
        around = Workload(
            source=whence, kind=kind, name=name, namespace=space, replicas=1, labels={}, spec={}
        )
        reading = spark_pods if is_spark(value) else lone_containers
        yield from reading(document, whence, around)


def _flags(value: Mapping[str, Any], whence: Source) -> Iterator[ConfigMap]:
    """The ConfigMap that Knative's operator makes of what it is told of features.

    https://knative.dev/docs/install/operator/configuring-serving-cr/, November 2026.
    """
    is_operators = value["apiVersion"].startswith("operator.knative.dev/")
    for key in ("features", "config-features") if is_operators else ():
        path = ("spec", "config", key)
        if isinstance(given := at(value, *path), dict):
            made = Source(whence.name, whence.document, path)
            yield ConfigMap(source=made, name="config-features", namespace=UNKNOWN, data=given)


def policies(document: Document) -> Iterator[Pointer]:
    """What changes pods as they are made, whatever patterns it has for keys."""
    value = document.value
    if str(at(value, "apiVersion")).partition("/")[0] in _OF_POLICIES.get(
        str(at(value, "kind")), ()
    ):
        name = object_name(value)
        yield Pointer(
            source=source(document, name),
            kind=POD_CHANGE,
            name=name,
            namespace=namespace_of(value),
            spec=mapping(value.get("spec")),
        )


def _has_quota(value: Mapping[str, Any]) -> bool:
    """Whether it is a quota, or of a kind of somebody's with one in it."""
    is_own = value["kind"] == "ResourceQuota"
    return is_own or any(at(value, *place) is not None for place in quota_places(value))


def _quotas(
    value: Mapping[str, Any], whence: Source, name: Maybe[str]
) -> Iterator[Quota | Pointer]:
    kind = value["kind"]
    space = namespace_of(value) if kind == "ResourceQuota" else ""
    for place in quota_places(value):
        hard = _hard(mapping(at(value, *place)))
        yield Quota(source=whence, kind=kind, name=name, namespace=space, hard=hard)
    if kind in _QUEUES:
        hard, spec = _QUEUES[kind](value), mapping(value.get("spec"))
        yield Quota(source=whence, kind=kind, name=name, namespace="", hard=hard)
        for place in _PROMISES if kind == "Queue" else ():
            promised = mapping(at(value, *place))
            yield Quota(source=whence, kind=PROMISED, name=name, namespace="", hard=promised)
        yield Pointer(source=whence, kind=kind, name=name, namespace="", spec=spec)


def _claim(value: Mapping[str, Any], whence: Source, name: Maybe[str]) -> DeviceClaim:
    kind, version = value["kind"], value["apiVersion"].rpartition("/")[2]
    spec = mapping(value.get("spec"))
    if kind == _DOMAIN:
        kind, version, spec = "ResourceClaimTemplate", "v1", _OF_DOMAIN
        name = text(at(value, "spec", *_CHANNELS))
    return DeviceClaim(
        source=whence,
        kind=kind,
        version=version,
        name=name,
        namespace=namespace_of(value),
        spec=spec,
    )


def _is_of_pods(value: Mapping[str, Any]) -> bool:
    """Whether it is of the API that everybody means by its kind; Knative has Services too."""
    group, _, _ = value["apiVersion"].rpartition("/")
    return group in {
        *("", "autoscaling", "keda.sh", "policy", "autoscaling.aibrix.ai"),
        *("kueue.x-k8s.io", "config.kueue.x-k8s.io", "node.k8s.io", "scheduling.k8s.io"),
        *("storage.k8s.io", "monitoring.coreos.com", "nvidia.com"),
        *("networking.k8s.io", "cilium.io", "nfd.k8s-sigs.io", "nfd.openshift.io"),
        *("operator.victoriametrics.com", "opentelemetry.io"),
    }


def configurations_within(document: Document) -> Iterator[Document]:
    """The configurations in a ConfigMap's texts, values of charts only where they are named so."""
    if at(document.value, "kind") != "ConfigMap":
        return
    for key, texts in _texts_of(document):
        for inner in texts.documents if texts else ():
            if "values" in key.lower() or any(one.matches(inner) for one in _CONFIGURATIONS):
                yield inner


def _with_data(kind: str, value: Mapping[str, Any], **named: Any) -> ConfigMap | SecretKeys:
    if kind == "ConfigMap":
        return ConfigMap(data=_texts(value), **named)
    parts = (mapping(value.get("data")), mapping(value.get("stringData")))
    if UNKNOWN in parts:
        return SecretKeys(keys=UNKNOWN, **named)
    return SecretKeys(keys=frozenset(str(key) for part in parts for key, _ in pairs(part)), **named)


def _texts_of(document: Document) -> Iterator[tuple[str, Texts | None]]:
    """The texts of a ConfigMap, of whose binary part all stands at the key."""
    for key, pair in pairs(document.value.get("data")):
        if isinstance(pair, str):
            yield key, texts_within(document, ("data", key))
    for key, pair in pairs(document.value.get("binaryData")):
        if isinstance(text := _decoded(pair), str):
            place = document.always(("binaryData", key))
            yield key, read_texts(text, document.file, place=place)


def _labels(value: Mapping[str, Any]) -> Maybe[Mapping[str, Any]]:
    return mapping(at(value, "metadata", "labels"))


def _texts(value: Mapping[str, Any]) -> Maybe[Mapping[str, Any]]:
    """What a ConfigMap holds, with the binary part as text where it is text."""
    plain, binary = mapping(value.get("data")), mapping(value.get("binaryData"))
    if plain is UNKNOWN or binary is UNKNOWN:
        return UNKNOWN
    return {**{key: _decoded(item) for key, item in binary.items()}, **plain}


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return UNKNOWN
    try:
        return base64.b64decode("".join(value.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        return UNKNOWN


def _hard(hard: Maybe[Mapping[str, Any]]) -> Maybe[Mapping[str, Any]]:
    if hard is UNKNOWN:
        return UNKNOWN
    return {
        key.removeprefix(_REQUESTS): item
        for key, item in hard.items()
        if "/" not in key or key.startswith(_REQUESTS)  # of others nothing is counted
    }


def _queued(value: Mapping[str, Any]) -> Maybe[Mapping[str, Any]]:
    """What all flavors of a ClusterQueue have together, as far as one number says so."""
    found: dict[str, Any] = {}
    for _, group in mappings(at(value, "spec", "resourceGroups")):
        for _, flavor in mappings(group.get("flavors")):
            for _, resource in mappings(flavor.get("resources")):
                name, quota = resource.get("name"), resource.get("nominalQuota")
                if isinstance(name, str):
                    found[name] = quota if name not in found else _sum(found[name], quota)
    return found


def _capable(value: Mapping[str, Any]) -> Maybe[Mapping[str, Any]]:
    """What a queue of Volcano may have."""
    return mapping(at(value, "spec", "capability"))


_PROMISES = (("spec", "guarantee", "resource"), ("spec", "deserved"))
"""What a queue of Volcano is sure of, and what it gets back from others:
https://volcano.sh/en/docs/queue/"""
_QUEUES = {"ClusterQueue": _queued, "Queue": _capable}
"""Kueue's, and Volcano's."""


def _sum(one: Any, other: Any) -> Any:
    try:
        return int(str(one)) + int(str(other))
    except ValueError:
        return UNKNOWN


def _node(value: Mapping[str, Any], whence: Source, name: Maybe[str]) -> NodeSet:
    labels = _labels(value)
    types: Maybe[tuple[str, ...]] = ()
    if labels is not UNKNOWN:
        stated = labels.get("node.kubernetes.io/instance-type")
        types = UNKNOWN if stated is UNKNOWN else (stated,) if isinstance(stated, str) else ()
    of_auto_mode = labels is not UNKNOWN and labels.get(COMPUTE_TYPE) == "auto"
    # Its image is known of a node that runs, and not how Bottlerocket was set up.
    system = at(value, "status", "nodeInfo", "osImage")
    is_bottlerocket = isinstance(system, str) and system.startswith("Bottlerocket")
    return NodeSet(
        source=whence,
        name=name,
        provisioner="autoMode" if of_auto_mode else "byHand",
        instance_types=types,
        labels=labels,
        taints=taints(at(value, "spec", "taints")),
        ami="bottlerocket" if is_bottlerocket else "",
        user_data=UNKNOWN if is_bottlerocket else "",
        least=1,
        most=1,
    )
