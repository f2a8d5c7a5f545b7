"""Objects of Kubernetes and values of charts: one broken field at a time, and what is right."""

from __future__ import annotations

from textwrap import dedent

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.lint.fixes import fixed_files
from eks_gpushare.manifests.files import GivenFile


def found(text: str, name: str = "a.yaml") -> list[str]:
    (report,) = lint_files([GivenFile(name, dedent(text))])
    return [each.code for each in report.findings if each.code < "GPU1050"]


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: notebooks}
spec:
  replicas: 2
  selector: {matchLabels: {app: notebooks}}
  template:
    metadata: {labels: {app: notebooks}}
    spec:
      nodeSelector:
        eks-node: "true"
      tolerations:
        - key: nvidia.com/gpu
          operator: Equal
          value: "true"
          effect: NoSchedule
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: nvidia.com/gpu.count, operator: In, values: ["4"]}
      containers:
        - name: main
          image: registry.example/notebook:1.4
          env:
            - {name: WORKERS, value: "4"}
            - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
          resources:
            limits: {nvidia.com/gpu: 1, cpu: 2}
            requests: {cpu: 500m}
"""


def test_a_right_deployment() -> None:
    assert found(DEPLOYMENT) == []


BROKEN = [
    ('eks-node: "true"', "eks-node: true", "GPU1004"),
    ('eks-node: "true"', "eks-node: yes", "GPU1004"),
    ('eks-node: "true"', "eks-node: 1", "GPU1004"),
    ('value: "true"', "value: true", "GPU1004"),
    ('value: "true"', "value: on", "GPU1004"),
    ('values: ["4"]', "values: [4]", "GPU1004"),
    ('value: "4"', "value: 4", "GPU1004"),
    ('value: "4"', "value: 0.5", "GPU1004"),
    ("nodeSelector:", "nodeselector:", "GPU1005"),
    ("nodeSelector:", "nodeSelectors:", "GPU1005"),
    ("tolerations:", "toleration:", "GPU1005"),
    ("tolerations:", "tollerations:", "GPU1005"),
    ("effect: NoSchedule", "effects: NoSchedule", "GPU1005"),
    ("limits:", "limit:", "GPU1005"),
    ("            limits: {nvidia.com/gpu: 1, cpu: 2}", "            nvidia.com/gpu: 1", "GPU1005"),
    ("          resources:", "          resource:", "GPU1005"),
    ("          env:", "          tolerations: []\n          env:", "GPU1005"),
    ("  replicas: 2", "  replicas: 2\n  nodeSelector: {a: b}", "GPU1005"),
    ("    spec:\n", "    tolerations: []\n    spec:\n", "GPU1005"),
    ("operator: Equal", "operator: equal", "GPU1006"),
    ("operator: Equal", "operator: Exists", "GPU1006"),
    ("operator: Equal", "operator: In", "GPU1006"),
    ("effect: NoSchedule", "effect: NoSchedul", "GPU1006"),
    ("- key: nvidia.com/gpu\n          operator", "- operator", "GPU1006"),
    ("apps/v1", "extensions/v1beta1", "GPU1007"),
    ("apps/v1", "apps/v1beta1", "GPU1007"),
    ('{name: WORKERS, value: "4"}', "{name: NVIDIA_VISIBLE_DEVICES, value: all}", "GPU1009"),
    ('{name: WORKERS, value: "4"}', '{name: NVIDIA_VISIBLE_DEVICES, value: "0"}', "GPU1009"),
    (
        '{name: WORKERS, value: "4"}',
        "{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {secretKeyRef: {name: hub, key: gpus}}}",
        "GPU1009",
    ),
    ("replicas: 2", "replicas: 2\n  replicas: 3", "GPU1002"),
]


@pytest.mark.parametrize(("old", "new", "code"), BROKEN)
def test_a_broken_deployment(old: str, new: str, code: str) -> None:
    text = DEPLOYMENT.replace(old, new, 1)
    assert text != DEPLOYMENT

    assert found(text) == [code]


LIKE_IT = [
    ('eks-node: "true"', "eks-node: 'true'"),
    ('eks-node: "true"', "eks-node: gpu"),
    ('eks-node: "true"', "eks-node: {{ .Values.node | quote }}"),
    ('eks-node: "true"', 'eks-node: "{{ .Values.node }}"'),
    ('{name: WORKERS, value: "4"}', "name: WORKERS\n              value: ${WORKERS}"),
    ('value: "4"', "value: ${WORKERS}"),
    ("operator: Equal", "operator: Equal  # the default"),
    ("          operator: Equal\n", ""),
    ('          operator: Equal\n          value: "true"\n', "          operator: Exists\n"),
    ('operator: Equal\n          value: "true"', 'operator: Gt\n          value: "3"'),
    ("          effect: NoSchedule\n", ""),
    ("        - key: nvidia.com/gpu\n          operator: Equal\n", "        - operator: Exists\n"),
    ('{name: WORKERS, value: "4"}', "{name: NVIDIA_VISIBLE_DEVICES, value: none}"),
    ('{name: WORKERS, value: "4"}', "{name: NVIDIA_DRIVER_CAPABILITIES, value: all}"),
    ("cpu: 2}", 'cpu: "2"}'),
    ("nvidia.com/gpu: 1", 'nvidia.com/gpu: "1"'),
    ("apiVersion", "# eks-node: true\napiVersion"),
]


@pytest.mark.parametrize(("old", "new"), LIKE_IT)
def test_what_looks_like_it_and_is_right(old: str, new: str) -> None:
    text = DEPLOYMENT.replace(old, new, 1)
    assert text != DEPLOYMENT
    if "Exists" in new and "value" not in new:
        text = text.replace('          value: "true"\n', "")

    assert set(found(text)) <= {"GPU1003"}


@pytest.mark.parametrize("index", [0, 1, 3, 4, 5, 6, 8, 10, 12, 13, 15, 19, 20, 22, 24, 25])
def test_what_is_certain_is_corrected_once_and_for_all(index: int) -> None:
    old, new, _ = BROKEN[index]
    text = DEPLOYMENT.replace(old, new, 1)
    fixed, _, after, _ = fixed_files([GivenFile("a.yaml", text)])

    assert len(fixed) == 1
    assert after[0].findings == ()
    again, *_ = fixed_files([GivenFile("a.yaml", fixed[0].after)])
    assert again == ()


def test_a_word_is_quoted_as_it_was_written() -> None:
    text = DEPLOYMENT.replace('eks-node: "true"', "eks-node: yes", 1)
    fixed, *_ = fixed_files([GivenFile("a.yaml", text)])

    assert fixed[0].after == DEPLOYMENT.replace('"true"', '"yes"', 1)
    assert '-        eks-node: yes\n+        eks-node: "yes"\n' in fixed[0].diff()


LISTED = DEPLOYMENT.replace("\n", "\n  ").strip()
SHAPES = [
    f"apiVersion: v1\nkind: List\nitems:\n- {LISTED}\n",
    DEPLOYMENT.replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 2\n", ""),
    """\
    apiVersion: ray.io/v1
    kind: RayCluster
    metadata: {name: r}
    spec:
      workerGroupSpecs:
        - replicas: 1
          template: {spec: {containers: [{name: a, more: 1}], other: 2}}
    """,
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: text\n",
    "apiVersion: v1\nkind: Pod\nmetadata:\nspec: {containers: [x, 1], tolerations: {a: b}}\n",
    "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a}\nspec: {hard: []}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: [a]\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 'b: [', c: 1}\n",
    "apiVersion: v1\nkind: LimitRange\nspec: {limits: [{default: {cpu: 1}}, x]}\n",
]


@pytest.mark.parametrize("text", SHAPES)
def test_objects_of_other_shapes_end_no_check(text: str) -> None:
    assert found(text) == []


QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {%s: 4}}\n"


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("nvidia.com/gpu", ["GPU1008"]),
        ("limits.nvidia.com/gpu", ["GPU1008"]),
        ("nvidia.com/mig-1g.5gb.shared", ["GPU1008"]),
        ("requests.nvidia.com/gpu", []),
        ("requests.nvidia.com/gpu.shared", []),
        ("requests.cpu", []),
        ("limits.cpu", []),
        ("count/jobs.batch", []),
    ],
)
def test_quotas(name: str, codes: list[str]) -> None:
    assert found(QUOTA % name) == codes


@pytest.mark.parametrize(
    ("requests", "limits", "severity"),
    [("4", "4", "info"), ('"4"', "4", "info"), ("2", "4", None)],
)
def test_a_quota_that_bounds_them_already_loses_nothing(
    requests: str, limits: str, severity: str | None
) -> None:
    quota = QUOTA.replace("%s: 4", "requests.%s: {}, limits.%s: {}").replace("%s", "nvidia.com/gpu")
    text = quota.replace("{}", requests, 1).replace("{}", limits)
    (report,) = lint_files([GivenFile("quota.yaml", text)])

    (each,) = report.findings
    fix = "Leave it out: requests.nvidia.com/gpu bounds them already."
    assert each.severity == (severity or "error")
    assert each.fix == (fix if severity else "Write requests.nvidia.com/gpu.")


OPERATOR = """\
driver: {enabled: false}
toolkit: {enabled: false}
devicePlugin:
  config: {name: plugin-config, default: any}
migManager:
  env:
    - {name: WITH_REBOOT, value: "true"}
dcgmExporter:
  serviceMonitor: {enabled: true}
"""
PLUGIN = """\
config: {name: plugin-config, default: any}
gfd: {enabled: true}
nfd:
  worker:
    tolerations: [{key: nvidia.com/gpu, operator: Exists}]
tolerations:
  - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
"""
VALUES = [
    (OPERATOR, "", "", []),
    (PLUGIN, "", "", []),
    (
        OPERATOR,
        '  env:\n    - {name: WITH_REBOOT, value: "true"}',
        "  WITH_REBOOT: true",
        ["GPU1034"],
    ),
    (OPERATOR, "enabled: false", 'enabled: "false"', ["GPU1036"]),
    (OPERATOR, "enabled: false", "enable: false", ["GPU1034"]),
    (OPERATOR, "devicePlugin:", "deviceplugin:", ["GPU1034"]),
    (OPERATOR, "config: {name", "config: {configMap", ["GPU1034"]),
    (PLUGIN, "gfd: {enabled", "gfd: {enable", ["GPU1034"]),
    (PLUGIN, "default: any", "defaultConfig: any", ["GPU1034"]),
    (PLUGIN, "nfd:", "node-feature-discovery:", ["GPU1034"]),
    (PLUGIN, "tolerations:\n  -", "toleration:\n  -", ["GPU1034"]),
    (PLUGIN, "gfd: {enabled: true}", "migStrategy: none\nsharing: {}", ["GPU1034"]),
    (PLUGIN, "gfd: {enabled: true}", "gfd: {enabled: 'true'}", ["GPU1036"]),
]


@pytest.mark.parametrize(("values", "old", "new", "codes"), VALUES)
def test_values_of_charts(values: str, old: str, new: str, codes: list[str]) -> None:
    text = values.replace(old, new, 1)
    assert text != values or not old

    assert found(text) == codes


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


WRAPPED = [
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: g}\nspec:\n"
    "  chart: {spec: {chart: gpu-operator, version: v26.7.0}}\n  values:\n" + indented(OPERATOR, 4),
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: g}\nspec:\n"
    "  destination: {namespace: gpu}\n  source:\n    chart: gpu-operator\n    helm:\n"
    "      values: |\n" + indented(OPERATOR, 8),
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: g}\nspec:\n"
    "  sources:\n    - chart: gpu-operator\n      helm:\n        valuesObject:\n"
    + indented(OPERATOR, 10),
    "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: g}\nspec:\n"
    "  chart: gpu-operator\n  valuesContent: |-\n" + indented(OPERATOR, 4),
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts:\n"
    "  - name: gpu-operator\n    valuesInline:\n" + indented(OPERATOR, 6),
    "gpu-operator:\n" + indented(OPERATOR, 2) + "other: {a: b}\n",
]


@pytest.mark.parametrize("text", WRAPPED)
def test_values_within_other_objects_keep_their_lines(text: str) -> None:
    assert found(text) == []
    broken = text.replace("toolkit: {enabled", "toolkit: {enable", 1)
    line = next(n for n, each in enumerate(broken.splitlines(), 1) if "toolkit: {" in each)
    (report,) = lint_files([GivenFile("a.yaml", broken)])
    (placed,) = (each for each in report.found if each.finding.code < "GPU1050")
    assert placed.finding.code == "GPU1034"
    assert placed.position is not None
    assert placed.position.line == line
    fixed, *_ = fixed_files([GivenFile("a.yaml", broken)])
    assert [each.after for each in fixed] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "replicaCount: 1\nnodeSelector: {}\nservice: {type: ClusterIP}\n",
        "on: push\njobs: {build: {runs-on: ubuntu}}\n",
        "- hosts: all\n  tasks: []\n",
        "a: 1\n",
        "just text\n",
    ],
)
def test_values_of_other_charts_are_none_of_ours(text: str) -> None:
    assert found(text) == ["GPU1001"]


def test_parts_of_pods_in_values_of_other_charts_are_read() -> None:
    text = "image: {tag: b}\nresources: {limits: {nvidia.com/gpu: 1}}\ntolerations: []\n"

    assert found(text) == []  # and not that it is of no kind that is read
