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


TWO_TWO_GROUPS = """\
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
        "cluster.yaml": TWO_TWO_GROUPS,
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
        # It is installed again below.
        ("helm uninstall gpu-operator -n gpu-operator\n", True),
        (f"helm delete gpu-operator\nkubectl delete -f {STATIC}\n", False),
    ],
)
def test_what_a_script_takes_away_is_there_no_more(between: str, wrong: bool) -> None:
    assert ("GPU1185" in said({"install.sh": BEFORE + between + AFTER})) is wrong
    assert ("GPU1185" in said({"1.sh": BEFORE, "2.sh": between + AFTER})) is wrong


OFF_BY_LABEL = "nvidia.com/gpu.deploy.device-plugin"


@pytest.mark.parametrize(
    ("said_between", "wrong"),
    [
        (f"# Edit the DaemonSet: {OFF_BY_LABEL}=false\n", False),
        (f"kubectl label nodes --all {OFF_BY_LABEL}=false\n", False),
        ("kubectl label nodes --all nvidia.com/gpu.deploy.operands=false\n", False),
        (f"kubectl label nodes --all {OFF_BY_LABEL}=$OFF\n", False),
        (f"kubectl label nodes --all {OFF_BY_LABEL}=true\n", True),
        ("kubectl label nodes --all nvidia.com/gpu.deploy.dcgm=false\n", True),
        (f"kubectl get nodes -l {OFF_BY_LABEL}=false\n", True),
    ],
)
def test_the_operators_plugin_may_be_off_by_a_label(said_between: str, wrong: bool) -> None:
    script = f"{AFTER}{said_between}helm install nvdp nvdp/nvidia-device-plugin --version 0.16.2\n"

    assert ("GPU1185" in said({"install.sh": script})) is wrong
    assert ("GPU1185" in said({"install.sh": BEFORE + said_between + AFTER})) is wrong


TWO_GROUPS = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-east-1, version: "1.34"}
managedNodeGroups:
- {name: a, instanceType: g5.xlarge, labels: {A: "false"}}
- {name: b, instanceType: g6.xlarge}
"""


def test_what_nodes_are_declared_with_switches_it_off_there_alone() -> None:
    release = "helm install nvdp nvdp/nvidia-device-plugin --version 0.16.2 --set nfd.enabled=true"
    made = f"eksctl create cluster -f cluster.yaml\n{AFTER}"

    def told(groups: str, more: str = "") -> list[str]:
        files = {"cluster.yaml": groups, "install.sh": f"{made}{more}{release}\n"}
        told = [each for each in every(files.items()) if each.code == "GPU1185"]
        return [each.message.rpartition("for ")[2] for each in told]

    assert told(TWO_GROUPS) == ["the node group a.", "the node group b."]
    assert told(TWO_GROUPS.replace("A:", f"{OFF_BY_LABEL}:")) == ["the node group b."]
    assert told(TWO_GROUPS, f"# {OFF_BY_LABEL}=false\n") == []


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
    ("kind", "wrong"), [("InferenceEndpointConfig", False), ("InferenceService", True)]
)
def test_sagemaker_brings_nodes_for_its_own_pods(kind: str, wrong: bool) -> None:
    root = CPU_GROUP.replace("GPUS", "false").replace("TYPE", "m5.large").replace("MORE", "")
    served = f"""\
apiVersion: inference.sagemaker.aws.amazon.com/v1
kind: {kind}
metadata: {{name: chat}}
spec:
  worker: {{image: "x:1", resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""

    assert ("GPU1253" in said({"main.tf": root, "served.yaml": served})) is wrong


@pytest.mark.parametrize(
    ("cluster", "wrong"),
    [
        ('resource "awscc_sagemaker_cluster" "hp" { orchestrator = { eks = {} } }', False),
        ('resource "aws_sagemaker_cluster" "hp" { orchestrator { eks {} } }', False),
        ('resource "awscc_sagemaker_cluster" "slurm" { cluster_name = "a" }', True),
    ],
)
def test_sagemaker_may_give_a_cluster_nodes(cluster: str, wrong: bool) -> None:
    root = CPU_GROUP.replace("GPUS", "false").replace("TYPE", "m5.large").replace("MORE", "")
    pod = ONE_GPU.replace("SELECTS", "restartPolicy: Never")

    assert ("GPU1253" in said({"main.tf": f"{root}{cluster}\n", "pod.yaml": pod})) is wrong


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


OLD_POOL = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: gpu}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
  limits: {resources: {cpu: 100}}
  ttlSecondsAfterEmpty: 30
  providerRef: {name: gpu}
"""
RENDERED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: karpenter}
spec:
  selector: {matchLabels: {app: karpenter}}
  template:
    metadata: {labels: {app: karpenter}}
    spec: {containers: [{name: controller, image: "public.ecr.aws/karpenter/controller:VERSION"}]}
"""
BY_EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-east-1}
karpenter: {version: VERSION}
"""
BY_ADDONS = """\
module "addons" {
  source           = "aws-ia/eks-blueprints-addons/aws"
  version          = "~> 1.14"
  cluster_name     = "c"
  enable_karpenter = true
  VERSION
}
"""


@pytest.mark.parametrize(
    ("file", "text", "wrong"),
    [
        ("karpenter.yaml", RENDERED.replace("VERSION", "v0.27.0@sha256:00"), False),
        ("karpenter.yaml", RENDERED.replace("VERSION", "1.8.1"), True),
        ("eks.yaml", BY_EKSCTL.replace("VERSION", "v0.25.0"), False),
        ("eks.yaml", BY_EKSCTL.replace("VERSION", "1.8.1"), True),
        ("main.tf", BY_ADDONS.replace("VERSION", ""), False),
        ("main.tf", BY_ADDONS.replace("VERSION", 'karpenter = { chart_version = "1.8.1" }'), True),
        (
            "main.tf",
            BY_ADDONS.replace("VERSION", 'karpenter = { chart_version = "0.31.0" }'),
            False,
        ),
        ("other.yaml", "a: b\n", True),
    ],
)
def test_versions_of_karpenters_api_are_those_of_the_karpenter_that_is_there(
    file: str, text: str, wrong: bool, tmp_path: Path
) -> None:
    files = {"pools/pool.yaml": OLD_POOL, f"there/{file}": text}

    assert ("GPU1050" in said(files)) is wrong
    in_parts = {each.code for each in found_in_parts(tmp_path, files) if each.severity != "info"}
    assert ("GPU1050" in in_parts) is wrong


VLLM = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: model, namespace: ml}
spec:
  selector: {matchLabels: {app: model}}
  template:
    metadata: {labels: {app: model}}
    spec:
      containers:
        - {name: a, image: "vllm/vllm-openai:TAG", resources: {limits: {nvidia.com/gpu: 1}}}
---
apiVersion: v1
kind: Service
metadata: {name: vllm, namespace: ml}
spec: {selector: {app: model}, ports: [{port: 80, targetPort: 8000}]}
"""


@pytest.mark.parametrize(
    ("tag", "wrong"),
    [("v0.4.1", False), ("v0.4.2", False), ("v0.4.3", True), ("v0.11.0", True), ("0.3.3", False)],
)
def test_an_early_vllm_reads_no_port_of_the_environment(tag: str, wrong: bool) -> None:
    assert ("GPU1387" in said({"vllm.yaml": VLLM.replace("TAG", tag)})) is wrong


SERVES_ITSELF = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-east-1, version: "1.34"}
managedNodeGroups:
  - {name: gpu, instanceType: g6.2xlarge, amiFamily: Bottlerocket, minSize: 1, maxSize: 1LABELS}
"""
NVDP = (
    "helm install nvdp nvidia-device-plugin --repo https://nvidia.github.io/k8s-device-plugin "
    "--version 0.17.4MORE\n"
)


@pytest.mark.parametrize(
    ("labels", "more", "wrong"),
    [
        ("", "", False),
        ("", " --set gfd.enabled=true", True),
        (", labels: {nvidia.com/gpu.present: 'true'}", "", True),
    ],
)
def test_the_charts_plugin_is_where_nodes_have_its_labels(
    labels: str, more: str, wrong: bool
) -> None:
    cluster, script = SERVES_ITSELF.replace("LABELS", labels), NVDP.replace("MORE", more)

    assert ("GPU1185" in said({"cluster.yaml": cluster, "install.sh": script})) is wrong


SCALED = """\
resource "helm_release" "ca" {
  name       = "cluster-autoscaler"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"
}
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "c"
  node_role_arn  = "arn:aws:iam::111122223333:role/node"
  subnet_ids     = ["subnet-1"]
  instance_types = ["g5.xlarge"]
  ami_type       = "AL2023_x86_64_NVIDIA"
  scaling_config {
    min_size     = 0
    max_size     = MOST
    desired_size = 0
  }
}
"""


@pytest.mark.parametrize(("most", "wrong"), [("1", False), ("2", True)])
def test_of_one_node_an_autoscaler_makes_none_too_many(most: str, wrong: bool) -> None:
    assert ("GPU1263" in said({"main.tf": SCALED.replace("MOST", most)})) is wrong


@pytest.mark.parametrize(("suspended", "wrong"), [("true", False), ("false", True)])
def test_a_release_that_is_suspended_may_never_have_been_there(suspended: str, wrong: bool) -> None:
    paused = OPERATOR.replace("spec:\n", f"spec:\n  suspend: {suspended}\n", 1)

    assert bool(severities({"gpu/operator.yaml": paused, "gpu/plugin.yaml": PLUGIN})) is wrong


MADE = """\
edge:
	helm upgrade --install $(CONTEXT) nvdp $(PLUGIN) -n gpu -f values/nvdp.yaml
hub:
	helm upgrade --install $(CONTEXT) gpu-operator nvidia/gpu-operator -n gpu -f values/op.yaml
"""
PLUGIN_OF = "PLUGIN := nvidia-device-plugin --repo https://nvidia.github.io/k8s-device-plugin\n\n"


def test_targets_of_a_makefile_are_called_or_not() -> None:
    """What a variable is that has nothing is no word, wherever it stands."""
    files = {
        "Makefile": PLUGIN_OF + MADE,
        "values/nvdp.yaml": "gfd: {enabled: true}\nconfig: {map: {a: 'version: v1'}}\n",
        "values/op.yaml": "driver: {enabled: false}\ntoolkit: {enabled: false}\n",
    }

    assert not {"GPU1185", "GPU1336"} & set(said(files))


GROUPS = """\
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "21.10.0"
  name    = "c"
  MORE
  eks_managed_node_groups = {
    gpu = {
      ami_type       = "AL2023_x86_64_NVIDIA"
      instance_types = ["g6e.2xlarge"]
      min_size       = 1
      max_size       = 2
      desired_size   = 1
      OWN
    }
  }
}
"""
SELECTING = ONE_GPU.replace("SELECTS", "nodeSelector: {example.com/pool: l40s}")
REMOTE = 'remote_network_config = { remote_node_networks = { cidrs = ["10.80.0.0/16"] } }'


@pytest.mark.parametrize(
    ("more", "own", "wrong"),
    [
        ("", "labels = { a = 1 }", True),
        ("", "labels = { (data.terraform_remote_state.n.outputs.key) = 1 }", False),
        ("", "labels = { a = 1, (local.nowhere) = 1 }", False),
        (REMOTE, "labels = { a = 1 }", False),
        ("", 'ami_type = "CUSTOM"\n      user_data_template_path = "${path.module}/a.tpl"', False),
    ],
)
def test_labels_of_nodes_may_be_more_than_a_group_says(more: str, own: str, wrong: bool) -> None:
    root = GROUPS.replace("MORE", more).replace("OWN", own)
    if "ami_type" in own:
        root = root.replace('      ami_type       = "AL2023_x86_64_NVIDIA"\n', "")

    assert ("GPU1112" in said({"main.tf": root, "pod.yaml": SELECTING})) is wrong


def test_who_may_join_from_elsewhere_stands_in_an_entry_too() -> None:
    entry = 'resource "aws_eks_access_entry" "far" {\n  cluster_name = "c"\n  type = "KIND"\n}\n'
    root = GROUPS.replace("MORE", "").replace("OWN", "labels = { a = 1 }") + entry
    files = {"main.tf": root.replace("KIND", "HYBRID_LINUX"), "pod.yaml": SELECTING}

    assert "GPU1112" not in said(files)
    assert "GPU1112" in said(files | {"main.tf": root.replace("KIND", "EC2_LINUX")})


OFF = "nvidia.com/gpu.deploy."


@pytest.mark.parametrize(
    ("off", "parts"),
    [
        ((), "the driver and the toolkit"),
        (("driver",), "the toolkit"),
        (("container-toolkit",), "the driver"),
        (("driver", "container-toolkit"), None),
    ],
)
def test_nodes_may_call_parts_of_the_operator_off(off: tuple[str, ...], parts: str | None) -> None:
    labels = ", ".join(f'"{OFF}{each}" = "false"' for each in off)
    root = GROUPS.replace("MORE", "").replace("OWN", f"labels = {{ {labels} }}") + TF_OPERATOR
    found = [each.message for each in every([("main.tf", root)]) if each.code == "GPU1180"]

    assert bool(found) is (parts is not None)
    assert all(f"installs {parts}, and" in each for each in found)


TF_OPERATOR = """\
resource "helm_release" "operator" {
  name       = "gpu-operator"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
}
"""


OF_EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: eu-west-1}
managedNodeGroups:
  - {name: gpu, instanceType: g6.xlarge, amiFamily: AmazonLinux2023, volumeSize: 200}
"""
SPEECH = """\
apiVersion: v2
name: speech
version: 1.0.0
dependencies:
  - name: gpu-operator
    version: 25.10.0
    repository: https://helm.ngc.nvidia.com/nvidia
    condition: gpu-operator.enabled
"""
WITH_DRIVER = "gpu-operator:\n  enabled: true\n  driver: {enabled: true}\n"
NO_DRIVER = "gpu-operator:\n  driver: {enabled: false}\n  toolkit: {enabled: false}\n"
NO_OPERATOR = "gpu-operator:\n  enabled: false\n"


@pytest.mark.parametrize(
    ("files", "errors"),
    [
        ({}, 1),
        ({"chart/samples/on-eks.yaml": NO_DRIVER}, 0),
        (
            {"chart/samples/on-gke.yaml": NO_OPERATOR},
            0,
        ),
        ({"chart/samples/on-eks.yaml": WITH_DRIVER}, 2),
        ({"elsewhere/on-eks.yaml": NO_DRIVER}, 1),
        ({"elsewhere/on-gke.yaml": NO_OPERATOR}, 1),
    ],
)
def test_samples_of_values_are_chosen_by_what_the_cluster_is(
    files: dict[str, str], errors: int
) -> None:
    given = {
        "chart/samples/cluster.yaml": OF_EKSCTL,
        "chart/Chart.yaml": SPEECH,
        "chart/values.yaml": WITH_DRIVER,
        **files,
    }

    told = [each for each in every(given.items()) if each.code == "GPU1180"]
    assert [each.severity for each in told].count("error") == errors


def test_what_a_sample_does_not_say_of_a_condition_its_chart_does() -> None:
    given = {
        "chart/samples/cluster.yaml": OF_EKSCTL,
        "chart/Chart.yaml": SPEECH,
        "chart/values.yaml": NO_OPERATOR,
        "chart/samples/small.yaml": "gpu-operator:\n  driver: {enabled: true}\n",
    }

    assert not [each for each in every(given.items()) if each.code == "GPU1180"]


RENDERS = (
    "helm template nvdp nvidia-device-plugin --namespace kube-system"
    " --repo https://nvidia.github.io/k8s-device-plugin"
)
MANIFEST = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nvidia-device-plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      containers:
        - {name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"}
"""


@pytest.mark.parametrize(
    ("end", "is_error"),
    [
        (" > plugin.yaml", False),
        (" | grep -v helm.sh/chart | grep -v managed-by > plugin.yaml", False),
        (" --output-dir rendered", False),
        (" | kubectl apply -f -", True),
        (" | grep -v managed-by | kubectl apply -f -", True),
        ("", True),
        (" || exit 1", True),
    ],
)
def test_what_a_script_renders_is_the_file_that_lies_there(end: str, *, is_error: bool) -> None:
    given = {
        "eks/cluster.yaml": OF_EKSCTL,
        "eks/fetch.sh": f"#!/bin/sh\n{RENDERS}{end}\n",
        "eks/plugin.yaml": MANIFEST,
    }

    assert ("error" in severities(given)) is is_error


APPLICATION_SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: NAME, namespace: argocd}
spec:
  generators: [GENERATOR]
  template:
    metadata: {name: "NAME-{{name}}"}
    spec:
      source: {repoURL: "https://example.com", chart: CHART, targetRevision: VERSION}
      destination: {server: "{{server}}", namespace: gpu}
"""
OF_CLUSTERS = "{clusters: {selector: {%s}}}"
MATRIX = "{matrix: {generators: [%s]}}"


@pytest.mark.parametrize(
    ("generators", "is_told"),
    [
        (
            (
                OF_CLUSTERS % "matchLabels: {operator: 'true'}",
                OF_CLUSTERS % "matchExpressions: [{key: operator, operator: DoesNotExist}]",
            ),
            False,
        ),
        (("{clusters: {}}", OF_CLUSTERS % "matchLabels: {gpu: plugin}"), False),
        (
            (
                "{clusters: {}}",
                "{matrix: {generators: [{clusters: {selector: {matchLabels: {a: b}}}}]}}",
            ),
            False,
        ),
        (("{clusters: {}}", "{clusters: {}}"), True),
        (
            (
                "{clusters: {}}",
                OF_CLUSTERS % "matchLabels: {argocd.argoproj.io/secret-type: cluster}",
            ),
            True,
        ),
        (("{list: {elements: [{name: a, server: b}]}}", "{clusters: {}}"), True),
    ],
)
def test_each_set_of_applications_may_have_clusters_of_its_own(
    generators: tuple[str, str], *, is_told: bool
) -> None:
    charts = (("gpu-operator", "v25.10.0"), ("nvidia-device-plugin", "0.17.4"))
    given = {
        f"argocd/{chart}.yaml": APPLICATION_SET.replace("NAME", chart)
        .replace("CHART", chart)
        .replace("VERSION", version)
        .replace("GENERATOR", generator)
        for (chart, version), generator in zip(charts, generators, strict=True)
    }

    assert bool({"error", "warning"} & {*severities(given)}) is is_told


QUEUES = """\
variable "quota" {
  default = 0
}
resource "kubernetes_manifest" "flavor" {
  manifest = {
    apiVersion = "kueue.x-k8s.io/v1beta1"
    kind       = "ResourceFlavor"
    metadata   = { name = "gpu" }
  }
}
resource "kubernetes_manifest" "cluster_queue" {
  manifest = {
    apiVersion = "kueue.x-k8s.io/v1beta1"
    kind       = "ClusterQueue"
    metadata   = { name = "all" }
    spec = {
      namespaceSelector = {}
      resourceGroups = [{
        coveredResources = ["nvidia.com/gpu"]
        flavors = [{
          name      = "gpu"
          resources = [{ name = "nvidia.com/gpu", nominalQuota = QUOTA }]
        }]
      }]
    }
  }
}
resource "kubernetes_manifest" "queue" {
  manifest = {
    apiVersion = "kueue.x-k8s.io/v1beta1"
    kind       = "LocalQueue"
    metadata   = { name = "team", namespace = "team" }
    spec       = { clusterQueue = "all" }
  }
}
resource "kubernetes_manifest" "job" {
  manifest = {
    apiVersion = "batch/v1"
    kind       = "Job"
    metadata = {
      name      = "mesh"
      namespace = "team"
      labels    = { "kueue.x-k8s.io/queue-name" = "team" }
    }
    spec = { suspend = true, template = { spec = {
      restartPolicy = "Never"
      containers = [{
        name      = "a"
        image     = "b:1"
        resources = { limits = { "nvidia.com/gpu" = 2 } }
      }]
    } } }
  }
}
"""


@pytest.mark.parametrize(
    ("quota", "severity"), [("var.quota", "info"), ("0", "info"), ("1", "error"), ("2", None)]
)
def test_a_quota_of_nothing_is_one_that_is_off(quota: str, severity: str | None) -> None:
    given = {"main.tf": QUEUES.replace("QUOTA", quota)}

    told = [each.severity for each in every(given.items()) if each.code == "GPU1244"]
    assert told == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("end", "is_told"),
    [(" > /dev/null", True), (" --dry-run=client > plugin.yaml", True)],
)
def test_what_kubectl_writes_is_what_it_says(end: str, *, is_told: bool) -> None:
    given = {
        "eks/cluster.yaml": OF_EKSCTL,
        "eks/fetch.sh": f"#!/bin/sh\n{RENDERS} | kubectl apply -f -{end}\n",
        "eks/plugin.yaml": MANIFEST,
    }

    assert ("error" in severities(given)) is is_told


def test_a_pipe_into_tee_is_a_file_and_one_into_nothing_none() -> None:
    files = {"eks/cluster.yaml": OF_EKSCTL, "eks/plugin.yaml": MANIFEST}

    assert "error" not in severities({**files, "eks/a.sh": f"{RENDERS} | tee plugin.yaml\n"})
    assert "error" in severities({**files, "eks/a.sh": f"{RENDERS} |"})


def test_a_set_that_may_not_be_there_stays_so() -> None:
    set_of_all = """\
resource "kubernetes_manifest" "operator" {
  count    = var.with_argo ? 1 : 0
  manifest = yamldecode(<<-EOT
%s
  EOT
  )
}
variable "with_argo" {}
resource "helm_release" "plugin" {
  name       = "plugin"
  repository = "https://nvidia.github.io/k8s-device-plugin"
  chart      = "nvidia-device-plugin"
  version    = "0.17.4"
  namespace  = "gpu"
}
"""
    text = (
        APPLICATION_SET.replace("NAME", "gpu-operator")
        .replace("CHART", "gpu-operator")
        .replace("VERSION", "v25.10.0")
        .replace("GENERATOR", "{clusters: {}}")
    )
    lines = "\n".join(f"    {line}" for line in text.splitlines())

    assert not {"error", "warning"} & {*severities({"main.tf": set_of_all % lines})}


SEES_ALL = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: photos}
spec:
  selector: {matchLabels: {app: photos}}
  template:
    metadata: {labels: {app: photos}}
    spec:
      CLASS
      containers:
        - name: main
          image: registry.example/photos:2.1
          env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
          resources: {limits: {LIMIT: 1}}
"""


def sees_all(runtime: str = "", limit: str = "cpu") -> str:
    return SEES_ALL.replace("CLASS", runtime).replace("LIMIT", limit)


def told_of_devices(files: dict[str, str]) -> list[tuple[str, str]]:
    found = [each for each in every(files.items()) if each.code == "GPU1009"]
    return [(each.severity, each.message.split()[2]) for each in found]


@pytest.mark.parametrize(
    ("beside", "severity"),
    [
        ("runtimeClassName: nvidia", "info"),
        ("# runtimeClassName: nvidia", "warning"),
        ("runtimeClassName: gvisor", "warning"),
    ],
)
def test_a_variable_alone_gives_nothing_where_pods_name_the_runtime(
    beside: str, severity: str
) -> None:
    """If NVIDIA's runtime ran all pods, those beside would not have to name its class."""
    transcoder = f"spec:\n  {beside}\n  containers: [{{name: main, image: registry.example/t:1}}]\n"
    files = {
        "apps/photos/photos.yaml": sees_all(),
        "apps/transcoder/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: t}\n" + transcoder,
    }

    assert told_of_devices(files) == [(severity, "photos")]


@pytest.mark.parametrize("own", [("runtimeClassName: nvidia", "cpu"), ("", "nvidia.com/gpu")])
def test_who_is_given_devices_sees_more_than_those(own: tuple[str, str]) -> None:
    files = {
        "apps/photos/photos.yaml": sees_all(*own),
        "apps/transcoder/pod.yaml": sees_all("runtimeClassName: nvidia", "nvidia.com/gpu").replace(
            "photos", "transcoder"
        ),
    }

    assert told_of_devices(files) == [("warning", "photos"), ("warning", "transcoder")]


OF_ONE_TYPE = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: gpus, region: us-west-2, version: "1.34"}
managedNodeGroups:
  - {name: gpu, instanceType: TYPE, amiFamily: AmazonLinux2023, desiredCapacity: 1}
"""


@pytest.mark.parametrize(
    ("node_type", "limit", "severity"),
    [
        ("g5.xlarge", "nvidia.com/gpu", "info"),
        ("g5.xlarge", "cpu", "warning"),
        ("g5.12xlarge", "nvidia.com/gpu", "warning"),
        ("p5.4xlarge", "nvidia.com/mig-1g.10gb", "warning"),
    ],
)
def test_a_node_with_one_gpu_has_no_other_to_see(node_type: str, limit: str, severity: str) -> None:
    files = {
        "cluster.yaml": OF_ONE_TYPE.replace("TYPE", node_type),
        "photos.yaml": sees_all("", limit),
    }

    assert told_of_devices(files) == [(severity, "photos")]


@pytest.mark.parametrize(
    ("label", "severity"),
    [
        ("accelerator=nvidia-v100", "info"),
        ("accelerators=nvidia-v100", "warning"),
        ("nvidia.com/device-plugin.config=whole", "warning"),
    ],
)
def test_nodes_are_chosen_by_another_value_of_a_label_that_is_put_by_hand(
    label: str, severity: str
) -> None:
    pool = OF_ONE_TYPE.replace("TYPE", "g5.xlarge").replace(
        "desiredCapacity: 1",
        "desiredCapacity: 1, labels: {accelerator: nvidia-a10g, "
        "nvidia.com/device-plugin.config: shared}",
    )
    files = {
        "infrastructure/cluster.yaml": pool,
        "infrastructure/kubernetes/README.md": "\n".join(
            (
                "# Set up",
                "",
                "```bash",
                "eksctl create cluster -f ../cluster.yaml",
                f"kubectl label node gpu-node-1 {label}",
                "```",
                "",
            )
        ),
    }
    found = [each.severity for each in every(files.items()) if each.code == "GPU1062"]

    assert found == [severity]


@pytest.mark.parametrize(("repository", "told"), [("autoscaler", True), ("stable", False)])
def test_a_chart_of_a_closed_repository_is_another(repository: str, told: bool) -> None:
    """Charts that others have led on since have values of other names."""
    script = f"helm install ca {repository}/cluster-autoscaler --set autoDiscovery.clusterNam=ml\n"

    assert ("GPU1034" in said({"install.sh": script})) is told


@pytest.mark.parametrize(
    ("logged", "severity"), [('"api"', "warning"), ('"api", "audit"', "info"), ("", "info")]
)
def test_who_logs_who_did_what_has_chosen_what_else_to_log(logged: str, severity: str) -> None:
    root = f'resource "aws_eks_cluster" "a" {{\n  enabled_cluster_log_types = [{logged}]\n}}\n'
    found = [each for each in every({"main.tf": root}.items()) if each.code == "GPU1089"]

    assert [each.severity for each in found] == [severity]


CLUSTER_OF_AMIS = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: us-east-1, version: "1.33"}
managedNodeGroups:
- {name: gpu, instanceType: g5.xlarge, amiFamily: AmazonLinux2023}
"""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", True),
        ("echo apt-get install nvidia-driver later\n", True),
        ("sudo apt-get install -y nvidia-container-toolkit\n", False),
        ("dnf -y install nvidia-driver-latest\n", False),
        ("kubeadm init --pod-network-cidr 10.244.0.0/16\n", False),
    ],
)
def test_a_script_that_sets_up_its_machine_is_for_no_managed_nodes(before: str, told: bool) -> None:
    install = f"{before}helm install gpu-operator nvidia/gpu-operator --version v25.3.0\n"
    files = {"cluster.yaml": CLUSTER_OF_AMIS, "install.sh": install}

    assert ("GPU1180" in said(files)) is told


@pytest.mark.parametrize(("processes", "told"), [(1, False), (8, True)])
def test_one_process_of_a_training_exchanges_nothing(processes: int, told: bool) -> None:
    job = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: example.com/train:1
        command: [bash, -c, "torchrun --nnodes=4 --nproc_per_node={processes} train.py"]
        resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
    assert ("GPU1237" in said({"job.yaml": job})) is told


@pytest.mark.parametrize(
    ("host", "severity"),
    [
        ("", "warning"),
        ("# for the bare-metal hosts", "info"),
        ("# of kubespray", "info"),
        ("apt-get install -y nvidia-driver-550", "info"),
    ],
)
def test_a_fixed_host_keeps_what_is_put_on_it(host: str, severity: str) -> None:
    script = f"{host}\nkubectl label node gpu-01 nvidia.com/gpu.present=true\n"
    found = [each.severity for each in every({"label.sh": script}.items())]

    assert found == [severity]
