"""Charts of one's own: rendered by helm, with the values that are there, and found in templates."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint import rendered_charts as of_helm
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.rendered_charts import (
    ChartValues,
    RenderedChart,
    RenderedCharts,
    rendered_charts,
    told_by_values,
)
from eks_gpushare.lint.rendered_lines import TemplateLines
from eks_gpushare.manifests.document import Document
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


def test_a_chart_may_be_what_the_call_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder itself is told of beside its files, and is none of them."""
    helm = tmp_path / "bin" / "helm"
    helm.parent.mkdir()
    helm.write_text("#!/bin/sh\nls $3 >&2\nexit 1\n", encoding="utf-8")
    helm.chmod(helm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{helm.parent}{os.pathsep}{os.environ['PATH']}")
    top = [GivenFile(name.removeprefix("charts/app/"), text) for name, text in FILES.items()]
    (made,) = rendered_charts([*top, GivenFile(".", "")]).rendered

    assert made.problem == "Chart.yaml"


def test_a_helm_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helm = tmp_path / "helm"
    helm.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    helm.chmod(helm.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("eks_gpushare.lint.rendered_charts._SECONDS", 0.2)
    charts = rendered_charts([GivenFile(name, text) for name, text in FILES.items()])

    assert "timed out" in charts.rendered[0].problem


# --- with a helm that writes down what it is given -----------------------------------------------

PRINTED = """\
---
# Source: app/templates/a.yaml
apiVersion: v1
kind: Pod
metadata:
  name: a
---
# Source: app/templates/b.yaml
apiVersion: v1
kind: Pod
metadata:
  name: b
"""
HELM = """\
#!/bin/sh
release=$2 chart=$3 space=$5
shift 5
given=
while [ $# -gt 0 ]; do
  if [ "$1" = --values ]; then given="$given$(cat "$2")|"; shift; fi
  shift
done
files=$(cd "$chart" && find . -type f | sort | tr '\\n' ' ')
echo "$release $space $given $files" >> ROOM/calls
cat ROOM/printed
cat ROOM/errors >&2
exit $(cat ROOM/code)
"""


@dataclass
class Helm:
    """What it prints, and what it was given."""

    room: Path

    def prints(self, text: str, errors: str = "", code: int = 0) -> None:
        for name, each in (("printed", text), ("errors", errors), ("code", str(code))):
            (self.room / name).write_text(each, encoding="utf-8")

    @property
    def calls(self) -> list[str]:
        file = self.room / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Helm:
    room = tmp_path / "of_helm"
    room.mkdir()
    file = room / "helm"
    file.write_text(HELM.replace("ROOM", str(room)), encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{room}{os.pathsep}/usr/bin{os.pathsep}/bin")
    made = Helm(room)
    made.prints(PRINTED)
    return made


def given(files: Mapping[str, str]) -> list[GivenFile]:
    return [GivenFile(name, text) for name, text in files.items()]


SMALL = {"app/Chart.yaml": CHART, "app/templates/a.yaml": "kind: Pod\n"}
OF_SMALL = "./Chart.yaml ./templates/a.yaml "
AT_TOP = {name.removeprefix("app/"): text for name, text in SMALL.items()}


def within(folder: str, **more: str) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in (AT_TOP | more).items()}


@pytest.mark.parametrize(
    ("files", "charts"),
    [
        (SMALL, ["app"]),
        (AT_TOP, [""]),
        (SMALL | within("app/charts/inner"), ["app"]),
        (AT_TOP | within("charts/inner"), [""]),
        (SMALL | within("app/other"), ["app", "app/other"]),
        (AT_TOP | within("other"), ["", "other"]),
        ({"app/Chart.yaml": CHART}, []),
        ({"Chart.yaml": CHART}, []),
        ({"app/Chart.yml": CHART, "app/templates/a.yaml": ""}, []),
        (SMALL | {"app/Chart.yaml": f"{CHART}type: library\n"}, []),
        (SMALL | {"app/Chart.yaml": f'{CHART}type: "library"\n'}, []),
        (SMALL | {"app/Chart.yaml": f"{CHART}type: application\n"}, ["app"]),
    ],
)
def test_which_charts_are_rendered(files: dict[str, str], charts: list[str], helm: Helm) -> None:
    made = rendered_charts(given(files))

    assert [each.chart for each in made.rendered] == charts
    assert len(helm.calls) == len(charts)
    assert made.without_helm == ""


def test_a_chart_that_cannot_be_read_is_none(helm: Helm) -> None:
    bad = [GivenFile("app/Chart.yaml", CHART, problem="it is gone"), *given(SMALL)[1:]]

    assert rendered_charts(bad).rendered == []
    assert helm.calls == []


def test_templates_of_what_was_rendered_are_no_files_of_their_own(helm: Helm) -> None:
    files = {**SMALL, "app/values.yaml": "a: 1\n", "appendix/templates/a.yaml": ""}
    made = rendered_charts(given(files))
    assert made.templates == {"app/templates/a.yaml"}
    assert made.files == {"app": {"app/Chart.yaml", "app/templates/a.yaml", "app/values.yaml"}}
    assert rendered_charts(given(AT_TOP)).templates == {"templates/a.yaml"}
    helm.prints("", "WARNING: of no interest\n\nError: it is broken\nmore\n", 1)
    made = rendered_charts(given(SMALL))
    assert (made.templates, made.contents) == (set(), {})
    assert [each.problem for each in made.rendered] == ["Error: it is broken"]
    helm.prints("", "E" * 400, 1)
    assert [each.problem for each in rendered_charts(given(SMALL)).rendered] == ["E" * 300]
    helm.prints("", "WARNING: of no interest\n", 1)
    assert [e.problem for e in rendered_charts(given(SMALL)).rendered] == [
        "it ended without a word"
    ]


def test_what_is_printed_is_of_the_template_that_it_names(helm: Helm) -> None:
    (made,) = rendered_charts(given({**SMALL, "app/templates/b.yaml": "\nkind: Pod\n"})).rendered

    assert [(each.file, each.value["metadata"]["name"]) for each in made.documents] == [
        ("app/templates/a.yaml", "a"),
        ("app/templates/b.yaml", "b"),
    ]
    assert [each.position(("kind",)).line for each in made.documents] == [1, 2]
    assert {each.build for each in made.documents} == {"app with its own values"}
    assert not any(each.editable for each in made.documents)
    helm.prints("apiVersion: v1\nkind: Pod\n")
    assert rendered_charts(given(SMALL)).rendered[0].documents == ()


PROD = "gpus: 2"


@pytest.mark.parametrize(
    ("name", "is_tried"),
    [
        ("app/values.yaml", False),
        ("app/values-prod.yaml", True),
        ("app/values.prod.yml", True),
        ("app/prod-values.YAML", True),
        ("app/other.yaml", False),
        ("values-prod.yaml", False),
        ("app/more/values-prod.yaml", False),
    ],
)
def test_files_of_values_beside_the_chart_are_tried(name: str, is_tried: bool, helm: Helm) -> None:
    rendered_charts(given({**SMALL, name: PROD}))

    own, *tried = [call.split(" ./")[0].strip() for call in helm.calls]
    assert own == "release default"
    assert tried == (["release default gpus: 2|"] if is_tried else [])


def application(name: str = "prod", source: str = "", more: str = "") -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}}}
spec:
  destination: {{namespace: ml}}
  {source or "source: {path: app, helm: {valueFiles: [values-prod.yaml], values: 'gpus: 3'}}"}
{more}"""


def flux(chart: str = "./app", more: str = ", values: {gpus: 4}") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: prod, namespace: ml}}
spec: {{chart: {{spec: {{chart: {chart}}}}}{more}}}
"""


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        (application(), ["prod ml gpus: 2|gpus: 3|"]),
        (application("Prod"), ["release ml gpus: 2|gpus: 3|"]),
        (application(f"{'a' * 53}"), [f"{'a' * 53} ml gpus: 2|gpus: 3|"]),
        (application(f"{'a' * 54}"), ["release ml gpus: 2|gpus: 3|"]),
        (application(source="source: {path: ./app/}"), ["prod ml"]),
        (application(source="sources: [{path: app}, {chart: b}]"), ["prod ml"]),
        (application(source="source: {path: app, helm: {values: 'a: {{ b }}'}}"), ["prod ml"]),
        (application(source="source: {path: app, helm: {valueFiles: [none.yaml]}}"), ["prod ml"]),
        (application(source="source: {path: app, helm: {valueFiles: [{a: b}]}}"), ["prod ml"]),
        (application(source="source: {path: 1}"), []),
        (application(source="source: {path: pp}"), []),
        (application(source="source: {path: other}"), []),
        (application(source="source: {path: .}"), []),
        (application(source="source: {path: app}").replace("namespace: ml", ""), ["prod default"]),
        (application().replace("kind: Application", "kind: AppProject"), []),
        (application().replace("argoproj.io/", "example.com/"), []),
        (flux(), ['prod ml {"gpus": 4}|']),
        (flux(more=""), ["prod ml"]),
        (flux("app"), []),
        (flux("[./app]"), []),
        (flux(more="").replace(", namespace: ml", ""), ["prod default"]),
        (flux().replace("kind: HelmRelease", "kind: HelmChart"), []),
        (flux().replace("helm.toolkit.fluxcd.io/", "example.com/"), []),
    ],
)
def test_values_are_those_that_something_installs_it_with(
    text: str, tried: list[str], helm: Helm
) -> None:
    files = {**SMALL, "app/values-prod.yaml": PROD, "of_it.yaml": text}
    rendered_charts(given(files))

    own, *found = [call.split(" ./")[0].strip() for call in helm.calls]
    beside = [] if "gpus: 2" in "".join(tried) else ["release default gpus: 2|"]
    assert [own, *found] == ["release default", *tried, *beside]


def test_a_chart_lies_at_the_end_of_the_path_in_its_repository(helm: Helm) -> None:
    text = application(source="source: {path: app}")
    rendered_charts(given({**within("repository/app"), "a.yaml": text}))

    assert [call.split()[0] for call in helm.calls] == ["release", "prod"]


def test_a_copy_has_what_is_given_and_what_lies_there(helm: Helm, tmp_path: Path) -> None:
    for name in ("app/files/a.txt", "app/.git/b.txt", "app/templates/a.yaml", "other/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a", encoding="utf-8")
    (tmp_path / "app/link.txt").symlink_to(tmp_path / "other/c.txt")
    rendered_charts(
        given({"app/Chart.yaml": CHART, "apple/a.yaml": "", "app/templates/n.yaml": ""})
    )

    (call,) = helm.calls
    assert call.split()[2:] == [
        *("./Chart.yaml", "./files/a.txt", "./templates/a.yaml", "./templates/n.yaml")
    ]


def test_templates_that_nobody_gave_are_of_the_chart(helm: Helm, tmp_path: Path) -> None:
    (tmp_path / "app/templates").mkdir(parents=True)
    (tmp_path / "app/templates/a.yaml").write_text("", encoding="utf-8")

    assert len(rendered_charts(given({"app/Chart.yaml": CHART})).rendered) == 1
    assert helm.calls == [f"release default  {OF_SMALL}"]


@pytest.mark.parametrize(("most", "problem"), [(3, ""), (2, "the chart is larger than 2 bytes")])
def test_a_large_chart_is_not_copied(
    most: int, problem: str, helm: Helm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_helm, "_MOST_BYTES", most)
    (tmp_path / "app").mkdir()
    (tmp_path / "app/a.txt").write_text("abc", encoding="utf-8")
    (made,) = rendered_charts(given(SMALL)).rendered

    assert (made.problem, len(helm.calls)) == (problem, 0 if problem else 1)


def test_helm_has_no_more_of_the_environment_than_is_there(
    helm: Helm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANG", raising=False)
    rendered_charts(given(SMALL))

    assert len(helm.calls) == 1


@pytest.mark.parametrize(
    ("text", "template", "lines"),
    [
        ("a: 1\nb: 2", "a: {{ .a }}\nb: 2", [1, 2]),
        ("a: 1\nb: 2", "{{ if a }}\na: 1\n{{ end }}\nb: 2", [2, 4]),
        ("a:\n  - x: 1\n  - x: 2", "a:\n{{ range }}\n  - x: {{ . }}\n{{ end }}", [1, 3, 3]),
        ("\nb: 2", "{{/* of it */}}\n\nb: 2", [1, 3]),
        ("b: 2", "a: 1\n\nc: 3", [1]),
        ("- a\n- b", "- b\n- a", [2, 2]),
        ("x: 1\n" * 250 + "z: 1", "y: 1\n" + "x: 1\n" * 250 + "w: 1", list(range(2, 252))),
    ],
)
def test_lines_are_those_of_the_template_that_are_alike(
    text: str, template: str, lines: list[int]
) -> None:
    of_text = TemplateLines(text, template)
    places = [of_text.place(Position(line, 7)) for line in range(1, len(lines) + 1)]

    assert places == [Position(line, 1) for line in lines]


def test_a_line_behind_the_last_is_the_last() -> None:
    assert TemplateLines("a: 1\nb: 2", "\na: 1\nb: 2").place(Position(9, 1)) == Position(3, 1)


RULE = Rule("GPU1999", "warning", "A rule.", "Why.", "https://example.com")
CHARTS = RenderedCharts(
    [RenderedChart("app", ChartValues(name)) for name in ("", "values-a.yaml", "values-b.yaml")]
)


def problem(build: str, *, said: str = "It is wrong.", line: int = 1, rule: Rule = RULE) -> Problem:
    made = Document("a.yaml", {}, lambda _: Position(line, 1), build=build)
    return Problem(rule, Source("it", made), (), said, "Mend it.")


OWN, OF_A, OF_B = (chart.build for chart in CHARTS.rendered)
OTHER = Rule("GPU1998", "warning", "A rule.", "Why.", "https://example.com")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([problem(OWN)], ["It is wrong."]),
        ([problem(OWN), problem(OF_A)], ["It is wrong."]),
        ([problem(OF_A)], ["It is wrong. With values-a.yaml."]),
        (
            [problem(OF_A), problem(OF_B), problem(OF_A)],
            ["It is wrong. With values-a.yaml and values-b.yaml."],
        ),
        ([problem(OF_A), problem(OF_A, line=2)], ["It is wrong. With values-a.yaml."] * 2),
        ([problem(OF_A), problem(OF_A, rule=OTHER)], ["It is wrong. With values-a.yaml."] * 2),
        (
            [problem(OF_A), problem(OWN, said="It is worse.")],
            ["It is wrong. With values-a.yaml.", "It is worse."],
        ),
        ([problem(""), problem("")], ["It is wrong."] * 2),
        ([problem("a kustomization")], ["It is wrong."]),
        ([Problem(RULE, Source("it"), (), "Of a stack.", "Mend it.")], ["Of a stack."]),
    ],
)
def test_what_all_values_have_is_told_once(found: list[Problem], told: list[str]) -> None:
    judgements = told_by_values(found, CHARTS)

    assert [each.message for each in judgements if isinstance(each, Problem)] == told


def test_what_could_not_be_decided_is_told_as_it_is() -> None:
    unseen = NotSeen(RULE, problem(OF_A).source, "its limits")

    assert told_by_values([unseen, unseen], CHARTS) == [unseen, unseen]


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


NODES = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  role: a
  amiSelectorTerms: [{alias: al2023@v20260714}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: {{ .Values.cluster | quote }}
"""


@with_helm
@pytest.mark.parametrize("given", ["", "ml"])
def test_a_text_that_is_empty_in_a_charts_own_values_is_to_be_filled_in(given: str) -> None:
    files = {
        "nodes/Chart.yaml": CHART,
        "nodes/values.yaml": f'cluster: "{given}"\n',
        "nodes/templates/class.yaml": NODES,
    }

    assert "GPU1053" not in {code for code, *_ in found(files)}
    files["nodes/values-prod.yaml"] = 'cluster: ""\n'
    assert "GPU1053" in {code for code, *_ in found(files)}
    del files["nodes/values-prod.yaml"]
    files["nodes/templates/class.yaml"] = NODES.replace("{{ .Values.cluster | quote }}", '""')
    assert "GPU1053" in {code for code, *_ in found(files)}


@with_helm
def test_a_chart_is_for_a_cluster_of_today() -> None:
    version = (
        '{{ if semverCompare ">=1.33-0" .Capabilities.KubeVersion.Version }}batch/v1{{ else }}'
    )
    job = f"apiVersion: {version}batch/v1beta1{{{{ end }}}}\nkind: CronJob\nmetadata: {{name: a}}\n"
    job += (
        "spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {containers: [GPU]}}}}}"
    )
    gpu = '{name: a, image: "a:1", resources: {limits: {nvidia.com/gpu: 1}}}'
    files = {"a/Chart.yaml": CHART, "a/templates/job.yaml": job.replace("GPU", gpu)}

    assert "GPU1007" not in {code for code, *_ in found(files)}
