"""Parts of `lab run` that need no control plane."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eks_gpushare.findings.rule import rules_in
from eks_gpushare.live import placement
from eks_gpushare.live.amounts import quantity
from eks_gpushare_lab import rules
from eks_gpushare_lab.client import ApiResource
from eks_gpushare_lab.install import manifests
from eks_gpushare_lab.install.charts import render
from eks_gpushare_lab.install.dropped_keys import dropped, looks_like_one
from eks_gpushare_lab.install.helm_record import record_of, values_in
from eks_gpushare_lab.install.release import ChartError, DeclaredRelease, known_versions

Values = Any


def release(**values: Values) -> DeclaredRelease:
    (version,) = known_versions("nvidia-device-plugin")
    return DeclaredRelease("nvdp", "gpu", "nvidia-device-plugin", version, values)


def made(**values: Values) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in render(release(**values))}


def spec(daemon_set: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = daemon_set["spec"]["template"]["spec"]
    return found


def test_the_chart_alone_has_the_plugin_and_the_mps_daemon() -> None:
    assert list(made()) == [
        "nvdp-nvidia-device-plugin",
        "nvdp-nvidia-device-plugin-mps-control-daemon",
    ]


def test_discovery_brings_nfd_with_it() -> None:
    assert list(made(gfd={"enabled": True}))[2:] == [
        "nvdp-nvidia-device-plugin-gpu-feature-discovery",
        "nvdp-node-feature-discovery-worker",
    ]


def test_a_given_list_replaces_the_default() -> None:
    mine = [{"key": "team", "operator": "Exists"}]

    assert spec(made(tolerations=mine)["nvdp-nvidia-device-plugin"])["tolerations"] == mine


def test_the_default_tolerations_are_the_charts() -> None:
    assert spec(made()["nvdp-nvidia-device-plugin"])["tolerations"] == [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_the_mps_daemon_waits_for_its_label() -> None:
    daemon = made(nodeSelector={"a": "b"})["nvdp-nvidia-device-plugin-mps-control-daemon"]

    assert spec(daemon)["nodeSelector"] == {"nvidia.com/mps.capable": "true", "a": "b"}


def test_without_a_config_map_there_is_no_config_manager() -> None:
    containers = spec(made()["nvdp-nvidia-device-plugin"])["containers"]

    assert [each["command"] for each in containers] == [["nvidia-device-plugin"]]


def test_an_edit_of_embedded_configurations_rolls_the_pods() -> None:
    one, other = (
        made(config={"map": {"default": text}})["nvdp-nvidia-device-plugin"]
        for text in ("version: v1", "version: v1 ")
    )

    assert one["spec"]["template"]["metadata"] != other["spec"]["template"]["metadata"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"config": {"name": "a", "map": {"b": ""}}}, "both 'config.name' and 'config.map'"),
        ({"config": {"map": {"a": "", "b": ""}}}, "Provide a default"),
        ({"namespaceOverride": "default"}, "'default' namespace"),
    ],
)
def test_values_that_the_chart_refuses_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ChartError, match=message):
        render(release(**values))


def test_a_release_is_recorded_as_helm_does_it() -> None:
    record = record_of(release(gfd={"enabled": True}))
    packed = base64.b64decode(base64.b64decode(record["data"]["release"]))

    assert record["metadata"]["name"] == "sh.helm.release.v1.nvdp.v1"
    assert json.loads(gzip.decompress(packed))["config"] == {"gfd": {"enabled": True}}


def test_values_are_those_of_the_newest_revision() -> None:
    """Ten comes after nine, though not in the order of names."""
    records = [record_of(release(revision=n), n) for n in (10, 9, 1)]

    assert values_in(records) == {"revision": 10}
    assert values_in([]) is None


@pytest.mark.parametrize(
    ("text", "number"), [("500m", "0.5"), ("2Gi", "2147483648"), ("3", "3"), ("1k", "1000")]
)
def test_quantities_are_numbers(text: str, number: str) -> None:
    assert f"{quantity(text).normalize():f}" == number


def node(*taints: str, **labels: str) -> dict[str, Any]:
    made_of = [dict(zip(("key", "value", "effect"), each.split(), strict=True)) for each in taints]
    return {
        "metadata": {
            "name": "n",
            "labels": {key.replace("_", "-"): v for key, v in labels.items()},
        },
        "spec": {"taints": made_of},
        "status": {"allocatable": {"cpu": "2", "nvidia.com/gpu": "4"}},
    }


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, True),
        ({"key": "a", "value": "c"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "b", "operator": "Exists"}, False),
    ],
)
def test_taints_are_tolerated_as_kubernetes_has_it(
    toleration: dict[str, str], *, tolerated: bool
) -> None:
    found = placement.untolerated({"tolerations": [toleration]}, node("a b NoSchedule"))

    assert found == ([] if tolerated else ["a=b:NoSchedule"])


def test_a_soft_taint_keeps_nobody_off() -> None:
    assert placement.untolerated({}, node("a b PreferNoSchedule")) == []


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["b"], True),
        ("In", ["c"], False),
        ("NotIn", ["b"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_affinity_is_matched_as_kubernetes_has_it(
    operator: str, values: list[str], *, matches: bool
) -> None:
    term = {"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    found = placement.mismatches({"affinity": {"nodeAffinity": required}}, node(a="b"))

    assert (not found) is matches


def test_one_matching_term_is_enough() -> None:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in ("absent", "a")]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}

    assert placement.mismatches({"affinity": {"nodeAffinity": required}}, node(a="b")) == []


def test_what_is_short_is_named_with_what_is_left() -> None:
    container = {"resources": {"limits": {"nvidia.com/gpu": "2", "nvidia.com/gpu.shared": "1"}}}
    used = {"nvidia.com/gpu": quantity("3")}

    assert placement.shortages({"containers": [container]}, node(), used) == [
        ("nvidia.com/gpu", "1 of 4 nvidia.com/gpu free, 2 asked for"),
        ("nvidia.com/gpu.shared", "no nvidia.com/gpu.shared, 1 asked for"),
    ]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}", []),
        ("sharing: {timeSlicng: {}}", ["sharing.timeSlicng (timeSlicing is meant?)"]),
        ("sharing: {timeslicing: {}}", []),
        ("flags: {renameByDefault: true}", ["flags.renameByDefault"]),
        (
            "sharing: {mps: {resources: [{name: gpu, replica: 2}]}}",
            ["sharing.mps.resources[0].replica (replicas is meant?)"],
        ),
        ("a: [", []),
    ],
)
def test_keys_that_the_plugin_drops_are_named(text: str, keys: list[str]) -> None:
    assert dropped(text) == keys


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("sharing: {}", True), ("{version: v1, flags: {}}", True), ("a: b", False), ("x", False)],
)
def test_a_configuration_is_known_by_its_keys(text: str, *, is_one: bool) -> None:
    assert looks_like_one(text) is is_one


def read(tmp_path: Path, text: str) -> tuple[list[Any], list[str]]:
    file = tmp_path / "m.yaml"
    file.write_text(text, encoding="utf-8")
    given, found = manifests.read([str(file)])
    return [each.object for each in given], [each.message.replace(str(file), "F") for each in found]


def test_a_file_holds_several_documents(tmp_path: Path) -> None:
    one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
    given, found = read(tmp_path, f"{one}\n---\n---\n{one}\n")

    assert (len(given), found) == (2, [])


def test_a_list_stands_for_its_items(tmp_path: Path) -> None:
    item = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"
    given, _ = read(tmp_path, f"{{apiVersion: v1, kind: List, items: [{item}]}}")

    assert [each["kind"] for each in given] == ["Pod"]


def test_a_document_without_a_name_is_refused(tmp_path: Path) -> None:
    _, found = read(tmp_path, "kind: Pod\n---\n[]\n")

    assert found == [
        "F, document 1: it has no apiVersion, metadata.name.",
        "F, document 2: it is no mapping.",
    ]


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    given, found = read(tmp_path, "kind: Pod\nkind: Pod\n")

    assert given == []
    assert found == ["F: it is no YAML: line 2, column 1: the key 'kind' stands twice."]


def test_codes_are_unique_and_of_the_lab() -> None:
    names = [each.id for each in rules_in(rules)]

    assert len(names) == len(set(names))
    assert all(name.startswith("GPU9") for name in names)


def test_the_documentation_lists_every_finding_of_the_lab() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")

    for rule in rules_in(rules):
        why = f"{rule.why} [Source]({rule.source})"
        row = f"| {rule.id} | {rule.severity} | {rule.title} | {why} |"
        assert row in page


def test_a_name_cannot_lead_to_another_path() -> None:
    pods = ApiResource("/api/v1", "pods", namespaced=True)

    assert pods.path("a/../b", "c?d#e") == "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd%23e"
    assert ApiResource("/apis/x/v1", "roles", namespaced=False).path("", "system:node") == (
        "/apis/x/v1/roles/system:node"
    )
