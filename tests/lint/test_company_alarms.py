"""What was said of public repositories of companies and laboratories and was not so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from linted import said

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from pathlib import Path

PARTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: form}
data:
  # TEXT_MODEL_START
  title: one
  # TEXT_MODEL_END
  # SPEECH_MODEL_START
  title: two
  # SPEECH_MODEL_END
"""


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (PARTS, []),
        (PARTS.replace("_START", ""), ["GPU1002"]),
        (PARTS.replace("_END", "_STOP"), ["GPU1002"]),
    ],
)
def test_of_parts_that_comments_mark_a_script_leaves_some_out(text: str, codes: list[str]) -> None:
    assert said({"form.yaml": text}) == codes


JOB = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: smoke}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          containers:
            - name: tensorflow
              image: example.com/benchmarks:1
              args: [python, tf_cnn_benchmarks.py, --num_gpus=GPUS, --device=gpu]
              resources: {limits: {nvidia.com/gpu: 2}}
"""


@pytest.mark.parametrize(("gpus", "codes"), [("1", []), ("2", ["GPU1237"]), ("12", ["GPU1237"])])
def test_a_program_on_one_of_its_gpus_exchanges_nothing(gpus: str, codes: list[str]) -> None:
    assert said({"job.yaml": JOB.replace("GPUS", gpus)}) == codes


GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: model}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: vllm
            image: example.com/vllm:1
            command: [vllm, serve, model, --pipeline-parallel-size, "2", --device, DEVICE]
"""


@pytest.mark.parametrize(("device", "codes"), [("cpu", []), ("cuda", ["GPU1236"])])
def test_a_server_on_the_processor_is_split_over_no_gpus(device: str, codes: list[str]) -> None:
    assert said({"group.yaml": GROUP.replace("DEVICE", device)}) == codes


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ("gpu-operator: {enabled: true, driver: {enabled: false}}", []),
        ("gpu-operator: {enable: true, driver: {enabled: false}}", ["GPU1034"]),
    ],
)
def test_a_switch_is_of_the_chart_above_which_is_not_there(values: str, codes: list[str]) -> None:
    assert said({"values.k3s.yaml": f"{values}\n"}) == codes


CHART = """\
apiVersion: v2
name: dcgm-exporter
version: 3.4.0
home: https://github.com/nvidia/dcgm-exporter/
"""


@pytest.mark.parametrize(
    ("template", "codes"), [("extraManifests", []), ("arguments", ["GPU1034"])]
)
def test_a_copy_of_a_chart_has_values_that_its_own_templates_read(
    template: str, codes: list[str]
) -> None:
    files = {
        "dcgm-exporter/Chart.yaml": CHART,
        "dcgm-exporter/templates/more.yaml": f"{{{{ range .Values.{template} }}}}\n{{{{ end }}}}\n",
        "dcgm-exporter/values.yaml": "kubeletPath: /k\narguments: []\nextraManifests: [a]\n",
    }
    assert said(files) == codes


def test_what_a_schema_is_made_of_is_no_file_of_a_charts_values() -> None:
    wrong = "gpu-operator: {own: 1}\n"

    assert said({"a/Chart.yaml": AROUND, "a/values-prod.yaml": wrong}) == ["GPU1034"]
    assert said({"a/Chart.yaml": AROUND, "a/values-schema.yaml": wrong}) == []


def test_what_templates_have_in_common_may_read_more(tmp_path: Path) -> None:
    """It is no manifest, and so not among the files."""
    helper = tmp_path / "dcgm-exporter" / "templates" / "_own.tpl"
    helper.parent.mkdir(parents=True)
    files = {
        f"{tmp_path}/dcgm-exporter/Chart.yaml": CHART,
        f"{tmp_path}/dcgm-exporter/values.yaml": "kubeletPath: /k\narguments: []\nown: [a]\n",
    }
    assert said(files) == ["GPU1034"]

    helper.write_text('{{ define "a" }}{{ .Values.own }}{{ end }}\n', encoding="utf-8")
    assert said(files) == []


AROUND = """\
apiVersion: v2
name: example
version: 1.0.0
dependencies: [{name: gpu-operator, version: 26.3.3, repository: "oci://example.com/charts"}]
"""


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ("gpu-operator: {gpu-operator: {toolkit: {enabled: true}}}", []),
        ("gpu-operator: {gpu-operators: {toolkit: {enabled: true}}}", ["GPU1034"]),
    ],
)
def test_a_chart_around_anothers_may_be_called_as_that_is(values: str, codes: list[str]) -> None:
    assert said({"a/Chart.yaml": AROUND, "a/values.yaml": f"{values}\n"}) == codes


NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: gpus, region: eu-west-1, version: "1.34"}
managedNodeGroups:
  - {name: gpus, instanceType: g5.xlarge, minSize: 0, maxSize: 2, privateNetworking: true}
"""
PODS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: model}
spec:
  replicas: 4
  selector: {matchLabels: {app: model}}
  template:
    metadata: {labels: {app: model}}
    spec:
      containers:
        - {name: model, image: "example.com/model:1", resources: {limits: {nvidia.com/gpu: 1}}}
"""
GUIDE = """\
```yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
```
"""


@pytest.mark.parametrize(
    ("guide", "codes"), [(GUIDE, []), (GUIDE.replace("timeSlicing", "none"), ["GPU1243"])]
)
def test_gpus_that_a_guide_beside_shares_are_not_counted(guide: str, codes: list[str]) -> None:
    files = {"k/cluster.yaml": NODES, "k/model.yaml": PODS, "docs/sharing.md": guide}
    assert [code for code in said(files) if code == "GPU1243"] == codes


ROOT = """\
variable "type" {
  default = "g4dn.xlarge"
}

resource "aws_eks_node_group" "gpus" {
  cluster_name   = "gpus"
  instance_types = [var.type]
  ami_type       = "AL2023_x86_64_STANDARD"
  scaling_config {
    min_size = 0
    max_size = 1
  }
}
"""
SCRIPT = """\
read -p "Which? " TYPE
cat > terraform.tfvars <<EOF
type = "$TYPE"
EOF
terraform apply
"""


@pytest.mark.parametrize(
    ("script", "codes"),
    [(SCRIPT, []), (SCRIPT.replace("terraform.tfvars", "notes.txt"), ["GPU1181"])],
)
def test_a_script_that_asks_for_variables_decides_them(script: str, codes: list[str]) -> None:
    files = {"root/main.tf": ROOT, "root/start.sh": script}
    assert [code for code in said(files) if code == "GPU1181"] == codes


def test_a_chart_with_a_value_of_its_own_name_is_no_chart_around_another() -> None:
    chart = AROUND.replace("gpu-operator, version: 26.3.3", 'ollama, version: ">=1.57.0"')

    assert said({"a/Chart.yaml": chart, "a/values.yaml": OLLAMA}) == []
    wrong = OLLAMA.replace("ollama: {gpu", "ollama: {ollama: {gpu").replace("}}", "}}}", 1)
    assert said({"a/Chart.yaml": chart, "a/values.yaml": wrong}) == ["GPU1034"]
    # What is off by default is off.
    off = wrong.replace("enabled: true", "enabled: false")
    assert said({"a/Chart.yaml": chart, "a/values.yaml": off}) == []


OLLAMA = "ollama: {replicaCount: 0, ollama: {gpu: {enabled: true}}}\n"


PLUGIN = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: plugin}
spec:
  destination: {server: "https://kubernetes.default.svc", namespace: gpus}
  source:
    repoURL: https://nvidia.github.io/k8s-device-plugin
    chart: nvidia-device-plugin
    targetRevision: 0.18.2
    helm:
      valuesObject:
        config:
          map:
            a: |
              version: v1
              sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
CAPABLE = """\
resource "aws_eks_node_group" "gpus" {
  cluster_name   = "prod"
  ami_type       = "AL2023_x86_64_NVIDIA"
  instance_types = ["g5.2xlarge"]
  labels         = { LABEL = "true" }
}
"""


@pytest.mark.parametrize(
    ("label", "severity"),
    [('"nvidia.com/mps.capable"', "info"), ('"team"', "warning")],
)
def test_the_label_of_mps_may_be_of_nodes_of_another_scope(label: str, severity: str) -> None:
    files = {
        "argocd/prod/plugin.yaml": PLUGIN,
        "argocd/train/plugin.yaml": PLUGIN,
        "terraform/prod/main.tf": CAPABLE.replace("LABEL", label),
        "terraform/train/main.tf": CAPABLE.replace("LABEL", label),
    }
    reports = lint_files([GivenFile(name, text) for name, text in files.items()])
    found = [each for report in reports for each in report.findings if each.code == "GPU1171"]

    assert {each.severity for each in found} == {severity}
