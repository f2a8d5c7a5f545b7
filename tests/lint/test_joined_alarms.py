"""What was said of two files of public repositories that nothing joins, in our own words."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile


def said(files: dict[str, str]) -> list[str]:
    """The errors and warnings of files."""
    given = [GivenFile(name, text) for name, text in files.items()]
    return [
        found.code
        for result in lint_files(given)
        for found in result.findings
        if found.severity != "info"
    ]


CHARTS = """\
resource "helm_release" "nvidia" {
  name       = "nvidia"
  repository = "https://helm.ngc.nvidia.com/nvidia"
  chart      = "gpu-operator"
  version    = "v26.3.0"
  values     = [yamlencode({driver = {enabled = false}})]
}
resource "helm_release" "other" {
  name       = "other"
  repository = "https://charts.example.com/gpus"
  chart      = "CHART"
  values     = [yamlencode({driver = {enabled = false}})]
}
"""


@pytest.mark.parametrize(
    ("chart", "wrong"), [("gpu-operator-charts", False), ("nvidia/gpu-operator", True)]
)
def test_a_chart_whose_name_begins_like_that_of_nvidia_is_another(chart: str, wrong: bool) -> None:
    assert ("GPU1187" in said({"main.tf": CHARTS.replace("CHART", chart)})) == wrong


EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: exporter, namespace: metrics}
spec:
  selector: {matchLabels: {app: exporter}}
  template:
    metadata: {labels: {app: exporter}}
    spec:
      containers:
        - name: exporter
          image: "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.2-4.8.1-distroless"
          resources: {limits: {memory: 1Gi}}
"""
VALUES = "driver: {enabled: false}\nmigManager: {enabled: false}\noperator: {cleanupCRD: false}\n"
INSTALL = "helm install gpu-operator nvidia/gpu-operator -n gpus --version v25.3.0 -f values.yaml\n"


@pytest.mark.parametrize(("script", "wrong"), [("", False), (INSTALL, True)])
def test_values_that_nothing_installs_are_no_second_exporter(script: str, wrong: bool) -> None:
    files = {"values.yaml": VALUES, "exporter.yaml": EXPORTER, "up.sh": f"#!/bin/bash\n{script}"}

    assert ("GPU1187" in said(files)) == wrong


NODES = """\
resource "aws_eks_node_group" "gpu" {
  cluster_name   = "ml"
  instance_types = ["g5.xlarge"]
  node_role_arn  = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids     = ["subnet-1"]
  labels         = { accelerator = "VALUE" }
  scaling_config {
    desired_size = 1
    max_size     = 1
    min_size     = 1
  }
  taint {
    key    = "accelerator"
    value  = "VALUE"
    effect = "NO_SCHEDULE"
  }
}
"""
BY_HAND = """\
#!/bin/bash
kubectl label node "$NODE" accelerator=nvidia
kubectl taint node "$NODE" accelerator=nvidia:NoSchedule
"""


@pytest.mark.parametrize(("value", "wrong"), [("nvidia", 0), ("amd", 2)])
def test_what_a_node_group_gives_its_nodes_is_not_only_put_by_hand(value: str, wrong: int) -> None:
    files = {"infra/nodes.tf": NODES.replace("VALUE", value), "scripts/up.sh": BY_HAND}

    assert said(files).count("GPU1062") == wrong


def test_a_label_called_like_a_resource_may_be_of_who_owns_the_nodes() -> None:
    """Where no nodes are declared; where they are, GPU1112 goes by what they have."""
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: server}
spec:
  nodeSelector: {nvidia.com/gpu: "true"}
  containers:
    - {name: server, image: "example.com/server:1", resources: {limits: {nvidia.com/gpu: 1}}}
"""

    assert said({"pod.yaml": pod}) == []
    assert said({"pod.yaml": pod.replace('gpu: "true"', 'mig-1g.5gb: "true"')}) == ["GPU1205"]


GUIDE = """\
```bash
helm install gpu-operator nvidia/gpu-operator -n gpu-operator --version v25.3.0 \\
  --set devicePlugin.config.name=shares --set devicePlugin.config.default=any
```
```yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
```
MORE
```bash
kubectl label node ip-10-0-0-1.ec2.internal nvidia.com/device-plugin.config=dev
```
"""
MORE = """\
```yaml
data:
  dev: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}
```
"""


@pytest.mark.parametrize(("more", "wrong"), [(MORE, False), ("", True)])
def test_a_guide_may_show_further_keys_of_a_map_by_themselves(more: str, wrong: bool) -> None:
    assert ("GPU1122" in said({"guide.md": GUIDE.replace("MORE", more)})) == wrong


CONFIG = """\
nfd: {enabled: true}
config:
  map:
    default: |-
      version: v1
      sharing:
        timeSlicing:
          resources:
            - name: nvidia.com/gpu
              replicas: REPLICAS
  default: default
"""


@pytest.mark.parametrize(("replicas", "wrong"), [("{{ .Env.REPLICAS }}", False), ("[a", True)])
def test_a_configuration_that_a_program_fills_in_is_not_known(replicas: str, wrong: bool) -> None:
    text = CONFIG.replace("REPLICAS", replicas)

    assert ("GPU1125" in said({"nvidia-device-plugin/values.yaml": text})) == wrong


@pytest.mark.parametrize(("other", "wrong"), [("false", False), ("true", True)])
def test_an_exporter_need_not_know_a_name_that_only_some_configuration_gives(
    other: str, wrong: bool
) -> None:
    values = """\
devicePlugin: {config: {name: shares, default: any}}
dcgmExporter: {env: [{name: KUBERNETES_VIRTUAL_GPUS, value: "true"}]}
"""
    shares = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        renameByDefault: OTHER
        resources: [{name: nvidia.com/gpu, replicas: 4}]
  dev: |
    version: v1
    sharing:
      timeSlicing:
        renameByDefault: true
        resources: [{name: nvidia.com/gpu, replicas: 8}]
"""
    files = {"gpu-operator-values.yaml": values, "shares.yaml": shares.replace("OTHER", other)}

    assert ("GPU1245" in said(files)) == wrong


POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: NAME}
spec: {dcgmExporter: {enabled: true}, devicePlugin: {enabled: true}}
"""


def test_policies_of_one_operator_are_no_two_exporters() -> None:
    """The operator goes by one of them, whatever its chart or others declare."""
    files = {f"{name}.yaml": POLICY.replace("NAME", name) for name in ("shares", "mig")}
    files["main.tf"] = CHARTS.split("resource", 2)[1].join(("resource", ""))

    assert said(files) == []
    assert "GPU1187" in said({**files, "exporter.yaml": EXPORTER})


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shares, namespace: argocd}
spec:
  project: default
  source:
    repoURL: https://git.example.com/gpus.git
    targetRevision: main
    path: kubernetes/gpu-operator
    HOW
  destination: {server: "https://kubernetes.default.svc", namespace: gpus}
"""


@pytest.mark.parametrize(
    ("how", "wrong"),
    [
        ("directory: {include: map.yaml}", False),
        ("helm: {valuesObject: {dcgmExporter: {enabled: true}}}", True),
    ],
)
def test_a_folder_of_manifests_may_be_called_like_a_chart(how: str, wrong: bool) -> None:
    files = {"application.yaml": APPLICATION.replace("HOW", how), "exporter.yaml": EXPORTER}

    assert ("GPU1187" in said(files)) == wrong


OWN = """\
apiVersion: v2
name: gpu-operator
version: 0.1.0
description: The NVIDIA GPU Operator as we subscribe to it
SOURCES
"""


@pytest.mark.parametrize(
    ("sources", "wrong"),
    [("", False), ("sources:\n  - https://github.com/NVIDIA/gpu-operator", True)],
)
def test_a_chart_of_ones_own_reads_its_values_itself(sources: str, wrong: bool) -> None:
    files = {
        "charts/gpu-operator/Chart.yaml": OWN.replace("SOURCES", sources),
        "charts/gpu-operator/values.yaml": "clusterPolicy: {name: gpus}\nnfd: {subscription: a}\n",
    }

    assert ("GPU1034" in said(files)) == wrong


def test_a_metric_of_ones_own_is_no_value_of_an_exporter() -> None:
    block = "custom_metrics:\n  - {name: calls, type: gauge}\n"

    assert said({"guide.md": f"```yaml\n{block}```\n"}) == []


NOTEBOOK = """\
apiVersion: kubeflow.org/v1
kind: Notebook
metadata: {name: lab, namespace: ml, labels: {team: vision}}
spec:
  template:
    spec:
      containers: [{name: lab, image: "example.com/lab:1"}]
---
apiVersion: v1
kind: Service
metadata: {name: lab, namespace: ml}
spec: {ports: [{port: 80}], selector: {LABEL}}
"""


@pytest.mark.parametrize(
    ("label", "wrong"),
    [("notebook-name: lab", False), ("team: vision", False), ("notebook-name: other", True)],
)
def test_pods_of_a_notebook_have_labels_of_its_controller(label: str, wrong: bool) -> None:
    assert ("GPU1192" in said({"lab.yaml": NOTEBOOK.replace("LABEL", label)})) == wrong


@pytest.mark.parametrize(("env", "wrong"), [("[{name: NVIDIA_VISIBLE_DEVICES}]", 0), ("[]", 1)])
def test_what_stands_under_env_goes_over_a_map(env: str, wrong: int) -> None:
    pod = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: server}}
spec:
  containers:
    - name: server
      image: example.com/server:1
      env: {env}
      envFrom: [{{configMapRef: {{name: settings}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data: {{NVIDIA_VISIBLE_DEVICES: "0"}}
"""

    assert said({"pod.yaml": pod}).count("GPU1009") == wrong
