"""Objects of Kubernetes at their edges: names, texts, quotas and nodes that are partly known."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from foreign_reading import ids, items, read_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import (
    ConfigMap,
    DeviceClaim,
    NodeSet,
    NodeTaint,
    Pointer,
    Quota,
    Workload,
)
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader

KUBERNETES = KubernetesReader()


def only(kind: str, version: str = "v1", **given: Any) -> Any:
    (found,) = items(read_with(KUBERNETES, {"apiVersion": version, "kind": kind, **given}))
    return found


@pytest.mark.parametrize(
    ("value", "matches"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, True),
        ({"apiVersion": "v1"}, False),
        ({"kind": "Pod"}, False),
        ({"apiVersion": 1, "kind": "Pod"}, False),
        ({"apiVersion": "v1", "kind": UNKNOWN}, False),
        (["apiVersion", "kind"], False),
        ("apiVersion", False),
    ],
)
def test_what_is_an_object(value: Any, matches: bool) -> None:
    assert KUBERNETES.matches(Document("a.yaml", value, lambda _: Position(1, 1))) is matches


@pytest.mark.parametrize(
    ("metadata", "name", "called"),
    [
        ({"name": "a", "generateName": "b-"}, "a", "the Namespace a"),
        ({"generateName": "b-"}, "b-", "the Namespace b-"),
        ({"name": UNKNOWN, "generateName": "b-"}, UNKNOWN, "the Namespace"),
        ({"name": 5}, "", "the Namespace"),
        (None, "", "the Namespace"),
    ],
)
def test_what_an_object_is_called(metadata: Any, name: Any, called: str) -> None:
    found = only("Namespace", metadata=metadata)

    assert (found.name, found.source.name) == (name, called)


@pytest.mark.parametrize(
    ("given", "namespace"),
    [("a", "a"), ("", UNKNOWN), (None, UNKNOWN), (UNKNOWN, UNKNOWN), (5, UNKNOWN)],
)
def test_the_namespace_that_an_object_names(given: Any, namespace: Any) -> None:
    assert only("ConfigMap", metadata={"namespace": given}).namespace == namespace


@pytest.mark.parametrize(
    ("version", "kind", "pointer"),
    [
        ("v1", "Service", True),
        ("serving.knative.dev/v1", "Service", False),
        ("autoscaling/v2", "HorizontalPodAutoscaler", True),
        ("keda.sh/v1alpha1", "ScaledObject", True),
        ("policy/v1", "PodDisruptionBudget", True),
        ("apps/v1", "Service", False),
    ],
)
def test_what_points_to_pods(version: str, kind: str, pointer: bool) -> None:
    template = {"spec": {"containers": [{"name": "main"}]}}
    found = only(kind, version, spec={"template": template})

    assert isinstance(found, Pointer if pointer else Workload)


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({"containers": [{"name": "a"}]}, 1),
        ({}, 1),  # a patch may say something else of it
        ({"containers": "a"}, 0),
        ({"containers": UNKNOWN}, 0),
        ("a", 0),
        (UNKNOWN, 0),
    ],
)
def test_what_is_the_spec_of_a_pod(spec: Any, pods: int) -> None:
    read = read_with(KUBERNETES, {"apiVersion": "v1", "kind": "Pod", "spec": spec})

    assert len(items(read)) == pods


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate", "DeviceClass"])
@pytest.mark.parametrize("spec", [{"a": 1}, UNKNOWN])
def test_what_claims_devices(kind: str, spec: Any) -> None:
    claim = only(kind, "resource.k8s.io/v1beta1", spec=spec, metadata={"name": "a"})

    assert isinstance(claim, DeviceClaim)
    assert (claim.kind, claim.version, claim.name, claim.spec) == (kind, "v1beta1", "a", spec)


# --- config maps ---------------------------------------------------------------------------------


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("given", "data"),
    [
        ({}, {}),
        ({"data": {"a": "x"}, "binaryData": {"b": packed("hi")}}, {"a": "x", "b": "hi"}),
        ({"data": {"a": "x"}, "binaryData": {"a": packed("hi")}}, {"a": "x"}),
        ({"data": UNKNOWN, "binaryData": {"b": packed("hi")}}, UNKNOWN),
        ({"data": {"a": "x"}, "binaryData": UNKNOWN}, UNKNOWN),
        ({"binaryData": {"b": "a G\nk="}}, {"b": "hi"}),
        ({"binaryData": {"b": "aG!k="}}, {"b": UNKNOWN}),
        ({"binaryData": {"b": "gA=="}}, {"b": UNKNOWN}),  # no UTF-8
        ({"binaryData": {"b": 5}}, {"b": UNKNOWN}),
        ({"binaryData": {"b": UNKNOWN}}, {"b": UNKNOWN}),
    ],
)
def test_what_a_config_map_holds(given: dict[str, Any], data: Any) -> None:
    found = only("ConfigMap", **given)

    assert isinstance(found, ConfigMap)
    assert found.data == data


PLUGIN = "version: v1\nflags: {migStrategy: none}\n"
VALUES = "# nvidia-device-plugin\nmigStrategy: none\ngfd: {enabled: true}\n"
POD = "apiVersion: v1\nkind: Pod\n"


@pytest.mark.parametrize(
    ("key", "text", "inner"),
    [
        ("any", PLUGIN, 1),
        ("values.yaml", VALUES, 1),
        ("My-Values", VALUES, 1),
        ("other.yaml", VALUES, 0),
        ("pod.yaml", POD, 0),
        ("any", f"---\n{PLUGIN}---\n{POD}", 1),
    ],
)
@pytest.mark.parametrize("binary", [False, True])
def test_what_within_a_config_map_is_read(key: str, text: str, inner: int, binary: bool) -> None:
    data = f"binaryData: {{{key}: {packed(text)}}}" if binary else ""
    if not binary:
        data = f"data:\n  {key}: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
    (read,) = read_with(KUBERNETES, f"apiVersion: v1\nkind: ConfigMap\n{data}")

    assert len(read.inner) == inner
    assert {each.position(("flags",))[0] for each in read.inner} <= (
        {3} if binary else set(range(4, 9))
    )


def test_within_other_kinds_nothing_is_read() -> None:
    text = "apiVersion: v1\nkind: Secret\ndata:\n  a: |\n    version: v1\n    flags: {}\n"
    (read,) = read_with(KUBERNETES, text)

    assert list(read.inner) == []


@pytest.mark.parametrize("part", ["data", "binaryData"])
@pytest.mark.parametrize("value", [None, 5, UNKNOWN, {"a": 5}, {"a": UNKNOWN}, {"a": PLUGIN}])
def test_texts_whose_place_is_not_told_are_not_read(part: str, value: Any) -> None:
    (read,) = read_with(KUBERNETES, {"apiVersion": "v1", "kind": "ConfigMap", part: value})

    assert list(read.inner) == []


# --- quotas --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hard", "found"),
    [
        (UNKNOWN, UNKNOWN),
        (None, {}),
        ({"requests.nvidia.com/gpu": 4, "pods": 3}, {"nvidia.com/gpu": 4, "pods": 3}),
        ({"limits.nvidia.com/gpu": 4, "count/pods": 3}, {}),
        ({"requests.cpu": "4"}, {"cpu": "4"}),
    ],
)
def test_what_a_quota_limits(hard: Any, found: Any) -> None:
    quota = only("ResourceQuota", spec={"hard": hard}, metadata={"namespace": "team"})

    assert isinstance(quota, Quota)
    assert (quota.hard, quota.namespace) == (found, "team")


def flavor(*quotas: Any) -> dict[str, Any]:
    resources = [{"name": "nvidia.com/gpu", "nominalQuota": each} for each in quotas]
    return {"name": "a", "resources": resources}


@pytest.mark.parametrize(
    ("flavors", "found"),
    [
        ([flavor(4)], {"nvidia.com/gpu": 4}),
        ([flavor("1k")], {"nvidia.com/gpu": "1k"}),
        ([flavor(4), flavor("3"), flavor(1)], {"nvidia.com/gpu": 8}),
        ([flavor(4), flavor("1k")], {"nvidia.com/gpu": UNKNOWN}),
        ([flavor(UNKNOWN), flavor(3)], {"nvidia.com/gpu": UNKNOWN}),
        ([{"resources": [{"name": 5, "nominalQuota": 4}, {"nominalQuota": 4}, 5]}], {}),
        ([5], {}),
    ],
)
def test_what_a_cluster_queue_has(flavors: Any, found: dict[str, Any]) -> None:
    spec = {"resourceGroups": [{"flavors": flavors}]}
    given = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "spec": spec}
    queue, pointer = items(read_with(KUBERNETES, given))

    assert isinstance(queue, Quota)
    assert (queue.hard, queue.namespace) == (found, "")
    assert isinstance(pointer, Pointer)
    assert (pointer.kind, pointer.spec) == ("ClusterQueue", spec)


def test_what_has_no_spec_is_read_whole() -> None:
    priority = only("PriorityClass", "scheduling.k8s.io/v1", value=1000)

    assert priority.spec == {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "value": 1000,
    }


# --- nodes ---------------------------------------------------------------------------------------

TYPE = "node.kubernetes.io/instance-type"


@pytest.mark.parametrize(
    ("labels", "types"),
    [
        ({TYPE: "g5.xlarge"}, ("g5.xlarge",)),
        ({TYPE: UNKNOWN}, UNKNOWN),
        ({TYPE: 5}, ()),
        ({"a": "b"}, ()),
        (UNKNOWN, ()),
        (None, ()),
    ],
)
def test_the_type_of_a_node(labels: Any, types: Any) -> None:
    node = only("Node", metadata={"labels": labels})

    assert isinstance(node, NodeSet)
    assert (node.instance_types, node.least, node.most) == (types, 1, 1)
    assert node.labels == (labels or {})


GPU = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("given", "taints"),
    [
        (None, ()),
        (UNKNOWN, UNKNOWN),
        ([GPU], (NodeTaint("nvidia.com/gpu", "", "NoSchedule"),)),
        ([{**GPU, "value": True}], (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)),
        ([GPU, UNKNOWN], UNKNOWN),
        ([{**GPU, "key": UNKNOWN}], UNKNOWN),
        ([{**GPU, "value": UNKNOWN}], UNKNOWN),
    ],
)
def test_taints_of_a_node(given: Any, taints: Any) -> None:
    assert only("Node", spec={"taints": given}).taints == taints


def test_an_object_that_is_wrong_is_told_of() -> None:
    value = {"apiVersion": "v1", "kind": "ResourceQuota"}

    assert ids(read_with(KUBERNETES, {**value, "spec": {"hard": {"nvidia.com/gpu": 1}}})) != []
    assert ids(read_with(KUBERNETES, {**value, "spec": {"hard": {"pods": 1}}})) == []
