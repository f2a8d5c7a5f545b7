"""Containers that a kind names one at a time, and parts of pods without a kind."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_reading import items, read_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.inventory.values import at
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.readers.kubernetes import KubernetesReader
from eks_gpushare.manifests.readers.pod_parts import PodPartsReader

KUBERNETES, PARTS = KubernetesReader(), PodPartsReader()
GPU = {"limits": {"nvidia.com/gpu": 1}}
KSERVE = "serving.kserve.io/v1beta1"


def workloads(spec: Any, version: str = KSERVE, **more: Any) -> list[Workload]:
    value = {"apiVersion": version, "kind": "Kind", "spec": spec, **more}
    return [each for each in items(read_with(KUBERNETES, value)) if isinstance(each, Workload)]


@pytest.mark.parametrize(
    ("version", "count"),
    [
        (KSERVE, 1),
        ("kubeflow.org/v1", 1),
        ("jobset.x-k8s.io/v1alpha2", 1),
        ("v1", 0),
        ("apps/v1", 0),
        ("resource.k8s.io/v1", 0),
    ],
)
def test_kinds_whose_containers_stand_alone(version: str, count: int) -> None:
    assert len(workloads({"predictor": {"model": {"resources": GPU}}}, version)) == count


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"resources": GPU}, ["spec"]),
        ({"predictor": {"model": {"resources": GPU}}}, ["model"]),
        ({"trainer": {"resourcesPerNode": GPU}}, ["trainer"]),
        ({"steps": [{"computeResources": GPU}]}, ["0"]),
        ({"model": {"resources": {"requests": {"nvidia.com/mig-1g.5gb": 1}}}}, ["model"]),
        ({"model": {"resources": {"limits": {"cpu": 1}}}}, []),
        ({"model": {"resources": "nvidia.com/gpu"}}, []),
        ({"sidecars": [{"resources": GPU}]}, []),
        ({"sidecars": [{"main": {"resources": GPU}}]}, ["main"]),
        ({"a": {"initContainers": [{"resources": GPU}]}}, []),
        ({"containers": {"resources": GPU}}, ["containers"]),
    ],
)
def test_what_is_a_container(spec: Any, names: list[str]) -> None:
    found = workloads(spec)

    assert [each.spec["containers"][0]["name"] for each in found] == names  # type: ignore[index]


def test_of_what_stands_outside_of_the_spec_no_pod_is_made() -> None:
    assert workloads({}, status={"model": {"resources": GPU}}) == []
    assert workloads({}, model={"resources": GPU}) == []


def test_a_container_has_what_stands_in_it() -> None:
    model = {"resourcesPerNode": GPU, "env": [{"name": "a"}], "name": "b"}
    (found,) = workloads({"predictor": {"model": model}})

    assert found.spec == {"containers": [{**model, "name": "model", "resources": GPU}]}
    assert (found.replicas, found.labels) == (1, {})
    assert found.spec_path == ("spec", "predictor", "model")


SELECTED, OTHER = {"nodeSelector": {"a": "b"}}, {"nodeSelector": {"c": "d"}}


@pytest.mark.parametrize(
    ("spec", "selector"),
    [
        ({"predictor": {"model": {"resources": GPU, **SELECTED}}}, {"a": "b"}),
        ({"predictor": {"model": {"resources": GPU}, **SELECTED}}, {"a": "b"}),
        ({"predictor": {"model": {"resources": GPU}}, **SELECTED}, {"a": "b"}),
        ({"predictor": {"model": {"resources": GPU}, **SELECTED}, **OTHER}, {"a": "b"}),
        ({"predictor": {"model": {"resources": GPU, "nodeSelector": {}}, **OTHER}}, {}),
        ({"transformer": SELECTED, "predictor": {"model": {"resources": GPU}}}, None),
    ],
)
@pytest.mark.parametrize("complete", [False, True])
def test_where_the_pods_go(spec: Any, selector: Any, complete: bool) -> None:
    (found,) = workloads(spec, KSERVE if complete else "kubeflow.org/v1")
    missing = (
        {} if complete else dict.fromkeys(("tolerations", "nodeSelector", "affinity"), UNKNOWN)
    )
    expected = missing if selector is None else {**missing, "nodeSelector": selector}

    assert isinstance(found.spec, dict)
    assert {key: each for key, each in found.spec.items() if key != "containers"} == expected


PLACES = """\
apiVersion: kubeflow.org/v1
kind: Kind
spec:
  trainer:
    tolerations:
      - {key: a}
    env:
      - {name: a}
    %s:
      limits:
        nvidia.com/gpu: 1
"""


@pytest.mark.parametrize("key", ["resources", "resourcesPerNode", "computeResources"])
def test_places_of_what_is_said_of_a_container(key: str) -> None:
    (found,) = items(read_with(KUBERNETES, PLACES % key))
    document = found.source.document
    above = ("spec", "trainer")
    container = (*above, "containers", 0)

    assert not document.editable
    assert document.position((*container, "env", 0, "name")) == (8, 10)
    assert document.position((*container, "resources")) == (9, 5)
    assert document.position((*container, "resources", "limits")) == (10, 7)
    assert document.position((*container, "resources", "limits", "nvidia.com/gpu")) == (11, 9)
    assert document.position((*above, "tolerations", 0, "key")) == (6, 10)
    assert document.position(("spec",)) == (3, 1)


# --- without a kind ------------------------------------------------------------------------------


def parts(value: Any) -> list[Any]:
    return [each.spec for each in items(read_with(PARTS, value)) if isinstance(each, Workload)]


CONTAINER = {"name": "main", "image": "a"}


@pytest.mark.parametrize(
    "part",
    [
        {"nodeSelector": {"a": "b"}},
        {"nodeSelector": {"a": UNKNOWN}},
        {"affinity": {"nodeAffinity": {}}},
        {"tolerations": [{"key": "a"}]},
        {"tolerations": [{"operator": "Exists"}, {"effect": "NoSchedule"}]},
        {"containers": [CONTAINER]},
        {"containers": [{"name": "main", "resources": {}}]},
        {"initContainers": [CONTAINER]},
    ],
)
@pytest.mark.parametrize("above", [(), ("a", "b")])
def test_what_is_a_part_of_a_pod(part: dict[str, Any], above: tuple[str, ...]) -> None:
    value = part
    for key in reversed(above):
        value = {key: value}

    (found,) = items(read_with(PARTS, value))
    assert isinstance(found, Workload)
    assert (found.spec, found.spec_path) == (part, above)
    assert found.source.name == "the part of a pod" + (" under a.b" if above else "")
    assert found.source.document.editable


@pytest.mark.parametrize(
    "value",
    [
        {},
        ["nodeSelector"],
        {"apiVersion": "v1", "nodeSelector": {"a": "b"}},
        {"nodeSelector": {}},
        {"nodeSelector": "a"},
        {"nodeSelector": {"a": {"b": "c"}}},
        {"nodeSelector": {"a": ["b"]}},
        {"affinity": {"nodeAffinity": None}},
        {"affinity": "nodeAffinity"},
        {"tolerations": []},
        {"tolerations": [{"value": "a"}]},
        {"tolerations": [{"key": "a"}, {"value": "a"}]},
        {"tolerations": ["key"]},
        {"containers": []},
        {"containers": [{"name": "main"}]},
        {"containers": [{"image": "a"}]},
        {"containers": [CONTAINER, {"image": "a"}]},
        {"containers": ["name image"]},
        {"resources": {"limits": {"cpu": 1}}},
        {"resources": ["limits"]},
        {"resources": {"nvidia.com/gpu": 1}},
    ],
)
def test_what_is_none(value: Any) -> None:
    assert not PARTS.matches(Document("a.yaml", value, lambda _: Position(1, 1)))


def test_only_the_outermost_of_parts_is_taken() -> None:
    inner = {"tolerations": [{"key": "a"}]}

    assert parts({"a": {**inner, "b": inner}, "c": inner}) == [inner, inner]
    assert parts({"ab": inner, "a": {"b": inner}}) == [inner, inner]
    assert parts({**inner, "a": inner}) == [inner]


def test_of_a_part_only_the_fields_that_are_meant_are_taken() -> None:
    assert parts({"tolerations": [{"key": "a"}], "nodeSelector": {}, "replicas": 1}) == [
        {"tolerations": [{"key": "a"}]}
    ]
    assert parts({"containers": [CONTAINER], "resources": GPU}) == [{"containers": [CONTAINER]}]


TEXT = """\
worker:
  image: a
  resources:
    %s:
      %s: 1
  tolerations:
    - {key: a}
"""


@pytest.mark.parametrize("amount", ["limits", "requests"])
@pytest.mark.parametrize("name", ["nvidia.com/gpu", "NVIDIA.com/gpu"])
def test_resources_beside_the_fields_of_a_pod(amount: str, name: str) -> None:
    (found,) = items(read_with(PARTS, TEXT % (amount, name)))
    document = found.source.document
    container = ("worker", "containers", 0)

    assert isinstance(found, Workload)
    assert found.spec == {
        "containers": [{"name": "", "resources": {amount: {name: 1}}}],
        "tolerations": [{"key": "a"}],
    }
    assert not document.editable
    assert document.position((*container, "resources", amount)) == (4, 5)
    assert document.position((*container, "resources", amount, name)) == (5, 7)
    assert document.position(("worker", "tolerations", 0, "key")) == (7, 8)
    assert document.position(("worker",)) == (1, 1)


def test_a_part_in_a_list_is_called_by_the_names_above() -> None:
    (found,) = items(read_with(PARTS, {"a": [{"b": {"nodeSelector": {"c": "d"}}}]}))

    assert found.source.name == "the part of a pod under a.b"
    assert isinstance(found, Workload)
    assert found.spec_path == ("a", 0, "b")


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {team: vision}}
    spec:
      taints: [{key: team, value: vision, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
"""
OWN = "tolerations: [{key: nvidia.com/gpu, operator: Exists}]"
OF_TEAM = "tolerations: [{key: team, operator: Exists}]"
ASKING = "resources: {limits: {nvidia.com/gpu: 1}}"
OLLAMA = "ollama: {gpu: {enabled: true, number: 1}}"
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: own, namespace: a}
spec:
  chart: {spec: {chart: ollama, version: 1.77.0}}
  values: {VALUES}
"""


def told(values: str, name: str = "values.yaml") -> list[str]:
    files = (GivenFile("pool.yaml", POOL), GivenFile(name, values))
    codes = ("GPU1111", "GPU1112")
    found = [each for report in lint_files(files) for each in report.findings]
    return [each.code for each in found if each.code in codes and each.severity == "warning"]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (f"{ASKING}\n{OWN}\n", ["GPU1111"]),
        (f"{ASKING}\n{OF_TEAM}\n", []),
        (f"{ASKING}\ntolerations: []\n", []),  # as a chart has it that adds its own
        (f"{ASKING}\n", []),
        (f"{ASKING}\n{OWN}\nnodeSelector: {{team: vision}}\n", ["GPU1111"]),
        (f"{ASKING}\n{OWN}\nnodeSelector: {{team: other}}\n", ["GPU1112"]),
        (f"{OWN}\n", []),
        (f"worker: {{{ASKING}, {OWN}}}\n", ["GPU1111"]),
        (f"additionalWorkerGroups: {{a: {{{ASKING}, {OWN}}}}}\n", ["GPU1111"]),
        (f"worker: {{{ASKING}}}\n{OWN}\n", []),
        (f"{ASKING}\ntolerations: $TOLERATIONS\n", []),
        (f"{OLLAMA}\n", ["GPU1111"]),
        (f"{OLLAMA}\n{OF_TEAM}\n", []),
        (f"{OLLAMA}\ntolerations: $TOLERATIONS\n", []),
        (f"ollama: {{{OLLAMA}}}\n", ["GPU1111"]),
        (RELEASE.replace("VALUES", OLLAMA), ["GPU1111"]),
        (RELEASE.replace("VALUES", f"{OLLAMA}, nodeSelector: {{team: other}}"), ["GPU1112"]),
        (OLLAMA.replace("number: 1", "type: amd"), []),
        (OLLAMA.replace("number: 1", "draEnabled: true"), []),
        (OLLAMA.replace("number: 1", "type: $TYPE"), []),
        (OLLAMA.replace("true", "false"), []),
        (OLLAMA.replace("number: 1", "nvidiaResource: amd.com/gpu"), []),
        (OLLAMA.replace("number: 1", "mig: {enabled: true, devices: {1g.5gb: 1}}"), []),
    ],
)
def test_values_have_all_tolerations_beside_the_gpu_that_they_ask_for(
    values: str, found: list[str]
) -> None:
    assert told(values) == found
    assert "GPU1111" not in told(f"```yaml\n{values}```\n", "guide.md")


@pytest.mark.parametrize(("told", "number"), [({"number": 2}, 2), ({}, 1)])
def test_ollama_gets_one_gpu_or_as_many_as_it_is_told(told: dict[str, int], number: int) -> None:
    (found,) = items(read_with(PARTS, {"ollama": {"gpu": {"enabled": True, **told}}}))

    assert isinstance(found, Workload)
    assert at(found.spec, "containers", 0, "resources", "limits") == {"nvidia.com/gpu": number}


def test_what_ollamas_chart_asks_for() -> None:
    gpu = {"enabled": True, "mig": {"enabled": True, "devices": {"1g.5gb": 2}}}
    (found,) = items(read_with(PARTS, {"ollama": {"gpu": gpu}}))
    assert isinstance(found, Workload)
    assert found.spec == {
        "containers": [{"name": "", "resources": {"limits": {"nvidia.com/mig-1g.5gb": 2}}}],
        "tolerations": [
            {"key": "nvidia.com/mig-1g.5gb", "operator": "Exists", "effect": "NoSchedule"}
        ],
    }


@pytest.mark.parametrize("more", [{"type": "object"}, {"properties": {"a": "b"}}])
def test_values_with_a_word_of_schemas_are_values(more: dict[str, Any]) -> None:
    assert len(items(read_with(PARTS, {"nodeSelector": {"a": "b"}, **more}))) == 1
    both = {"type": "object", "properties": {}, "nodeSelector": {"a": "b"}}
    assert not PARTS.matches(Document("a.yaml", both, lambda _: Position(1, 1)))
