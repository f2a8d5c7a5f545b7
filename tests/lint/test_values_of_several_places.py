"""Values of a release that stand in several places: of Kustomize, Flux and Argo CD."""

from __future__ import annotations

import pytest

from eks_gpushare.lint.dispatch import lint_files
from eks_gpushare.manifests.files import GivenFile

MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu}
data:
  any: |
    version: v1
    sharing:
      timeSlicing:
        failRequestsGreaterThanOne: true
        resources: [{name: nvidia.com/gpu, replicas: 4}]
  all: |
    version: v1
    sharing:
      timeSlicing:
        failRequestsGreaterThanOne: true
        resources: [{name: nvidia.com/gpu, replicas: 8}]
"""
CHART = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
helmCharts:
  - name: nvidia-device-plugin
    releaseName: nvdp
    namespace: gpu
"""
FILE = "config: {name: shares}\ngfd: {enabled: true}\n"


def found(**files: str) -> list[tuple[str, str]]:
    """Codes by file, but what comes with each share."""
    named = [GivenFile(name.replace("_", "."), text) for name, text in files.items()]
    return [
        (report.file, each.code)
        for report in lint_files(named)
        for each in report.findings
        if each.code != "GPU1208"
    ]


def chart(**more: str) -> str:
    return CHART + "".join(f"    {key}: {value}\n" for key, value in more.items())


INLINE = "{config: {default: any}}"


@pytest.mark.parametrize(
    "kustomization",
    [
        chart(valuesFile="values.yaml", valuesInline=INLINE),
        chart(valuesFile="values.yaml", valuesInline=INLINE, valuesMerge="override"),
        chart(valuesFile="values.yaml", valuesInline=INLINE, valuesMerge="merge"),
        chart(valuesFile="values.yaml", valuesInline="{config: {name: x, default: any}}").replace(
            "x,", "shares,"
        ),
        chart(valuesInline=INLINE, additionalValuesFiles="[values.yaml]"),
    ],
)
def test_values_of_a_file_and_in_the_kustomization_are_one_release(kustomization: str) -> None:
    assert found(kustomization_yaml=kustomization, values_yaml=FILE, map_yaml=MAP) == []


@pytest.mark.parametrize(
    ("inline", "how", "file", "code"),
    [
        # The key that is named is of the file's ConfigMap.
        ("{config: {default: none}}", "override", FILE, "GPU1122"),
        ("{config: {default: none}}", "merge", FILE, "GPU1122"),
        ("{config: {name: x, default: any}}", "override", FILE, "GPU1120"),
        # What goes over what.
        ("{config: {name: shares, default: any}}", "merge", "config: {name: x}\n", "GPU1120"),
    ],
)
def test_what_does_not_agree_between_both_is_found(
    inline: str, how: str, file: str, code: str
) -> None:
    kustomization = chart(valuesFile="values.yaml", valuesInline=inline, valuesMerge=how)
    codes = found(kustomization_yaml=kustomization, values_yaml=file, map_yaml=MAP)

    assert ("kustomization.yaml", code) in codes


def test_inline_values_alone_count_where_they_replace_the_file() -> None:
    kustomization = chart(
        valuesFile="values.yaml",
        valuesInline="{config: {name: shares, default: all}, gfd: {enabled: true}}",
        valuesMerge="replace",
    )
    file = "config: {name: x, default: z}\n"

    assert found(kustomization_yaml=kustomization, values_yaml=file, map_yaml=MAP) == []


def test_a_wrong_value_is_said_where_it_stands() -> None:
    wrong = "migStrateg: single\n"
    of_file = chart(valuesFile="values.yaml", valuesInline=INLINE)
    inline = "{config: {default: any}, migStrateg: single}"
    of_both = chart(valuesFile="values.yaml", valuesInline=inline)

    assert found(kustomization_yaml=of_file, values_yaml=FILE + wrong, map_yaml=MAP) == [
        ("values.yaml", "GPU1034")
    ]
    assert found(kustomization_yaml=of_both, values_yaml=FILE, map_yaml=MAP) == [
        ("kustomization.yaml", "GPU1034")
    ]


FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: gpu}
spec:
  chart: {spec: {chart: nvidia-device-plugin}}
  valuesFrom: [%s]
  values: %s
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nvdp, namespace: argocd}
spec:
  destination: {namespace: gpu}
  source:
    chart: nvidia-device-plugin
    helm:
      valueFiles: [$values/gpu.yaml]
      valuesObject: %s
"""
BASE = "{kind: ConfigMap, name: base}"
ONE = "{kind: Secret, name: base, targetPath: config.name}"
MIG = "{config: {name: shares}, migStrategy: mixd}"


@pytest.mark.parametrize(
    "release",
    [
        FLUX % (BASE, "{gfd: {enabled: true}}"),
        FLUX % (BASE, "{config: {default: any}}"),
        FLUX % (ONE, "{config: {default: any}, gfd: {enabled: true}}"),
        FLUX % (ONE.replace("config.name", "$WHERE"), "{config: {default: any}}"),
        ARGO % "{config: {default: any}}",
        chart(valuesFile="elsewhere.yaml", valuesInline=INLINE),
    ],
)
def test_what_further_values_may_say_is_no_problem(release: str) -> None:
    """Whether the map is named, and what goes over that, is not known here."""
    labels = "{nvidia.com/gpu.present: 'true', nvidia.com/device-plugin.config: any}"
    types = "node.kubernetes.io/instance-type: g5.xlarge"
    labels = labels.replace("{", f"{{{types}, ")
    node = f"apiVersion: v1\nkind: Node\nmetadata: {{name: a, labels: {labels}}}\n"
    name = "kustomization_yaml" if release.startswith(CHART) else "release_yaml"
    named = [
        GivenFile(each.replace("_", "."), text)
        for each, text in {name: release, "map_yaml": MAP, "node_yaml": node}.items()
    ]
    every = [each for report in lint_files(named) for each in report.findings]

    assert [each.code for each in every if each.severity != "info"] == []
    assert "GPU1037" in [each.code for each in every]


@pytest.mark.parametrize(
    ("release", "codes"),
    [
        (FLUX % (BASE, MIG), {"GPU1036", "GPU1037"}),
        (FLUX % (BASE, "{config: {name: x, default: any}}"), {"GPU1120", "GPU1037", "GPU1121"}),
        (FLUX % (BASE, "{config: {name: shares, default: none}}"), {"GPU1122", "GPU1037"}),
        (ARGO % MIG, {"GPU1036", "GPU1037"}),
        (chart(valuesFile="elsewhere.yaml", valuesInline=MIG), {"GPU1036", "GPU1037"}),
    ],
)
def test_values_that_are_written_are_judged(release: str, codes: set[str]) -> None:
    name = "kustomization_yaml" if release.startswith(CHART) else "release_yaml"
    told = {code for _, code in found(**{name: release, "map_yaml": MAP})}

    assert codes <= told


def test_the_note_says_what_is_known() -> None:
    text = FLUX % (f"{BASE}, {ONE}", "{config: {default: any}, gfd: {enabled: true}}")
    (report,) = lint_files([GivenFile("release.yaml", text)])
    (note,) = [each for each in report.findings if each.code == "GPU1037"]

    assert note.message == (
        "Further values come from the ConfigMap base, config.name of the Secret base: nothing is "
        "known of those but config.default, gfd.enabled."
    )


@pytest.mark.parametrize(
    ("old", "new", "sources"),
    [
        ("name: base", "name: $BASE", "config.name of a Secret"),
        ("config.name", "$WHERE", "the Secret base"),
    ],
)
def test_the_note_guesses_no_names(old: str, new: str, sources: str) -> None:
    text = FLUX % (ONE.replace(old, new), "{gfd: {enabled: true}}")
    (report,) = lint_files([GivenFile("release.yaml", text)])
    (note,) = [each.message for each in report.findings if each.code == "GPU1037"]

    assert note.startswith(f"Further values come from {sources}: ")


def test_without_further_values_nothing_is_said() -> None:
    text = (FLUX % ("", "{config: {name: shares, default: any}}")).replace("  valuesFrom: []\n", "")

    assert found(release_yaml=text, map_yaml=MAP) == []


GENERATED = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: gpu
generatorOptions: {disableNameSuffixHash: true}
configMapGenerator:
  - name: shares
    literals:
      - mode=single
      - |-
        any=version: v1
        sharing:
          timeSlicing:
            failRequestsGreaterThanOne: true
            resources: [{name: nvidia.com/gpu, replicas: %s}]
"""
INSTALLED = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvdp, namespace: gpu}
spec:
  chart: {spec: {chart: nvidia-device-plugin}}
  values: {config: {name: shares, default: %s}, gfd: {enabled: true}}
"""


def test_a_configuration_that_is_a_literal_is_read() -> None:
    right, wrong = GENERATED % "4", GENERATED % "'4'"

    assert found(kustomization_yaml=right, release_yaml=INSTALLED % "any") == []
    assert found(kustomization_yaml=right, release_yaml=INSTALLED % "all") == [
        ("release.yaml", "GPU1122")
    ]
    assert ("kustomization.yaml", "GPU1021") in found(
        kustomization_yaml=wrong, release_yaml=INSTALLED % "any"
    )


K3S = """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: nvdp, namespace: kube-system}
spec:
  chart: nvidia-device-plugin
  targetNamespace: gpu
  valuesContent: |-
    gfd: {enabled: true}
    migStrategy: none
  set: {migStrategy: %s}
"""
SETS = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nvdp, namespace: argocd}
spec:
  generators: [{list: {elements: [{cluster: a}]}}]
  template:
    spec:
      destination: {namespace: gpu}
      source:
        chart: nvidia-device-plugin
        helm: {valuesObject: {migStrategy: %s}}
"""
INFLATED = """\
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: nvdp}
name: nvidia-device-plugin
releaseName: nvdp
namespace: gpu
valuesInline: {migStrategy: %s}
"""
HELMFILE = """\
releases:
  - name: nvdp
    namespace: gpu
    chart: nvdp/nvidia-device-plugin
    values:
      - gfd: {enabled: true}
      - migStrategy: %s
"""
BY_SET = """\
releases:
  - name: nvdp
    namespace: gpu
    chart: nvdp/nvidia-device-plugin
    set: [{name: migStrategy, value: %s}]
"""


@pytest.mark.parametrize("text", [K3S, SETS, INFLATED, HELMFILE, BY_SET])
def test_other_tools_that_install_charts(text: str) -> None:
    assert found(a_yaml=text % "mixed") == []
    assert found(a_yaml=text % "mixd") == [("a.yaml", "GPU1036")]


def test_the_place_of_a_value_is_its_own() -> None:
    (report,) = lint_files([GivenFile("helmfile.yaml", HELMFILE % "mixd")])
    (position,) = [each.position for each in report.found if each.finding.code == "GPU1036"]

    assert position is not None
    assert position.line == HELMFILE.splitlines().index("      - migStrategy: %s") + 1


def test_a_file_of_values_beside_those_of_a_helmfile() -> None:
    text = HELMFILE.replace("- gfd: {enabled: true}", "- values/%s.yaml")

    assert [code for _, code in found(a_yaml=text % ("gpu", "mixd"))].count("GPU1036") == 1


def test_a_release_that_is_not_installed_is_none() -> None:
    assert ("a.yaml", "GPU1036") not in found(a_yaml=HELMFILE % "mixd" + "    installed: false\n")


DAEMONS = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: gpu}
spec:
  selector: {matchLabels: {name: plugin}}
  template:
    metadata: {labels: {name: plugin}}
    spec:
      containers:
        - name: plugin
          image: nvcr.io/nvidia/k8s-device-plugin:v0.20.0
          args: ["--config-file=/etc/plugin/%s"]
          volumeMounts: [{name: config, mountPath: /etc/plugin}]
      volumes: [{name: config, configMap: {name: shares}}]
"""
OVERLAY = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: gpu
resources: [../base]
configMapGenerator:
  - {name: shares, behavior: merge, literals: ["%s=version: v1"]}
"""


@pytest.mark.parametrize(("added", "expected"), [("more", False), ("other", True)])
def test_an_overlay_adds_keys_to_a_map_of_its_base(added: str, expected: bool) -> None:
    base = (GENERATED % "4") + "resources: [plugin.yaml]\n"
    files = {
        "base/kustomization.yaml": base,
        "base/plugin.yaml": DAEMONS % "more",
        "overlay/kustomization.yaml": OVERLAY % added,
    }
    reports = lint_files([GivenFile(name, text) for name, text in files.items()])
    codes = [each.code for report in reports for each in report.findings]

    assert ("GPU1128" in codes) is expected
