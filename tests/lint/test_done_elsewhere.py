"""What another root of Terraform does for a cluster, and what nobody looks at."""

from __future__ import annotations

import pytest
from linted import every, found, said

GROUPS = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 20.37"
  cluster_name    = "film"
  cluster_version = "1.34"
  eks_managed_node_groups = {
    cuts = {
      ami_type       = "AL2023_x86_64_NVIDIA"
      instance_types = ["g6.xlarge"]
      min_size       = 0
      max_size       = 4
      labels         = { "nvidia.com/gpu.present" = "true", "use" = "cuts" }
    }
  }
}
resource "helm_release" "scaler" {
  name       = "cluster-autoscaler"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"
  version    = "9.52.1"
  values     = [yamlencode({ autoDiscovery = { clusterName = "film" } })]
}
resource "helm_release" "plugin" {
  name       = "plugin"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.4"
  values = [yamlencode({ config = { map = { all = yamlencode({
    version = "v1"
    sharing = { timeSlicing = { renameByDefault = true, resources = [
      { name = "nvidia.com/gpu", replicas = 5 } ] } } }) } } })]
}
"""
TAGS = """\
data "terraform_remote_state" "film" {
  backend = "s3"
}
variable "more" { type = map(string) }
resource "helm_release" "other" {
  name  = "other"
  chart = "metrics-server"
}
resource "aws_autoscaling_group_tag" "of_nodes" {
  for_each               = GIVEN
  autoscaling_group_name = NAME
  tag {
    key                 = "k8s.io/cluster-autoscaler/node-template/resources/${each.key}"
    value               = each.value
    propagate_at_launch = false
  }
}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: cut, namespace: film}
spec:
  nodeSelector: {use: cuts}
  containers:
    - {name: cut, image: cut:1, resources: {limits: {nvidia.com/gpu.shared: 1}}}
"""
SHARED = '{ "nvidia.com/gpu.shared" = "5" }'


def tags(given: str, name: str = "data.terraform_remote_state.film.outputs.group") -> str:
    return TAGS.replace("GIVEN", given).replace("NAME", name)


def codes(more: str, where: str = "infra/tags.d/main.tf") -> set[str]:
    files = {"infra/main.tf": GROUPS, "k8s/pod.yaml": POD, where: more}
    return {code for code in said(files) if code.startswith("GPU114")}


def test_nobody_tells_the_autoscaler_of_shares() -> None:
    assert codes("", "k8s/empty.yaml") == {"GPU1141"}


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (SHARED, False),
        ("var.more", False),
        ('{ "nvidia.com/gpu" = "0", "nvidia.com/gpu.shared" = "5" }', False),
        ('{ "ephemeral-storage" = "80Gi" }', True),
    ],
)
def test_a_root_puts_tags_on_groups_of_another(given: str, wrong: bool) -> None:
    assert codes(tags(given), "tags/main.tf") == ({"GPU1141"} if wrong else set())


def test_tags_that_are_surely_for_another_group_tell_nothing_of_this_one() -> None:
    own = 'resource "aws_autoscaling_group" "web" {\n  name = "web"\n}\n'
    text = tags(SHARED, "aws_autoscaling_group.web.name")

    assert codes(own + text, "tags/main.tf") == {"GPU1141"}
    assert codes(text.replace("= aws_", "= data.aws_"), "tags/main.tf") == set()


OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpus, namespace: gpus}
spec:
  chart: {spec: {chart: gpu-operator, version: v25.10.0}}
  values:
    toolkit: {enabled: false}
    dcgmExporter: EXPORTER
    devicePlugin:
      config:
        name: shares
        create: true
        default: all
        data:
          all: |
            version: v1
            sharing:
              timeSlicing:
                renameByDefault: RENAMED
                resources: [{name: nvidia.com/gpu, replicas: 4}]
"""
TOLD = "{name: KUBERNETES_VIRTUAL_GPUS, value: 'true'}"
NAMED = "{name: NVIDIA_RESOURCE_NAMES, value: nvidia.com/gpu.shared}"


def fixes(exporter: str, renamed: str = "true") -> list[str]:
    text = OPERATOR.replace("EXPORTER", exporter).replace("RENAMED", renamed)
    return [each.fix for each in found([("a.yaml", text)]) if each.code == "GPU1245"]


@pytest.mark.parametrize(
    ("exporter", "wrong"),
    [
        ("{serviceMonitor: {enabled: false}}", False),
        ("{enabled: true, serviceMonitor: {enabled: false}}", False),
        ("{serviceMonitor: {enabled: true}}", True),
        ("{enabled: true}", True),
        ("{serviceMonitor: {enabled: false}, config: {name: metrics}}", True),
    ],
)
def test_an_exporter_that_nobody_is_said_to_read_need_know_no_shares(
    exporter: str, wrong: bool
) -> None:
    assert bool(fixes(exporter)) is wrong


def test_an_exporter_of_which_room_alone_is_written_is_a_note_where_nobody_collects() -> None:
    room = "{resources: {limits: {memory: 1Gi}}, initContainer: {resources: {}}}"
    text = OPERATOR.replace("EXPORTER", room).replace("RENAMED", "false")
    monitor = """\
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: gpus, namespace: gpu-operator}
spec: {selector: {matchLabels: {app: nvidia-dcgm-exporter}}, endpoints: [{port: gpu-metrics}]}
"""
    stack = "helm install prometheus prometheus-community/kube-prometheus-stack -n monitoring\n"

    def severities(*more: tuple[str, str]) -> set[str]:
        given = every([("a.yaml", text), *more])
        return {each.severity for each in given if each.code == "GPU1245"}

    assert severities() == {"info"}
    assert severities(("b.yaml", monitor)) == severities(("b.sh", stack)) == {"warning"}


def test_an_exporter_that_knows_no_names_is_told_of_once() -> None:
    both = "Add NVIDIA_RESOURCE_NAMES with the value nvidia.com/gpu.shared"
    more = ', and KUBERNETES_VIRTUAL_GPUS with the value "true", to `dcgmExporter.env`'
    old = ", with an exporter of 4.0.3 or later, which knows it."
    image = "{version: 3.3.9-3.6.1-ubuntu22.04, env: [ENV]}"

    assert fixes("{enabled: true}") == [f"{both}{more.replace(', to', ' to')}."]
    assert fixes(image.replace("ENV", "")) == [f"{both}{more.replace(', to', ' to')}{old}"]
    assert fixes(image.replace("ENV", TOLD)) == [f"{both} to `dcgmExporter.env`."]
    assert fixes(f"{{env: [{NAMED}, {TOLD}]}}") == []
    (fix,) = fixes(f"{{env: [{NAMED}]}}")
    assert fix == 'Add KUBERNETES_VIRTUAL_GPUS with the value "true" to `dcgmExporter.env`.'
