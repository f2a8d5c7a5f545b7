"""Subnets by tags of Terraform, and node classes that select them."""

from __future__ import annotations

from typing import Any

import pytest
from linted import found, said

from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.lint.terraform_pointers import pointers

CLUSTER = """\
module "eks" {
  source       = "terraform-aws-modules/eks/aws"
  version      = "~> 20.37"
  cluster_name = "songs-1"
  eks_managed_node_groups = { system = { instance_types = ["m6i.large"] } }
}
"""
NETWORK = """\
variable "given" {}
module "net" {
  source          = "terraform-aws-modules/vpc/aws"
  version         = "~> 5.21"
  private_subnets = ["10.0.0.0/20"]
  public_subnets  = []
  MORE
}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: KIND}
spec:
  amiSelectorTerms: [{alias: al2023@v20260714}]
  role: nodes
  subnetSelectorTerms: [TERMS]
  securityGroupSelectorTerms: [{tags: {found-by: songs-1}}]
"""
POOL = """\
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [TYPE]}]
  limits: {nvidia.com/gpu: 4}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
"""
WANTED = "{tags: {found-by: songs-1}}"
OTHERWISE = 'private_subnet_tags = { "found-by" = "songs" }'
OWN = """\
variable "given" {}
resource "aws_subnet" "own" {
  availability_zone = "eu-west-1a"
  tags              = TAGS
}
"""


def classes(terms: str = WANTED, kind: str = "g6.xlarge", name: str = "gpu") -> str:
    made = CLASS.replace("TERMS", terms).replace("KIND", name)
    return made + POOL.replace("TYPE", kind)


def network(more: str = OTHERWISE) -> str:
    return NETWORK.replace("MORE", more)


def told(*networks: str, **more: str) -> list[str]:
    files = {"cluster/main.tf": CLUSTER, "karpenter/gpu.yaml": classes()}
    files |= {f"network/{number}.tf": text for number, text in enumerate(networks)}
    files |= {name.replace("__", "/") + ".yaml": text for name, text in more.items()}
    return [each.message for each in found(files.items()) if each.code == "GPU1285"]


def test_subnets_are_tagged_as_the_class_selects_them() -> None:
    (message,) = told(network())
    assert message == (
        "The EC2NodeClass gpu selects subnets with found-by=songs-1, and those that are made here "
        "have songs there: it finds none, and Karpenter launches no node."
    )
    files = {"cluster/main.tf": CLUSTER, "karpenter/gpu.yaml": classes(), "net/a.tf": network()}
    (problem,) = [each for each in found(files.items()) if each.code == "GPU1285"]
    assert problem.severity == "warning"
    assert problem.path == "spec.subnetSelectorTerms[0].tags.found-by"


@pytest.mark.parametrize(
    ("tags", "wrong"),
    [
        ('private_subnet_tags = { "found-by" = "songs-1" }', False),
        ('tags = { "found-by" = "songs" }', True),
        ('tags = { "found-by" = "songs-1" }', False),
        ('tags = { "found-by" = "songs-1" }\n' + OTHERWISE, True),
        (
            'tags = { "found-by" = "songs" }\nprivate_subnet_tags = { "found-by" = "songs-1" }',
            False,
        ),
        (f"{OTHERWISE}\ntags = var.given", False),
        (f'{OTHERWISE}\ntags = merge(var.given, {{ "a" = "b" }})', False),
        ('private_subnet_tags = { "found-by" = var.given }', False),
        ('private_subnet_tags = { "found-by" = "${var.given}-1" }', False),
        ('private_subnet_tags = { "else" = "songs" }', False),  # something else may tag them
        ('public_subnet_tags = { "found-by" = "songs" }', False),  # there are none
        (f'{OTHERWISE}\nintra_subnets = ["a"]\nintra_subnet_tags = {{ "found-by" = "a" }}', True),
        (
            f'{OTHERWISE}\nintra_subnets = ["a"]\nintra_subnet_tags = {{ "found-by" = "songs-1" }}',
            False,
        ),
        (f'{OTHERWISE}\nprivate_subnet_tags_per_az = {{ "a" = {{ "b" = "c" }} }}', False),
    ],
)
def test_tags_of_the_module_are_those_of_a_kind_over_those_of_all(tags: str, wrong: bool) -> None:
    assert bool(told(network(tags))) is wrong


@pytest.mark.parametrize(
    ("tags", "wrong"),
    [
        ('{ "found-by" = "songs" }', True),
        ('{ "found-by" = "songs-1" }', False),
        ("var.given", False),
        ('merge(var.given, { "found-by" = "songs" })', False),
        ("{}", False),
    ],
)
def test_subnets_may_be_resources(tags: str, wrong: bool) -> None:
    assert bool(told(OWN.replace("TAGS", tags))) is wrong
    assert bool(told(network(), OWN.replace("TAGS", '{ "found-by" = "songs-1" }'))) is False


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ('resource "aws_ec2_tag" "a" {\n  resource_id = "a"\n}\n', False),
        ('module "more" {\n  source = "example/dynamic-subnets/aws"\n}\n', False),
        ('module "more" {\n  source = "../nowhere/vpc"\n}\n', False),
        ('module "more" {\n  source = "../nowhere/base"\n}\n', False),
        ('module "more" {\n  source = "git::https://git.example.com/b.git//c"\n}\n', False),
        ('module "more" {\n  source = "git@git.example.com:a/b.git"\n}\n', False),
        ('module "more" {\n  source = "terraform-aws-modules/rds/aws"\n}\n', True),
        ('module "more" {\n  source = "github.com/aws-ia/terraform-aws-b"\n}\n', True),
        (
            'provider "aws" {\n  default_tags {\n    tags = { found-by = "songs-1" }\n  }\n}\n',
            False,
        ),
        ('provider "aws" {\n  default_tags {\n    tags = { team = "a" }\n  }\n}\n', True),
        ('provider "aws" {\n  default_tags {\n    tags = var.given\n  }\n}\n', False),
        ('module "more" {\n  source = "example/vpc/aws//modules/vpc-endpoints"\n}\n', True),
        ('resource "aws_subnet" "off" {\n  count = 0\n  tags = var.given\n}\n', True),
    ],
)
def test_other_subnets_and_tags_may_be_there(more: str, wrong: bool) -> None:
    assert bool(told(network(), more)) is wrong


@pytest.mark.parametrize(
    ("terms", "wrong"),
    [
        ("{tags: {found-by: songs-1, more: a}}", True),
        ("{tags: {more: a}}", False),
        ("{tags: {found-by: lists}}", False),  # of another cluster, perhaps
        ("{tags: {found-by: '*'}}", False),
        ("{tags: {found-by: $CLUSTER}}", False),
        (f"{WANTED}, {{id: subnet-1}}", False),
        (f"{WANTED}, {WANTED}", True),
        ("", False),
        ("{tags: {found-by: [songs-1]}}", False),
        ("{tags: {found-by: {a: songs-1}}}", False),
    ],
)
def test_each_term_misses_by_the_name_of_the_cluster(terms: str, wrong: bool) -> None:
    assert bool(told(network(), karpenter__gpu=classes(terms))) is wrong


@pytest.mark.parametrize("zone", ["eu-west-1b", UNKNOWN, None])
def test_a_subnet_is_in_the_zone_that_is_written(zone: Any) -> None:
    given = {"availability_zone": zone, "tags": {"a": "b"}}
    (made,) = pointers(Source("aws_subnet.own"), "aws_subnet", given)

    expected = zone if zone == "eu-west-1b" else UNKNOWN
    assert made.spec == {"zone": expected, "tags": {"a": "b"}}


def test_it_is_of_pools_with_gpus_and_of_what_terraform_makes() -> None:
    own = (
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n"
        "metadata: {name: songs-1, region: eu-west-1}\n"
        "managedNodeGroups: [{name: a, instanceType: m5.large}]\n"
    )
    files = {"network/main.tf": network(), "karpenter/gpu.yaml": classes()}

    assert told(network(), karpenter__gpu=classes(kind="m6i.large")) == []
    assert told(network(), karpenter__gpu=classes(name="other")) == []
    assert "GPU1285" in said({"cluster/main.tf": CLUSTER, **files})
    assert "GPU1285" not in said({"cluster/cluster.yaml": own, **files})
    assert "GPU1285" not in said({"cluster/main.tf": CLUSTER, "karpenter/gpu.yaml": classes()})
    guide = f"# Pools\n\n```yaml\n{classes()}```\n"
    top = {"main.tf": CLUSTER + network().replace('variable "given" {}', "")}
    assert "GPU1285" in said({**top, "gpu.yaml": classes()})
    assert "GPU1285" not in said({**top, "README.md": guide})
