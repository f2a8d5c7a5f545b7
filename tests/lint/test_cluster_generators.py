"""Sets of applications that choose clusters by labels: two that choose alike meet on the same."""

from __future__ import annotations

import pytest
from linted import found

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.beside import named_values
from eks_gpushare.lint.dispatch import read_files
from eks_gpushare.manifests.files import GivenFile

SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: NAME, namespace: argocd}
spec:
  generators: [GENERATOR]
  template:
    metadata: {name: "NAME-{{name}}"}
    spec:
      sources:
        - repoURL: https://example.com/charts
          chart: CHART
          targetRevision: VERSION
          helm: {valueFiles: [FILES]}
        - {repoURL: "https://example.com/fleet.git", targetRevision: main, ref: ours}
      destination: {DESTINATION, namespace: gpu}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: operator, namespace: argocd}
spec:
  sources:
    - chart: gpu-operator
      helm: {valueFiles: [FILES]}
    - {repoURL: "https://example.com/fleet.git", targetRevision: main, ref: ours}
    - {repoURL: "https://example.com/odd.git", ref: {}}
"""
CHARTS = {
    "gpu-operator": "v25.10.0",
    "nvidia-device-plugin": "0.17.4",
    "nvidia-dra-driver-gpu": "25.8.0",
    "dcgm-exporter": "4.5.0",
}
OF_GPUS = "{clusters: {selector: {matchLabels: {gpus: 'true', tier: all}}}}"
IN_ANOTHER_ORDER = "{clusters: {selector: {matchLabels: {tier: all, gpus: 'true'}}}}"
WITH_VALUES = "{clusters: {values: {a: b}, selector: {matchLabels: {tier: all, gpus: 'true'}}}}"
OF_OTHERS = "{clusters: {selector: {matchLabels: {gpus: 'false', tier: all}}}}"
FILTERED = "{clusters: {selector: {matchLabels: {gpus: 'true', tier: all}}}, selector: {}}"
TO_ANOTHER = OF_GPUS[:-2] + ", template: {spec: {destination: {name: other}}}}}"
MATRIX = "{matrix: {generators: [%s, {list: {elements: [{a: b}]}}]}}"
BY_NAME = 'name: "{{.name}}"'
BY_SERVER = 'server: "{{ server }}"'
OPERATOR = "devicePlugin: {enabled: true}\n"
GIVES_GPUS = "resources: {gpus: {enabled: true}}\ngpuResourcesEnabledOverride: true\n"


def application_set(
    chart: str, generator: str, where: str = BY_NAME, files: str = "", name: str = ""
) -> str:
    """A set that installs a chart with the file of values that is called like it."""
    text = SET.replace("NAME", name or chart).replace("CHART", chart)
    text = text.replace("VERSION", CHARTS[chart]).replace("GENERATOR", generator)
    files = files or f"$ours/values/{chart}.yaml"
    return text.replace("FILES", files).replace("DESTINATION", where)


def told(values: dict[str, str], *sets: tuple[str, str]) -> set[str]:
    given = [*sets, *((f"values/{chart}.yaml", each) for chart, each in values.items())]
    return {each.code for each in found(given) if each.severity != "info"}


BOTH = {"gpu-operator": OPERATOR, "nvidia-device-plugin": "config: {}\n"}


@pytest.mark.parametrize(
    ("first", "second", "is_told"),
    [
        ((OF_GPUS,), (OF_GPUS,), True),
        ((OF_GPUS,), (IN_ANOTHER_ORDER, BY_SERVER), True),
        ((OF_GPUS,), (WITH_VALUES,), True),
        ((OF_GPUS,), (OF_OTHERS,), False),
        ((OF_GPUS,), (FILTERED,), False),
        ((FILTERED,), (FILTERED,), False),
        ((OF_GPUS,), (TO_ANOTHER,), False),
        ((TO_ANOTHER,), (TO_ANOTHER,), False),
        ((MATRIX % OF_GPUS,), (MATRIX % OF_GPUS,), False),
        ((OF_GPUS,), ("{clusters: {}}",), False),
        (("{clusters: {}}",), ("{clusters: {}}",), True),
        ((OF_GPUS,), (OF_GPUS, "name: in-cluster"), False),
        ((OF_GPUS,), (OF_GPUS, 'name: "{{name}}-other"'), False),
    ],
)
def test_two_plugins_are_told_where_both_go_to_the_same_clusters(
    first: tuple[str, ...], second: tuple[str, ...], *, is_told: bool
) -> None:
    operator = application_set("gpu-operator", *first)
    plugin = application_set("nvidia-device-plugin", *second)

    codes = told(BOTH, ("sets/operator.yaml", operator), ("sets/plugin.yaml", plugin))
    assert ("GPU1185" in codes) is is_told


def test_values_of_their_files_decide_it() -> None:
    sets = [(f"sets/{each}.yaml", application_set(each, OF_GPUS)) for each in BOTH]
    off = {**BOTH, "gpu-operator": "devicePlugin: {enabled: false}\n"}

    assert "GPU1185" not in told(off, *sets)
    assert "GPU1185" not in told({}, *sets)


@pytest.mark.parametrize(
    ("files", "is_known"),
    [
        ("$ours/values/gpu-operator.yaml", True),
        ("$ours/values/gpu-operator.yaml, '$ours/values/{{name}}.yaml'", False),
        ("'$ours/values/{{name}}.yaml'", False),
        ("$ours/values/gpu-operator.yaml, own.yaml", False),
        ("[]", False),
    ],
)
def test_files_are_those_of_a_set_where_all_are_known(files: str, *, is_known: bool) -> None:
    given = application_set("gpu-operator", OF_GPUS, files=files)
    reading = read_files(
        GivenFile(*each)
        for each in (("sets/a.yaml", given), ("values/gpu-operator.yaml", OPERATOR))
    )

    known = [
        item.name
        for item in reading.items
        if isinstance(item, Release) and item.values is not UNKNOWN
    ]
    assert (known == ["gpu-operator"]) is is_known


@pytest.mark.parametrize(
    ("named", "path", "text", "is_known"),
    [
        ("$ours/gpu/of.yaml", "fleet/gpu/of.yaml", OPERATOR, True),
        ("$ours/./gpu/of.yaml", "gpu/of.yaml", OPERATOR, True),
        ("$ours/of.yaml", "of.yaml", OPERATOR, False),
        ("$ours/./of.yaml", "of.yaml", OPERATOR, False),
        ("$others/gpu/of.yaml", "gpu/of.yaml", OPERATOR, False),
        ("$ours/gpu/of.yaml", "gpu/of.yaml", f"apiVersion: v2\n{OPERATOR}", True),
        ("$ours/gpu/of.yaml", "gpu/of.yaml", f"kind: a\n{OPERATOR}", True),
        ("$ours/gpu/of.yaml", "gpu/of.yaml", "a: b\n---\napiVersion: v1\nkind: {}\n", False),
    ],
)
@pytest.mark.parametrize("is_set", [True, False])
def test_a_file_of_another_source_lies_in_a_folder_and_is_no_object(
    named: str, path: str, text: str, *, is_known: bool, is_set: bool
) -> None:
    """Each repository may have a `values.yaml` at its top."""
    given = application_set("gpu-operator", OF_GPUS, files=named)
    alone = APPLICATION.replace("FILES", named)
    files = [GivenFile("sets/a.yaml", given if is_set else alone), GivenFile(path, text)]

    assert (path in named_values(files).charts) is is_known


def test_what_a_patch_of_the_template_changes_is_not_known() -> None:
    sets = [
        (f"sets/{each}.yaml", application_set(each, OF_GPUS) + "  templatePatch: 'spec: {}'\n")
        for each in BOTH
    ]

    assert "GPU1185" not in told(BOTH, *sets)


def test_a_driver_and_engines_are_told_likewise() -> None:
    claims = {"nvidia-dra-driver-gpu": GIVES_GPUS, "nvidia-device-plugin": "config: {}\n"}
    engines = {"gpu-operator": "devicePlugin: {enabled: false}\n", "dcgm-exporter": "image: {}\n"}
    for values, code in ((claims, "GPU1186"), (engines, "GPU1187")):
        first, second = values
        for other, is_told in ((OF_GPUS, True), (OF_OTHERS, False)):
            sets = [
                ("sets/a.yaml", application_set(first, OF_GPUS)),
                ("sets/b.yaml", application_set(second, other)),
            ]
            assert (code in told(values, *sets)) is is_told, (code, other)


CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: eu-west-1, version: "1.33"}
managedNodeGroups:
  - name: gpu
    instanceType: g6.xlarge
    labels: {nvidia.com/device-plugin.config: shared}
"""
CONFIGURATIONS = 'config: {default: none, map: {none: "version: v1"}}\n'


@pytest.mark.parametrize(("generator", "is_told"), [(OF_GPUS, False), ("{clusters: {}}", True)])
def test_a_cluster_beside_sets_for_some_need_be_none_of_theirs(
    generator: str, *, is_told: bool
) -> None:
    given = application_set("nvidia-device-plugin", generator)
    files = [
        ("eksctl/ml.yaml", CLUSTER),
        ("argocd/plugin.yaml", given),
        ("values/nvidia-device-plugin.yaml", CONFIGURATIONS),
    ]

    assert ("GPU1122" in {each.code for each in found(files)}) is is_told
