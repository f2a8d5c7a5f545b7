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
    assert all("shares, in gpus and layouts, in gpu-operator" in each.message for each in told)


def test_a_map_that_two_namespaces_have_may_be_that_of_the_operator() -> None:
    text = POLICY + map_of("shares", "gpus") + map_of("shares", "gpu-operator")

    assert "GPU1120" not in [
        each.code
        for each in every([("policy.yaml", text + map_of("layouts", "gpu-operator"))])
        if each.severity == "error"
    ]
