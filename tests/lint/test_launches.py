"""How safe nodes start, in every format that tells EC2 of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from tests.conftest import Run

ROOT = Path(__file__).parents[2]
WRONG = ROOT / "examples" / "lint" / "GPU1210" / "bad.yaml"


def plan(template: dict[str, Any], group: dict[str, Any] | None = None) -> Any:
    """A plan of Terraform, with a template and a node group that may name it."""
    given = {
        "aws_launch_template": {"name": "gpu", "instance_type": "g5.xlarge", **template},
        "aws_eks_node_group": {
            "node_group_name": "gpu",
            "launch_template": [{"name": "gpu"}],
            **(group or {}),
        },
    }
    resources = [
        {"address": f"{kind}.gpu", "mode": "managed", "type": kind, "name": "gpu", "values": values}
        for kind, values in given.items()
    ]
    return {"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}}}


def eksctl(**group: Any) -> Any:
    return {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "ml", "region": "us-west-2"},
        "managedNodeGroups": [{"name": "gpu", "instanceType": "g5.xlarge", **group}],
    }


def cloudformation(group: Any = None, **data: Any) -> Any:
    group = {
        **({"AmiType": "AL2023_x86_64_NVIDIA"} if group is None else group),
        "LaunchTemplate": {"Id": {"Ref": "Template"}, "Version": "1"},
    }
    given = {"InstanceType": "g5.xlarge", **data}
    return {
        "Resources": {
            "Template": {
                "Type": "AWS::EC2::LaunchTemplate",
                "Properties": {"LaunchTemplateData": given},
            },
            "Gpu": {"Type": "AWS::EKS::Nodegroup", "Properties": group},
        }
    }


def node_class(**spec: Any) -> Any:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "gpu"},
        "spec": {"amiSelectorTerms": [{"alias": "al2023@v20260930"}], **spec},
    }


def node_pool(**more: Any) -> Any:
    values = {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["g5.xlarge"],
    }
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}
    spec = {"nodeClassRef": reference, "requirements": [values], **more}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {"template": {"spec": spec}},
    }


def said(run: Run, file: Path, documents: list[Any]) -> list[str]:
    """What is said of how nodes start."""
    is_plan = "planned_values" in documents[0]
    text = json.dumps(documents[0]) if is_plan else yaml.safe_dump_all(documents)
    file.write_text(text, encoding="utf-8")
    (report,) = run("lint", "--json", str(file)).json["files"]
    found = [each for each in report["findings"] if each["code"].startswith("GPU121")]
    return [each["code"] + UNDECIDED * ("cannot be decided" in each["message"]) for each in found]


UNDECIDED = ", perhaps"
ASKS = {"key": "nvidia.com/gpu", "effect": "PreferNoSchedule"}
PARAMETER = "/golden/gpu"
SMALL = {"volume_size": 40, "encrypted": "false"}
CASES: dict[str, tuple[list[Any], set[str]]] = {
    "a plan": (
        [
            plan(
                {
                    "metadata_options": [
                        {"http_tokens": "optional", "http_put_response_hop_limit": 2}
                    ],
                    "block_device_mappings": [{"device_name": "/dev/xvda", "ebs": [SMALL]}],
                    "network_interfaces": [{"associate_public_ip_address": "true"}],
                }
            )
        ],
        {"GPU1210", "GPU1211", "GPU1212", "GPU1213", "GPU1214"},
    ),
    "taints and an image of a plan": (
        [
            plan(
                {"image_id": f"resolve:ssm:{PARAMETER}"},
                {"taint": [{"key": "nvidia.com/gpu", "effect": "PREFER_NO_SCHEDULE"}]},
            )
        ],
        {"GPU1215", "GPU1216"},
    ),
    "taints of eksctl": ([eksctl(taints=[ASKS])], {"GPU1215"}),
    "an image of eksctl": ([eksctl(ami=f"resolve:ssm:{PARAMETER}")], {"GPU1216"}),
    "a disk of a plan's node group": (
        [plan({}, {"launch_template": [], "instance_types": ["g5.xlarge"], "disk_size": 20})],
        {"GPU1214"},
    ),
    "eksctl": (
        [eksctl(disableIMDSv1=False, volumeEncrypted=False, volumeSize=20)],
        {"GPU1210", "GPU1212", "GPU1214"},
    ),
    "what eksctl decides itself": ([eksctl()], set()),
    "CloudFormation": (
        [
            cloudformation(
                MetadataOptions={"HttpTokens": "optional"},
                BlockDeviceMappings=[{"Ebs": {"VolumeSize": 20, "Encrypted": False}}],
                NetworkInterfaces=[{"AssociatePublicIpAddress": True}],
            )
        ],
        {"GPU1210", "GPU1212", "GPU1213", "GPU1214"},
    ),
    "an image of CloudFormation": (
        [cloudformation({}, ImageId=f"resolve:ssm:{PARAMETER}")],
        {"GPU1216"},
    ),
    "taints of CloudFormation": (
        [cloudformation({"Taints": [{"Key": "nvidia.com/gpu", "Effect": "PREFER_NO_SCHEDULE"}]})],
        {"GPU1215"},
    ),
    "what a deployment of CloudFormation gives": (
        [
            cloudformation(
                MetadataOptions={"HttpTokens": {"Ref": "Tokens"}},
                BlockDeviceMappings=[{"Ebs": {"VolumeSize": {"Ref": "Size"}}}],
            )
        ],
        {f"GPU1210{UNDECIDED}"},
    ),
    "Karpenter": (
        [
            node_class(
                metadataOptions={"httpTokens": "optional", "httpPutResponseHopLimit": 2},
                blockDeviceMappings=[{"ebs": {"volumeSize": "20Gi", "encrypted": False}}],
                associatePublicIPAddress=True,
            ),
            node_pool(),
        ],
        {"GPU1210", "GPU1211", "GPU1212", "GPU1213", "GPU1214"},
    ),
    "taints of Karpenter": ([node_class(), node_pool(taints=[ASKS])], {"GPU1215"}),
    "what Karpenter decides itself": ([node_class(), node_pool()], set()),
}


@pytest.mark.parametrize(("documents", "codes"), CASES.values(), ids=CASES)
def test_it_is_said_in_every_format(
    run: Run, tmp_path: Path, documents: list[Any], codes: set[str]
) -> None:
    assert sorted(said(run, tmp_path / "given.yaml", documents)) == sorted(codes)


def test_the_place_is_that_of_the_key(run: Run) -> None:
    (report,) = run("lint", "--json", str(WRONG)).json["files"]
    (finding,) = report["findings"]

    assert (finding["code"], finding["path"]) == ("GPU1210", "spec.metadataOptions")


def test_a_switch_leaves_it_out(run: Run) -> None:
    with_it, without = run("lint", str(WRONG)), run("lint", "--no-security", str(WRONG))

    assert (with_it.code, without.code) == (0, 0)  # it is a warning
    assert "warning GPU1210" in with_it.out
    assert "warning" not in without.out


def test_reports_tag_it_as_security(run: Run) -> None:
    (sarif,) = run("lint", "--output", "sarif", str(WRONG)).json["runs"]
    (rule,) = sarif["tool"]["driver"]["rules"]

    assert "security" in rule["properties"]["tags"]
    assert float(rule["properties"]["security-severity"]) > 0
