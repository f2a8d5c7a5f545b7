"""What was said of earlier states of public repositories and was not so, in our own words."""

from __future__ import annotations

import pytest
from linted import said

NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: one, region: eu-west-1, version: "1.34"}
managedNodeGroups:
  - name: gpu
    instanceType: g5.xlarge
    amiFamily: AmazonLinux2023
    volumeSize: 200
"""

AROUND = """\
apiVersion: v2
name: gpu-operator
version: 0.1.0
dependencies:
  - {name: gpu-operator, version: ">=26.3.1", repository: "https://helm.ngc.nvidia.com/nvidia"}
"""

FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpus}
spec:
  interval: 1h
  chart:
    spec:
      chart: %s
      sourceRef: {kind: %s, name: ours}
"""

ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator, namespace: argocd}
spec:
  project: default
  destination: {namespace: gpus, server: "https://kubernetes.default.svc"}
  source:
    repoURL: https://example.com/ours.git
    targetRevision: HEAD
    path: charts/gpu-operator
    helm:
"""

FOLDER = ("./charts/gpu-operator", "GitRepository")
PACKAGE = ("gpu-operator", "HelmRepository")


def test_a_chart_of_ones_own_around_a_chart_is_one_release_of_it() -> None:
    """The object that installs its folder gives it no values; its values.yaml does."""
    off = "driver: {enabled: false}, toolkit: {enabled: false}"
    files = {
        "cluster.yaml": NODES,
        "charts/gpu-operator/Chart.yaml": AROUND,
        "charts/gpu-operator/values.yaml": f"gpu-operator: {{{off}, dcgm: {{enabled: true}}}}\n",
        "release.yaml": ARGO.removesuffix("    helm:\n") + "---\n" + FLUX % FOLDER,
    }
    assert said(files) == []
    assert said(files | {"release.yaml": FLUX % PACKAGE}) == ["GPU1180"]


@pytest.mark.parametrize(
    ("chart", "values", "codes"),
    [
        (FOLDER, "gpu-operator: {driver: {enabled: false}}", []),
        (FOLDER, "gpu-operator: {driver: {enable: false}}", ["GPU1034"]),
        (FOLDER, "ours: {enabled: true}", []),
        (PACKAGE, "ours: {enabled: true}", ["GPU1034"]),
        (("./deployments/gpu-operator", "GitRepository"), "ours: {enabled: true}", ["GPU1034"]),
    ],
)
def test_values_of_a_chart_in_a_folder_stand_below_the_name_of_the_one_in_it(
    chart: tuple[str, str], values: str, codes: list[str]
) -> None:
    assert said({"release.yaml": f"{FLUX % chart}  values:\n    {values}\n"}) == codes


@pytest.mark.parametrize("form", ["      valuesObject:\n        ", "      values: |\n        "])
def test_values_of_a_folder_of_an_application_too(form: str) -> None:
    values = "gpu-operator: {driver: {enabled: false}}\n"
    assert said({"application.yaml": f"{ARGO}{form}{values}"}) == []


CHART = """\
apiVersion: v2
name: nvidia-device-plugin
version: 0.17.1
home: https://github.com/NVIDIA/k8s-device-plugin
"""


@pytest.mark.parametrize(
    ("template", "codes"),
    [
        ("namespace: {{ .Values.space }}", []),
        ("namespace: {{ .Release.Namespace }}", ["GPU1034"]),
    ],
)
def test_values_that_the_templates_beside_them_read(template: str, codes: list[str]) -> None:
    """Of a copy of the chart that somebody changed, or that is on its way to a release."""
    files = {
        "plugin/Chart.yaml": CHART,
        "plugin/values.yaml": "space: gpus\nmigStrategy: none\nfailOnInitError: true\n"
        "deviceListStrategy: envvar\ndeviceIDStrategy: uuid\n",
        "plugin/templates/daemonset.yml": f"metadata:\n  {template}\n",
    }
    assert said(files) == codes


@pytest.mark.parametrize(("name", "codes"), [("gpu-metrics", []), ("gpu-operator", ["GPU1034"])])
def test_a_chart_that_tells_of_nvidias_sources_has_values_of_its_own(
    name: str, codes: list[str]
) -> None:
    """As one does that installs an exporter of theirs, with templates that somebody else wrote."""
    chart = f"name: {name}\nversion: 0.1.0\nsources: [https://github.com/NVIDIA/dcgm]\n"
    values = "driver: {enabled: true}\ntoolkit: {enabled: true}\ndcgmExporter: {enabld: true}\n"
    template = "kind: {{ .Values.driver.kind }}\n"
    files = {"c/Chart.yaml": chart, "c/values.yaml": values, "c/templates/a.yaml": template}

    assert said(files) == codes


def test_a_readme_beside_a_chart_of_ones_own_installs_that_one() -> None:
    """However the chart is called: its values.yaml is no values of the published one."""
    files = {
        "charts/node-feature-discovery/Chart.yaml": "apiVersion: v2\nname: node-feature-discovery\n"
        "version: 2.1.1\nhome: https://example.com/charts\n",
        "charts/node-feature-discovery/values.yaml": "sources: [pci]\nrbac: {create: true}\n",
        "charts/node-feature-discovery/README.md": "```sh\nhelm install nfd "
        "ours/node-feature-discovery --values values.yaml\n```\n",
    }
    assert said(files) == []


RELEASE = """\
resource "helm_release" "gpu_operator" {
  name       = "gpu-operator"
  repository = "%s"
  chart      = "gpu-operator"
  version    = "v24.3.0"
  values     = [yamlencode({ driver = { other_image = "driver" } })]
}
"""


@pytest.mark.parametrize(
    ("repository", "codes"),
    [
        ("oci://registry.example.com/marketplace/gpu-operator/chart", []),
        ("https://helm.ngc.nvidia.com/nvidia", ["GPU1034"]),
        ("https://charts.example.com/mirror", ["GPU1034"]),
    ],
)
def test_a_chart_that_a_marketplace_packed_has_values_of_its_own(
    repository: str, codes: list[str]
) -> None:
    assert said({"main.tf": RELEASE % repository}) == codes


DAEMONSET = """\
apiVersion: apps/v1
kind: %s
metadata: {name: watch}
spec:
  selector: {matchLabels: {app: watch}}
  template:
    metadata: {labels: {app: watch}}
    spec:
      containers:
        - name: monitor
          image: registry.example.com/monitor:1
          env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
          volumeMounts: [{name: sockets, mountPath: /sockets}]
      volumes: [{name: sockets, hostPath: {path: %s}}]
"""


@pytest.mark.parametrize(
    ("kind", "path", "codes"),
    [
        ("DaemonSet", "/var/lib/kubelet/device-plugins", []),
        ("DaemonSet", "/var/lib/kubelet/pod-resources/", []),
        ("DaemonSet", "/data", ["GPU1009"]),
        ("Deployment", "/var/lib/kubelet/pod-resources", ["GPU1009"]),
    ],
)
def test_what_watches_the_devices_of_a_node_sees_them_all(
    kind: str, path: str, codes: list[str]
) -> None:
    assert said({"watch.yaml": DAEMONSET % (kind, path)}) == codes


@pytest.mark.parametrize(
    ("label", "codes"),
    [("nvidia.com/ais-target=store", []), ("nvidia.com/gpu.present=true", ["GPU1062"])],
)
def test_labels_of_a_store_are_of_no_gpu(label: str, codes: list[str]) -> None:
    assert said({"deploy.sh": f"#!/bin/bash\nkubectl label node node-1 {label}\n"}) == codes


GUIDE = """\
# Metrics of GPUs

## %s

```sh
helm upgrade --install gpu-operator nvidia/gpu-operator -n gpu-operator \\
  --set driver.enabled=false --set toolkit.enabled=false
```

## %s

```sh
helm upgrade --install dcgm-exporter gpu-helm-charts/dcgm-exporter -n monitoring
```
"""


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [
        ("Option 1: the operator", "Option 2: the exporter alone", []),
        ("For the operator", "For the exporter alone", []),
        ("Install the operator", "Install the exporter", ["GPU1187"]),
    ],
)
def test_exporters_of_sections_that_are_options(first: str, second: str, codes: list[str]) -> None:
    assert said({"cluster.yaml": NODES, "README.md": GUIDE % (first, second)}) == codes


OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpus}
spec:
  chart: {spec: {chart: gpu-operator, sourceRef: {kind: HelmRepository, name: nvidia}}}
  values: {driver: {enabled: false}, toolkit: {enabled: false}}
"""
ALONE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: dcgm-exporter, namespace: gpus}
spec:
  chart: {spec: {chart: dcgm-exporter, sourceRef: {kind: HelmRepository, name: nvidia}}}
"""


@pytest.mark.parametrize(
    ("line", "codes"),
    [("  # - gpu-operator.yaml", []), ("  - gpu-operator.yaml", ["GPU1187"]), ("", ["GPU1187"])],
)
def test_what_a_comment_puts_out_of_a_kustomization_is_not_there(
    line: str, codes: list[str]
) -> None:
    """One that no line names lies beside what is built, and may be applied by itself."""
    files = {
        "cluster.yaml": NODES,
        "kustomization.yaml": f"resources:\n  - cluster.yaml\n  - exporter.yaml\n{line}\n",
        "exporter.yaml": ALONE,
        "gpu-operator.yaml": OPERATOR,
    }
    assert said(files) == codes


SHARES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: %s, namespace: gpus}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
PATCH = """\
#!/bin/bash
kubectl patch clusterpolicy/cluster-policy --type merge \\
  -p '{"spec": {"devicePlugin": {"config": {"name": "shares", "default": "any"}}}}'
"""


@pytest.mark.parametrize(("name", "codes"), [("shares", []), ("others", ["GPU1121"])])
def test_a_script_of_another_folder_tells_the_operator_of_a_configuration(
    name: str, codes: list[str]
) -> None:
    files = {
        "apps/kustomization.yaml": "resources: [gpu-operator.yaml, shares.yaml]\n",
        "apps/gpu-operator.yaml": OPERATOR,
        "apps/shares.yaml": SHARES % name,
        "bootstrap/tell.sh": PATCH,
    }
    assert said(files) == codes
