"""Applications of Argo CD with values of another source's files: one release of all of them."""

from __future__ import annotations

import pytest
from linted import every, found, said

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: plugin, namespace: argocd}
spec:
  destination: {server: https://kubernetes.default.svc, namespace: gpu}
  sources:
    - repoURL: https://nvidia.github.io/k8s-device-plugin
      chart: nvidia-device-plugin
      targetRevision: 0.17.1
      helm:
        HELM
    - repoURL: https://git.example.org/platform.git
      targetRevision: main
      ref: repo
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: sharing, namespace: gpu}
data:
  any: |-
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
NODES = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: home, region: eu-central-1, version: "1.33"}
managedNodeGroups:
  - name: gpu
    instanceType: g6.xlarge
    amiFamily: AmazonLinux2023
    taints: [{key: team, value: ml, effect: NoSchedule}]
    labels: {nvidia.com/gpu.present: "true"}
"""
TERMS = "tolerations: [{key: team, operator: Exists}]\n"
RIGHT = f"config: {{name: sharing, default: any}}\n{TERMS}"
WRONG = "config: {name: other, default: any}\n"
ONE = "valueFiles: [$repo/gpu/base.yaml]"
BOTH = "valueFiles: [$repo/gpu/base.yaml, '$repo/gpu/prod.yaml']"


def of(helm: str, base: str, prod: str | None = None, **more: str) -> list[str]:
    files = {
        "apps/plugin.yaml": APPLICATION.replace("HELM", helm),
        "apps/map.yaml": MAP,
        "apps/nodes.yaml": NODES,
        "own/gpu/base.yaml": base,
    }
    files |= {} if prod is None else {"own/gpu/prod.yaml": prod}
    return said({**files, **{name.replace("__", "/"): text for name, text in more.items()}})


@pytest.mark.parametrize(
    "helm",
    [
        ONE,
        "valueFiles:\n          - $repo/gpu/base.yaml",
        "valueFiles: [\n          $repo/gpu/base.yaml]",
        "# valueFiles: [$repo/gpu/old.yaml]\n        valueFiles: ['$repo/gpu/base.yaml']",
        f"{ONE}\n        values: 'failOnInitError: true'",
        f"{ONE}\n        valuesObject: {{failOnInitError: true}}",
        f"{ONE}\n        parameters: [{{name: failOnInitError, value: 'true'}}]",
    ],
)
def test_a_file_is_of_the_release_that_the_application_makes(helm: str) -> None:
    assert of(helm, WRONG) == ["GPU1121", "GPU1100"]
    assert of(helm, RIGHT) == []


@pytest.mark.parametrize("between", ["---", "--- # of metrics", "---\r"])
def test_several_applications_of_one_file_have_files_of_their_own(between: str) -> None:
    other = APPLICATION.replace("HELM", "valueFiles: [$repo/gpu/dcgm.yaml]").replace(
        "nvidia-device-plugin", "dcgm-exporter"
    )
    both = f"{APPLICATION.replace('HELM', ONE)}{between}\n{other}"
    files = {"apps/plugin.yaml": both, "apps/map.yaml": MAP, "apps/nodes.yaml": NODES}
    own = {"own/gpu/dcgm.yaml": f"interval: 30s\n{TERMS}"}

    assert "GPU1100" in said({**files, **own, "own/gpu/base.yaml": WRONG})
    assert "GPU1100" not in said({**files, **own, "own/gpu/base.yaml": RIGHT})


@pytest.mark.parametrize(
    ("base", "prod", "codes"),
    [
        (RIGHT, "failOnInitError: true", []),
        (WRONG, RIGHT, []),
        (RIGHT, "config: {name: sharing}", []),
        (RIGHT, WRONG, ["GPU1121"]),
        (RIGHT, "tolerations: []", ["GPU1100"]),
        (RIGHT, "failOnInitErr: true", ["GPU1034"]),
        (f"{RIGHT}failOnInitErr: true", TERMS, ["GPU1034"]),
        (RIGHT, "$VALUES", []),
    ],
)
def test_later_files_go_over_earlier_ones(base: str, prod: str, codes: list[str]) -> None:
    assert of(BOTH, base, prod) == codes


@pytest.mark.parametrize(
    ("own", "base", "codes"),
    [
        ("valuesObject: {config: {name: sharing}}", f"{WRONG}{TERMS}", []),
        ("values: |\n          config: {name: sharing}", f"{WRONG}{TERMS}", []),
        ("parameters: [{name: config.name, value: other}]", RIGHT, ["GPU1121"]),
        ("valuesObject: {config: $CONFIG}", RIGHT, []),
        ("valuesObject: {failOnInitErr: true}", RIGHT, ["GPU1034"]),
        ("valuesObject: $VALUES", RIGHT, []),
    ],
)
def test_what_the_application_says_goes_over_all(own: str, base: str, codes: list[str]) -> None:
    assert of(f"{ONE}\n        {own}", base) == codes


@pytest.mark.parametrize(
    "helm",
    [
        "valueFiles: [values.yaml, $repo/gpu/base.yaml]",  # the first is within the chart
        "valueFiles: [$repo/gpu/base.yaml, $repo/gpu/none.yaml]",
        "valueFiles: ['$repo/gpu/{{env}}.yaml']",
    ],
)
def test_of_files_that_are_not_there_all_stays_as_it_is(helm: str) -> None:
    """A file that is not seen may name the configuration and tolerate the taint."""
    own = f"{helm}\n        valuesObject: {{failOnInitError: true}}"

    assert "GPU1121" not in of(own, "failOnInitError: true")


def test_a_misspelt_value_is_told_where_it_stands() -> None:
    values = "valuesObject: {failOnInitErr: true}"
    files = [
        ("apps/plugin.yaml", APPLICATION.replace("HELM", f"{BOTH}\n        {values}")),
        ("own/gpu/base.yaml", "migStrat: none\n"),
        ("own/gpu/prod.yaml", "deviceListStrat: envvar\n"),
    ]

    assert {each.path for each in found(files)} == {
        "spec.sources[0].helm.valuesObject.failOnInitErr",
        "migStrat",
        "deviceListStrat",
    }


def test_a_file_of_two_applications_is_of_both() -> None:
    other = APPLICATION.replace("name: plugin", "name: other").replace("HELM", ONE)
    wrong = other.replace(ONE, f"{ONE}\n        valuesObject: {{config: {{name: else}}}}")

    assert of(ONE, RIGHT, **{"apps/other.yaml": other}) == []
    assert "GPU1121" not in of(ONE, RIGHT, **{"apps/other.yaml": wrong})


@pytest.mark.parametrize(("terms", "codes"), [(TERMS, []), ("tolerations: []\n", ["GPU1100"])])
def test_a_file_below_those_of_two_applications_is_of_both(terms: str, codes: list[str]) -> None:
    text = APPLICATION.replace("name: plugin", "name: other").replace("HELM", BOTH)
    other = text.replace("prod.yaml", "test.yaml")
    files = {"test/apps/other.yaml": other, "own/gpu/test.yaml": "failOnInitError: true\n"}

    assert (
        of(BOTH, RIGHT, terms, **{name.replace("/", "__"): text for name, text in files.items()})
        == codes
    )


def test_text_of_several_kinds_goes_over_text() -> None:
    """Mappings of both are one, and a value alone replaces what is below it."""
    own = "valuesObject: {config: {default: other}}"

    assert "GPU1121" not in of(f"{ONE}\n        {own}", RIGHT)
    assert of(f"{ONE}\n        valuesObject: {{tolerations: null}}", RIGHT) == ["GPU1100"]


@pytest.mark.parametrize("helm", [ONE, f"{ONE}\n        valuesObject: {{failOnInitError: true}}"])
def test_what_none_of_them_says_is_not_said(helm: str) -> None:
    assert of(helm, TERMS) == ["GPU1121"]


@pytest.mark.parametrize(
    ("helm", "base", "codes"),
    [
        (ONE, RIGHT, ["GPU1101"]),
        (ONE, f"{RIGHT}affinity: null\n", []),
        (f"{ONE}\n        valuesObject: {{affinity: null}}", RIGHT, []),
    ],
)
def test_nothing_in_place_of_a_default_takes_it_away(
    helm: str, base: str, codes: list[str]
) -> None:
    nodes = NODES.replace('    labels: {nvidia.com/gpu.present: "true"}\n', "")

    assert of(helm, base, **{"apps/nodes.yaml": nodes}) == codes


def test_the_version_is_that_of_the_application() -> None:
    files = {
        "apps/plugin.yaml": APPLICATION.replace("HELM", ONE).replace("0.17.1", "0.14.0"),
        "apps/map.yaml": MAP,
        "own/gpu/base.yaml": f"{RIGHT}cdi: {{nvidiaHookPath: /a}}\n",
    }

    assert [each.code for each in found(list(files.items()))] == ["GPU1034"]


def test_of_two_applications_in_one_file_it_is_not_told_whose_a_file_is() -> None:
    given = (
        "valuesObject: {config: {name: sharing, default: any}, tolerations: [{operator: Exists}]}"
    )
    bare = APPLICATION.replace("name: plugin", "name: other").replace("HELM", given)
    files = {
        "apps/plugin.yaml": f"{APPLICATION.replace('HELM', ONE)}---\n{bare}",
        "apps/map.yaml": MAP,
        "own/gpu/base.yaml": TERMS,
    }

    assert "GPU1121" not in said(files)


HELMFILE = """\
releases:
  - name: plugin
    namespace: gpu
    chart: nvdp/nvidia-device-plugin
    version: 0.17.1
    MORE
  - {name: other, chart: own/other, values: [values/none.yaml]}
"""


def of_helmfile(more: str, first: str, second: str = "{}", **others: str) -> list[str]:
    files = {
        "helmfile.yaml": HELMFILE.replace("MORE", more),
        "map.yaml": MAP,
        "nodes.yaml": NODES,
        "values/first.yaml": first,
        "values/second.yaml": second,
    }
    return said({**files, **{name.replace("__", "."): text for name, text in others.items()}})


FIRST = "values: [values/first.yaml]"
SECOND = "values: [values/first.yaml, values/second.yaml]"


@pytest.mark.parametrize(
    ("more", "first", "second", "codes"),
    [
        (FIRST, RIGHT, "{}", []),
        (FIRST, WRONG, "{}", ["GPU1121", "GPU1100"]),
        (SECOND, WRONG, RIGHT, []),
        (SECOND, RIGHT, WRONG, ["GPU1121"]),
        ("values: [values/first.yaml, {config: {name: other}}]", RIGHT, "{}", ["GPU1121"]),
        (f"{FIRST}\n    set: [{{name: config.name, value: other}}]", RIGHT, "{}", ["GPU1121"]),
        # Of those before a file it is not looked up which of them go over which.
        ("values: [{config: {name: other}}, values/first.yaml]", RIGHT, "{}", []),
        ("values: [values/first.yaml, values/none.yaml]", TERMS, "{}", []),
        ("values: [values/first.yaml, 'values/{{ .Environment.Name }}.yaml']", TERMS, "{}", []),
        (f"{FIRST}\n    secrets: [a.yaml]", TERMS, "{}", []),
        (
            f"{FIRST}\n    valuesTemplate: [{{config: {{name: '{{{{ .Values.a }}}}'}}}}]",
            TERMS,
            "{}",
            [],
        ),
    ],
)
def test_files_of_a_release_of_helmfile_are_its_values(
    more: str, first: str, second: str, codes: list[str]
) -> None:
    found = of_helmfile(more, first, second)

    assert [each for each in found if each in ("GPU1121", "GPU1100")] == codes


def test_two_releases_of_a_helmfile_have_their_own_files() -> None:
    other = "- {name: second, namespace: gpu, chart: nvdp/nvidia-device-plugin, MORE}"
    more = f"{FIRST}\n  {other.replace('MORE', 'values: [values/second.yaml]')}"

    assert "GPU1121" in of_helmfile(more, WRONG, WRONG)
    assert "GPU1121" not in of_helmfile(more, WRONG, RIGHT)


def test_a_file_that_two_releases_take_is_of_both() -> None:
    """Which of them makes what is not told, so all is left as it was."""
    more = f"{FIRST}\n  - {{name: b, namespace: b, chart: nvdp/nvidia-device-plugin, {FIRST}}}"

    assert of_helmfile(more, RIGHT).count("GPU1121") == 0


def test_values_of_a_chart_are_known_by_the_helmfile_that_names_them() -> None:
    text = "releases: [{name: a, chart: nvdp/nvidia-device-plugin, values: [a.yaml]INSTALLED}]"
    files = {"own/helmfile.yaml": text, "own/a.yaml": "failOnInitErr: true"}
    off = text.replace("INSTALLED", ", installed: false")

    assert "GPU1034" in said({**files, "own/helmfile.yaml": text.replace("INSTALLED", "")})
    assert "GPU1034" not in said({**files, "own/helmfile.yaml": off})
    as_template = {"own/helmfile.yaml.gotmpl": text.replace("INSTALLED", ""), **files}
    assert "GPU1034" in said({**as_template, "own/helmfile.yaml": "bases: []"})
    # Helmfile looks for it beside its own file.
    apart = {"helmfile.yaml": text.replace("INSTALLED", ""), "own/a.yaml": files["own/a.yaml"]}
    assert "GPU1034" not in said(apart)


WRAPPER = """\
apiVersion: v2
name: NAME
version: 0.1.0
dependencies:
  - {name: gpu-operator, version: v25.3.4, repository: https://helm.ngc.nvidia.com/nvidia}
"""
OF_FOLDER = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: APP, namespace: argocd}
spec:
  destination: {server: https://kubernetes.default.svc, namespace: gpu}
  source:
    repoURL: https://git.example.org/own.git
    path: charts/NAME
    targetRevision: main
    helm:
      HELM
"""
BOTH_ON = "gpu-operator: {driver: {enabled: true}, toolkit: {enabled: true}}\n"
BOTH_OFF = "gpu-operator: {driver: {enabled: false}, toolkit: {enabled: false}}"
SET_OFF = """parameters:
        - {name: gpu-operator.driver.enabled, value: "false"}
        - {name: gpu-operator.toolkit.enabled, value: "false"}"""


@pytest.mark.parametrize("name", ["gpu-operator", "gpus"])
@pytest.mark.parametrize(
    ("helms", "base", "wrong"),
    [
        (["releaseName: gpus"], BOTH_ON, True),
        ([SET_OFF], BOTH_ON, False),
        ([f"valuesObject: {{{BOTH_OFF}}}"], BOTH_ON, False),
        ([f"values: |\n        {BOTH_OFF}"], BOTH_ON, False),
        ([SET_OFF.replace("false", "true")], BOTH_OFF, True),
        ([SET_OFF.replace('"false"', '"$ON"')], BOTH_ON, False),
        ([SET_OFF.replace("gpu-operator.", "global.")], BOTH_ON, True),
        # Of two that differ it is not known which holds.
        ([SET_OFF, SET_OFF.replace("false", "true")], BOTH_ON, False),
        ([SET_OFF, SET_OFF], BOTH_ON, False),
        ([SET_OFF, "releaseName: gpus"], BOTH_ON, False),
    ],
)
def test_an_application_goes_over_values_in_the_folder_of_the_chart(
    name: str, helms: list[str], base: str, wrong: bool
) -> None:
    files = {
        f"charts/{name}/Chart.yaml": WRAPPER.replace("NAME", name),
        f"charts/{name}/values.yaml": base,
        "cluster.yaml": NODES.replace(
            "    taints: [{key: team, value: ml, effect: NoSchedule}]\n", ""
        ),
    }
    for number, helm in enumerate(helms):
        text = OF_FOLDER.replace("NAME", name).replace("APP", f"gpus-{number}")
        files[f"apps/{number}.yaml"] = text.replace("HELM", helm)
    codes = said(files)

    assert ("GPU1180" in codes) is wrong
    assert "GPU1034" not in codes


def test_a_path_that_may_be_of_two_charts_is_of_none() -> None:
    chart = {"Chart.yaml": WRAPPER.replace("NAME", "gpus"), "values.yaml": BOTH_ON}
    files = {f"{top}/charts/gpus/{key}": text for top in "ab" for key, text in chart.items()}
    files["a/charts/nodes.yaml"] = NODES
    application = OF_FOLDER.replace("NAME", "gpus").replace("HELM", SET_OFF)

    assert said(files).count("GPU1180") == said({**files, "app.yaml": application}).count("GPU1180")


# --- files that lie over each other -----------------------------------------------------------

OPERATOR = """\
driver: {enabled: false}
toolkit: {enabled: false}
devicePlugin: {config: {name: sharing, default: any}}
"""
TOLERATING = "daemonsets: {tolerations: [{key: team, operator: Exists}]}\n"
WORKERS = "node-feature-discovery: {worker: {tolerations: [{key: team, operator: Exists}]}}\n"
NAMED = "helm upgrade -i gpus nvidia/gpu-operator -n gpu"


@pytest.mark.parametrize(
    ("script", "wrong"),
    [
        ("-f one/values.yaml -f two/more.yaml", 0),
        ("-f one/values.yaml,two/more.yaml --set mig.strategy=single", 0),
        ("-f one/values.yaml", 1),
        ("-f two/more.yaml -f one/values.yaml --set daemonsets.tolerations=null", 1),
        # Of values below or over them nothing is seen, so that each is judged by itself.
        ("-f one/values.yaml -f two/more.yaml --reuse-values", 2),
        ("-f one/values.yaml -f two/more.yaml -f $MORE", 2),
    ],
)
def test_files_of_one_command_are_one_release(script: str, wrong: int) -> None:
    files = {
        "nodes.yaml": NODES,
        "map.yaml": MAP,
        "one/values.yaml": f"{OPERATOR}{TOLERATING}",
        "two/more.yaml": WORKERS,
        "install.sh": f"#!/bin/bash\n{NAMED} {script}\n",
    }

    assert said(files).count("GPU1100") == wrong
    assert said({**files, "Makefile": f"up:\n\t{NAMED} {script}\n"}).count("GPU1100") == wrong


@pytest.mark.parametrize(
    ("base", "over", "wrong"),
    [
        ("values.yaml", "values-prod.yaml", False),
        ("gpu-values.yaml", "gpu-values_eu.yaml", False),
        ("values.yaml", "values.prod.yml", False),
        ("values.yaml", "valuesx.yaml", True),
        ("gpu-operator.yaml", "gpu-operator-prod.yaml", True),
    ],
)
def test_files_for_an_environment_lie_over_those_for_all(
    base: str, over: str, *, wrong: bool
) -> None:
    files = {
        "nodes.yaml": NODES,
        "map.yaml": MAP,
        base: f"{OPERATOR}{TOLERATING}{WORKERS}",
        over: "driver: {enabled: false}\nmigManager: {enabled: false}\n",
    }

    # A note, where the others are right: one or the other is what the cluster gets.
    told = [each.message for each in every(files.items()) if each.code == "GPU1100"]
    assert any("not tolerate" in each for each in told) is wrong
    # What an environment says goes over all, and what nobody says is missing in each.
    with_driver = {**files, over: "driver: {enabled: true}\nmigManager: {}\n"}
    assert "GPU1180" in [each.code for each in every(with_driver.items())]
    assert "GPU1100" in said({**files, base: OPERATOR})


def test_a_file_that_is_installed_alone_is_judged_alone() -> None:
    files = {
        "nodes.yaml": NODES,
        "values.yaml": f"{OPERATOR}{TOLERATING}{WORKERS}",
        "values-prod.yaml": f"{OPERATOR}migManager: {{enabled: false}}\n",
        "install.sh": f"#!/bin/bash\n{NAMED} -f values-prod.yaml\n",
    }

    assert "GPU1100" in said(files)


BY_ENVIRONMENT = """\
releases:
  - name: gpu-operator
    chart: nvidia/gpu-operator
    namespace: gpu-operator
    ONE
    values: [values/operator.yaml]
  - name: dcgm
    chart: dcgm/dcgm-exporter
    namespace: gpu
    OTHER
    values: [values/dcgm.yaml]
PLUGIN
"""
PLUGIN = """\
  - name: nvdp
    chart: nvdp/nvidia-device-plugin
    namespace: gpu
    OTHER
    values: [values/nvdp.yaml]
"""
SHARED = """\
devicePlugin:
  config:
    create: true
    name: plugin
    default: any
    data:
      any: |-
        version: v1
        sharing:
          timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 4}]}
"""


@pytest.mark.parametrize(
    ("one", "other", "is_wrong"),
    [
        ("installed: true", "installed: true", True),
        ("createNamespace: true", "installed: true", True),
        ("installed: {{ .Values.gpu }}", "installed: {{ .Values.gpu }}", True),
        ("installed: {{ .Values.operator }}", "installed: {{ not .Values.operator }}", False),
        ("condition: operator.enabled", "condition: plugin.enabled", False),
        ("<<: {condition: operator.enabled}", "<<: {condition: plugin.enabled}", False),
    ],
)
def test_releases_that_an_environment_chooses_need_not_be_there_at_once(
    one: str, other: str, is_wrong: bool
) -> None:
    def found(plugin: str) -> set[str]:
        releases = BY_ENVIRONMENT.replace("PLUGIN\n", plugin)
        files = {
            "helmfile.yaml.gotmpl": releases.replace("ONE", one).replace("OTHER", other),
            "values/nvdp.yaml": "gfd: {enabled: true}\n",
            "values/operator.yaml": SHARED,
            "values/dcgm.yaml": "serviceMonitor: {enabled: true}\n",
        }
        return {"GPU1185", "GPU1187", "GPU1245"} & set(said(files))

    assert found(PLUGIN) == ({"GPU1185", "GPU1187"} if is_wrong else set())
    assert found("") == ({"GPU1187", "GPU1245"} if is_wrong else set())
