"""What people do in ordinary ways is not told of; what is wrong beside it still is."""

from __future__ import annotations

from pathlib import Path

import pytest
from linted import said

from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.manifests.files import given_files
from eks_gpushare.manifests.kustomize_images import with_images

SCALED = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: chat, namespace: ml}
spec:
  scaleTargetRef: {name: chat}
  minReplicaCount: 1
  maxReplicaCount: 4
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://p:9090
        query: sum(vllm_num_requests_waiting)
        threshold: "5"
"""
MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: vllm, namespace: ml}
spec:
  selector: {matchLabels: {app: chat}}
  podMetricsEndpoints: [{port: http, metricRelabelings: [{regex: "vllm:(.*)", TARGET: __name__}]}]
"""
RULE = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: r, namespace: ml}
spec: {groups: [{name: g, rules: [{record: NAME, expr: "sum(vllm:num_requests_waiting)"}]}]}
"""


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ("", True),
        (MONITOR.replace("TARGET", "targetLabel"), False),
        (MONITOR.replace("TARGET: __name__", "targetLabel: other"), True),
        (RULE.replace("NAME", "vllm_num_requests_waiting"), False),
        (RULE.replace("NAME", "other"), True),
    ],
)
def test_a_metric_may_be_stored_by_another_name(beside: str, told: bool) -> None:
    assert ("GPU1242" in said({"so.yaml": SCALED, "m.yaml": beside})) is told


AGENT = "monitoring.coreos.com/v1alpha1 PrometheusAgent"
SERVERS = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: platform, namespace: monitoring}
spec: {serviceMonitorSelector: {matchLabels: {release: kps}}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: dcgm-exporter, namespace: gpu}
spec:
  selector: {matchLabels: {app: nvidia-dcgm-exporter}}
  endpoints: [{port: gpu-metrics}]
"""


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ("", True),
        ("operator.victoriametrics.com/v1beta1 VMAgent {selectAllByDefault: true}", False),
        ("opentelemetry.io/v1beta1 OpenTelemetryCollector {targetAllocator: {}}", False),
        (f"{AGENT} {{serviceMonitorSelector: {{}}}}", False),
        (
            f"{AGENT} {{serviceMonitorSelector: {{matchLabels: {{release: a}}}}}}",
            True,
        ),
    ],
)
def test_another_scraper_may_take_a_monitor(beside: str, told: bool) -> None:
    text = ""
    if beside:
        api, kind, spec = beside.split(" ", 2)
        text = (
            f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a, namespace: m}}\nspec: {spec}\n"
        )

    assert ("GPU1393" in said({"s.yaml": SERVERS, "b.yaml": text})) is told


HEALED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: chat, namespace: argocd}
spec:
  source: {repoURL: "https://example.com/ml", path: apps, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: ml}
  syncPolicy: {automated: {selfHeal: true}}
"""
SERVED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers: [{name: c, image: "r.example.com/c:1", resources: {limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  maxReplicas: 3
"""
KEY = "resource.customizations.ignoreDifferences.all"
CM = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: argocd}
data: {DATA}
"""
INSTALLED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: argocd, namespace: argocd}
spec:
  source:
    repoURL: https://argoproj.github.io/argo-helm
    chart: argo-cd
    helm: {valuesObject: {configs: {cm: {KEY: "jsonPointers: [/spec/replicas]"}}}}
"""


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ("", True),
        (CM.replace("NAME", "argocd-cm").replace("DATA", f'{KEY}: "[/spec/replicas]"'), False),
        (CM.replace("NAME", "argocd-cm").replace("DATA", f'{KEY}: "[/spec/a]"'), True),
        (CM.replace("NAME", "other").replace("DATA", f'{KEY}: "[/spec/replicas]"'), True),
        (INSTALLED.replace("KEY", KEY), False),
    ],
)
def test_argo_cd_may_leave_all_replicas_alone(beside: str, told: bool) -> None:
    files = {"app.yaml": HEALED, "apps/d.yaml": SERVED, "cm.yaml": beside}

    assert ("GPU1296" in said(files)) is told


QUEUED = """\
apiVersion: GROUP
kind: KIND
metadata: {name: a, namespace: x, LABELS}
spec:
  selector: {matchLabels: {app: d}}
  PODS
"""
LABEL = "labels: {kueue.x-k8s.io/queue-name: lq}"
POD = "{containers: [{name: c, image: c, resources: {limits: {nvidia.com/gpu: 1}}}]}"
RAY = (
    "rayClusterConfig: {workerGroupSpecs: [{groupName: w, replicas: 1, "
    f"template: {{spec: {POD}}}}}]}}"
)
CONFIG = """\
apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
integrations: {frameworks: [batch/job, FRAMEWORKS], EXTERNAL}
"""


@pytest.mark.parametrize(
    ("group", "kind", "labels", "pods", "frameworks", "external", "told"),
    [
        ("ray.io/v1", "RayService", LABEL, RAY, "ray.io/raycluster", "", False),
        ("ray.io/v1", "RayService", LABEL, RAY, "ray.io/rayjob", "", True),
        ("apps/v1", "Deployment", "", f"template: {{metadata: {{{LABEL}}}, spec: {POD}}}", "pod",
         "", False),
        ("apps/v1", "Deployment", LABEL, f"template: {{spec: {POD}}}", "pod", "", True),
        ("workload.codeflare.dev/v1beta2", "AppWrapper", LABEL,
         f"components: [{{template: {{spec: {POD}}}}}]", "pod",
         "externalFrameworks: [AppWrapper.v1beta2.workload.codeflare.dev]", False),
        ("workload.codeflare.dev/v1beta2", "AppWrapper", LABEL,
         f"components: [{{template: {{spec: {POD}}}}}]", "pod", "", True),
    ],
)  # fmt: skip
def test_kueue_manages_a_kind_by_others_too(
    group: str, kind: str, labels: str, pods: str, frameworks: str, external: str, told: bool
) -> None:
    text = QUEUED.replace("GROUP", group).replace("KIND", kind).replace("LABELS", labels)
    config = CONFIG.replace("FRAMEWORKS", frameworks).replace("EXTERNAL", external)
    found = said({"w.yaml": text.replace("PODS", pods), "kueue.yaml": config})

    assert ("GPU1399" in found) is told


CLASS = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
parameters: {type: gp3, throughput: "1000"MORE}
"""


@pytest.mark.parametrize(
    ("more", "told"), [("", True), (', iopsPerGB: "50"', False), (', iopspergb: "50"', False)]
)
def test_a_volume_gets_more_by_its_size(more: str, told: bool) -> None:
    assert ("GPU1294" in said({"c.yaml": CLASS.replace("MORE", more)})) is told


SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: c
          image: IMAGE
          command: [COMMAND]
          livenessProbe: {PROBE}
          resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        ("httpGet: {port: 8000, path: /health}", True),
        ("exec: {command: [pgrep, python]}", False),
        ('exec: {command: [sh, -c, "curl -f localhost:8000/health"]}', True),
    ],
)
def test_a_command_that_asks_nothing_is_content(probe: str, told: bool) -> None:
    text = SERVER.replace("IMAGE", "vllm/vllm-openai:v0.9.2").replace("PROBE", probe)

    assert ("GPU1385" in said({"d.yaml": text.replace("COMMAND", "vllm, serve, a/b")})) is told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python, t.py", True),
        ("sh, -c, \"pip install 'tensorflow[and-cuda]' && python t.py\"", False),
        ('sh, -c, "pip install pandas && python t.py"', True),
    ],
)
def test_a_command_may_bring_cuda(command: str, told: bool) -> None:
    text = SERVER.replace("IMAGE", "tensorflow/tensorflow:2.18.0").replace(
        "PROBE", "periodSeconds: 9"
    )

    assert ("GPU1380" in said({"d.yaml": text.replace("COMMAND", command)})) is told


SHARED = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: kube-system}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.17.1}}
  values:
    gfd: {enabled: true}
    config:
      map:
        default: |
          version: v1
          sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.33"}
managedNodeGroups:
  - {name: gpu, instanceType: g5.2xlarge, amiFamily: AmazonLinux2023, volumeSize: 200}
"""
TWO = SERVER.replace("IMAGE", "vllm/vllm-openai:v0.9.2").replace(
    "  strategy: {type: Recreate}\n", "  replicas: 2\n  strategy: {type: Recreate}\n"
)
APART = "requiredDuringSchedulingIgnoredDuringExecution"


VLLM = "vllm, serve, a/b"
ON_NODES = "topologySpreadConstraints: [{topologyKey: KEY, maxSkew: 1MORE}]"


def kept_apart(by: str) -> str:
    return f"affinity: {{podAntiAffinity: {{{APART}: [{{topologyKey: {by}}}]}}}}"


@pytest.mark.parametrize(
    ("command", "more", "told"),
    [
        (VLLM, "", True),
        (f"{VLLM}, --config, /etc/vllm.yaml", "", False),
        (VLLM, kept_apart("KEY"), False),
        (VLLM, kept_apart("zone"), True),
        (VLLM, ON_NODES.replace("MORE", ", minDomains: 2"), False),
        (VLLM, ON_NODES.replace("MORE", ", minDomains: 1"), True),
        (VLLM, ON_NODES.replace("MORE", ""), True),
        (VLLM, ON_NODES.replace("1MORE", "2, minDomains: 2"), True),
        (
            VLLM,
            ON_NODES.replace("MORE", ", minDomains: 2, whenUnsatisfiable: ScheduleAnyway"),
            True,
        ),
    ],
)
def test_pods_that_share_no_gpu_take_what_they_like(command: str, more: str, told: bool) -> None:
    text = TWO.replace("COMMAND", command).replace("PROBE", "periodSeconds: 99")
    more = more.replace("KEY", "kubernetes.io/hostname")
    text = text.replace("    spec:\n      containers", f"    spec:\n      {more}\n      containers")

    assert ("GPU1209" in said({"d.yaml": text, "c.yaml": SHARED, "n.yaml": NODES})) is told


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("gcr.io/datadoghq/agent:7.60.0", False),
        ("netdata/netdata:v2", False),
        ("docker.io/library/telegraf:1.32", False),
        ("r.example.com/train:1", True),
    ],
)
def test_agents_may_see_all_gpus(image: str, told: bool) -> None:
    text = f"""\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent, namespace: monitoring}}
spec:
  selector: {{matchLabels: {{app: agent}}}}
  template:
    metadata: {{labels: {{app: agent}}}}
    spec:
      runtimeClassName: nvidia
      containers:
        - {{name: a, image: "{image}", env: [{{name: NVIDIA_VISIBLE_DEVICES, value: all}}]}}
"""

    assert ("GPU1009" in said({"d.yaml": text})) is told


@pytest.mark.parametrize(
    ("entry", "image", "made"),
    [
        ({"name": "a", "newTag": "2"}, "a:1", "a:2"),
        ({"name": "a", "newTag": "2"}, "a", "a:2"),
        ({"name": "a", "newTag": "2"}, "b/a:1", "b/a:1"),
        ({"name": "h:5/a", "newName": "b"}, "h:5/a:1", "b:1"),
        ({"name": "a", "newName": "b"}, "a@sha256:0", "b@sha256:0"),
        ({"name": "a", "digest": "sha256:1"}, "a:1", "a@sha256:1"),
        ({"name": "a", "newTag": "2", "tagSuffix": "-gpu"}, "a:1", "a:2-gpu"),
        ("a=b:2", "a:1", "b:2"),
        ("a:2", "a:1", "a:2"),
        ("a=h:5/b", "a:1", "h:5/b:1"),
        (5, "a:1", "a:1"),
    ],
)
def test_an_image_is_as_kustomize_writes_it(entry: object, image: str, made: str) -> None:
    given = {"spec": {"containers": [{"image": image}, {"name": "x"}], "initContainers": 5}}
    found = with_images(given, [entry])

    assert found["spec"]["containers"] == [{"image": made}, {"name": "x"}]


def test_each_of_several_entries_is_for_its_own_image() -> None:
    given = {"spec": {"containers": [{"image": "a:1"}, {"image": "b:1"}]}}
    unknown = {"name": "a", "newTag": UNKNOWN}
    found = with_images(
        given, [unknown, {"name": "b", "newTag": "2"}, {"name": "a", "newTag": "3"}]
    )

    assert found["spec"]["containers"] == [{"image": UNKNOWN}, {"image": "b:2"}]


def test_a_kustomization_may_be_called_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "Kustomization").write_text("resources: [d.yaml]\n")
    (tmp_path / "other").write_text("x")
    read = [Path(each.name).name for each in given_files([str(tmp_path)]) if each.text]

    assert read == ["Kustomization"]
