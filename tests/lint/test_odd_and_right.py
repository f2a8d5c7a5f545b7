"""Of repositories that look wrong and are right: what was said of them, each class in own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import every, found_in_parts, said

if TYPE_CHECKING:
    from pathlib import Path

OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu}
spec:
  chart:
    spec: {chart: gpu-operator, version: v25.10.0, sourceRef: {kind: HelmRepository, name: nvidia}}
  values: {driver: {enabled: false}, toolkit: {enabled: false}}
"""
PLUGIN = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: gpu}
spec:
  chart:
    spec: {chart: nvidia-device-plugin, version: 0.17.4, sourceRef: {kind: HelmRepository, name: p}}
"""
TAKES = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%s]\n"
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gpu, namespace: flux-system}
spec: {path: PATH, prune: true, interval: 1h, sourceRef: {kind: GitRepository, name: flux-system}}
"""
TWO = (OPERATOR, PLUGIN)
TREE = {
    "infrastructure/gpu-operator/kustomization.yaml": TAKES % "release.yaml",
    "infrastructure/gpu-operator/release.yaml": OPERATOR,
    "infrastructure/device-plugin/kustomization.yaml": TAKES % "release.yaml",
    "infrastructure/device-plugin/release.yaml": PLUGIN,
}


def severities(files: dict[str, str]) -> list[str]:
    """Those of GPU1185, notes among them."""
    return [each.severity for each in every(files.items()) if each.code == "GPU1185"]


SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: argocd}
spec:
  generators:
    - git: {repoURL: "https://example.com/a", directories: [{path: "infrastructure/*"}LEFT]}
  template:
    metadata: {name: "{{path.basename}}"}
    spec:
      source: {path: "{{path}}"}
      destination: {server: "https://kubernetes.default.svc"}
"""
LEFT = ", {path: infrastructure/device-plugin, exclude: true}"
BOTH = FLUX.replace("PATH", "./infrastructure/gpu-operator") + "---\n" + FLUX


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({}, True),
        ({"argo/set.yaml": SET.replace("LEFT", "")}, True),
        ({"argo/set.yaml": SET.replace("LEFT", LEFT)}, False),
        ({"clusters/gpu.yaml": BOTH.replace("PATH", "./infrastructure")}, True),
        ({"clusters/gpu.yaml": FLUX.replace("PATH", "./infrastructure/gpu-operator")}, False),
        ({"clusters/gpu.yaml": FLUX.replace("PATH", "./infrastructure")}, True),
        ({"clusters/gpu.yaml": FLUX.replace("PATH", "./elsewhere")}, True),
        ({"infrastructure/kustomization.yaml": TAKES % "gpu-operator"}, False),
        ({"infrastructure/kustomization.yaml": TAKES % "gpu-operator, device-plugin"}, True),
        ({"apps/kustomization.yaml": TAKES % "../infrastructure/gpu-operator"}, True),
    ],
)
def test_what_nothing_takes_in_beside_what_is_taken_is_of_no_cluster(
    more: dict[str, str], wrong: bool
) -> None:
    assert bool(severities(TREE | more)) is wrong


def test_folders_at_the_top_need_no_application() -> None:
    files = {name.removeprefix("infrastructure/"): text for name, text in TREE.items()}

    assert severities(files | {"flux/a.yaml": FLUX.replace("PATH", "./gpu-operator")}) == ["info"]


def test_two_of_what_is_there_once_are_a_note_where_a_layout_joins_them() -> None:
    both = {f"infrastructure/gpu/{number}.yaml": text for number, text in enumerate(TWO)}
    apps = {"apps/plugin.yaml": "a: b\n"}

    assert severities(TREE) == ["info"]
    assert severities(both | apps) == ["warning"]
    assert severities(both | {"karpenter/pool.yaml": POOL}) == ["warning"]


CHART = """\
apiVersion: v2
name: base
version: 1.0.0
dependencies:
  - {name: gpu-operator, version: v25.10.0, repository: "https://helm.ngc.nvidia.com/nvidia",
     condition: gpu-operator.enabled}
  - {name: nvidia-device-plugin, version: 0.17.4, condition: nvidia-device-plugin.enabled,
     repository: "https://nvidia.github.io/k8s-device-plugin"}
"""
SWITCHES = "gpu-operator: {enabled: %s, driver: {}}\nnvidia-device-plugin: {enabled: %s, gfd: {}}\n"
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - {name: l4, instanceType: g6.2xlarge, amiFamily: AmazonLinux2023, minSize: 1, maxSize: 1,
     labels: {nvidia.com/gpu.present: "true"}}
"""


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({"values.yaml": ("true", "false")}, {"GPU1180"}),
        ({"values.yaml": ("true", "true")}, {"GPU1180", "GPU1185"}),
        ({"values.yaml": ("true", "false"), "values-eks.yaml": ("false", "true")}, set()),
        ({"values.yaml": ("true", "true"), "values-eks.yaml": ("true", "false")}, {"GPU1180"}),
        ({"values.yaml": ("true", "true"), "values_a.yml": ("true", "true")}, None),
        ({"values.yaml": ("true", "true"), "values-$E.yaml": ("$A", "false")}, None),
    ],
)
def test_of_charts_that_values_switch_otherwise_nothing_follows_elsewhere(
    files: dict[str, tuple[str, str]], codes: set[str] | None
) -> None:
    given = {name: SWITCHES % switches for name, switches in files.items()}
    found = set(said({"Chart.yaml": CHART, "eks/group.yaml": GROUP, **given}))

    wanted = {"GPU1180", "GPU1185"} if codes is None else codes
    assert found & {"GPU1180", "GPU1185"} == wanted


@pytest.mark.parametrize(("over", "wrong"), [("{driver: {}}", True), ("{enabled: false}", False)])
def test_files_of_values_go_over_the_charts_own(over: str, wrong: bool) -> None:
    files = {
        "Chart.yaml": CHART,
        "values.yaml": SWITCHES % ("true", "false"),
        "values-eks.yaml": f"gpu-operator: {over}\n",
        "eks/group.yaml": GROUP,
    }

    assert ("GPU1180" in said(files)) is wrong


RELEASES = """\
variable "operator" {
  type    = bool
  default = true
}
variable "plugin" {
  type    = bool
  default = true
}
resource "helm_release" "operator" {
  count      = var.operator ? 1 : 0
  name       = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = "v25.10.0"
}
resource "helm_release" "plugin" {
  count      = var.plugin ? 1 : 0
  name       = "nvdp"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.4"
}
resource "helm_release" "exporter" {
  count      = var.plugin ? 1 : 0
  name       = "dcgm"
  repository = "https://nvidia.github.io/dcgm-exporter/helm-charts"
  chart      = "dcgm-exporter"
}
"""


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({}, True),
        ({"one.tfvars": "plugin = true\n"}, True),
        ({"clusters/one.tfvars": "plugin = false\n"}, False),
        (
            {"clusters/one.tfvars": "plugin = false\n", "clusters/b.tfvars": "operator = false"},
            False,
        ),
    ],
)
def test_two_of_which_one_is_there_on_a_condition_need_not_meet(
    files: dict[str, str], wrong: bool
) -> None:
    found = said({"main.tf": RELEASES, **files})

    assert ("GPU1185" in found) is wrong
    assert ("GPU1187" in found) is wrong


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: l4}
spec:
  REPLICAS
  limits: {nodes: 4}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1h}
  template:
    metadata: {labels: {nvidia.com/gpu.present: "true", LABEL}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g6.2xlarge]}
"""
SHARED = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: gpu}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.4, sourceRef: {name: p}}}
  values:
    config:
      map:
        a: |
          version: v1
          sharing:
            timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 4}]}
"""


@pytest.mark.parametrize(
    ("replicas", "wrong"), [("weight: 1", True), ("replicas: 2", False), ("replicas: $N", False)]
)
def test_a_pool_of_a_fixed_size_waits_for_no_pods(replicas: str, wrong: bool) -> None:
    pool = POOL.replace("REPLICAS", replicas).replace("LABEL", "a: b")

    assert ("GPU1141" in said({"pool.yaml": pool, "plugin.yaml": SHARED})) is wrong


@pytest.mark.parametrize(
    ("label", "wrong"),
    [
        ("nvidia.com/gpu.product: NVIDIA-L4", False),
        ("nvidia.com/gpu.product: NVIDIA-L40S", True),
        ("nvidia.com/gpu.count: '1'", False),
        ("nvidia.com/gpu.count: '4'", True),
    ],
)
def test_karpenter_may_be_told_the_product_that_nodes_will_have(label: str, wrong: bool) -> None:
    pool = POOL.replace("REPLICAS", "weight: 1").replace("LABEL", label)

    assert ("GPU1077" in said({"pool.yaml": pool})) is wrong


TWO_GROUPS = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-east-1, version: "1.35"}
managedNodeGroups:
  - {name: a, instanceType: g6.2xlarge, minSize: 1, maxSize: 1, labels: {stack: plugin}}
  - {name: b, instanceType: g6.2xlarge, minSize: 1, maxSize: 1, labels: {stack: dra}}
"""
INSTALLS = """\
helm install nvdp nvidia-device-plugin --repo https://nvidia.github.io/k8s-device-plugin -f p.yaml
helm install dra nvidia-dra-driver-gpu --repo https://helm.ngc.nvidia.com/nvidia -f d.yaml
"""
DRIVER = "gpuResourcesEnabledOverride: true\nkubeletPlugin: {%s}\n"


@pytest.mark.parametrize(
    ("kept_to", "wrong"),
    [
        ("nodeSelector: {stack: dra}", False),
        ("nodeSelector: {stack: plugin}", True),
        ("", True),
        ("nodeSelector: $SELECTOR", False),
    ],
)
def test_the_driver_for_claims_may_keep_to_nodes_of_its_own(kept_to: str, wrong: bool) -> None:
    files = {
        "cluster.yaml": TWO_GROUPS,
        "install.sh": INSTALLS,
        "p.yaml": "nodeSelector: {stack: plugin}\naffinity: {nodeAffinity: null}\n",
        "d.yaml": DRIVER % kept_to,
    }

    assert ("GPU1186" in said(files)) is wrong


@pytest.mark.parametrize(
    ("given", "wrong"), [("{10: [a.*]}", False), ("|-\n  10:\n    - a.*", False), ("[a.*]", True)]
)
def test_priorities_of_the_autoscalers_chart_may_be_a_text(given: str, wrong: bool) -> None:
    values = f"extraArgs: {{expander: priority}}\nexpanderPriorities: {given}\n"
    values += "autoDiscovery: {clusterName: c}\nawsRegion: us-east-1\n"

    assert ("GPU1036" in said({"cluster-autoscaler.yaml": values})) is wrong


STATIC = (
    "https://raw.githubusercontent.com/NVIDIA/k8s-device-plugin/v0.16.2/deployments/static/"
    "nvidia-device-plugin.yml"
)
BEFORE = f"kubectl apply -f {STATIC}\n"
AFTER = "helm install gpu-operator nvidia/gpu-operator -n gpu-operator --set driver.enabled=false\n"


@pytest.mark.parametrize(
    ("between", "wrong"),
    [
        ("", True),
        (f"kubectl delete -f {STATIC} --ignore-not-found\n", False),
        ("kubectl -n kube-system delete daemonset nvidia-device-plugin-daemonset\n", False),
        ("kubectl -n kube-system delete ds other\n", True),
        ("kubectl delete -f other.yaml\n", True),
        ("helm uninstall gpu-operator -n gpu-operator\n", False),
        (f"helm delete gpu-operator\nkubectl delete -f {STATIC}\n", True),
    ],
)
def test_what_a_script_takes_away_is_there_no_more(between: str, wrong: bool) -> None:
    assert ("GPU1185" in said({"install.sh": BEFORE + between + AFTER})) is wrong
    assert ("GPU1185" in said({"1.sh": BEFORE, "2.sh": between + AFTER})) is wrong


def group(user_data: str) -> str:
    """A managed node group with GPUs without a type of images."""
    return f"""\
resource "aws_launch_template" "gpu" {{
  name      = "gpu"
  user_data = base64encode("{user_data}")
}}
resource "aws_eks_node_group" "gpu" {{
  cluster_name    = "c"
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::111122223333:role/node"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["g5.xlarge"]
  scaling_config {{
    min_size     = 1
    max_size     = 1
    desired_size = 1
  }}
  launch_template {{
    id      = aws_launch_template.gpu.id
    version = 1
  }}
}}
"""


@pytest.mark.parametrize(
    ("user_data", "wrong"), [("yum install -y nvidia-driver", False), ("echo hello", True)]
)
def test_nodes_may_get_their_driver_as_they_boot(user_data: str, wrong: bool) -> None:
    assert ("GPU1182" in said({"main.tf": group(user_data)})) is wrong


CPU_GROUP = """\
variable "gpus" {
  type    = bool
  default = GPUS
}
resource "aws_eks_cluster" "c" {
  name     = "c"
  role_arn = "arn:aws:iam::111122223333:role/cluster"
  vpc_config { subnet_ids = ["subnet-1"] }
  MORE
}
resource "aws_eks_node_group" "a" {
  cluster_name    = aws_eks_cluster.c.name
  node_role_arn   = "arn:aws:iam::111122223333:role/node"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["m5.large"]
  scaling_config {
    min_size     = 1
    max_size     = 1
    desired_size = 1
  }
}
resource "aws_eks_node_group" "b" {
  count           = var.gpus ? 1 : 0
  cluster_name    = aws_eks_cluster.c.name
  node_role_arn   = "arn:aws:iam::111122223333:role/node"
  subnet_ids      = ["subnet-1"]
  instance_types  = ["TYPE"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  scaling_config {
    min_size     = 1
    max_size     = 1
    desired_size = 1
  }
}
"""
HYBRID = 'remote_network_config { remote_node_networks { cidrs = ["10.80.0.0/16"] } }'
ONE_GPU = """\
apiVersion: v1
kind: Pod
metadata: {name: test}
spec:
  SELECTS
  containers: [{name: a, image: "x:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.mark.parametrize(
    ("gpus", "kind", "more", "wrong"),
    [
        ("false", "m5.large", "", True),
        ("false", "g5.xlarge", "", False),
        ("false", "m5.large", HYBRID, False),
        ("true", "g5.xlarge", "", False),
    ],
)
def test_nodes_with_gpus_may_be_switched_off_or_not_of_aws(
    gpus: str, kind: str, more: str, wrong: bool
) -> None:
    root = CPU_GROUP.replace("GPUS", gpus).replace("TYPE", kind).replace("MORE", more)
    files = {"main.tf": root, "pod.yaml": ONE_GPU.replace("SELECTS", "restartPolicy: Never")}

    assert ("GPU1253" in said(files)) is wrong


@pytest.mark.parametrize(
    ("label", "wrong"), [("cloud.google.com/gke-accelerator", False), ("example.com/gpu", True)]
)
def test_labels_of_another_cloud_are_of_another_cluster(label: str, wrong: bool) -> None:
    root = CPU_GROUP.replace("GPUS", "true").replace("TYPE", "g5.xlarge").replace("MORE", "")
    pod = ONE_GPU.replace("SELECTS", f"nodeSelector: {{{label}: nvidia-tesla-a100}}")

    assert ("GPU1112" in said({"main.tf": root, "pod.yaml": pod})) is wrong


NODES_OF = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: NAME, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - {name: gpu, instanceType: TYPE, amiFamily: AmazonLinux2023, minSize: 1, maxSize: 1}
"""
ON_ANY = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: model, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: model}}
  template:
    metadata: {labels: {app: model}}
    spec:
      containers:
        - name: a
          image: x:1
          resources:
            requests: {memory: 60Gi, nvidia.com/gpu: 1}
            limits: {memory: 60Gi, nvidia.com/gpu: 1}
"""


@pytest.mark.parametrize(
    ("other", "name", "kind", "wrong"),
    [
        ("infra/cluster.yaml", "big", "g6e.12xlarge", False),
        ("cluster.yaml", "big", "g6e.12xlarge", False),
        ("infra/cluster.yaml", "small", "g6e.12xlarge", True),
        ("infra/cluster.yaml", "cpu", "m7i.large", True),
        ("elsewhere/cluster.yaml", "big", "g6e.12xlarge", True),
    ],
)
def test_pods_may_be_for_a_cluster_of_a_folder_above(
    other: str, name: str, kind: str, wrong: bool, tmp_path: Path
) -> None:
    files = {
        other: NODES_OF.replace("NAME", name).replace("TYPE", kind),
        "infra/k8s/gpu.yaml": NODES_OF.replace("NAME", "small").replace("TYPE", "g5.xlarge"),
        "infra/k8s/model.yaml": ON_ANY,
    }

    assert ("GPU1202" in said(files)) is wrong
    assert ("GPU1243" in said(files)) is wrong
    in_parts = {each.code for each in found_in_parts(tmp_path, files) if each.severity != "info"}
    assert ("GPU1202" in in_parts) is wrong
