"""Values of charts around others: what stands a level above where Helm hands it on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from linted import found, found_in_parts, said

from eks_gpushare.lint import wrapper_values

if TYPE_CHECKING:
    from pathlib import Path

DEPENDENCY = "{name: gpu-operator, version: v25.3.4, repository: https://helm.ngc.nvidia.com/nvidia"
CHART = "apiVersion: v2\nname: platform-gpus\nversion: 0.1.0\ndependencies: [%s]\n"
VALUES = "driver: {enabled: false}\ndevicePlugin: {config: {name: slicing, default: any}}\n"
TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: slicing}\ndata: {any: %s}\n"


def of(values: str = VALUES, chart: str = CHART % f"{DEPENDENCY}}}", **others: str) -> list[str]:
    files = {"gpu/Chart.yaml": chart, "gpu/values.yaml": values}
    files |= {f"gpu/{name.replace('__', '/')}.yaml": text for name, text in others.items()}
    return [code for code in said(files) if code == "GPU1034"]


@pytest.mark.parametrize(
    ("values", "count"),
    [
        (VALUES, 1),
        ("toolkit: {enabled: false}", 1),
        ("global: {}\ndriver: {enabled: false}\ngpu-operator: {mig: {strategy: single}}", 1),
        ("nfd: {enabled: false}\nimage: {repository: a}", 1),
        ("gpu-operator: {driver: {enabled: false}}", 0),
        ("driver: {enabled: false}\ngpu-operator: {driver: {enabled: false}}", 0),
        ("driver: {enabled: yes please}", 0),  # of no type that the chart has
        ("driver: {enabled: false, owner: team}", 0),
        ("driver: {enabled: $DRIVER}", 0),
        ("driver: true", 0),
        ("driver: {}\ntoolkit:", 0),
        ("base: &base {a: b}\ndriver: {enabled: false}", 0),
        ("owner: team", 0),
        ("$VALUES", 0),
        ("- driver", 0),
        ("apiVersion: v1\ndriver: {enabled: false}", 0),
    ],
)
def test_what_helm_hands_on_stands_below_the_charts_name(values: str, count: int) -> None:
    assert len(of(values)) == count


ALIAS = CHART % f"{DEPENDENCY}, alias: gpus}}"
ABOVE = "gpu-operator: {driver: {enabled: false}}"


@pytest.mark.parametrize(
    ("chart", "values", "count"),
    [
        (ALIAS, ABOVE, 1),
        (ALIAS, "GPUs: {driver: {enabled: false}}", 1),
        (CHART % f"{DEPENDENCY}}}", "gpuOperator: {driver: {enabled: false}}", 1),
        (ALIAS, "gpus: {driver: {enabled: false}}", 0),
        (ALIAS, "gpu-operator: {}", 0),
        (CHART % f"{DEPENDENCY}, alias: gpus}}, {DEPENDENCY}}}", ABOVE, 0),
        (
            CHART % f"{DEPENDENCY}, alias: gpus, condition: gpu-operator.enabled}}",
            "gpu-operator: {enabled: true}",
            0,
        ),
    ],
)
def test_values_stand_below_what_chart_yaml_calls_a_chart(
    chart: str, values: str, count: int
) -> None:
    assert len(of(values, chart)) == count


def test_a_block_that_templates_read_is_theirs() -> None:
    template = TEMPLATE % "'{{ .Values.gpuOperator.driver }}'"
    values = "gpuOperator: {driver: {enabled: false}}"

    assert of(values, templates__map=template) == []


@pytest.mark.parametrize(
    ("chart", "values", "count"),
    [
        (CHART % f"{DEPENDENCY}, alias: gpus}}", VALUES, 1),
        (CHART % f"{DEPENDENCY}, condition: driver.enabled}}", "driver: {enabled: true}", 0),
        (CHART % f"{DEPENDENCY}, condition: gpu-operator.enabled}}", VALUES, 1),
        (CHART % f"{DEPENDENCY}, condition: gpus.used}}", f"{VALUES}gpus: {{used: false}}", 0),
        (CHART % f"{DEPENDENCY}}}, {{name: driver}}", "driver: {enabled: false}", 0),
        (CHART % f"{DEPENDENCY}}}, {{alias: driver}}", VALUES, 0),
        (CHART % "{name: nvidia-device-plugin, version: 0.17.1}", "gfd: {enabled: true}", 1),
        (CHART % "{name: nvidia-device-plugin, version: 0.17.1}", "tolerations: [{key: a}]", 1),
        (CHART % "{name: nvidia-device-plugin, version: 0.17.1}", "image: {repository: a}", 0),
        (CHART % "{name: nvidia-device-plugin, version: 0.17.1}", VALUES.splitlines()[0], 0),
        (CHART % "{name: dcgm-exporter, version: 4.5.0}", "serviceMonitor: {enabled: true}", 1),
        (CHART % "{name: kube-prometheus-stack}", "grafana: {enabled: true}", 0),
        (CHART % "{name: gpu-operator, repository: 'file://../ours'}", VALUES, 0),
        (CHART % "{name: other}", VALUES, 0),
        (f"{CHART % f'{DEPENDENCY}}}'}type: library\n", VALUES, 0),
        ((CHART % f"{DEPENDENCY}}}").replace("platform-gpus", "gpu-operator"), VALUES, 1),
        (CHART % f"{DEPENDENCY}}}" + "---\na: b\n", VALUES, 0),
    ],
)
def test_which_charts_are_known(chart: str, values: str, count: int) -> None:
    assert len(of(values, chart)) == count


@pytest.mark.parametrize(
    ("template", "count"),
    [
        ("a", 1),
        ("{{ .Values.other }}", 1),
        ("{{ .Values.driver.enabled }}{{ .Values.devicePlugin }}", 0),
        ("{{ toYaml .Values }}", 0),
        ('{{ index .Values "driver" }}', 0),
        ('{{ include "common.all" . }}', 0),
        ("{{ include (print $.Name) . }}", 0),
        ('{{ define "a" }}b{{ end }}{{ include "a" . }}', 1),
        ('{{ .Files.Get "b.yaml" }}', 0),
    ],
)
def test_what_templates_of_its_own_read(template: str, count: int) -> None:
    assert len(of(templates__config=TEMPLATE % template)) == count


def test_templates_are_looked_at_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu/templates/folder").mkdir(parents=True)
    (tmp_path / "gpu/templates/all.tpl").write_text("{{ .Values.other }}")
    before = of()
    (tmp_path / "gpu/templates/all.tpl").write_text("{{ .Values }}")

    assert (before, of()) == (["GPU1034"], [])


def test_what_charts_within_read_is_theirs() -> None:
    within = TEMPLATE % "{{ .Values.driver }}{{ toYaml .Values }}"

    assert of(charts__other__templates__a=within) == ["GPU1034"]


def test_it_says_where_they_belong() -> None:
    (only,) = [
        each
        for each in found(
            [("Chart.yaml", CHART % f"{DEPENDENCY}, alias: gpus}}"), ("values.yaml", VALUES)]
        )
        if each.code == "GPU1034"
    ]

    assert only.path == "driver"
    assert only.message == (
        "driver and devicePlugin stand beside gpus, and Helm hands gpu-operator only what is below "
        "gpus: no template of platform-gpus reads them."
    )
    assert only.fix == "Put them below gpus."


def test_of_several_charts_each_is_told_its_own() -> None:
    chart = CHART % f"{DEPENDENCY}}}, {{name: dcgm-exporter, version: 4.5.0}}"

    assert len(of(f"{VALUES}serviceMonitor: {{enabled: true}}\n", chart)) == 2


@pytest.mark.parametrize("name", ["values-prod", "values_prod", "prod-values"])
def test_so_in_other_files_beside_it(name: str) -> None:
    assert len(of("{}", **{name: VALUES})) == 1
    assert of("{}", tests=VALUES) == []


def test_a_file_that_a_command_names_is_for_the_chart_that_it_installs() -> None:
    command = "helm upgrade -i gpu-operator nvidia/gpu-operator -f values.yaml\n"
    files = {"Chart.yaml": CHART % f"{DEPENDENCY}}}", "values.yaml": VALUES}

    assert "GPU1034" in said(files)
    assert "GPU1034" not in said({**files, "install.sh": command})


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpus, namespace: argocd}
spec:
  source: {repoURL: https://example.com/a.git, path: PATH, helm: {HELM}}
"""
SEVERAL = APPLICATION.replace("source: {", "sources:\n    - {")
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpus, namespace: gpus}
spec:
  chart: {spec: {chart: ./PATH, sourceRef: {kind: GitRepository, name: a}}}
  HELM
"""
GIVEN = {"driver": {"enabled": False}}


@pytest.mark.parametrize("text", [APPLICATION, SEVERAL, RELEASE])
@pytest.mark.parametrize(
    ("path", "given", "count"),
    [
        ("charts/gpus", GIVEN, 1),
        ("gpus/", GIVEN, 1),
        ("charts/gpus", {"gpu-operator": GIVEN}, 0),
        ("charts/other", GIVEN, 0),
        (".", GIVEN, 0),
        ("$PATH", GIVEN, 0),
    ],
)
def test_so_in_what_installs_it(text: str, path: str, given: dict[str, object], count: int) -> None:
    key = "values" if text is RELEASE else "valuesObject"
    wholes = [text.replace("PATH", path).replace("HELM", f"{key}: {json.dumps(given)}")]
    if text is not RELEASE:
        wholes.append(
            text.replace("PATH", path).replace("HELM", f"values: {json.dumps(json.dumps(given))}")
        )
    for whole in wholes:
        files = {"charts/gpus/Chart.yaml": CHART % f"{DEPENDENCY}}}", "apps/a.yaml": whole}
        assert [code for code in said(files) if code == "GPU1034"] == ["GPU1034"] * count


OF_REPOSITORY = RELEASE.replace("./PATH", "PATH").replace("GitRepository", "HelmRepository")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (OF_REPOSITORY.replace("PATH", "platform-gpus"), 1),
        (OF_REPOSITORY.replace("PATH", "gpus"), 0),
        (APPLICATION.replace("path: PATH", "chart: platform-gpus"), 1),
        (APPLICATION.replace("path: PATH", "chart: gpus"), 0),
        (f"{SEVERAL.replace('PATH', 'charts/gpus')}    - {{repoURL: a, chart: other}}\n", 1),
    ],
)
def test_a_chart_of_a_repository_is_called_by_its_name_and_not_its_folder(
    text: str, count: int
) -> None:
    key = "values" if text.startswith("apiVersion: helm") else "valuesObject"
    release = text.replace("HELM", f"{key}: {json.dumps(GIVEN)}")
    files = {"charts/gpus/Chart.yaml": CHART % f"{DEPENDENCY}}}", "apps/a.yaml": release}

    assert said(files).count("GPU1034") == count


@pytest.mark.parametrize(("name", "count"), [("gpu-operator", 1), ("nvidia-device-plugin", 0)])
def test_a_copy_of_a_published_chart_is_no_wrapper_of_others(name: str, count: int) -> None:
    chart = f"apiVersion: v2\nname: {name}\nversion: VERSION\ndependencies: [{DEPENDENCY}}}]\n"
    version = {"gpu-operator": "25.3.4", "nvidia-device-plugin": "0.17.1"}[name]

    assert len(of("toolkit: {enabled: false}", chart.replace("VERSION", version))) == count


def test_of_templates_that_cannot_be_read_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu/templates").mkdir(parents=True)
    (tmp_path / "gpu/templates/a.tpl").write_bytes(b"\xff")
    assert of() == []
    (tmp_path / "gpu/templates/a.tpl").write_bytes(b"a")
    monkeypatch.setattr(wrapper_values, "_MOST_TEMPLATES", 1)
    assert of() == ["GPU1034"]
    (tmp_path / "gpu/templates/b.tpl").write_bytes(b"b")
    assert of() == []


def test_the_charts_own_file_alone_says_what_it_brings() -> None:
    other = "dependencies: [{name: driver}]\n"
    files = [("Chart.yaml", CHART % f"{DEPENDENCY}}}"), ("values.yaml", VALUES), ("z.yaml", other)]
    told = [each.path for each in found(files) if each.code == "GPU1034"]

    assert told == ["driver"]


ELSEWHERE = RELEASE.replace("name: a}", "name: a}, FILES")
UP = "valueFiles: [values.yaml, ../../envs/prod.yaml]"


@pytest.mark.parametrize(
    ("install", "count"),
    [
        (APPLICATION.replace("HELM", UP), 1),
        (SEVERAL.replace("HELM", UP), 1),
        (APPLICATION.replace("HELM", "valueFiles: [/envs/prod.yaml]"), 1),
        (SEVERAL.replace("HELM", "valueFiles: [$own/envs/prod.yaml]"), 1),
        (SEVERAL.replace("HELM", "valueFiles: ['$own/envs/{{ env }}.yaml']"), 0),
        (APPLICATION.replace("HELM", "valueFiles: [envs/prod.yaml]"), 0),
        (APPLICATION.replace("HELM", "valueFiles: [/prod.yaml]"), 1),
        (APPLICATION.replace("HELM", "valueFiles: [/other.yaml]"), 0),
        (APPLICATION.replace("HELM", UP).replace("PATH", "charts/others"), 0),
        (ELSEWHERE.replace("FILES", "valuesFiles: [./envs/prod.yaml]").replace("HELM", ""), 1),
        (ELSEWHERE.replace("FILES", "valuesFiles: [../../envs/prod.yaml]").replace("HELM", ""), 0),
        (ELSEWHERE.replace("FILES", "valuesFiles: [prod.yml]").replace("HELM", ""), 0),
    ],
)
def test_files_that_lie_elsewhere_are_for_the_chart_that_is_installed_with_them(
    install: str, count: int
) -> None:
    files = {
        "charts/gpus/Chart.yaml": ALIAS,
        "charts/gpus/values.yaml": "gpus: {driver: {enabled: true}}",
        "envs/prod.yaml": ABOVE,
        "deploy/a.yaml": install.replace("PATH", "charts/gpus"),
        "deploy/b.yaml": install.replace("PATH", "charts/gpus").replace("name: gpus", "name: b"),
    }
    told = [each for each in found(files.items()) if each.code == "GPU1034"]

    assert [each.message.startswith("platform-gpus brings gpu-operator") for each in told] == (
        [True] * count
    )


def test_files_that_are_right_or_several_are_left() -> None:
    install = SEVERAL.replace("HELM", "valueFiles: [$own/prod.yaml]").replace("PATH", "gpus")
    files = {
        "gpus/Chart.yaml": ALIAS,
        "gpus/values.yaml": "gpus: {driver: {enabled: true}}",
        "a.yaml": install,
    }

    assert "GPU1034" not in said({**files, "envs/prod.yaml": "gpus: {driver: {enabled: false}}"})
    assert "GPU1034" in said({**files, "envs/prod.yaml": ABOVE})
    assert "GPU1034" not in said({**files, "envs/prod.yaml": ABOVE, "old/prod.yaml": ABOVE})


def test_so_where_files_are_read_part_by_part(tmp_path: Path) -> None:
    files = {
        "charts/gpus/Chart.yaml": ALIAS,
        "charts/gpus/values.yaml": "gpus: {driver: {enabled: true}}\n",
        "charts/gpus/templates/a.yaml": "a: b\n",
        "envs/prod.yaml": ABOVE,
        "deploy/a.yaml": APPLICATION.replace("HELM", UP).replace("PATH", "charts/gpus"),
    }

    assert "GPU1034" in {each.code for each in found_in_parts(tmp_path, files)}


BARE = "apiVersion: v2\nname: bare\nversion: 0.1.0\n"
METRICS = "apiVersion: v2\nname: m\nversion: 0.1.0\ndependencies: [{name: dcgm-exporter}]\n"


@pytest.mark.parametrize(
    ("path", "named", "count"),
    [
        ("charts/gpus", "/envs/all.yaml", 1),
        ("charts/metrics", "/envs/all.yaml", 0),
        ("charts/bare", "$own/envs/all.yaml", 0),
        ("charts/bare", "../../envs/all.yaml", 0),
        ("charts/elsewhere", "../../envs/all.yaml", 0),
        ("charts/bare", "/envs/other.yaml", 1),
    ],
)
def test_a_file_of_several_charts_may_be_for_any_of_them(path: str, named: str, count: int) -> None:
    def install(path: str, named: str) -> str:
        return SEVERAL.replace("HELM", f"valueFiles: [{named}]").replace("PATH", path)

    files = {
        "charts/gpus/Chart.yaml": CHART % f"{DEPENDENCY}}}",
        "charts/metrics/Chart.yaml": METRICS,
        "charts/bare/Chart.yaml": BARE,
        "envs/all.yaml": VALUES,
        "deploy/a.yaml": install("charts/gpus", "/envs/all.yaml"),
        "deploy/b.yaml": install(path, named).replace("name: gpus", "name: b"),
    }

    assert [code for code in said(files) if code == "GPU1034"] == ["GPU1034"] * count
