"""Two device plugins of objects that are applied, where no nodes are among the files."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile


def told(**files: str) -> list[tuple[str, str]]:
    """Of files, whose names have `__` for a dot."""
    given = [GivenFile(name.replace("__", "."), text) for name, text in files.items()]
    return [
        (each.severity, each.message)
        for report in lint_files(given)
        for each in report.findings
        if each.code == "GPU1185"
    ]


def flux(chart: str = "gpu-operator", values: str = "{}", name: str = "it") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}, namespace: gpu}}
spec: {{chart: {{spec: {{chart: {chart}}}}}, values: {values}}}
"""


def argo(chart: str, server: str = "", name: str = "it") -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}}}
spec:
  destination: {{server: '{server}', namespace: gpu}}
  source: {{chart: {chart}, repoURL: https://a.b, targetRevision: v25.3.0, helm: {{}}}}
"""


def daemons(more: str = "tolerations: []") -> str:
    return f"""\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: plugin, namespace: kube-system}}
spec:
  selector: {{matchLabels: {{app: p}}}}
  template:
    metadata: {{labels: {{app: p}}}}
    spec:
      {more}
      containers: [{{name: m, image: nvcr.io/nvidia/k8s-device-plugin:v0.17.1}}]
"""


OPERATOR, PLUGIN = flux(), flux("nvidia-device-plugin", name="plugin")
OFF = flux(values="{devicePlugin: {enabled: false}}")
HIDDEN = flux(values="{devicePlugin: '{{ .a }}'}")
GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: us-west-2}
managedNodeGroups: [{name: g, instanceType: g5.xlarge}]
"""
URL = (
    "kubectl apply -f https://raw.githubusercontent.com/NVIDIA/k8s-device-plugin/v0.17.1/"
    "deployments/static/nvidia-device-plugin.yml\nhelm install op nvidia/gpu-operator -n gpu\n"
)
HAMI = flux("hami", name="hami")
ONE, OTHER = "https://one.example", "https://other.example"


@pytest.mark.parametrize(
    ("files", "severities"),
    [
        ({"a__yaml": OPERATOR, "b__yaml": PLUGIN}, ["warning"]),
        ({"a__yaml": PLUGIN, "b__yaml": OPERATOR}, ["warning"]),
        ({"a__yaml": OFF, "b__yaml": PLUGIN}, []),
        ({"a__yaml": HIDDEN, "b__yaml": PLUGIN}, []),
        ({"a__yaml": OPERATOR}, []),
        ({"a__yaml": PLUGIN, "b__yaml": daemons()}, []),  # one may stand in for the other
        ({"a__yaml": OPERATOR, "b__yaml": daemons()}, ["warning"]),
        ({"a__yaml": OPERATOR, "b__yaml": daemons("nodeSelector: {a: b}")}, []),
        ({"a__yaml": flux(values="{nodeSelector: {a: b}}"), "b__yaml": PLUGIN}, []),
        ({"a__yaml": flux(name="''"), "b__yaml": PLUGIN}, []),
        ({"a__yaml": flux(name="'{{ .a }}'"), "b__yaml": PLUGIN}, []),
        ({"a__md": f"```yaml\n{OPERATOR}---\n{PLUGIN}```\n"}, []),
        ({"a__sh": URL}, ["warning"]),
        ({"a__yaml": OPERATOR, "b__yaml": PLUGIN, "c__yaml": GROUP}, ["error"]),  # of those nodes
        (
            {
                "a__yaml": argo("gpu-operator", ONE),
                "b__yaml": argo("nvidia-device-plugin", ONE, "p"),
            },
            ["warning"],
        ),
        (
            {
                "a__yaml": argo("gpu-operator", ONE),
                "b__yaml": argo("nvidia-device-plugin", OTHER, "p"),
            },
            [],
        ),
        ({"a__yaml": argo("gpu-operator", ONE), "b__yaml": PLUGIN}, ["warning"]),
        ({"a__yaml": HAMI, "b__yaml": PLUGIN}, ["warning"]),
        ({"a__yaml": HAMI, "b__yaml": OPERATOR}, ["warning"]),
        ({"a__yaml": HAMI, "b__yaml": PLUGIN, "c__yaml": daemons()}, ["warning"]),
        ({"a__yaml": HAMI, "b__yaml": OFF}, []),
        ({"a__yaml": flux("hami", "{devicePlugin: {enabled: false}}"), "b__yaml": PLUGIN}, []),
        (
            {"a__yaml": HAMI.replace("{}", "{devicePlugin: {enabled: true}}"), "b__yaml": PLUGIN},
            ["warning"],
        ),
        ({"a__yaml": flux("hami", "{resourceName: a.b/vgpu}"), "b__yaml": PLUGIN}, []),
        (
            {"a__yaml": HAMI.replace("{}", "{resourceName: nvidia.com/gpu}"), "b__yaml": PLUGIN},
            ["warning"],
        ),
        ({"a__yaml": flux("hami", name="''"), "b__yaml": PLUGIN}, []),
        ({"a__yaml": HAMI, "b__yaml": daemons("nodeSelector: {a: b}")}, []),
        ({"a__yaml": HAMI, "b__yaml": daemons('nodeSelector: {gpu: "on"}')}, ["warning"]),
        ({"a__yaml": HAMI, "b__yaml": daemons('nodeSelector: {gpu: "off"}')}, []),
        (
            {
                "a__yaml": flux("hami", "{devicePlugin: {nvidianodeSelector: {a: b}}}"),
                "b__yaml": flux("nvidia-device-plugin", "{nodeSelector: {a: b}}", name="p"),
            },
            ["warning"],
        ),
        (
            {
                "a__yaml": flux("hami", "{devicePlugin: {nvidianodeSelector: {a: b}}}"),
                "b__yaml": daemons('nodeSelector: {gpu: "on"}'),
            },
            [],
        ),
        (
            {
                "a__yaml": HAMI,
                "b__yaml": flux(
                    "nvidia-device-plugin",
                    '{nodeSelector: {gpu: "on"}, affinity: {nodeAffinity: {}}}',
                    name="p",
                ),
            },
            [],
        ),
        ({"a__yaml": flux("keda"), "b__yaml": PLUGIN}, []),
        ({"a__yaml": HAMI, "b__yaml": flux("nvidia-device-plugin", name="''")}, []),
    ],
)
def test_one_plugin_is_for_every_node(files: dict[str, str], severities: list[str]) -> None:
    assert [severity for severity, _ in told(**files)] == severities


def test_of_one_script_two_charts_are_told_once() -> None:
    script = "helm install p n/nvidia-device-plugin\nhelm install op n/gpu-operator -n gpu\n"
    assert [severity for severity, _ in told(a__sh=script)] == ["error"]


def test_two_plugins_are_told_by_their_names() -> None:
    found = [*told(a__yaml=OPERATOR, b__yaml=PLUGIN), *told(a__yaml=HAMI, b__yaml=PLUGIN)]

    assert [message for _, message in found] == [
        (
            "The device plugin of the release it of gpu-operator and the device plugin of the "
            "release plugin of nvidia-device-plugin are both for every node with GPUs."
        ),
        (
            "The device plugin of the release plugin of nvidia-device-plugin and that of the "
            "release hami of hami both give out nvidia.com/gpu."
        ),
    ]
