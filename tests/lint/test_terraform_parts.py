"""Plans of Terraform at their edges: deep modules, what is not known, and how values are merged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from foreign_reading import items

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import NodeSet, Release
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.launch_templates import OF_OTHERS
from eks_gpushare.lint.readers.terraform import TerraformReader
from eks_gpushare.lint.terraform_configuration import TerraformConfiguration
from eks_gpushare.lint.terraform_objects import object_of
from eks_gpushare.lint.terraform_templates import Templates
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.texts import read_texts

TERRAFORM = TerraformReader()
TEMPLATE = "aws_launch_template"
GROUP = "aws_eks_node_group"


def resource(kind: str, values: Any, name: str = "it", above: str = "", **more: Any) -> Any:
    return {"address": f"{above}{kind}.{name}", "type": kind, "values": values, **more}


def read(*resources: Any, configuration: Any = None, depth: int = 0, **unknown: Any) -> Any:
    """What is read of a plan whose resources are so many modules below the root."""
    planned: dict[str, Any] = {"resources": list(resources)}
    for _ in range(depth):
        planned = {"child_modules": [planned]}
        configuration = {"module_calls": {"m": {"module": configuration}}}
    changes = [
        {"address": each["address"], "change": {"after_unknown": unknown}} for each in resources
    ]
    plan = {
        "format_version": "1.2",
        "planned_values": {"root_module": planned},
        "configuration": {"root_module": configuration},
        "resource_changes": changes,
    }
    (document,) = read_texts(json.dumps(plan), "plan.json").documents
    assert TERRAFORM.matches(document)
    return TERRAFORM.read(document)


@pytest.mark.parametrize(
    ("value", "matches"),
    [
        ({"format_version": "1", "planned_values": {"root_module": {}}}, True),
        ({"format_version": "1", "values": {"root_module": {}}}, True),
        ({"planned_values": {"root_module": {}}}, False),
        ({"format_version": "1"}, False),
        (["format_version"], False),
    ],
)
def test_what_is_a_plan(value: Any, matches: bool) -> None:
    assert TERRAFORM.matches(Document("a.json", value, lambda _: Position(1, 1))) is matches


@pytest.mark.parametrize("depth", [1, 2, 20])
def test_modules_in_modules(depth: int) -> None:
    above = "module.m." * depth
    block = {"id": {"references": [f"{TEMPLATE}.b.id"]}}
    found = read(
        resource(TEMPLATE, {"instance_type": "g5.xlarge"}, "a", above),
        resource(TEMPLATE, {"instance_type": "g6.xlarge"}, "b", above),
        resource(GROUP, {"launch_template": [{"version": "1"}]}, above=above),
        configuration={
            "resources": [{"address": f"{GROUP}.it", "expressions": {"launch_template": [block]}}]
        },
        depth=depth,
    )

    (nodes,) = found.items
    assert isinstance(nodes, NodeSet)
    assert nodes.instance_types == ("g6.xlarge",)


def test_data_and_what_is_no_resource_are_passed_over() -> None:
    plan = read(resource(GROUP, {}, mode="data"), resource(GROUP, {}, "other", mode="managed"))

    assert [each.source.name for each in plan.items] == [f"{GROUP}.other"]
    whole = {"format_version": "1", "values": {"root_module": {"resources": [5, None]}}}
    assert TERRAFORM.read(Document("a.json", whole, lambda _: Position(1, 1))).items == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("kubernetes_manifest", {}),
        ("kubernetes_manifest", {"yaml_body": "kind: Pod"}),
        ("kubectl_manifest", {}),
        ("kubectl_manifest", {"manifest": {"kind": "Pod"}}),
    ],
)
def test_a_manifest_that_is_not_known_is_none(kind: str, values: dict[str, Any]) -> None:
    assert list(read(resource(kind, values)).inner) == []


def test_objects_in_the_providers_words_are_not_corrected() -> None:
    (inner,) = read(resource("kubernetes_pod_v1", {"spec": [{}]})).inner

    assert not inner.editable


def values_of(**given: Any) -> Release:
    (release,) = read(resource("helm_release", {"chart": "gpu-operator", **given})).items
    assert isinstance(release, Release)
    return release


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"values": ["a: 1", "", "- b", "c: 2"]}, {"a": 1, "c": 2}),
        ({"set": [{"name": "a.b", "value": "x"}]}, {"a": {"b": "x"}}),
        ({"set": [{"name": "a", "value": True}, {"name": "b", "value": 5}]}, {"a": True, "b": 5}),
        ({"set": [{"name": None, "value": "x"}]}, {}),
        ({"set": [{"name": "a", "value": "5", "type": "string"}]}, {"a": "5"}),
        ({"set_sensitive": [{"name": "a", "value": "5", "type": "auto"}]}, {"a": 5}),
    ],
)
def test_values_of_a_release(given: dict[str, Any], values: dict[str, Any]) -> None:
    assert values_of(**given).values == values


def test_places_of_values_and_of_what_holds_them() -> None:
    release = values_of(set=[{"name": "a.b.c", "value": "x"}])

    assert set(release.paths) == {("a",), ("a", "b"), ("a", "b", "c")}
    assert set(release.paths.values()) == {("set", 0, "name")}


@pytest.mark.parametrize("unknown", [{"values": [False, True]}, {"values": True}, {"set": True}])
def test_values_of_which_some_are_not_known(unknown: dict[str, Any]) -> None:
    given = {"chart": "gpu-operator", "values": ["a: 1", None]}
    (release,) = read(resource("helm_release", given), **unknown).items

    assert release.values is UNKNOWN


def test_names_and_namespaces() -> None:
    metadata = [{"name": "a", "namespace": "b"}]
    (found,) = read(resource("kubernetes_config_map", {"metadata": metadata})).inner
    assert found.value["metadata"] == {"name": "a", "namespace": "b"}
    labelled = {"metadata": metadata, "labels": {"a": "b"}, "kind": "Node"}
    (nodes,) = read(resource("kubernetes_labels", labelled)).items
    assert nodes.name == "a"
    assert list(read(resource("kubernetes_labels", {**labelled, "kind": "Pod"})).items) == []


def test_an_object_has_the_keys_of_kubernetes() -> None:
    given = {
        "metadata": [{"labels": {"a_b": "c"}, "generate_name": None}],
        "spec": [
            {
                "host_pid": True,
                "container": {"name": "a", "args": ["x"], "env": [], "port": [{"host_port": 1}]},
            }
        ],
        "timeouts": None,
    }

    assert object_of("kubernetes_pod", given) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"a_b": "c"}},
        "spec": {
            "hostPID": True,
            "containers": [{"name": "a", "args": ["x"], "ports": [{"hostPort": 1}]}],
        },
    }
    assert object_of("kubernetes_deployment_v1", {}) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
    }
    assert object_of("kubernetes_config", {}) is object_of("aws_instance", {}) is None


@pytest.mark.parametrize("block", [[{"id": UNKNOWN}], [{"id": ""}], [{"name": UNKNOWN}], UNKNOWN])
def test_templates_whose_ids_are_not_known_are_not_the_same(block: Any) -> None:
    templates = Templates(TerraformConfiguration({}))
    for name in "ab":
        templates.add(Source(f"{TEMPLATE}.{name}"), {"id": UNKNOWN, "name": UNKNOWN})

    assert templates.used_by(f"{GROUP}.it", block) is OF_OTHERS


@pytest.mark.parametrize("reference", ["var.a", TEMPLATE, "module.a"])
def test_what_is_no_reference_to_a_template_names_none(reference: str) -> None:
    block = {"id": {"references": [reference]}}
    where = {"address": f"{GROUP}.it", "expressions": {"launch_template": [block]}}
    plan = {"configuration": {"root_module": {"resources": [where]}}}
    templates = Templates(TerraformConfiguration(plan))
    for name in "ab":
        templates.add(Source(f"{TEMPLATE}.{name}"), {})

    assert templates.used_by(f"{GROUP}.it", [{"version": "1"}]) is OF_OTHERS


SCALED = "aws_autoscaling_group.it"
OLDER = "aws_launch_configuration"


def older(*references: str, name: Any = UNKNOWN, above: str = "") -> Any:
    """The launch configuration of a group, of two in the root and one in a module."""
    where = {
        "address": SCALED,
        "expressions": {"launch_configuration": {"references": [*references]}},
    }
    module: dict[str, Any] = {"resources": [{**where, "expressions": {}}]}
    root = {"resources": [where], "module_calls": {"m": {"module": module}}}
    if above:
        module["resources"] = [where]
    templates = Templates(TerraformConfiguration({"configuration": {"root_module": root}}))
    for address in (f"{OLDER}.a", f"{OLDER}.b[0]", f"module.m.{OLDER}.a"):
        templates.add_older(address, {"name": UNKNOWN, "image_id": address})
    templates.add_older(f"{OLDER}.named", {"name": "named", "image_id": "of-a-name"})
    found = templates.older_of(f"{above}{SCALED}", name)
    return found if found in (None, OF_OTHERS) else found.image


@pytest.mark.parametrize(
    ("references", "above", "image"),
    [
        ([f"{OLDER}.a.name", f"{OLDER}.a"], "", f"{OLDER}.a"),
        ([f"{OLDER}.b[0].name", f"{OLDER}.b[0]", f"{OLDER}.b"], "", f"{OLDER}.b[0]"),
        ([f"{OLDER}.a.id"], "module.m.", f"module.m.{OLDER}.a"),
        ([f"{OLDER}.a", f"{OLDER}.b"], "", OF_OTHERS),
        ([f"{OLDER}.b"], "module.m.", OF_OTHERS),
        (["var.a"], "", OF_OTHERS),
        ([OLDER], "", OF_OTHERS),
        ([], "", OF_OTHERS),
    ],
)
def test_a_group_refers_to_its_launch_configuration(
    references: list[str], above: str, image: Any
) -> None:
    assert older(*references, above=above) == image


@pytest.mark.parametrize(
    ("name", "image"), [("named", "of-a-name"), ("other", OF_OTHERS), ("", None), (None, None)]
)
def test_a_group_names_its_launch_configuration(name: Any, image: Any) -> None:
    assert older(name=name) == image
    assert older(f"{OLDER}.a", name=name) == (f"{OLDER}.a" if image is OF_OTHERS else image)


CLUSTER = "aws_eks_cluster.it"


@pytest.mark.parametrize(
    ("written", "given", "known"),
    [
        ([{}], [{"c": UNKNOWN, "d": 1}], [{"d": 1}]),
        ([{"c": {}}], [{"c": UNKNOWN}], [{"c": UNKNOWN}]),
        ([{}], [{"c": 5}], [{"c": 5}]),
        ([{}], [{"d": 1}], [{"d": 1}]),
        (None, [{"c": UNKNOWN}], [{"c": UNKNOWN}]),
        ([{}], [], []),
        ([{}], UNKNOWN, UNKNOWN),
    ],
)
def test_what_aws_fills_in_is_not_written(written: Any, given: Any, known: Any) -> None:
    where = {"address": CLUSTER, "expressions": {} if written is None else {"b": written}}
    plan = {"configuration": {"root_module": {"resources": [where]}}}
    values = {"name": "x", "b": given}

    found = TerraformConfiguration(plan).without_computed(CLUSTER, values, "b", "c")
    assert found == {"name": "x", "b": known}


def test_a_plan_without_anything_is_one() -> None:
    assert items([read()]) == []


def test_what_is_required_of_pods_is_a_list_and_of_nodes_none() -> None:
    one = {"topology_key": "zone", "label_selector": [{"match_labels": {"app": "a"}}]}
    term = {"match_expressions": [{"key": "gpu", "operator": "Exists"}]}
    required = "required_during_scheduling_ignored_during_execution"
    affinity = {
        "node_affinity": [{required: [{"node_selector_term": [term]}]}],
        "pod_anti_affinity": [{required: [one]}],
        "pod_affinity": {required: [one, one]},
    }
    made = object_of("kubernetes_pod_v1", {"spec": [{"affinity": [affinity]}]})

    assert made is not None
    there = "requiredDuringSchedulingIgnoredDuringExecution"
    of_pods = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
    assert made["spec"]["affinity"] == {
        "nodeAffinity": {
            there: {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
            }
        },
        "podAntiAffinity": {there: [of_pods]},
        "podAffinity": {there: [of_pods, of_pods]},
    }
