"""Classes of what users reported in November 2026, each at its edge."""

from __future__ import annotations

import pytest
from linted import every
from linted import said_of as said

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: "8"}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      expireAfter: 336h
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}
      taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  amiSelectorTerms: [{alias: ALIAS}]
  role: KarpenterNodeRole-ml
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: ml}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: ml}}]
  metadataOptions: {httpTokens: required, httpPutResponseHopLimit: 1}
  blockDeviceMappings:
    - {deviceName: /dev/xvda, ebs: {volumeSize: FIRST, encrypted: true}}
    - {deviceName: /dev/xvdb, ebs: {volumeSize: 200Gi, encrypted: true}}
"""


@pytest.mark.parametrize(
    ("alias", "size", "codes"),
    [
        ("bottlerocket@v1.57.0", "4Gi", []),
        ("bottlerocket@v1.57.0", "3Gi", ["GPU1214"]),
        ("al2023@v20260714", "3Gi", []),  # no system volume of its own
    ],
)
def test_the_volume_of_bottlerocket_holds_its_image(
    alias: str, size: str, codes: list[str]
) -> None:
    assert said(pool__yaml=POOL.replace("ALIAS", alias).replace("FIRST", size)) == codes


@pytest.mark.parametrize("size", ["200", '"200"', "200Mi", "0Gi"])
def test_sizes_of_volumes_have_a_unit(size: str) -> None:
    pool = POOL.replace("ALIAS", "al2023@v20260714")

    assert "GPU1053" in said(pool__yaml=pool.replace("FIRST", size))
    for right in ("200Gi", "1Ti", "200G", '"{{ .Values.size }}"'):
        assert said(pool__yaml=pool.replace("FIRST", right)) == []


GROUP = """\
AWSTemplateFormatVersion: "2010-09-09"
Resources:
  Gpu:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: ml
      NodeRole: arn:aws:iam::111122223333:role/nodes
      Subnets: [subnet-1]
      InstanceTypes: [TYPE]
      AmiType: AMI
      DiskSize: 200
      Taints: [{Key: nvidia.com/gpu, Value: "true", Effect: NO_SCHEDULE}]
"""


@pytest.mark.parametrize(
    ("kind", "ami", "codes"),
    [
        ("g5g.xlarge", "AL2023_ARM_64_NVIDIA", []),
        ("g5g.xlarge", "AL2023_x86_64_NVIDIA", ["GPU1259"]),
        ("g5.xlarge", "AL2023_x86_64_NVIDIA", []),
        ("g5.xlarge", "AL2023_ARM_64_NVIDIA", ["GPU1259"]),
    ],
)
def test_images_of_groups_are_for_the_processors_of_their_types(
    kind: str, ami: str, codes: list[str]
) -> None:
    assert said(t__yaml=GROUP.replace("TYPE", kind).replace("AMI", ami)) == codes


CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: ml}
spec:
  spec:
    devices: {requests: [{name: gpu, exactly: {deviceClassName: CLASS}}]}
"""
GIVES = "--set gpuResourcesEnabledOverride=true"
INSTALL = "helm upgrade --install dra nvidia/nvidia-dra-driver-gpu -n dra"


@pytest.mark.parametrize(
    ("device_class", "options", "wrong"),
    [
        ("gpu.nvidia.com", "", True),
        (
            "mig.nvidia.com",
            "--set gpuResourcesEnabledOverride=true --set resources.gpus.enabled=false",
            True,
        ),
        ("gpu.nvidia.com", GIVES, False),
        ("compute-domain-default-channel.nvidia.com", "", False),
        ("gpu.nvidia.com", "-f values-that-are-not-here.yaml", False),
    ],
)
def test_claims_of_gpus_want_a_driver_that_gives_them(
    device_class: str, options: str, wrong: bool
) -> None:
    claim = CLAIM.replace("CLASS", device_class)

    assert ("GPU1146" in said(c__yaml=claim, up__sh=f"{INSTALL} {options}\n")) == wrong


CLASSES = "".join(
    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\n"
    f"metadata: {{name: {name}}}\nspec: {{selectors: []}}\n---\n"
    for name in ("l40s.pool.own.io", "gpu.east.own.io", "shared-gpu.own.io", "batch.own.io")
)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("l40s-pool.own.io", "warning"),
        ("L40S.pool.own.io", "warning"),
        ("shared-gpus.own.io", "warning"),
        ("sharde-gpu.own.io", "warning"),
        ("bacth.own.io", "warning"),
        ("l40.pool.own.io", "info"),  # another GPU
        ("gpu.west.own.io", "info"),
        ("hared-gpu.own.io", "info"),
        ("gp.east.own.io", "info"),
        ("shared-gpus.our.io", "info"),
        ("shared.gpu.own.io.more", "info"),
    ],
)
def test_a_slip_in_a_class_of_ones_own_is_more_than_a_note(asked: str, told: str) -> None:
    found = every([("a.yaml", f"{CLAIM.replace('CLASS', asked)}---\n{CLASSES}")])

    assert [each.severity for each in found if each.code == "GPU1146"] == [told]


def test_a_slip_for_two_classes_is_a_note() -> None:
    two = CLASSES + CLASSES.replace("shared-gpu", "shared-gpuss")
    found = every([("a.yaml", f"{CLAIM.replace('CLASS', 'shared-gpus.own.io')}---\n{two}")])

    assert {each.severity for each in found if each.code == "GPU1146"} == {"info"}


LAYOUT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: layouts, namespace: gpu-operator}
data:
  config.yaml: |
    version: v1
    mig-configs:
      own:
        - {devices: [DEVICES], mig-enabled: true, mig-devices: {1g.10gb: 7}}
"""
VALUES = """\
driver: {enabled: false}
toolkit: {enabled: false}
mig: {strategy: mixed}
migManager: {config: {name: layouts}}
"""
CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-west-2, version: "1.35"}
managedNodeGroups:
  - name: mig
    instanceType: p5.4xlarge
    amiFamily: AmazonLinux2023
    minSize: 1
    maxSize: 2
    volumeSize: 200
    labels: {nvidia.com/mig.config: own}
    taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
"""
OPERATOR = (
    "helm upgrade --install gpu-operator nvidia/gpu-operator --version v26.7.0 "
    "-n gpu-operator -f values.yaml\n"
)


@pytest.mark.parametrize(("devices", "wrong"), [("0", False), ("1", True), ("0, 1", False)])
def test_a_layout_is_for_gpus_that_a_node_has(devices: str, wrong: bool) -> None:
    files = {
        "cluster__yaml": CLUSTER,
        "layout__yaml": LAYOUT.replace("DEVICES", devices),
        "values__yaml": VALUES,
        "up__sh": OPERATOR,
    }

    assert said(**files) == (["GPU1130"] if wrong else [])


EKS_MODULE = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "VERSION"
  KIND_node_groups = {
    gpu = {
      AMI
      bootstrap_extra_args  = GIVEN
      block_device_mappings = {
        xvda = { device_name = "/dev/xvda", ebs = { volume_size = 200, encrypted = true } }
      }
    }
  }
}
"""
AL2023 = 'ami_type = "AL2023_x86_64_NVIDIA"'
ARGUMENTS = "\"--kubelet-extra-args '--node-labels=team=ml'\""


@pytest.mark.parametrize("kind", ["eks_managed", "self_managed"])
@pytest.mark.parametrize(
    ("version", "ami", "given", "wrong"),
    [
        ("~> 21.0", AL2023, ARGUMENTS, True),
        ("~> 20.8", AL2023, ARGUMENTS, True),
        ("~> 21.0", "", ARGUMENTS, True),  # the image that groups have unless they say otherwise
        ("~> 20.8", "", ARGUMENTS, False),
        ("~> 19.21", AL2023, ARGUMENTS, False),  # its one template has the script
        ("~> 21.0", "ami_type = var.ami", ARGUMENTS, False),
        ("~> 21.0", AL2023, "var.given", False),
        ("~> 21.0", AL2023, '""', False),
        ("~> 21.0", 'ami_type = "BOTTLEROCKET_x86_64_NVIDIA"', '"[settings.host]"', False),
        ("~> 20.8", 'ami_type = "AL2_x86_64_GPU"', ARGUMENTS, False),
        ("~> 21.0", f'{AL2023}\nuser_data_template_path = "own.tpl"', ARGUMENTS, False),
    ],
)
def test_arguments_of_a_script_are_for_images_that_have_one(
    kind: str, version: str, ami: str, given: str, *, wrong: bool
) -> None:
    text = EKS_MODULE.replace("KIND", kind).replace("VERSION", version)
    files = {"main__tf": text.replace("AMI", ami).replace("GIVEN", given)}

    assert ("GPU1265" in said(**files)) is wrong


PART = '[{ content = "#!/bin/sh" }]'
BOTTLEROCKET = 'ami_type = "BOTTLEROCKET_x86_64_NVIDIA"'


@pytest.mark.parametrize(
    ("ami", "line", "managed", "own"),
    [
        (AL2023, 'pre_bootstrap_user_data = "a"', True, True),
        (AL2023, 'post_bootstrap_user_data = "a"', True, True),
        (AL2023, f"cloudinit_pre_nodeadm = {PART}", False, False),
        (AL2023, f"cloudinit_post_nodeadm = {PART}", True, False),
        (
            AL2023,
            f"cloudinit_post_nodeadm = {PART}\nenable_bootstrap_user_data = true",
            False,
            False,
        ),
        (
            AL2023,
            f"cloudinit_post_nodeadm = {PART}\nenable_bootstrap_user_data = var.it",
            *[False] * 2,
        ),
        (AL2023, "cloudinit_post_nodeadm = []", False, False),
        (AL2023, "cloudinit_post_nodeadm = var.it", False, False),
        (BOTTLEROCKET, f"cloudinit_pre_nodeadm = {PART}", True, True),
        (BOTTLEROCKET, 'pre_bootstrap_user_data = "a"', True, True),
        ('ami_type = "AL2_x86_64_GPU"', 'pre_bootstrap_user_data = "a"', False, False),
        ("ami_type = var.ami", 'pre_bootstrap_user_data = "a"', False, False),
    ],
)
def test_user_data_is_for_templates_that_take_it(
    ami: str, line: str, managed: bool, own: bool
) -> None:
    text = EKS_MODULE.replace("VERSION", "~> 21.0").replace("GIVEN", f'""\n{line}')
    found = [
        "GPU1265" in said(main__tf=text.replace("KIND", kind).replace("AMI", ami))
        for kind in ("eks_managed", "self_managed")
    ]

    assert found == [managed, own]


@pytest.mark.parametrize(
    ("ami", "line", "message"),
    [
        (AL2023, f"cloudinit_post_nodeadm = {PART}", "is read where enable_bootstrap_user_data"),
        (BOTTLEROCKET, f"cloudinit_pre_nodeadm = {PART}", "is in no user data of"),
    ],
)
def test_it_is_told_why_user_data_is_not_taken(ami: str, line: str, message: str) -> None:
    text = EKS_MODULE.replace("VERSION", "~> 21.0").replace("GIVEN", f'""\n{line}')
    text = text.replace("KIND", "eks_managed").replace("AMI", ami)

    (found,) = [each for each in every([("main.tf", text)]) if each.code == "GPU1265"]
    assert message in found.message


TEMPLATE = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "own"
  node_role_arn  = var.role
  subnet_ids     = var.subnets
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["g5.xlarge"]
  scaling_config {
    min_size     = 1
    max_size     = MOST
    desired_size = 1
  }
}
"""


@pytest.mark.parametrize("most", ["3", "{{ cookiecutter.most }}"])
def test_a_group_that_a_template_fills_in_is_given_nothing(most: str) -> None:
    assert "GPU1265" not in said(main__tf=TEMPLATE.replace("MOST", most))
