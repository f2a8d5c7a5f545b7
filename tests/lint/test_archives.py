"""Charts that are named by their archive are of the version in its name, wherever they stand."""

from __future__ import annotations

import pytest
from linted import every

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.charts import archived, version_of
from eks_gpushare.manifests.files import GivenFile

OF_THEN = "https://example.com/dl/gpu-operator-v23.9.2.tgz"
NAMELESS = "./gpu-operator.tgz"
FILES = {
    "main.tf": """\
resource "helm_release" "gpu" {
  name    = "gpu"
  chart   = "CHART"
  version = "v25.3.0"
}
""",
    "up.sh": "helm install gpu CHART --version v25.3.0\n",
    "helmfile.yaml": """\
releases:
- name: gpu
  namespace: gpu
  chart: CHART
  version: v25.3.0
  values: [{driver: {enabled: false}}]
""",
    "chart.yaml": """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: gpu, namespace: kube-system}
spec: {chart: CHART, version: v25.3.0, valuesContent: "driver: {enabled: false}"}
""",
    "play.yml": """\
- hosts: localhost
  tasks:
  - kubernetes.core.helm:
      name: gpu
      chart_ref: CHART
      chart_version: v25.3.0
      release_namespace: gpu
      release_values: {driver: {enabled: false}}
""",
}


def versions(name: str, chart: str) -> list[object]:
    items = read_files([GivenFile(name, FILES[name].replace("CHART", chart))]).items
    return [each.version for each in items if isinstance(each, Release)]


@pytest.mark.parametrize("name", FILES)
def test_it_is_of_the_version_of_its_archive(name: str) -> None:
    assert versions(name, "nvidia/gpu-operator") == ["v25.3.0"]
    assert versions(name, OF_THEN) == ["v23.9.2"]


@pytest.mark.parametrize("name", ["up.sh", "helmfile.yaml"])
def test_of_an_archive_that_does_not_say_it_is_what_was_asked_for(name: str) -> None:
    assert versions(name, NAMELESS) == ["v25.3.0"]


def test_without_either_it_is_not_known() -> None:
    assert version_of(NAMELESS, "") is UNKNOWN
    assert version_of(NAMELESS, None) is UNKNOWN
    assert version_of("gpu-operator", "") == ""
    assert version_of(UNKNOWN, "v1") == "v1"


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("gpu-operator", None),
        ("gpu-operator-v25.3.0", None),
        ("a/gpu-operator-v25.3.0.tgz", ("gpu-operator", "v25.3.0")),
        ("a-1.0/gpu-operator.tgz", ("gpu-operator", "")),
        ("k8s-1chart-0.1.2-rc.1.tar.gz", ("k8s-1chart", "0.1.2-rc.1")),
    ],
)
def test_name_and_version_of_an_archive(reference: str, found: tuple[str, str] | None) -> None:
    assert archived(reference) == found


def test_values_that_version_had_are_no_mistake() -> None:
    """`azureClusterName` came and went with versions of the autoscaler's chart."""
    address = "https://example.com/dl/cluster-autoscaler-9.21.0.tgz"
    root = 'resource "helm_release" "ca" {\n  name = "ca"\n  chart = "CHART"\n'
    root += '  values = ["azureClusterName: a"]\n}\n'

    def codes(chart: str) -> set[str]:
        return {each.code for each in every([("main.tf", root.replace("CHART", chart))])}

    assert "GPU1034" not in codes(address)
    assert "GPU1034" in codes("autoscaler/cluster-autoscaler")


PROVISIONER = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: gpu}
spec:
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g5.xlarge]}]
"""
ADDS = "helm repo add karpenter ADDRESS\nhelm install karpenter karpenter/karpenter -n karpenter\n"
ROOT = """\
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "ADDRESS"
  chart      = "karpenter"
}
"""


@pytest.mark.parametrize(
    ("address", "told"),
    [("https://charts.karpenter.sh", False), ("https://charts.example.com", True)],
)
def test_a_repository_that_has_ended_has_no_later_version(address: str, told: bool) -> None:
    ways = {
        "up.sh": ADDS.replace("ADDRESS", address),
        "one.sh": f"helm install karpenter karpenter --repo {address} -n karpenter\n",
        "main.tf": ROOT.replace("ADDRESS", address),
    }
    for name, text in ways.items():
        found = every([("pool.yaml", PROVISIONER), (name, text)])
        graves = {each.severity for each in found if each.code == "GPU1050"}
        assert ("error" in graves) is told, name
        newer = text.replace("-n karpenter", "-n karpenter --version 1.5.0")
        newer = newer.replace('= "karpenter"\n}', '= "karpenter"\n  version = "1.5.0"\n}')
        found = every([("pool.yaml", PROVISIONER), (name, newer)])
        assert "error" in {each.severity for each in found if each.code == "GPU1050"}, name
