"""Charts that Fleet, Skaffold and Zarf install, with files of values of a version that they pin."""

from __future__ import annotations

import pytest
from linted import said

from eks_gpushare.lint.tool_releases import ToolRelease, may_install, releases_of_tools

FLEET = """\
defaultNamespace: kube-system
helm:
  releaseName: ca
  chart: cluster-autoscaler
  repo: https://kubernetes.github.io/autoscaler
  version: 9.21.0
  valuesFiles: [values/ca.yaml]
"""
SKAFFOLD = """\
apiVersion: skaffold/v4beta6
kind: Config
PLACE:
  helm:
    releases:
    - name: ca
      remoteChart: cluster-autoscaler
      repo: https://kubernetes.github.io/autoscaler
      version: 9.21.0
      valuesFiles: [values/ca.yaml]
"""
ZARF = """\
kind: ZarfPackageConfig
metadata: {name: x}
components:
- name: empty
- name: ca
  required: true
  charts:
  - name: cluster-autoscaler
    url: https://kubernetes.github.io/autoscaler
    version: 9.21.0
    releaseName: ca
    namespace: kube-system
    valuesFiles: [values/ca.yaml]
"""
VALUES = "azureClusterName: a\nautoDiscovery: {clusterName: c}\nawsRegion: us-east-1\n"
FILES = {
    "fleet.yaml": FLEET,
    "skaffold.yaml": SKAFFOLD.replace("PLACE", "deploy"),
    "dev.yaml": SKAFFOLD.replace("PLACE", "manifests"),
    "zarf.yaml": ZARF,
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_values_are_of_the_version_that_is_pinned(name: str) -> None:
    """The chart's versions had `azureClusterName` for a while."""

    def codes(text: str, file: str = name) -> list[str]:
        return said({f"a/{file}": text, "a/values/ca.yaml": VALUES})

    assert "GPU1034" not in codes(FILES[name])
    assert "GPU1034" in codes(FILES[name].replace("9.21.0", "9.59.0"))
    assert "GPU1034" in codes(FILES[name].replace("ca.yaml", "other.yaml"))


def test_a_file_of_fleet_is_told_by_its_name() -> None:
    assert may_install("a/fleet.yaml", "")
    assert not may_install("a/my-fleet.yaml", FLEET)
    assert may_install("a.yaml", SKAFFOLD)
    assert may_install("a.yaml", ZARF)
    assert not may_install("a.yaml", "kind: Config\n")


def found(value: object) -> list[ToolRelease]:
    return list(releases_of_tools(value))


@pytest.mark.parametrize(
    ("more", "is_all"),
    [
        ({}, True),
        ({"values": {"a": 1}}, False),
        ({"valuesFrom": [{"configMapKeyRef": {"name": "a"}}]}, False),
        ({"setValues": {"a": 1}}, False),
        ({"overrides": {"a": 1}}, False),
        ({"variables": [{"name": "A", "path": "a"}]}, False),
        ({"values": {}}, True),
    ],
)
def test_whether_the_files_are_all_values(more: dict[str, object], is_all: bool) -> None:
    chart = {"chart": "gpu-operator", "releaseName": "g", "valuesFiles": ["a.yaml", 3], **more}

    assert found({"helm": chart}) == [ToolRelease("gpu-operator", "g", "", ("a.yaml",), is_all)]
    assert found({"helm": chart, "targetCustomizations": [{"name": "a"}]})[0].is_all is False


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "a",
        {"helm": None},
        {"helm": {"chart": "gpu-operator"}},
        {"helm": {"chart": "gpu-operator", "valuesFiles": "a.yaml"}},
        {"helm": {"chart": "other", "valuesFiles": ["a.yaml"]}},
        {"helm": {"chart": 3, "valuesFiles": ["a.yaml"]}},
        {"apiVersion": "a/v1", "helm": {"chart": "gpu-operator", "valuesFiles": ["a.yaml"]}},
        {
            "kind": "Other",
            "components": [{"charts": [{"name": "gpu-operator", "valuesFiles": ["a"]}]}],
        },
        {"kind": "ZarfPackageConfig", "components": [{"charts": None}, None]},
        {"deploy": {"helm": {"releases": [None, {"remoteChart": "gpu-operator"}]}}},
    ],
)
def test_what_installs_no_chart_with_files(value: object) -> None:
    assert found(value) == []


@pytest.mark.parametrize(
    ("chart", "version", "told"),
    [
        ("gpu-operator", "v25.3.0", "v25.3.0"),
        ("gpu-operator", 25, ""),
        ("https://example.com/gpu-operator-v24.9.0.tgz", "v25.3.0", "v24.9.0"),
        ("./gpu-operator.tgz", None, ""),
    ],
)
def test_the_version_of_a_chart(chart: str, version: object, told: str) -> None:
    (release,) = found({"helm": {"chart": chart, "version": version, "valuesFiles": ["a.yaml"]}})

    assert release.version == told
