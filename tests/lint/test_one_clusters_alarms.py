"""What was said of one more set of clusters and was not so, each class in our own words."""

from __future__ import annotations

import pytest
from linted import found


def said(*files: tuple[str, str]) -> list[str]:
    """The errors and warnings of files."""
    return [each.code for each in found(files)]


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: plugin, namespace: argocd}
spec:
  sources:
    - repoURL: https://nvidia.github.io/k8s-device-plugin
      chart: %s
      targetRevision: 0.17.4
      helm:
        valueFiles:
          - $ours/clusters/film/plugin.yaml
    - repoURL: https://git.example.com/film.git
      ref: ours
  destination: {namespace: kube-system, server: https://kubernetes.default.svc}
"""
SHARES = """\
runtimeClassName: nvidia
sharing:
  timeSlicing:
    resources:
      - name: nvidia.com/gpu
        replicas: 3
"""


def test_values_that_an_application_names_by_another_source_are_values() -> None:
    """They are no configuration of the plugin, though a block of one lies at their top."""
    application = ("film/apps/plugin.yaml", APPLICATION % "nvidia-device-plugin")
    values = ("film/clusters/film/plugin.yaml", SHARES)

    (only,) = found([application, values])

    assert only.code == "GPU1034"
    assert only.message.startswith("sharing is no value of nvidia-device-plugin 0.17.4")
    assert "GPU1020" in said(values)


@pytest.mark.parametrize(
    ("chart", "path"),
    [("ingress-nginx", "clusters/film/plugin.yaml"), ("nvidia-device-plugin", "other/plugin.yaml")],
)
def test_of_another_chart_or_path_an_application_says_nothing(chart: str, path: str) -> None:
    """What such a file is follows from itself."""
    files = (("apps/plugin.yaml", APPLICATION % chart), (path, SHARES))

    assert set(said(*files)) == {"GPU1020", "GPU1024"}


SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: writer, namespace: film}
spec:
  selector: {matchLabels: {app: writer}}
  template:
    metadata: {labels: {app: writer}}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.0
          args: [--model, Qwen/Qwen3-8B]
          resources: {limits: {nvidia.com/gpu: 4}}
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: turns, namespace: kube-system}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        renameByDefault: %s
        resources:
          - name: nvidia.com/gpu
            replicas: 8
"""
OF_THE_CHART = """\
config:
  default: turns
  map:
    turns: |
      version: v1
      sharing:
        timeSlicing:
          resources:
            - name: nvidia.com/gpu
              replicas: 8
"""


@pytest.mark.parametrize(
    "shares", [("a/turns.yaml", CONFIG % "false"), ("a/nvidia-device-plugin.yaml", OF_THE_CHART)]
)
def test_several_shares_are_of_one_gpu(shares: tuple[str, str]) -> None:
    """A server may take several of them to keep others off: it is no waste for certain."""
    server = ("b/writer.yaml", SERVER)

    assert said(server) == ["GPU1236"]
    assert "GPU1236" not in said(shares, server)


def test_shares_of_another_name_are_no_gpus() -> None:
    """They are called otherwise, so that these are whole ones."""
    assert "GPU1236" in said(("a/turns.yaml", CONFIG % "true"), ("b/writer.yaml", SERVER))


AROUND = """\
# Watching

Set it in the settings of the extension.

```yaml
watch-helper:
  gpus: {enabled: true}

dcgmExporter:
  enabled: true
  serviceMonitor: {interval: 15s}
```
"""


def test_a_block_of_another_chart_has_nvidias_names_beside_its_own() -> None:
    """Half of its keys are blocks of nothing that NVIDIA's chart has."""
    assert said(("README.md", AROUND)) == []
    misspelt = AROUND.replace("watch-helper", "toolkitt")
    assert said(("README.md", misspelt)) == ["GPU1034"]


ESCAPED = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: turns
  annotations:
    told: "the team\\'s own"
data: {words: few}
"""


def test_a_single_quote_may_be_escaped_as_go_has_it() -> None:
    """YAML does not know it, and kubectl and helm read it."""
    assert "\\'" in ESCAPED
    assert said(("turns.yaml", ESCAPED)) == []
    assert said(("turns.yaml", ESCAPED.replace("\\'", "\\q"))) == ["GPU1000"]


def test_nodes_that_kwok_plays_are_nobodys() -> None:
    """It keeps objects of nodes in a cluster without any machine."""
    labelled = "kubectl label node %s nvidia.com/gpu.clique=a --overwrite\n"
    asked = "for node in $(kubectl get nodes -l kwok.x-k8s.io/node=fake -o name); do\n  %s\ndone\n"

    assert said(("label.sh", asked % (labelled % "played-1").strip())) == []
    assert said(("label.sh", labelled % "node-1")) == ["GPU1062"]
