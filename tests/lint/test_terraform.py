"""Terraform's plans: node groups, charts and objects, in modules and with what is not known yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from foreign_reading import ids, items, placed, problems

from eks_gpushare.inventory.items import ConfigMap, NodeSet, NodeTaint, Release, Workload
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.readers.every import DOCUMENT_READERS
from eks_gpushare.lint.readers.terraform import TerraformReader
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from eks_gpushare.manifests.document import Read

GROUP: dict[str, Any] = {
    "node_group_name": "gpu",
    "ami_type": "AL2023_x86_64_NVIDIA",
    "instance_types": ["g5.xlarge"],
    "labels": {"team": "ml"},
    "taint": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
    "scaling_config": [{"min_size": 0, "desired_size": 1, "max_size": 3}],
    "launch_template": [],
    "tags": {"k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu": "4"},
}


def plan(
    kind: str,
    values: dict[str, Any],
    unknown: dict[str, Any] | None = None,
    *,
    module: bool = False,
) -> list[Read]:
    """What is read of a plan with one resource."""
    address = f"{'module.a.' if module else ''}{kind}.it"
    resource = {"address": address, "mode": "managed", "type": kind, "name": "it", "values": values}
    root: dict[str, Any] = {"resources": [resource]}
    if module:
        root = {"child_modules": [{"address": "module.a", **root}]}
    change = {"address": address, "change": {"after_unknown": unknown or {}}}
    whole = {
        "format_version": "1.2",
        "planned_values": {"root_module": root},
        "resource_changes": [change],
    }
    (document,) = read_texts(json.dumps(whole, indent=2), "plan.json").documents
    reader = TerraformReader()
    assert reader.matches(document)
    first = reader.read(document)
    more = []
    for inner in first.inner:
        found = next(each for each in DOCUMENT_READERS if each.matches(inner))
        more.append(found.read(inner))
    return [first, *more]


PRODUCT = "nvidia.com/gpu.product"


@pytest.mark.parametrize("module", [False, True])
def test_a_node_group(*, module: bool) -> None:
    reads = plan("aws_eks_node_group", GROUP, module=module)

    (nodes,) = items(reads)
    assert isinstance(nodes, NodeSet)
    assert nodes.source.name.endswith("aws_eks_node_group.it")
    assert (nodes.name, nodes.ami) == ("gpu", "AL2023_x86_64_NVIDIA")
    assert nodes.instance_types == ("g5.xlarge",)
    assert nodes.taints == (NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),)
    assert (nodes.least, nodes.most) == (0, 3)
    assert nodes.promised == {"nvidia.com/gpu": "4"}
    assert ids(reads) == []


def test_what_is_known_after_it_is_applied_is_not_known() -> None:
    values = {key: each for key, each in GROUP.items() if key != "labels"}
    (nodes,) = items(plan("aws_eks_node_group", values, {"labels": True, "instance_types": [True]}))

    assert isinstance(nodes, NodeSet)
    assert nodes.labels is UNKNOWN
    assert nodes.instance_types is UNKNOWN


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("GPU1072", {"ami_type": "AL2_x86_64_GPU"}),
        ("GPU1081", {"taint": [{"key": "a", "value": "", "effect": "NoSchedule"}]}),
        ("GPU1069", {"instance_types": ["p3.8xlarge"]}),
        ("GPU1077", {"labels": {"nvidia.com/gpu.count": "2"}}),
        ("GPU1077", {"labels": {PRODUCT: "Other-A10G"}}),
        ("GPU1077", {"labels": {"nvidia.com/gpu.family": "NVIDIA-A10G"}}),
        (
            "GPU1077",
            {"labels": {PRODUCT: "NVIDIA-A10G"}, "instance_types": ["g5.xlarge", "m6i.large"]},
        ),
        ("GPU1077", {"labels": {PRODUCT: "NVIDIA-A10G"}, "instance_types": ["new.large"]}),
    ],
)
def test_one_thing_is_wrong(code: str, changes: dict[str, Any]) -> None:
    assert ids(plan("aws_eks_node_group", {**GROUP, **changes})) == [code]


def test_sizes_are_told_at_their_place() -> None:
    sizes = [{"min_size": 4, "desired_size": 4, "max_size": 3}]
    (found, *_) = problems(plan("aws_eks_node_group", {**GROUP, "scaling_config": sizes}))

    assert found.path[:2] == ("scaling_config", 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"ami_type": "CUSTOM", "launch_template": [{"id": "lt-1"}]},
        {"ami_type": "AL2023_x86_64_STANDARD", "instance_types": ["m6i.large"]},
        {"ami_type": None},
        {"labels": {PRODUCT: "NVIDIA-A10G"}},
        {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"},
        {"instance_types": None, "launch_template": [{"id": "lt-1"}]},
    ],
)
def test_right_groups_pass(changes: dict[str, Any]) -> None:
    assert ids(plan("aws_eks_node_group", {**GROUP, **changes})) == []


def test_a_problem_stands_at_its_line() -> None:
    reads = plan("aws_eks_node_group", {**GROUP, "ami_type": "AL2_x86_64_GPU"})

    (problem,) = problems(reads)
    assert placed(problem) == (13, 13)


def test_a_chart_with_values_of_texts_and_of_blocks() -> None:
    reads = plan(
        "helm_release",
        {
            "name": "gpu",
            "chart": "gpu-operator",
            "version": "v26.3.0",
            "namespace": "ops",
            "values": ["mig: {strategy: mixed}\ndriver: {enabled: true}\n"],
            "set": [
                {"name": "driver.enabled", "value": "false"},
                {"name": "daemonsets.labels.a\\.b/c", "value": "1", "type": "string"},
            ],
        },
    )

    (release,) = items(reads)
    assert isinstance(release, Release)
    assert (release.name, release.chart, release.namespace) == ("gpu", "gpu-operator", "ops")
    assert release.values == {
        "mig": {"strategy": "mixed"},
        "driver": {"enabled": False},
        "daemonsets": {"labels": {"a.b/c": "1"}},
    }
    assert release.paths["driver", "enabled"] == ("set", 0, "name")
    assert release.paths["mig", "strategy"] == ("values", 0, "mig", "strategy")


def test_values_that_are_not_known_yet() -> None:
    (release,) = items(plan("helm_release", {"chart": "gpu-operator"}, {"values": True}))

    assert isinstance(release, Release)
    assert release.values is UNKNOWN


def test_objects_of_the_kubernetes_provider() -> None:
    (found,) = items(
        plan("kubernetes_config_map_v1", {"metadata": [{"name": "a"}], "data": {"k": "v"}})
    )
    assert isinstance(found, ConfigMap)
    assert (found.name, found.namespace, found.data) == ("a", "default", {"k": "v"})
    pod = {
        "node_selector": {"team": "ml"},
        "toleration": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "container": [{"name": "c", "resources": [{"limits": {"nvidia.com/gpu": "1"}}]}],
    }
    (workload,) = items(
        plan(
            "kubernetes_deployment_v1",
            {
                "metadata": [{"name": "app", "namespace": "ml"}],
                "spec": [{"replicas": 2, "template": [{"spec": [pod]}]}],
            },
        )
    )
    assert isinstance(workload, Workload)
    assert (workload.name, workload.namespace, workload.replicas) == ("app", "ml", 2)
    assert workload.spec == {
        "nodeSelector": {"team": "ml"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    }


@pytest.mark.parametrize("kind", ["kubernetes_manifest", "kubectl_manifest"])
def test_manifests_are_read_in_turn(kind: str) -> None:
    manifest = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "spec": {}}
    text = "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\n"
    values: dict[str, Any] = {"yaml_body": text}
    if kind == "kubernetes_manifest":
        values = {"manifest": manifest}

    assert ids(plan(kind, values)) == ["GPU1050"]


def test_labels_of_nodes_by_hand() -> None:
    values = {"kind": "Node", "metadata": [{"name": "n"}], "labels": {"a": "b"}}
    (nodes,) = items(plan("kubernetes_labels", values))

    assert isinstance(nodes, NodeSet)
    assert (nodes.provisioner, nodes.labels) == ("byHand", {"a": "b"})
