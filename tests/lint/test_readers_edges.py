"""What readers make of values that are not known, left out, or of another kind."""

from __future__ import annotations

import base64
import json
import textwrap
from typing import Any

import pytest
from foreign_reading import ids, items, merged, placed, problems, read_text_with, read_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import NodeSet, Overlay
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.compose import ComposeReader
from eks_gpushare.lint.readers.eksctl import EksctlReader
from eks_gpushare.lint.readers.shell import ShellReader
from eks_gpushare.lint.readers.stack_files import StackFileReader
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.readers.bottlerocket import BottlerocketReader
from eks_gpushare.manifests.readers.karpenter import KarpenterReader
from eks_gpushare.manifests.readers.user_data import judge_user_data

EKSCTL, KARPENTER = EksctlReader(), KarpenterReader()


def at_top(value: Any, file: str = "a.yaml") -> Document:
    return Document(file, value, lambda _: Position(1, 1))


# --- eksctl --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "called"),
    [("lab", "the ClusterConfig lab"), ("", "the ClusterConfig"), (UNKNOWN, "the ClusterConfig")],
)
def test_what_a_cluster_config_is_called(name: Any, called: str) -> None:
    value = {"apiVersion": "eksctl.io/v1alpha5", "metadata": {"name": name}, "gpu": {}}
    (problem,) = problems(read_with(EKSCTL, value))

    assert problem.source.name == called


def group(**given: Any) -> NodeSet:
    value = {"apiVersion": "eksctl.io/v1alpha5", "nodeGroups": [{"name": "gpu", **given}]}
    (read,) = read_with(EKSCTL, value)
    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    return nodes


@pytest.mark.parametrize(
    ("given", "types"),
    [
        ({}, ()),
        ({"instanceType": "g5.xlarge"}, ("g5.xlarge",)),
        ({"instanceTypes": UNKNOWN}, UNKNOWN),
        ({"instanceTypes": ["g5.xlarge", UNKNOWN]}, UNKNOWN),
        ({"instanceSelector": {"gpus": 1}}, UNKNOWN),
        ({"instanceSelector": {"gpus": 1}, "instanceTypes": ["g5.xlarge"]}, ("g5.xlarge",)),
    ],
)
def test_types_of_a_group_of_eksctl(given: dict[str, Any], types: Any) -> None:
    assert group(**given).instance_types == types


@pytest.mark.parametrize(
    ("given", "ami"),
    [
        ({}, "AmazonLinux2023"),
        ({"amiFamily": "Bottlerocket"}, "Bottlerocket"),
        ({"ami": "ami-1", "amiFamily": "AmazonLinux2023"}, "ami-1"),
        ({"ami": UNKNOWN}, UNKNOWN),
    ],
)
def test_the_image_of_a_group_of_eksctl(given: dict[str, Any], ami: Any) -> None:
    assert group(**given).ami == ami


SETTINGS = {"kubernetes": {"node-labels": {"a": "b"}}}


@pytest.mark.parametrize(
    ("given", "data"),
    [
        ({}, ""),
        ({"overrideBootstrapCommand": "a"}, "a"),
        ({"preBootstrapCommands": ["a", "b"], "overrideBootstrapCommand": "c"}, "a\nb\nc"),
        ({"preBootstrapCommands": ["a", UNKNOWN]}, UNKNOWN),
        ({"preBootstrapCommands": UNKNOWN}, UNKNOWN),
        ({"overrideBootstrapCommand": UNKNOWN}, UNKNOWN),
        ({"bottlerocket": {"settings": {}}, "preBootstrapCommands": ["a"]}, "a"),
        ({"bottlerocket": {"settings": 5}, "preBootstrapCommands": ["a"]}, "a"),
        ({"bottlerocket": {"settings": {"a": UNKNOWN}}}, UNKNOWN),
        ({"bottlerocket": {"settings": {"a": None}}}, UNKNOWN),
    ],
)
def test_what_nodes_of_eksctl_are_told_at_boot(given: dict[str, Any], data: Any) -> None:
    assert group(**given).user_data == data


def test_settings_of_bottlerocket_in_a_group_of_eksctl() -> None:
    assert 'a = "b"' in str(group(bottlerocket={"settings": SETTINGS}).user_data)
    wrong = {"kubelet-device-plugins": {"nvidia": {"device-sharing-strategy": "mine"}}}
    named = {"instanceType": "g5.xlarge", "amiFamily": "Bottlerocket"}

    def told(settings: Any) -> list[str]:
        given = {"name": "gpu", **named, "bottlerocket": {"settings": settings}}
        return ids(read_with(EKSCTL, {"apiVersion": "eksctl.io/v1alpha5", "nodeGroups": [given]}))

    assert told(wrong) == ["GPU1082"]
    assert told({"kubernetes": {"node-labels": {"nvidia.com/gpu.count": "1"}}}) == ["GPU1077"]
    assert "GPU1082" not in told(5)


@pytest.mark.parametrize("given", ["instanceTypes: [g5.3xlarge]", "instanceType: g5.3xlarge"])
def test_a_type_that_is_none_stands_at_its_key(given: str) -> None:
    kind = "managedNodeGroups" if "Types" in given else "nodeGroups"
    text = f"apiVersion: eksctl.io/v1alpha5\n{kind}:\n- {{name: gpu, {given}}}\n"
    (problem,) = [each for each in problems(read_with(EKSCTL, text)) if each.rule.id == "GPU1069"]

    assert placed(problem).line == 3
    assert problem.path == (given.partition(":")[0],)


# --- Karpenter -----------------------------------------------------------------------------------

POOL: dict[str, Any] = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}


def pool(**changes: Any) -> NodeSet:
    (read,) = read_with(KARPENTER, merged_of(POOL, changes))
    (nodes,) = read.items
    assert isinstance(nodes, NodeSet)
    return nodes


def merged_of(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """As `merged`, of values that are not known too."""
    made = merged(base)
    for place, value in changes.items():
        *above, last = place.split("__")
        inner = made
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return made


@pytest.mark.parametrize(
    ("name", "called"),
    [("gpu", "the NodePool gpu"), ("", "the NodePool"), (UNKNOWN, "the NodePool")],
)
def test_what_an_object_of_karpenter_is_called(name: Any, called: str) -> None:
    assert pool(metadata__name=name).source.name == called


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({"spec__template__metadata__labels": {"a": "b"}, "metadata__labels": {"c": "d"}},
         {"a": "b"}),
        ({"spec__labels": {"a": "b"}, "kind": "Provisioner"}, {"a": "b"}),
        ({"metadata__labels": {"c": "d"}}, {}),
        ({"metadata__labels": {"c": "d"}, "kind": "NodeClaim"}, {"c": "d"}),
        ({"metadata__labels": {"c": "d"}, "spec__labels": {"a": "b"}, "kind": "NodeClaim"},
         {"a": "b"}),
    ],
)  # fmt: skip
def test_labels_that_nodes_of_karpenter_get(
    changes: dict[str, Any], labels: dict[str, str]
) -> None:
    assert pool(**changes).labels == labels


@pytest.mark.parametrize(
    ("requirement", "labels"),
    [
        ({"key": "team", "operator": "In", "values": ["a"]}, {"team": "a"}),
        # Of others the pods choose the value that a node is launched with.
        ({"key": "team", "operator": "In", "values": ["a", "b"]}, {"team": UNKNOWN}),
        ({"key": "team", "operator": "NotIn", "values": ["a"]}, {"team": UNKNOWN}),
        ({"key": "team", "operator": "Exists"}, {"team": UNKNOWN}),
        ({"key": "team", "operator": "In", "values": UNKNOWN}, {"team": UNKNOWN}),
        ({"key": "team", "operator": "DoesNotExist"}, {}),
        ({"key": "kubernetes.io/arch", "operator": "In", "values": ["a"]}, {}),
    ],
)
def test_a_requirement_of_one_value_is_a_label(
    requirement: dict[str, Any], labels: dict[str, Any]
) -> None:
    assert pool(spec__template__spec__requirements=[requirement]).labels == labels


@pytest.mark.parametrize(
    ("replicas", "bounds"), [(3, (3, 3)), (None, (0, None)), (UNKNOWN, (UNKNOWN, UNKNOWN))]
)
def test_a_pool_of_so_many_nodes(replicas: Any, bounds: Any) -> None:
    found = pool(spec__replicas=replicas)

    assert (found.least, found.most) == bounds


def test_the_image_of_auto_mode_is_its_own() -> None:
    place = "spec__template__spec__nodeClassRef__group"

    assert pool(**{place: "eks.amazonaws.com"}).ami == ""
    assert pool(**{place: "karpenter.k8s.aws"}).ami is UNKNOWN


@pytest.mark.parametrize(
    ("listed", "types"), [(["g5.xlarge"], ("g5.xlarge",)), (["g5.xlarge", UNKNOWN], UNKNOWN)]
)
def test_types_by_a_key_that_never_was(listed: list[Any], types: Any) -> None:
    assert pool(spec__instanceTypeSelector=listed).instance_types == types


@pytest.mark.parametrize(
    ("spec", "requirements", "weight"),
    [
        ({"requirements": [{"key": "a"}, 5], "weight": 3}, ({"key": "a"},), 3),
        ({"requirements": UNKNOWN}, UNKNOWN, 0),
        ({}, (), 0),
    ],
)
def test_an_overlay(spec: dict[str, Any], requirements: Any, weight: int) -> None:
    value = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "spec": spec}
    (overlay,) = items(read_with(KARPENTER, value))

    assert isinstance(overlay, Overlay)
    assert (overlay.requirements, overlay.weight) == (requirements, weight)


# --- others --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "types"),
    [
        ({"instanceType": "g5.xlarge"}, ("g5.xlarge",)),
        ({"instanceType": UNKNOWN}, UNKNOWN),
        ({}, ()),
    ],
)
def test_the_type_of_a_service_plan(gpu: dict[str, Any], types: Any) -> None:
    value = {"x-internal-integrations": {"multiTenantGpu": gpu}}
    (nodes,) = items(read_with(ComposeReader(), value))

    assert isinstance(nodes, NodeSet)
    assert nodes.instance_types == types


@pytest.mark.parametrize(
    ("file", "text", "matches"),
    [
        ("a.toml", "[settings]", True),
        ("A.TOML", "[settings]", True),
        ("a.toml", "[tool]", False),
        ("a.toml", '  [ "settings".kubernetes]', True),
        ("a.toml", "# of nodes\nsettings.motd = 'a'", True),
        ("a.toml", "settings = {motd = 'a'}", True),
        ("a.toml", "[tool.settings]", False),
        ("pyproject.toml", "dependencies = ['pydantic-settings']\nfiles = '\\)'", False),
        ("a.ini", "[settings]", False),
    ],
)
def test_what_are_settings_of_bottlerocket(file: str, text: str, matches: bool) -> None:
    assert BottlerocketReader().matches(file, text) is matches


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("[settings.ntp]\na = 1\n", 0),
        ("[settings.kubernetes]\n", 0),
        ("[settings.kubernetes]\ncluster-name = 'a'\n", 1),
        ("[settings.kubelet-device-plugins.nvidia]\n", 1),
    ],
)
def test_settings_that_say_something_of_nodes(text: str, nodes: int) -> None:
    assert len(items(read_text_with(BottlerocketReader(), text, "a.toml"))) == nodes


@pytest.mark.parametrize(
    ("file", "text", "matches"),
    [
        ("a.sh", "date", True),
        ("A.BASH", "date", True),
        ("a", "#!/usr/bin/env bash\n", True),
        ("a", "#!/bin/sh\n", True),
        ("a", "#!/usr/bin/python\n", False),
        ("a.py", "date", False),
    ],
)
def test_what_is_a_script(file: str, text: str, matches: bool) -> None:
    assert ShellReader().matches(file, text) is matches


@pytest.mark.parametrize(
    ("file", "value", "matches"),
    [
        ("a.yaml", {"config": {"aws:region": "a"}}, True),
        ("a.yaml", {"config": {"region": "a"}}, False),
        ("a.yaml", {"config": ["aws:region"]}, False),
        ("a.yaml", {"name": "a"}, False),
        ("b/Pulumi.yaml", {"name": "a"}, True),
        ("Pulumi.dev.yml", {}, True),
        ("Pulumi.dev.txt", {}, False),
        ("Pulumi.yaml", {"apiVersion": "v1"}, False),
        ("Pulumi.yaml", ["a"], False),
    ],
)
def test_what_is_a_file_of_pulumi(file: str, value: Any, matches: bool) -> None:
    assert StackFileReader().matches(at_top(value, file)) is matches


def test_of_a_stack_file_it_is_said_what_checks_it() -> None:
    reader = StackFileReader()

    assert ids([reader.read(at_top({"config": {"aws:region": "a"}}))]) == ["GPU1001"]
    assert ids([reader.read(at_top({"name": "a"}, "Pulumi.yaml"))]) == []
    project = {"name": "a", "runtime": "python", "config": {"aws:region": {"default": "a"}}}
    assert ids([reader.read(at_top(project, "Pulumi.yaml"))]) == []


# --- user data -----------------------------------------------------------------------------------

NODE_CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelets: {}
"""
TOML = """\
[settings.kubelet-device-plugins.nvidia]
device-sharing-strategy = "mine"
"""
NO_YAML = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: [\n"
CLASS = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n  userData: "


def in_block(text: str) -> str:
    return f"{CLASS}|\n{textwrap.indent(text, '    ')}"


def in_quotes(text: str) -> str:
    return CLASS + json.dumps(text)  # which is YAML of one line


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [(NODE_CONFIG, "GPU1086", 4), (TOML, "GPU1082", 2), (NO_YAML, "GPU1086", 4)],
)
def test_what_is_wrong_in_user_data_stands_at_its_line(text: str, code: str, line: int) -> None:
    def found(written: str) -> list[tuple[str, int]]:
        read = problems(read_with(KARPENTER, written))
        return [
            (each.rule.id, placed(each).line)
            for each in read
            if each.rule.id in ("GPU1086", "GPU1082")
        ]

    assert found(in_block(text)) == [(code, 4 + line)]
    assert found(in_quotes(text)) == [(code, 4)]


def test_of_user_data_that_is_no_yaml_the_first_mistake_is_told() -> None:
    text = f"{NODE_CONFIG}  kubelet: {{a: 1, a: 2, b: 1, b: 2}}\n".replace("  kubelets: {}\n", "")
    told = [each.message for each in problems(read_with(KARPENTER, in_block(text)))]

    assert len([each for each in told if each.startswith("The NodeConfig is no YAML")]) == 1


def test_user_data_that_was_decoded_is_told_of_at_its_key() -> None:
    given = {"data": base64.b64encode(TOML.encode()).decode()}
    document = Document("a.yaml", given, lambda path: Position(3 if path else 1, 2))

    def found(text: Any) -> list[tuple[int, int]]:
        told = judge_user_data(document, ("data",), text)
        return [tuple(placed(each)) for each in told]  # type: ignore[arg-type, misc]

    assert found(TOML) == found(NODE_CONFIG) == found(NO_YAML) == [(3, 2)]
    assert found(UNKNOWN) == found(None) == found(5) == []


def test_labels_in_flags_of_the_kubelet() -> None:
    flags = '["--node-labels=nvidia.com/gpu.count=1"]'
    text = NODE_CONFIG.replace("kubelets: {}", f"kubelet: {{flags: {flags}}}")

    assert "GPU1077" in ids(read_with(KARPENTER, in_block(text)))
    unknown = text.replace(flags, "['{{ .flags }}', --v=2]")
    assert "GPU1077" not in ids(read_with(KARPENTER, in_block(unknown)))
