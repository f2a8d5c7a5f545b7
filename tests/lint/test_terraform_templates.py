"""Launch templates of Terraform's plans are those of their node groups."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from eks_gpushare.inventory.edges import EDGES
from eks_gpushare.inventory.items import NodeSet, NodeTaint
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.files import GivenFile

CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec: {kubelet: {flags: ["--register-with-taints=gpu=yes:NoSchedule"]}}
"""
ENCODED = base64.b64encode(CONFIG.encode()).decode()
TEMPLATE = {"name": "gpu", "instance_type": "g6.xlarge", "user_data": ENCODED}


def resource(kind: str, name: str, values: dict[str, Any], module: str = "") -> dict[str, Any]:
    address = f"{module}{kind}.{name}"
    return {"address": address, "mode": "managed", "type": kind, "name": name, "values": values}


def refers(*references: str) -> dict[str, Any]:
    """How the configuration of a plan tells where an ID comes from."""
    block = {"id": {"references": list(references)}}
    return {"address": "aws_eks_node_group.gpu", "expressions": {"launch_template": [block]}}


def group(block: Any) -> dict[str, Any]:
    return {"node_group_name": "gpu", "ami_type": None, "launch_template": block}


def nodes_of(
    templates: dict[str, dict[str, Any]],
    block: Any,
    *references: str,
    module: bool = False,
    unknown: Any = None,
) -> NodeSet:
    above = 'module.nodes["a"].' if module else ""
    resources = [
        *(resource("aws_launch_template", name, each, above) for name, each in templates.items()),
        resource("aws_eks_node_group", "gpu", group(block), above),
    ]
    configuration: dict[str, Any] = {"resources": [refers(*references)]}
    planned: dict[str, Any] = {"resources": resources}
    if module:
        planned = {"child_modules": [{"address": 'module.nodes["a"]', **planned}]}
        configuration = {"module_calls": {"nodes": {"module": configuration}}}
    address = f"{above}aws_eks_node_group.gpu"
    change = {"after_unknown": {"launch_template": [{"id": True}]} if unknown is None else unknown}
    plan = {
        "format_version": "1.2",
        "planned_values": {"root_module": planned},
        "resource_changes": [{"address": address, "change": change}],
        "configuration": {"root_module": configuration},
    }
    reading = read_files([GivenFile("plan.json", json.dumps(plan))])
    reading.judge(())
    (found,) = [each for each in reading.items if isinstance(each, NodeSet)]
    return found


def is_that(found: NodeSet) -> bool:
    return found.instance_types == ("g6.xlarge",) and found.user_data == CONFIG


@pytest.mark.parametrize("module", [False, True], ids=["root", "module"])
def test_it_is_found_by_what_the_block_refers_to(module: bool) -> None:
    other = {"name": "other", "instance_type": "m5.large"}
    found = nodes_of(
        {"gpu": TEMPLATE, "other": other},
        [{"version": "1"}],
        "aws_launch_template.gpu.id",
        "aws_launch_template.gpu",
        module=module,
    )

    assert is_that(found)


def test_it_is_found_by_name_and_by_id() -> None:
    assert is_that(nodes_of({"gpu": TEMPLATE, "other": {}}, [{"name": "gpu"}]))
    stated = {**TEMPLATE, "id": "lt-1"}
    assert is_that(nodes_of({"gpu": stated, "other": {}}, [{"id": "lt-1"}], unknown={}))


def test_the_only_one_of_a_module_is_meant_by_what_cannot_be_followed() -> None:
    found = nodes_of({"this": TEMPLATE}, [{}], "local.launch_template_id", module=True)

    assert is_that(found)


@pytest.mark.parametrize("references", [(), ("var.template",), ("data.aws_launch_template.gpu",)])
def test_of_several_none_is_guessed(references: tuple[str, ...]) -> None:
    found = nodes_of({"a": TEMPLATE, "b": {"name": "b"}}, [{}], *references)

    assert (found.instance_types, found.ami, found.user_data) == (UNKNOWN, UNKNOWN, UNKNOWN)


def test_user_data_that_is_not_known_yet_stays_so() -> None:
    found = nodes_of({"gpu": {**TEMPLATE, "user_data": None}}, [{}], "aws_launch_template.gpu")
    assert found.user_data == ""


def test_what_the_node_group_says_goes_first() -> None:
    own = {"launch_template": [{"name": "gpu"}], "instance_types": ["g5.xlarge"]}
    resources = [
        resource("aws_launch_template", "gpu", {**TEMPLATE, "image_id": "ami-1"}),
        resource("aws_eks_node_group", "gpu", own),
    ]
    plan = {"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}}}
    reading = read_files([GivenFile("plan.json", json.dumps(plan))])

    (found,) = [each for each in reading.items if isinstance(each, NodeSet)]
    assert found.instance_types == ("g5.xlarge",)
    assert found.ami == "ami-1"


def test_its_taints_are_those_of_the_nodes() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
        "    - {name: p, image: p, resources: {limits: {nvidia.com/gpu: 1}}}\n"
    )
    own = {"launch_template": [{"name": "gpu"}], "ami_type": "AL2023_x86_64_NVIDIA"}
    resources = [
        resource("aws_launch_template", "gpu", TEMPLATE),
        resource("aws_eks_node_group", "gpu", own),
    ]
    plan = {"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}}}
    everywhere = 'tolerations=[{"operator":"Exists"}]'
    install = f"helm install nvdp nvdp/nvidia-device-plugin --set-json '{everywhere}'\n"
    reading = read_files(
        [
            GivenFile("plan.json", json.dumps(plan)),
            GivenFile("pod.yaml", pod),
            GivenFile("install.sh", install),
        ]
    )
    reading.judge(EDGES)

    found = [each for report in reading.reports() for each in report.findings]
    (problem,) = [each for each in found if each.code == "GPU1111"]
    assert str(NodeTaint("gpu", "yes", "NoSchedule")) in problem.message
