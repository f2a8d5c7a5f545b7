"""Variables that Kustomizations of Flux put into the objects of the folders that they apply."""

from __future__ import annotations

import pytest
from linted import said

APPLIES = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec:
  path: ./FOLDER
  postBuild: {MORE}
"""
FROM = "substituteFrom: [{kind: ConfigMap, name: of-cluster}]"
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: of-cluster, namespace: flux-system}
data: {types: '["g6e.4xlarge", "g6e.8xlarge"]', size: g6e.8xlarge, other: p4d.24xlarge}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {fleet: gpu}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - key: node.kubernetes.io/instance-type
        operator: In
        values: TYPES
  limits: {nvidia.com/gpu: 4}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeSelector: {fleet: gpu}
  containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/gpu: 2}}}]
"""
TOO_MANY = "GPU1253"


def tree(types: str = '["${size}"]', more: str = FROM) -> dict[str, str]:
    """A cluster whose pool has one GPU a node, by variables, and a pod that asks for two."""
    applies = APPLIES.replace("NAME", "gpu").replace("FOLDER", "gpu").replace("MORE", more)
    return {
        "clusters/a/gpu.yaml": applies,
        "clusters/a/map.yaml": MAP,
        "gpu/pool.yaml": POOL.replace("TYPES", types),
        "gpu/pod.yaml": POD,
    }


@pytest.mark.parametrize(
    ("types", "more"),
    [
        ('["${size}"]', FROM),
        ("${types}", FROM),
        ("['${size}', g6e.4xlarge]", FROM),
        ('["${family}.8xlarge"]', "substitute: {family: g6e}"),
        ('["${size}"]', f"{FROM}, substitute: {{size: g6.8xlarge}}"),
        ('["${none:=g6.8xlarge}"]', FROM),
    ],
)
def test_what_variables_are_is_put_in(types: str, more: str) -> None:
    assert TOO_MANY in said(tree(types, more))


@pytest.mark.parametrize(
    ("types", "more"),
    [
        ('["${size}"]', "wait: true"),
        ('["${none}"]', FROM),
        ('["${other}"]', FROM),
        ('"${types}"', FROM),
        ('["$${size}"]', FROM),
        ('["${size}"]', f"{FROM}, substitute: {{size: p4d.24xlarge}}"),
        ('["${size}"]', f"{FROM}, substitute: {{size: $SIZE}}"),
        ('["${size}"]', FROM.replace("]", ", {kind: Secret, name: keys}]")),
        ('["${size}"]', FROM.replace("of-cluster", "of-others")),
    ],
)
def test_what_is_not_known_is_not(types: str, more: str) -> None:
    assert TOO_MANY not in said(tree(types, more))


def test_a_folder_of_several_clusters_has_no_one_value() -> None:
    files = tree()
    files["clusters/b/gpu.yaml"] = files["clusters/a/gpu.yaml"]
    files["clusters/b/map.yaml"] = MAP.replace("g6e.8xlarge", "p4d.24xlarge")

    assert TOO_MANY not in said(files)
    del files["clusters/b/gpu.yaml"]
    assert TOO_MANY in said(files)


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("clusters/a/map.yaml", "space: flux-system", "space: default"),
        ("clusters/a/gpu.yaml", "./gpu", "./others"),
        ("clusters/a/gpu.yaml", "kustomize.toolkit.fluxcd.io/v1", "kustomize.config.k8s.io/v1"),
        (
            "gpu/pool.yaml",
            "{name: gpu}",
            "{name: gpu, labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}",
        ),
    ],
)
def test_what_is_of_others_or_left_out_stays(file: str, before: str, after: str) -> None:
    files = tree()
    files[file] = files[file].replace(before, after)

    assert TOO_MANY not in said(files)


def test_a_map_elsewhere_may_be_another_clusters() -> None:
    files = tree()
    files["clusters/b/map.yaml"] = files.pop("clusters/a/map.yaml")

    assert TOO_MANY not in said(files)


def test_variables_reach_what_a_kustomization_builds_and_texts_of_several_lines() -> None:
    files = tree()
    files["gpu/kustomization.yaml"] = (
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        "resources: [pool.yaml, pod.yaml, map.yaml]\n"
    )
    files["gpu/map.yaml"] = MAP.replace("of-cluster", "texts").replace(
        "data: {", 'data: {script: "echo ${size}\\necho ${HOME}", '
    )

    assert TOO_MANY in said(files)
