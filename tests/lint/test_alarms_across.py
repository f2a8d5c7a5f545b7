"""What was said of fresh public repositories and was not so, in our own words."""

from __future__ import annotations

import json

import pytest
from linted import said

from eks_gpushare.lint import reading
from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.json_text import plain_json
from eks_gpushare.manifests.texts import read_texts

SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: NAME}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: model}
  minReplicas: 1
  maxReplicas: 3
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}
"""
BY_REQUESTS, BY_LOAD = SCALER.replace("NAME", "by-requests"), SCALER.replace("NAME", "by-load")
MODEL = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: model}
spec:
  selector: {matchLabels: {app: model}}
  template:
    metadata: {labels: {app: model}}
    spec:
      containers:
        - name: model
          image: example.com/model:1
          resources: {limits: {nvidia.com/gpu: 1}}
"""
GUIDE = """\
# Scaling

HEADING A: by requests

1.  Apply it.
    ```bash
    kubectl apply -f ./requests.yaml
        ```
HEADING B: by load

```bash
kubectl apply -f load.yaml
```
"""


@pytest.mark.parametrize(
    ("guide", "codes"),
    [
        (GUIDE.replace("HEADING", "## Option"), []),
        (GUIDE.replace("HEADING", "### 2. Method"), []),
        (GUIDE.replace("HEADING", "## Step"), ["GPU1239"]),
        (GUIDE.replace("HEADING", "## Option") + "## Clean up\nload.yaml\n", ["GPU1239"]),
    ],
)
def test_files_of_which_a_guide_names_each_in_an_option_are_alternatives(
    guide: str, codes: list[str]
) -> None:
    files = {"requests.yaml": BY_REQUESTS, "load.yaml": BY_LOAD, "model.yaml": MODEL}
    files["README.md"] = guide
    assert said(files) == codes


QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: of-a}
spec:
  preemption: {withinClusterQueue: Never}
"""
FULL = (
    QUEUES
    + """\
  namespaceSelector: {matchLabels: {team: a}}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors:
        - {name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}
"""
)
JOB = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: queue, namespace: a}
spec: {clusterQueue: of-a}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: gpu}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: a, labels: {kueue.x-k8s.io/queue-name: queue}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: example.com/train:1
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_what_a_guide_shows_of_an_object_lacks_nothing_that_the_file_beside_it_has() -> None:
    guide = f"# Queues\n\n```yaml\n{QUEUES}```\n"
    assert said({"jobs.yaml": JOB, "queues.yaml": FULL, "README.md": guide}) == []
    other = guide.replace("Never", "LowerPriority")  # which is another object of that name
    found = said({"jobs.yaml": JOB, "queues.yaml": FULL, "README.md": other})
    assert found == said({"jobs.yaml": JOB, "README.md": other}) == ["GPU1278"]


EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME, namespace: gpus}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions: [TERM]
      containers:
        - {name: exporter, image: "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.2-4.8.1-distroless"}
"""
PRESENT = "{key: nvidia.com/gpu.present, operator: In, values: ['true']}"


@pytest.mark.parametrize(
    ("term", "codes"),
    [
        ("{key: nvidia.com/gpu.present, operator: NotIn, values: ['true']}", []),
        ("{key: nvidia.com/gpu.present, operator: In, values: ['false']}", []),
        ("{key: nvidia.com/gpu.present, operator: DoesNotExist}", []),
        ("{key: nvidia.com/gpu.present, operator: Exists}", ["GPU1187"]),
        ("{key: nvidia.com/gpu.present, operator: NotIn, values: ['false']}", ["GPU1187"]),
        ("{key: team, operator: In, values: [a]}", ["GPU1187"]),
    ],
)
def test_exporters_that_labels_keep_apart_do_not_meet(term: str, codes: list[str]) -> None:
    one = EXPORTER.replace("NAME", "one").replace("TERM", PRESENT)
    other = EXPORTER.replace("NAME", "other").replace("TERM", term)
    assert said({"exporters.yaml": f"{one}---\n{other}"}) == codes


PLUGIN = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: gpus}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      containers:
        - {name: plugin, image: "nvcr.io/nvidia/k8s-device-plugin:v0.19.0"}
"""
DRIVER = (
    "helm install dra nvidia/nvidia-dra-driver-gpu -n gpus --set gpuResourcesEnabledOverride=true\n"
)


def test_a_script_that_installs_the_dra_driver_has_its_own_way() -> None:
    """A plugin that lies beside it may be for another run, or another cluster."""
    assert said({"dra.sh": f"#!/bin/sh\n{DRIVER}", "plugin.yaml": PLUGIN}) == []
    both = f"#!/bin/sh\nkubectl apply -f - <<EOF\n{PLUGIN}EOF\n{DRIVER}"
    assert said({"both.sh": both}) == ["GPU1186"]


ASSERTION = """\
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {"(length(ours) >= `6`)": true}}
spec: {containers: [{name: a, "((env[?name == 'A'].value)[0])": b}]}
"""


def test_expressions_for_keys_are_of_tests_and_policies() -> None:
    assert said({"assert.yaml": ASSERTION}) == []
    assert said({"pod.yaml": ASSERTION.replace('"(length(ours) >= `6`)"', "ours")}) == []
    plain = ASSERTION.replace("(length(ours) >= `6`)", "ours").replace("((env", "(env")
    assert said({"pod.yaml": plain.replace("[0])", "[0]")}) == ["GPU1004", "GPU1005"]


COUNTERS = """\
{{ if .Values.enabled }}
apiVersion: v1
kind: ConfigMap
metadata: {name: counters}
data:
  counters.csv: |
    DCGM_FI_DEV_GPU_TEMP, gauge, Temperature.
    DCGM_FI_DEV_GPU_UTIL, LAST, Utilization.
{{- end }}
"""


def test_lines_of_a_template_are_none_of_a_list_of_metrics() -> None:
    assert said({"counters.yaml": COUNTERS.replace("LAST", "gauge")}) == []
    assert said({"counters.yaml": COUNTERS.replace("LAST", "guage")}) == ["GPU1381"]


CLIENT = """\
apiVersion: batch/v1
kind: Job
metadata: {name: bench}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: bench
          image: vllm/vllm-openai:v0.11.0
          command: [sh, -c]
          args: ["python3 -m vllm.entrypoints.PROGRAM --model example/model"]
"""


def test_a_client_of_a_server_needs_no_gpu() -> None:
    assert said({"job.yaml": CLIENT.replace("PROGRAM", "cli.main bench serve")}) == []
    assert said({"job.yaml": CLIENT.replace("PROGRAM", "openai.api_server")}) == ["GPU1238"]


SHOWN = """\
# Scale to zero

```yaml
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.11.0
      MORE
```
"""


def test_a_comment_of_a_guide_stands_for_what_is_left_out() -> None:
    assert said({"README.md": SHOWN.replace("MORE", "# ... the rest of the container")}) == []
    assert said({"README.md": SHOWN.replace("MORE", "# by its own name")}) == ["GPU1238"]


MLFLOW = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: example.com/train:1
          command: ["WORD"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_what_mlflow_puts_into_its_job_is_unknown() -> None:
    told = MLFLOW.replace("WORD", "{replaced with MLflow Project entry point}")
    assert said({"job.yaml": told}) == []
    assert said({"job.yaml": MLFLOW.replace("WORD", "python train.py")}) == ["GPU1386"]


def test_an_empty_list_takes_a_charts_affinity_away() -> None:
    release = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: gpus}
spec:
  interval: 1h
  chart:
    spec:
      chart: nvidia-device-plugin
      sourceRef: {kind: HelmRepository, name: nvidia}
  values: {affinity: GIVEN}
"""
    assert said({"release.yaml": release.replace("GIVEN", "[]")}) == []
    assert said({"release.yaml": release.replace("GIVEN", "[a]")}) == ["GPU1036"]


def test_bitnamis_chart_of_jupyterhub_has_other_values() -> None:
    values = "singleuser:\n  image: {KEY: example.com/notebook}\n  tolerations: []\n"
    assert said({"values.yaml": values.replace("KEY", "repository")}) == []
    assert said({"values.yaml": values.replace("KEY", "name")}) == ["GPU1261"]


@pytest.mark.parametrize(
    ("told", "codes"),
    [
        ({"inputs": "gpu"}, []),
        ({"apiVersion": "gpu"}, []),
        ({"apiVersion": "v1", "kind": "Pod"}, ["GPU1000"]),
    ],
)
def test_data_beyond_what_is_held_together_is_none_of_ours(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, str], codes: list[str]
) -> None:
    monkeypatch.setattr(reading, "MOST_ITEMS", 500)
    text = json.dumps({**told, "data": [0] * 600})
    (report,) = lint_files([GivenFile("input.json", text, in_folder=True)])
    assert [each.code for each in report.findings if each.severity != "info"] == codes


@pytest.mark.parametrize(
    ("file", "text", "codes"),
    [
        ("gpu-operator-values.json", '{"mig": {"strategy": "mixd"}}', ["GPU1036"]),
        ("gpu-operator/values.json", '{"mig": {"strategy": "mixd"}}', ["GPU1036"]),
        ("data.json", '{"mig": {"strategy": "mixd"}}', ["GPU1001"]),
        ("nvdp/values.json", '{"nodeSelector": "g5", "image": "${A} and b"}', ["GPU1036"]),
        (
            "config.json",
            '{"version": "v1", "flags": {"migStrategy": "mixd"}, "${x}": 1}',
            ["GPU1021"],
        ),
        ("nvidia.json", '{"nvidia.com/gpu": [' + "1, " * 120_000 + "1]}", ["GPU1000"]),
        ("deep.json", '{"a":' * 3000 + "1" + "}" * 3000, ["GPU1001"]),
    ],
)
def test_json_is_read_as_yaml_is(file: str, text: str, codes: list[str]) -> None:
    (report,) = lint_files([GivenFile(file, text, in_folder=file != "nvidia.json")])

    assert [each.code for each in report.findings] == codes


def pairs_of(count: int) -> str:
    return json.dumps(dict.fromkeys(map(str, range(count))))


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("[" * 100 + "1" + "]" * 100, True),
        ("[" * 101 + "]" * 101, False),
        ('{"a":' * 100 + "1" + "}" * 100, True),
        ('{"a":' * 101 + "1" + "}" * 101, False),
        (json.dumps([0] * 119_999), True),
        (json.dumps([0] * 120_000), False),
        (pairs_of(59_999), True),
        (pairs_of(60_000), False),
        ('{"a": "${B}"}', False),
        ('{"${B}": 1}', False),
        ('[{"a": "b"}]', True),
    ],
)
def test_values_alone_are_those_of_a_reader_of_yaml(text: str, is_whole: bool) -> None:
    found, read = plain_json(text, "data.json"), read_texts(text, "data.json")

    assert (found is not None) == is_whole
    assert found is None or [found.value] == [each.value for each in read.documents]


@pytest.mark.parametrize("patched", [True, False])
def test_a_patch_in_json_is_no_data_of_others(*, patched: bool) -> None:
    files = {
        "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n",
        "kustomization.yaml": "resources: [pod.yaml]\n"
        + "patches: [{path: patch.json, target: {kind: Pod}}]\n" * patched,
        "patch.json": '[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]',
    }
    reports = lint_files([GivenFile(name, text, in_folder=True) for name, text in files.items()])

    told = {each.file: [found.code for found in each.findings] for each in reports}
    assert told["patch.json"] == ([] if patched else ["GPU1001"])


def test_values_of_which_half_is_strange_are_of_another_chart() -> None:
    values = "provider: gcp\ndcgmExporter: {enabled: false}\n"
    assert said({"guide.md": f"# Ours\n\n```yaml\n{values}```\n"}) == []
    assert said({"values.yaml": values.replace("provider: gcp", "toolkitt: {enabled: false}")}) == [
        "GPU1034"
    ]


SEES_ALL = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: exporter}
spec:
  selector: {matchLabels: {app: exporter}}
  template:
    metadata: {labels: {app: exporter}}
    spec:
      containers:
        - name: exporter
          image: example.com/NAME
          env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
"""
OF_ANOTHER = """\
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {sched.example.com/devices: "0"}}
spec:
  schedulerName: SCHEDULER
  containers:
    - name: a
      image: example.com/a:1
      env:
        - name: NVIDIA_VISIBLE_DEVICES
          valueFrom: {fieldRef: {fieldPath: "metadata.annotations['sched.example.com/devices']"}}
"""


def test_who_tells_of_gpus_sees_all_and_another_scheduler_gives_them_out() -> None:
    assert said({"a.yaml": SEES_ALL.replace("NAME", "nvidia_gpu_exporter:1.3")}) == []
    assert said({"a.yaml": SEES_ALL.replace("NAME", "server:1.3")}) == ["GPU1009"]
    assert said({"a.yaml": OF_ANOTHER.replace("SCHEDULER", "hivedscheduler")}) == []
    assert said({"a.yaml": OF_ANOTHER.replace("SCHEDULER", "default-scheduler")}) == ["GPU1009"]


def test_a_guide_to_a_chart_says_whether_it_brings_another_along() -> None:
    guide = "# Values\n\n```yaml\ndcgm-exporter:\n  KEY: false\n```\n"
    assert said({"README.md": guide.replace("KEY", "enabled")}) == []
    assert said({"README.md": guide.replace("KEY", "kubeletPaths")}) == ["GPU1034"]
