"""What was said of trees that Flux and Argo CD apply and was not so, in our own words."""

from __future__ import annotations

import pytest
from linted import every

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

CHART = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: plugin, namespace: gpus}
spec:
  chart: {spec: {chart: nvidia-device-plugin, version: 0.18.0}}
  values:
    runtimeClassName: nvidia
    controllers: {pod: {priorityClassName: high}}
    config: {map: {default: "version: v1"}}
"""
CLASS = """\
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: nvidia}
handler: nvidia
"""
SPARK = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: etl, namespace: data}
spec:
  sparkConf:
    spark.executor.resource.gpu.amount: "1"
    spark.executor.resource.gpu.vendor: nvidia.com
  executor: EXECUTOR
"""
TESTER = """\
apiVersion: v1
kind: Pod
metadata: {name: smi}
spec:
  runtimeClassName: nvidia
  containers:
    - {name: a, image: registry.example.com/a:1, resources: {limits: {nvidia.com/gpu: 1}}}
"""


def told(code: str, *texts: str) -> list[tuple[str, str, str]]:
    """Severity, path and message of what is said by a code, of files beside one another."""
    files = ((f"{number}.yaml", text) for number, text in enumerate(texts))
    return [(each.severity, each.path, each.message) for each in every(files) if each.code == code]


def test_values_that_might_be_those_of_app_template_are_read_once() -> None:
    """They are of the chart that the release names, and of its version."""
    ((severity, path, message),) = told("GPU1034", CHART)

    assert (severity, path) == ("error", "spec.values.controllers")
    assert message.startswith("controllers is no value of nvidia-device-plugin 0.18.0: ")


@pytest.mark.parametrize(
    ("executor", "is_told"),
    [
        ("{instances: 1}", True),
        ("{template: {spec: {nodeSelector: {gpu: 'yes'}}}}", True),
        ("{template: {spec: {runtimeClassName: nvidia}}}", False),
        ("{template: {spec: {runtimeClassName: '{{ .class }}'}}}", False),
    ],
)
def test_a_spark_role_names_its_runtime_class_in_its_template(executor: str, is_told: bool) -> None:
    """`template` of `SparkPodSpec` in spark-operator's `api/v1beta2/sparkapplication_types.go`."""
    plugin = CHART.replace("    controllers: {pod: {priorityClassName: high}}\n", "")
    files = plugin, CLASS, TESTER, SPARK.replace("EXECUTOR", executor)

    assert bool(told("GPU1389", *files)) == is_told


MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpus}
data:
  four: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: COUNT}]}}
"""
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
OVERLAY = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../base]
"""


def built(base: str, patch: str, overlay: str) -> list[tuple[str, str]]:
    """Files and codes of what is said of a base, and of a component that patches it."""
    files = {
        "base/kustomization.yaml": OVERLAY.replace("../base", "map.yaml"),
        "base/map.yaml": MAP.replace("COUNT", base),
        "shares/kustomization.yaml": f"{COMPONENT}patches: [{{path: map.yaml}}]\n",
        "shares/map.yaml": MAP.replace("COUNT", patch),
        "more/kustomization.yaml": f"{COMPONENT}components: [../shares]\n",
        "cluster/kustomization.yaml": OVERLAY + overlay,
    }
    reports = lint_files(GivenFile(name, text) for name, text in files.items())
    return [
        (report.file, each.code)
        for report in reports
        for each in report.findings
        if each.severity != "info"
    ]


@pytest.mark.parametrize("overlay", ["components: [../shares]", "components: [../more]"])
def test_a_text_of_a_map_is_judged_where_the_patch_has_it(overlay: str) -> None:
    """A component may take another along, and what a patch takes the place of is not applied."""
    assert built("4", "0", overlay) == [("shares/map.yaml", "GPU1021")]
    assert built("0", "4", overlay) == []
    assert built("0", "4", "") == [("base/map.yaml", "GPU1021")]


POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: policy}
spec:
  operator: {OPERATOR}
  dcgmExporter: {serviceMonitor: {enabled: true}}
"""
SERVER = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: shop, namespace: shop}
spec: {serviceMonitorSelector: {matchLabels: {app: shop}}}
"""


@pytest.mark.parametrize(
    ("operator", "is_told"), [("use_ocp_driver_toolkit: true", False), ("defaultRuntime: a", True)]
)
def test_openshift_has_a_prometheus_beside_that_of_an_application(
    operator: str, *, is_told: bool
) -> None:
    assert bool(told("GPU1393", POLICY.replace("OPERATOR", operator), SERVER)) == is_told


RAY = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: cut}
spec:
  serveConfigV2: |
    applications:
      - name: cut
        import_path: main:app
        deployments: [{name: Cut, ray_actor_options: {num_gpus: 1}}]
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: head, image: registry.example.com/ray:1}]}}
    workerGroupSpecs:
      - groupName: workers
        replicas: 1
        rayStartParams: {PARAMS}
        template:
          spec: {MORE containers: [{name: worker, image: IMAGE}]}
"""


@pytest.mark.parametrize(
    ("params", "more", "image", "is_told"),
    [
        ("", "", "registry.example.com/ray:1", True),
        ("", "", "rayproject/ray:2.52.0-py311-cu124", False),
        ("", "runtimeClassName: nvidia,", "registry.example.com/ray:1", False),
        ('num-gpus: "0"', "runtimeClassName: nvidia,", "registry.example.com/ray:1", True),
    ],
)
def test_ray_counts_the_gpus_that_it_sees(
    params: str, more: str, image: str, *, is_told: bool
) -> None:
    text = RAY.replace("PARAMS", params).replace("MORE", more).replace("IMAGE", image)

    assert bool(told("GPU1382", text)) == is_told
