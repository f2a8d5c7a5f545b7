"""Images of one's own: groups whose nodes are told how to join, and those that are not."""

from __future__ import annotations

import json

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

MODULE = """\
data "aws_ami" "own" {
  owners = ["self"]
}
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "VERSION"
  eks_managed_node_groups = {
    gpu = {
      instance_types = ["TYPE"]
      LINES
    }
  }
}
variable "image" { type = string }
"""
RAW = """\
data "aws_ssm_parameter" "own" { name = "/a" }
resource "aws_launch_template" "own" {
  LINES
}
resource "aws_eks_node_group" "gpu" {
  instance_types = ["TYPE"]
  launch_template {
    id      = aws_launch_template.own.id
    version = 1
  }
}
variable "image" { type = string }
"""
NODEADM = ['cloudinit_pre_nodeadm = [{content_type = "text/x-shellscript", content = "date"}]']
SETTINGS = ['bootstrap_extra_args = "[settings.kubernetes]"']
OURS = ("GPU1392", "GPU1071")
OWN = 'ami_id = "ami-0123456789abcdef0"'


def codes(text: str, name: str = "main.tf") -> list[str]:
    reports = lint_files([GivenFile(f"nowhere/{name}", text)])
    found = [each for report in reports for each in report.findings]
    return [each.code for each in found if each.severity != "info" and each.code in OURS]


def module(*lines: str, kind: str = "g5.xlarge", version: str = "~> 20.33") -> str:
    text = MODULE.replace("LINES", "\n      ".join(lines)).replace("TYPE", kind)
    return text.replace("VERSION", version)


def raw(*lines: str, kind: str = "g5.xlarge") -> str:
    return RAW.replace("LINES", "\n  ".join(lines)).replace("TYPE", kind)


LOOKED_UP = {
    "parameter": """\
locals {
  images = "/aws/service/eks/optimized-ami/${var.image}/amazon-linux-2023"
}
data "aws_ssm_parameter" "image" {
  name = "${local.images}/x86_64/VARIANT/recommended/image_id"
}
""",
    "filter": """\
data "aws_ami" "image" {
  owners = ["amazon"]
  filter {
    name   = "name"
    values = ["amazon-eks-node-al2023-x86_64-VARIANT-1.33-*"]
  }
}
""",
}
SCRIPT = 'user_data = base64encode("#!/bin/bash\\n/etc/eks/bootstrap.sh ${var.image}\\n")'
CONFIG = (
    'user_data = base64encode("apiVersion: node.eks.aws/v1alpha1\\nkind: NodeConfig\\nspec: {}")'
)


@pytest.mark.parametrize("how", LOOKED_UP)
@pytest.mark.parametrize(
    ("variant", "boot", "found"),
    [
        ("nvidia", SCRIPT, ["GPU1392"]),
        ("nvidia", CONFIG, []),
        ("nvidia", SCRIPT.replace("/etc", "# /etc"), []),
        ("standard", SCRIPT, ["GPU1181", "GPU1392"]),
        ("standard", CONFIG, ["GPU1181"]),
    ],
)
def test_an_image_that_is_looked_up_is_of_a_type(
    how: str, variant: str, boot: str, found: list[str]
) -> None:
    image = {"parameter": "data.aws_ssm_parameter.image.value", "filter": "data.aws_ami.image.id"}
    text = raw(f"image_id = {image[how]}", boot) + LOOKED_UP[how].replace("VARIANT", variant)
    reports = lint_files([GivenFile("nowhere/main.tf", text)])
    said = {each.code for report in reports for each in report.findings}

    assert sorted(said & {"GPU1181", "GPU1392"}) == found


def test_an_auto_scaling_group_has_the_image_of_its_template() -> None:
    group = """\
resource "aws_autoscaling_group" "gpu" {
  launch_template { id = aws_launch_template.own.id }
  tag {
    key                 = "kubernetes.io/cluster/c"
    value               = "owned"
    propagate_at_launch = true
  }
}
"""
    image = LOOKED_UP["parameter"].replace("VARIANT", "nvidia")
    lines = ("image_id = data.aws_ssm_parameter.image.value", 'instance_type = "g5.xlarge"')
    text = raw(*lines, SCRIPT).partition('resource "aws_eks_node_group"')[0] + image + group
    text += 'variable "image" { type = string }\n'

    assert codes(text) == ["GPU1392"]
    assert codes(text.replace("2023", "2")) == []
    assert codes(text.replace("g5.xlarge", "m5.large")) == []


def test_a_template_of_cloudformation_has_a_parameters_image() -> None:
    boot = {"Fn::Base64": "#!/bin/bash\n/etc/eks/bootstrap.sh c\n"}
    name = (
        "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/recommended/image_id"
    )
    data = {"ImageId": f"resolve:ssm:{name}", "InstanceType": "g5.xlarge", "UserData": boot}
    template = {"LaunchTemplateId": {"Ref": "Own"}, "Version": "1"}
    tags = [{"Key": "kubernetes.io/cluster/c", "Value": "owned", "PropagateAtLaunch": True}]
    group = {"LaunchTemplate": template, "Tags": tags, "MinSize": "1", "MaxSize": "1"}
    resources = {
        "Own": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
        "Group": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": group},
    }

    assert codes(json.dumps({"Resources": resources}), "stack.json") == ["GPU1392"]
    boot["Fn::Base64"] = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n"
    assert codes(json.dumps({"Resources": resources}), "stack.json") == []


@pytest.mark.parametrize("version", ["~> 20.33", "~> 19.0", "~> 21.1"])
@pytest.mark.parametrize("family", ["AL2023_x86_64_NVIDIA", "BOTTLEROCKET_x86_64_NVIDIA"])
def test_a_group_of_the_module_has_no_user_data_by_itself(version: str, family: str) -> None:
    kind = f'ami_type = "{family}"'

    assert codes(module(OWN, kind, version=version)) == ["GPU1392"]
    assert codes(module("ami_id = data.aws_ami.own.id", kind, version=version)) == ["GPU1392"]
    read = [
        "enable_bootstrap_user_data = true",
        'user_data_template_path = "./own.tpl"',
        *(NODEADM if family.startswith("AL2023") else SETTINGS),
    ]
    for line in read:
        assert "GPU1392" not in codes(module(OWN, kind, line, version=version)), line
    for line in SETTINGS if family.startswith("AL2023") else NODEADM:  # which it does not read
        assert "GPU1392" in codes(module(OWN, kind, line, version=version)), line


@pytest.mark.parametrize(
    "lines",
    [
        ['ami_type = "AL2023_x86_64_NVIDIA"'],
        ['ami_id = ""'],
        ["ami_id = null"],
        ["ami_id = var.image"],  # which may be none
        [OWN, "use_custom_launch_template = false"],
        [OWN, "create_launch_template = false"],
        [OWN, "create = false"],
        [OWN, "enable_bootstrap_user_data = var.image"],
    ],
)
def test_groups_of_the_module_that_may_join(lines: list[str]) -> None:
    assert "GPU1392" not in codes(module(*lines))
    assert "GPU1392" not in codes(module(OWN, kind="m6i.large"))


def test_what_looks_an_image_up_may_be_for_another_group() -> None:
    text = module("ami_id = var.image").replace("data.aws_ami", "data.aws_vpc")

    assert "GPU1392" not in codes(text)


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (['image_id = "ami-1"'], True),
        (["image_id = data.aws_ssm_parameter.own.value"], True),
        (["image_id = var.image"], False),
        (['image_id = "ami-1"', 'user_data = base64encode("#!/bin/bash")'], False),
        (['image_id = "ami-1"', "user_data = var.image"], False),
        (['instance_type = "g5.xlarge"'], False),
    ],
)
def test_a_group_by_a_launch_template(lines: list[str], wrong: bool) -> None:
    assert codes(raw(*lines)) == (["GPU1392"] if wrong else [])
    assert codes(raw(*lines, kind="m6i.large")) == []


def test_a_group_that_says_so_has_an_image_of_its_own() -> None:
    text = raw("image_id = var.image")

    assert codes(text) == []
    assert codes(text.replace("instance_types", 'ami_type = "CUSTOM"\n  instance_types')) == [
        "GPU1392"
    ]
    other = 'ami_type = "AL2023_x86_64_NVIDIA"\n  instance_types'
    assert codes(text.replace("instance_types", other)) == []


def test_templates_of_cloudformation() -> None:
    def template(**data: object) -> str:
        resources = {
            "Own": {
                "Type": "AWS::EC2::LaunchTemplate",
                "Properties": {"LaunchTemplateData": data},
            },
            "Gpu": {
                "Type": "AWS::EKS::Nodegroup",
                "Properties": {
                    "InstanceTypes": ["g5.xlarge"],
                    "LaunchTemplate": {"Id": {"Ref": "Own"}},
                },
            },
        }
        return json.dumps({"Resources": resources})

    assert codes(template(ImageId="ami-1"), "a.json") == ["GPU1392"]
    assert codes(template(ImageId="ami-1", UserData="ZGF0ZQ=="), "a.json") == []
    assert codes(template(ImageId={"Ref": "Image"}), "a.json") == []
    assert codes(template(KeyName="a"), "a.json") == []


GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: a, region: eu-west-1, version: "1.34"}
managedNodeGroups:
  - {name: gpu, instanceType: TYPE, LINES}
"""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("ami: ami-1", True),
        ("ami: ami-1, amiFamily: Ubuntu2204", True),
        ("ami: ami-1, amiFamily: AmazonLinux2", True),
        ("ami: ami-1, amiFamily: Ubuntu2204, overrideBootstrapCommand: 'date'", False),
        ("ami: ami-1, amiFamily: AmazonLinux2023", False),
        ("ami: ami-1, amiFamily: Bottlerocket", False),
        ("ami: auto, amiFamily: AmazonLinux2023", False),
        ("ami: $AMI", False),
        ("amiFamily: AmazonLinux2023", False),
    ],
)
def test_eksctl_takes_an_image_with_a_way_to_boot(lines: str, wrong: bool) -> None:
    text = GROUP.replace("LINES", lines)

    assert ("GPU1071" in codes(text.replace("TYPE", "g5.xlarge"), "a.yaml")) is wrong
    assert "GPU1071" not in codes(text.replace("TYPE", "m6i.large"), "a.yaml")


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("amiFamily: Custom", True),
        ("amiFamily: Custom, userData: ''", True),
        ("amiFamily: Custom, userData: 'date'", False),
        ("amiFamily: Custom, userData: $DATA", False),
        ("amiFamily: AL2023", False),
    ],
)
def test_a_class_of_karpenter_of_a_family_that_it_does_not_know(lines: str, wrong: bool) -> None:
    text = f"""\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: own}}
spec:
  role: a
  {lines.replace(", ", chr(10) + "  ")}
  amiSelectorTerms: [{{id: ami-0123456789abcdef0}}]
  subnetSelectorTerms: [{{tags: {{a: b}}}}]
  securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
"""

    assert ("GPU1392" in codes(text, "a.yaml")) is wrong
