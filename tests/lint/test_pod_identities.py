"""Associations of EKS Pod Identity for accounts that pods with GPUs have, or have not."""

from __future__ import annotations

import pytest
from linted import found

PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm, SPACE}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      serviceAccountName: ACCOUNT
      containers:
        - name: llm
          image: example.com/llm:1
          resources: {limits: {nvidia.com/gpu: 1}}
"""
RESOURCE = """\
resource "aws_eks_pod_identity_association" "weights" {
  cluster_name    = "own"
  namespace       = NAMESPACE
  service_account = ACCOUNT
  role_arn        = "arn:aws:iam::123412341234:role/weights"
}
"""
MODULE = """\
module "weights" {
  source  = "SOURCE"
  version = "~> 2.0"
  name    = "weights"
  GIVEN
}
"""
REGISTRY = "terraform-aws-modules/eks-pod-identity/aws"
GIT = "git::https://github.com/terraform-aws-modules/terraform-aws-eks-pod-identity.git?ref=v2.0.0"
LISTED = 'associations = { one = { namespace = "old", service_account = "reader" } }'
DEFAULTS = """associations = { one = { service_account = "reader" } }
  association_defaults = { namespace = "old", service_account = "other" }"""
EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: own, region: eu-west-1, version: "1.34"}
iam:
  podIdentityAssociations:
    - namespace: old
      serviceAccountName: reader
      permissionPolicyARNs: ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]
"""
TEMPLATE = """\
Resources:
  Weights:
    Type: AWS::EKS::PodIdentityAssociation
    Properties:
      ClusterName: own
      Namespace: old
      ServiceAccount: reader
      RoleArn: arn:aws:iam::123412341234:role/weights
"""
ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: SPACE, annotations: {MORE}}
"""
ROLE = "eks.amazonaws.com/role-arn: arn:aws:iam::123412341234:role/own"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: old}\n"
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: old}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.4}}
  values: {}
"""


def pods(account: str = "reader", space: str = "namespace: new") -> str:
    return PODS.replace("ACCOUNT", account).replace("SPACE", space)


def resource(space: str = '"old"', account: str = '"reader"') -> str:
    return RESOURCE.replace("NAMESPACE", space).replace("ACCOUNT", account)


def module(given: str, source: str = REGISTRY) -> str:
    return MODULE.replace("SOURCE", source).replace("GIVEN", given)


def account(space: str, more: str = "") -> str:
    return ACCOUNT.replace("SPACE", space).replace("MORE", more)


def told(**files: str) -> list[str]:
    """Messages of each GPU1332 of files, whose names have `__` for a dot."""
    given = [(name.replace("__", "."), text) for name, text in files.items()]
    return [each.message for each in found(given) if each.code == "GPU1332"]


def test_an_association_is_for_the_account_of_the_pods() -> None:
    (message,) = told(a__tf=resource(), b__yaml=pods())

    assert message == (
        "The Deployment llm runs as new/reader, and its role is that of old/reader by "
        "aws_eks_pod_identity_association.weights: EKS gives its pods none."
    )


@pytest.mark.parametrize(
    "files",
    [
        {"a__tf": module(LISTED)},
        {"a__tf": module(LISTED, GIT)},
        {"a__tf": module(DEFAULTS)},
        {"a__yaml": EKSCTL},
        {"a__yaml": TEMPLATE},
    ],
)
def test_it_is_read_wherever_it_is_declared(files: dict[str, str]) -> None:
    (message,) = told(b__yaml=pods(), **files)

    assert "its role is that of old/reader by " in message
    assert told(b__yaml=pods(space="namespace: old"), **files) == []


def test_the_names_of_places_tell_who_declares_it() -> None:
    assert "by the Pod Identity association:" in told(a__yaml=EKSCTL, b__yaml=pods())[0]
    assert "by the PodIdentityAssociation Weights:" in told(a__yaml=TEMPLATE, b__yaml=pods())[0]
    named = 'module.weights.aws_eks_pod_identity_association.this["one"]:'
    assert f"by {named}" in told(a__tf=module(LISTED), b__yaml=pods())[0]


@pytest.mark.parametrize(
    "text",
    [
        resource('"new"'),
        resource(account='"other"'),
        resource("var.space"),
        resource(account="var.account"),
        resource() + resource('"new"').replace("weights", "further"),
        resource() + resource("var.space").replace("weights", "further"),
        module(f"create = false\n  {LISTED}"),
        module("associations = var.associations"),
        module("associations = {}"),
        module('name_prefix = "a"'),
        resource() + module("associations = var.associations"),
        resource() + module('associations = merge(var.more, { a = { namespace = "b" } })'),
        module(LISTED, "example/weights/aws"),
    ],
)
def test_others_and_what_is_not_known_may_be_for_it(text: str) -> None:
    assert told(a__tf=text, b__yaml=pods()) == []


def test_pods_of_no_account_or_no_known_namespace_are_let_be() -> None:
    by_default = resource(account='"default"')

    assert told(a__tf=by_default, b__yaml=pods("default")) == []
    assert told(a__tf=resource(), b__yaml=pods("$ACCOUNT")) == []
    assert told(a__tf=resource(), b__yaml=pods(space="labels: {a: b}")) == []
    assert told(a__tf=resource(), b__yaml=pods().replace("nvidia.com/gpu", "cpu")) == []


@pytest.mark.parametrize(
    "other",
    [
        NAMESPACE,
        RELEASE,
        account("old"),
        account("$SPACE"),
        account("new", ROLE),
        pods(space="namespace: old").replace("name: llm, ", "name: other, "),
        pods(space="labels: {a: b}").replace("name: llm, ", "name: other, "),
    ],
)
def test_what_else_is_there_may_have_it(other: str) -> None:
    assert told(a__tf=resource(), b__yaml=pods(), c__yaml=other) == []


@pytest.mark.parametrize(
    "other",
    [
        NAMESPACE.replace("old", "third"),
        RELEASE.replace("old", "third"),
        account("new"),
        account("new", "a.b/c: d"),
        account("third", ROLE),
        account("new", ROLE).replace("name: reader", "name: other"),
    ],
)
def test_what_is_in_other_namespaces_has_it_not(other: str) -> None:
    assert len(told(a__tf=resource(), b__yaml=pods(), c__yaml=other)) == 1


def test_other_objects_of_that_namespace_have_no_account() -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: old}\nspec: {}\n"

    assert len(told(a__tf=resource(), b__yaml=pods(), c__yaml=service)) == 1


def test_each_workload_of_another_namespace_is_told() -> None:
    other = pods(space="namespace: third").replace("name: llm, ", "name: other, ")

    assert len(told(a__tf=resource(), b__yaml=pods(), c__yaml=other)) == 2


def test_an_association_is_of_one_cluster_and_what_has_it_twice_of_two() -> None:
    files = {"terraform/a.tf": resource(), "apps/b.yaml": pods()}
    assert [each.code for each in found(files.items()) if each.code == "GPU1332"] == ["GPU1332"]
    twice = {**files, "infra/a.tf": resource()}
    assert [each.code for each in found(twice.items()) if each.code == "GPU1332"] == []
