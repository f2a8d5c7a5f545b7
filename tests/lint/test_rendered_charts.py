"""Charts of one's own: rendered by helm, with the values that are there, and found in templates."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.rendered_charts import rendered_charts
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

with_helm = pytest.mark.skipif(
    shutil.which("helm") is None, reason="helm is not on PATH; the suite `charts` has it"
)
CHART = "apiVersion: v2\nname: app\nversion: 0.1.0\n"
DEPLOYMENT = """\
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-app
  labels:
    {{- include "app.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels: {app: a}
  template:
    metadata:
      labels: {app: a}
    spec:
      containers:
        - name: a
          image: a:1
          resources:
            limits:
              nvidia.com/gpu: {{ .Values.gpus }}
{{- end }}
"""
HELPERS = '{{- define "app.labels" -}}\na: b\nc: d\n{{- end }}\n'
FILES = {
    "charts/app/Chart.yaml": CHART,
    "charts/app/values.yaml": "enabled: true\ngpus: 1\n",
    "charts/app/templates/deployment.yaml": DEPLOYMENT,
    "charts/app/templates/_helpers.tpl": HELPERS,
}
TEMPLATE = "charts/app/templates/deployment.yaml"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: prod, namespace: argocd}
spec:
  destination: {namespace: ml}
  source:
    repoURL: https://example.com/repository
    path: charts/app
    helm:
      valueFiles: [production.yaml]
      values: |
        enabled: true
"""


def found(files: Mapping[str, str]) -> list[tuple[str, str, int | None, str]]:
    """Code, file, line and message of what is said."""
    given = [GivenFile(name, text) for name, text in files.items()]
    return [
        (
            placed.finding.code,
            report.file,
            placed.position.line if placed.position else None,
            placed.finding.message,
        )
        for report in lint_files(given)
        for placed in report.found
        if placed.finding.code != "GPU1001"
    ]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@with_helm
def test_what_is_wrong_stands_in_the_template() -> None:
    wrong = {**FILES, "charts/app/values.yaml": 'enabled: true\ngpus: "0.5"\n'}

    ((code, file, line, message),) = found(wrong)
    assert (code, file, line) == ("GPU1114", TEMPLATE, 20)
    assert "With" not in message
    assert found(FILES) == []


@with_helm
def test_values_beside_the_chart_are_tried_and_named() -> None:
    files = {**FILES, "charts/app/values-prod.yaml": 'gpus: "0.5"\n'}

    ((code, file, line, message),) = found(files)
    assert (code, file, line) == ("GPU1114", TEMPLATE, 20)
    assert message.endswith("With values-prod.yaml.")


@with_helm
def test_values_that_an_application_names_are_tried_and_named() -> None:
    files = {**FILES, "app.yaml": APPLICATION, "charts/app/production.yaml": 'gpus: "0.5"\n'}

    ((code, file, _, message),) = found(files)
    assert (code, file) == ("GPU1114", TEMPLATE)
    assert "prod-app asks for 0.5" in message
    assert message.endswith("With those of Application prod.")


@with_helm
def test_a_dependency_that_is_missing_is_a_note() -> None:
    depends = "dependencies:\n  - {name: other, version: 1.0.0, repository: https://example.com}\n"
    told = found({**FILES, "charts/app/Chart.yaml": CHART + depends})

    assert {code for code, _, _, _ in told} == {"GPU1003"}
    assert "other" in next(each[3] for each in told if each[1].endswith("Chart.yaml"))


@with_helm
def test_results_for_other_values_are_scopes_of_their_own() -> None:
    files = {**FILES, "charts/app/values-b.yaml": "enabled: false\n"}
    reading = read_files([GivenFile(name, text) for name, text in files.items()])
    scopes = {scope.name for scope in reading.scopes()}

    assert "the chart charts/app with its own values" in scopes
    # With the others nothing is made, so that there is nothing to judge.
    assert "the chart charts/app with values-b.yaml" not in scopes


@with_helm
def test_a_chart_within_a_chart_and_a_library_are_not_rendered_alone() -> None:
    files = {
        **{
            f"charts/app/charts/inner/{name.removeprefix('charts/app/')}": text
            for name, text in FILES.items()
        },
        "lib/Chart.yaml": CHART + "type: library\n",
        "lib/templates/_a.tpl": HELPERS,
    }
    charts = rendered_charts([GivenFile(name, text) for name, text in (FILES | files).items()])

    assert {each.chart for each in charts.rendered} == {"charts/app"}


def test_without_helm_one_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    both = FILES | {name.replace("app", "two", 1): text for name, text in FILES.items()}
    notes = [each for each in found(both) if "no helm is on PATH" in each[3]]

    assert [each[:2] for each in notes] == [("GPU1003", "charts/app/Chart.yaml")]


def test_helm_is_given_a_copy_and_no_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told by a helm that writes down how it is called."""
    room = tmp_path / "bin"
    room.mkdir()
    helm = room / "helm"
    helm.write_text(
        f'#!/bin/sh\n/usr/bin/env > {room}/env\necho "$@" > {room}/args\n', encoding="utf-8"
    )
    helm.chmod(helm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{room}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of the caller")
    monkeypatch.setenv("HELM_PLUGINS", "/plugins/of/the/caller")
    rendered_charts([GivenFile(name, text) for name, text in FILES.items()])
    told = (room / "env").read_text(encoding="utf-8")
    words = (room / "args").read_text(encoding="utf-8").split()

    assert "of the caller" not in told
    assert "/plugins/of/the/caller" not in told
    assert "HELM_NO_PLUGINS=1" in told
    assert words[0] == "template"
    assert "--dependency-update=false" in words
    assert str(tmp_path / "charts") not in " ".join(words)


def test_a_helm_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helm = tmp_path / "helm"
    helm.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    helm.chmod(helm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("eks_gpushare.lint.rendered_charts._SECONDS", 0.2)
    charts = rendered_charts([GivenFile(name, text) for name, text in FILES.items()])

    assert "timed out" in charts.rendered[0].problem


EXPORTER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: "{{ .Release.Name }}-dcgm-exporter", namespace: "{{ .Release.Namespace }}"}
spec:
  selector: {matchLabels: {app: dcgm-exporter}}
  template:
    metadata: {labels: {app: dcgm-exporter}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers:
        - name: exporter
          image: nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless
          args: {{ .Values.arguments | toJson }}
          resources: {limits: {memory: 1Gi}}
"""
VALUES_OF_EXPORTER = """\
image:
  repository: nvcr.io/nvidia/k8s/dcgm-exporter
  tag: 4.5.3-4.8.2-distroless
arguments: ["-f", "/etc/dcgm-exporter/default-counters.csv"]
serviceMonitor: {enabled: true}
kubeletPath: /var/lib/kubelet/pod-resources
customMetrics: ""
"""


@with_helm
@pytest.mark.parametrize(("beside", "engines"), [(False, False), (True, True)])
def test_what_a_chart_makes_is_not_there_again_by_its_values(
    *, beside: bool, engines: bool
) -> None:
    files = {
        "exporter/Chart.yaml": "apiVersion: v2\nname: dcgm-exporter\nversion: 4.8.2\n",
        "exporter/values.yaml": VALUES_OF_EXPORTER,
        "exporter/templates/daemonset.yaml": EXPORTER,
    }
    if beside:
        text = EXPORTER.replace("{{ .Release.Name }}", "own")
        text = text.replace("{{ .Release.Namespace }}", "default")
        files["exporter/templates/second.yaml"] = text

    assert ("GPU1187" in {code for code, *_ in found(files)}) is engines


SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: server, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model, m]
          resources: {{ RESOURCES }}
"""


@with_helm
@pytest.mark.parametrize(
    ("resources", "wrong"),
    [(".Values.resources | toJson", False), ('"{}"', True)],  # by those who install it, or nobody
)
def test_what_a_chart_leaves_empty_is_not_known(resources: str, *, wrong: bool) -> None:
    files = {
        "server/Chart.yaml": CHART,
        "server/values.yaml": "resources: {}\n",
        "server/templates/server.yaml": SERVER.replace("RESOURCES", resources),
    }

    assert ("GPU1238" in {code for code, *_ in found(files)}) is wrong
