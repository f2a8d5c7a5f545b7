"""ConfigMaps that a ClusterPolicy names are of one namespace."""

from __future__ import annotations

import pytest
from linted import every

POLICY = """\
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: gpus}
spec:
  devicePlugin: {config: {name: shares, default: all}}
  migManager: {config: {name: layouts}}
"""


def map_of(name: str, space: str, key: str = "all") -> str:
    """A ConfigMap; of no namespace where that is empty."""
    where = f", namespace: {space}" if space else ""
    return (
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{where}}}\n"
        f"data: {{{key}: 'version: v1'}}\n"
    )


@pytest.mark.parametrize(
    ("shares", "layouts", "is_told"),
    [
        ("gpus", "gpu-operator", True),
        ("gpu-operator", "gpu-operator", False),
        ("", "gpu-operator", False),
        ("default", "gpu-operator", False),
        ("${SPACE}", "gpu-operator", False),
    ],
)
def test_maps_of_one_cluster_policy_are_of_one_namespace(
    shares: str, layouts: str, *, is_told: bool
) -> None:
    """That of the operator, whichever it is."""
    text = POLICY + map_of("shares", shares) + map_of("layouts", layouts, "config.yaml")
    told = [each for each in every([("policy.yaml", text)]) if each.code == "GPU1120"]

    assert [each.severity for each in told] == ["error"] * is_told
    assert all(
        "shares of namespace gpus and layouts of namespace gpu-operator" in each.message
        for each in told
    )


def test_a_map_that_two_namespaces_have_may_be_that_of_the_operator() -> None:
    text = POLICY + map_of("shares", "gpus") + map_of("shares", "gpu-operator")

    assert "GPU1120" not in [
        each.code
        for each in every([("policy.yaml", text + map_of("layouts", "gpu-operator"))])
        if each.severity == "error"
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: layouts", "name: layouts, create: true"),
        ("name: layouts", "name: layouts, data: {a: b}"),
        ("{config: {name: layouts}}", "{enabled: false, config: {name: layouts}}"),
        ("{config: {name: layouts}}", "{enabled: '{{ .on }}', config: {name: layouts}}"),
        ("name: layouts", "name: default-mig-parted-config"),
    ],
)
def test_a_map_that_the_operator_makes_or_nothing_reads(old: str, new: str) -> None:
    text = POLICY.replace(old, new) + map_of("shares", "gpus")
    every_one = text + "".join(
        map_of(each, "gpu-operator", "config.yaml")
        for each in ("layouts", "default-mig-parted-config")
    )

    assert "GPU1120" not in [each.code for each in every([("policy.yaml", every_one)])]


def test_the_part_that_is_alone_in_its_namespace_is_told() -> None:
    exporter = "  dcgmExporter: {config: {name: counters}}\n"
    maps = map_of("shares", "ops") + map_of("layouts", "gpus") + map_of("counters", "ops")
    told = [
        each for each in every([("a.yaml", POLICY + exporter + maps)]) if each.code == "GPU1120"
    ]

    assert [each.path for each in told] == ["spec.migManager.config.name"]


def test_of_a_release_whose_namespace_is_told_each_map_is() -> None:
    """It says where both have to be."""
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: gpus}\nspec:\n"
        "  destination: {server: a, namespace: gpu-operator}\n  source:\n"
        "    repoURL: https://helm.ngc.nvidia.com/nvidia\n    chart: gpu-operator\n"
        "    targetRevision: v25.10.0\n    helm:\n      valuesObject:\n"
        "        devicePlugin: {config: {name: shares, default: all}}\n"
        "        migManager: {config: {name: layouts}}\n"
    )
    maps = map_of("shares", "gpus") + map_of("layouts", "gpu-operator", "config.yaml")
    told = [each for each in every([("a.yaml", application + maps)]) if each.code == "GPU1120"]

    assert len(told) == 1
    assert "is in the namespace gpu-operator" in told[0].message
