"""Values in several files: one or the other, and those of a command that names them."""

from __future__ import annotations

import pytest

from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.same_nodes import together
from eks_gpushare.manifests.files import GivenFile

MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
VALUES = "config: {name: shares, default: any}\ngfd: {enabled: true}\n"
OTHER = "config: {name: others, default: any}\ngfd: {enabled: true}\n"
SCRIPT = "helm upgrade -i nvdp nvdp/nvidia-device-plugin -n %s -f values.yaml\n"


def found(**files: str) -> set[tuple[str, str]]:
    named = {name.replace("_", "."): text for name, text in files.items()}
    reports = lint_files(GivenFile(name, text) for name, text in named.items())
    told = {(report.file, each.code) for report in reports for each in report.findings}
    return {(file, code) for file, code in told if code != "GPU1208"}  # what comes with a share


def test_a_map_that_one_of_two_values_names_is_named() -> None:
    assert found(map_yaml=MAP, a_yaml=VALUES) == set()
    assert found(map_yaml=MAP, a_yaml=VALUES, b_yaml=VALUES) == set()
    assert found(map_yaml=MAP, a_yaml=VALUES, b_yaml=OTHER) == {("b.yaml", "GPU1120")}
    assert ("map.yaml", "GPU1121") in found(map_yaml=MAP, b_yaml=OTHER)


def test_two_values_are_not_two_plugins() -> None:
    labels = "{nvidia.com/gpu.present: 'true', node.kubernetes.io/instance-type: g5.xlarge}"
    node = f"apiVersion: v1\nkind: Node\nmetadata: {{name: a, labels: {labels}}}\n"

    assert found(node_yaml=node, map_yaml=MAP, a_yaml=VALUES, b_yaml=VALUES) == set()


def test_values_are_those_of_the_command_that_does_not_say_its_own() -> None:
    assert found(map_yaml=MAP, values_yaml=VALUES, up_sh=SCRIPT % "gpu") == set()
    elsewhere = found(map_yaml=MAP, values_yaml=VALUES, up_sh=SCRIPT % "other")
    assert ("values.yaml", "GPU1120") in elsewhere


FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: gpu}
spec:
  chart: {spec: {chart: nvidia-device-plugin}}
"""
KUSTOMIZE = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
helmCharts:
  - {name: nvidia-device-plugin, namespace: gpu, valuesFile: values.yaml}
"""


def test_values_are_those_of_an_object_that_has_them_elsewhere() -> None:
    flux = f"{FLUX}  valuesFrom: [{{kind: ConfigMap, name: values}}]\n"

    assert found(map_yaml=MAP, values_yaml=VALUES, release_yaml=flux) == set()
    assert found(map_yaml=MAP, values_yaml=VALUES, kustomization_yaml=KUSTOMIZE) == set()


def test_a_file_of_values_beside_a_release_with_its_own_is_no_second_plugin() -> None:
    labels = "{nvidia.com/gpu.present: 'true', node.kubernetes.io/instance-type: g5.xlarge}"
    node = f"apiVersion: v1\nkind: Node\nmetadata: {{name: a, labels: {labels}}}\n"
    flux = f"{FLUX}  values: {{config: {{name: shares, default: any}}, gfd: {{enabled: true}}}}\n"

    assert found(node_yaml=node, map_yaml=MAP, values_yaml=VALUES, release_yaml=flux) == set()


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("files: [any=plugin/any.yaml]", set()),
        ("files: [plugin/any]", set()),
        ("literals: ['any=version: v1']", set()),
        ("files: [plugin/any.yaml]", {("kustomization.yaml", "GPU1122")}),
    ],
)
def test_a_map_that_kustomize_makes_is_there(given: str, codes: set[tuple[str, str]]) -> None:
    text = f"{KUSTOMIZE}configMapGenerator: [{{name: shares, {given}}}]\n"

    found_ = found(values_yaml=VALUES, kustomization_yaml=text)
    assert {code for _, code in found_} == {code for _, code in codes}


def test_nodes_that_differ_in_their_names_alone_are_judged_once() -> None:
    each = """\
apiVersion: v1
kind: Node
metadata:
  name: n%s
  labels: {kubernetes.io/hostname: n%s, node.kubernetes.io/instance-type: g5.xlarge, pool: %s}
"""
    text = "---\n".join(each % (n, n, "gpu" if n < 999 else "cpu") for n in range(1000))
    reading = read_files([GivenFile("nodes.yaml", text)])
    kept = [each for each in together(reading.items) if isinstance(each, NodeSet)]

    assert [(each.name, each.least, each.most) for each in kept] == [
        ("n0", 999, 999),
        ("n999", 1, 1),
    ]
