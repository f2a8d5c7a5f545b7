"""Charts that applications of an ApplicationSet install by its parameters, with their values."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from eks_gpushare.inventory.items import Release
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.beside import named_values
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.manifests.files import GivenFile

HERE = {"server": "https://kubernetes.default.svc", "namespace": "{{.space}}"}
CHARTS = (
    {"name": "metrics", "space": "watch", "chart": "kube-prometheus-stack", "version": "79.5.0"},
    {"name": "exporter", "space": "watch", "chart": "dcgm-exporter", "version": "4.8.2"},
)


def application_set(
    elements: Any = CHARTS,
    *,
    to: dict[str, str] | None = None,
    chart: str = "{{.chart}}",
    files: Any = ("$here/values/{{.name}}.yaml",),
    **helm: Any,
) -> str:
    told = {"valueFiles": list(files), **helm}
    source = {"repoURL": "https://example.com", "chart": chart, "targetRevision": "{{.version}}"}
    own = {"repoURL": "https://git.example.com/a.git", "ref": "here"}
    template = {
        "metadata": {"name": "{{.name}}"},
        "spec": {"sources": [{**source, "helm": told}, own], "destination": to or HERE},
    }
    return yaml.safe_dump(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "ApplicationSet",
            "metadata": {"name": "charts"},
            "spec": {
                "goTemplate": True,
                "generators": [{"list": {"elements": list(elements)}}],
                "template": template,
            },
        }
    )


def installed(made: str, **files: str) -> list[tuple[Any, ...]]:
    """Each release by chart, name, namespace, version and whether its values are known."""
    given = [GivenFile("argocd/set.yaml", made)]
    given += [GivenFile(f"values/{name}.yaml", text) for name, text in files.items()]
    return [
        (each.chart, each.name, each.namespace, each.version, each.values is not UNKNOWN)
        for each in read_files(given).items
        if isinstance(each, Release)
    ]


METRICS = ("kube-prometheus-stack", "metrics", "watch", "79.5.0")
EXPORTER = ("dcgm-exporter", "exporter", "watch", "4.8.2")


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (application_set(), [(*METRICS, False), (*EXPORTER, False)]),
        (application_set(files=()), [(*METRICS, True), (*EXPORTER, True)]),
        (application_set(CHARTS[1:]), [(*EXPORTER, False)]),
        (
            application_set(CHARTS[1:], releaseName="of-{{.name}}"),
            [("dcgm-exporter", "of-exporter", "watch", "4.8.2", False)],
        ),
        (
            application_set(CHARTS[1:], to={**HERE, "namespace": "gpu"}),
            [("dcgm-exporter", "exporter", "gpu", "4.8.2", False)],
        ),
        # Of several clusters it is not known which is meant.
        (application_set(to={"name": "{{.cluster}}"}), []),
        (application_set(to={"server": "{{.server}}"}), []),
        (application_set([{"name": "exporter"}]), []),
        (application_set([{**CHARTS[1], "chart": "of-our-own"}]), []),
        (
            application_set(chart="dcgm-exporter", files=()),
            [("dcgm-exporter", "charts", UNKNOWN, UNKNOWN, True)],
        ),
    ],
)
def test_each_application_is_a_release_of_its_own(made: str, found: list[Any]) -> None:
    assert installed(made) == found


def test_each_has_the_file_that_is_called_by_its_parameters() -> None:
    assert installed(application_set(), metrics="a: 1\n", exporter="b: 1\n") == [
        (*METRICS, True),
        (*EXPORTER, True),
    ]
    # The file of one that is there, and none of the other.
    assert installed(application_set(), exporter="b: 1\n") == [(*METRICS, False), (*EXPORTER, True)]


def test_nothing_is_corrected_in_what_several_applications_are_made_of() -> None:
    read = read_files([GivenFile("argocd/set.yaml", application_set())])
    releases = [each for each in read.items if isinstance(each, Release)]

    assert [each.source.document.editable for each in releases] == [False, False]


def named(made: str, *others: str, name: str = "argocd/set.yaml") -> list[tuple[str, Any]]:
    files = [GivenFile(name, made), *(GivenFile(each, "a: 1\n") for each in others)]
    return [(each.name, each.values) for each in named_values(files).installs]


@pytest.mark.parametrize(("version", "known"), [("4.8.2", True), ("", False), (4, False)])
def test_values_are_of_the_version_that_an_element_names(version: Any, known: bool) -> None:
    made = application_set([{**CHARTS[1], "version": version}])
    files = [GivenFile("argocd/set.yaml", made), GivenFile("values/exporter.yaml", "a: 1\n")]

    told = {"values/exporter.yaml": version} if known else {}
    assert named_values(files).versions == told
    assert named_values(files).charts == {"values/exporter.yaml": "dcgm-exporter"}


@pytest.mark.parametrize("top", ["", "deep/", "/srv/a/"])
def test_a_file_is_looked_for_from_wherever_its_repository_begins(top: str) -> None:
    metrics, exporter = f"{top}values/metrics.yaml", f"{top}values/exporter.yaml"

    assert named(application_set(), metrics, exporter) == [
        ("metrics", (metrics,)),
        ("exporter", (exporter,)),
    ]
    # Of two it is not known which is meant.
    assert named(application_set(), exporter, f"other/{exporter.lstrip('/')}") == []


@pytest.mark.parametrize(
    ("files", "values"),
    [
        (("$here/values/all.yaml", "$here/values/{{.name}}.yaml"), ("all", "exporter")),
        (("$here/./values/{{.name}}.yaml",), ("exporter",)),
        (("values/{{.name}}.yaml",), None),
        (("$here/values/{{.name}}.yaml", "values.yaml"), None),
        (("$here/values/{{.other}}.yaml",), None),
        ((), None),
    ],
)
def test_all_files_are_those_of_another_source(
    files: tuple[str, ...], values: tuple[str, ...] | None
) -> None:
    found = named(
        application_set(CHARTS[1:], files=files), "values/all.yaml", "values/exporter.yaml"
    )

    told = [] if values is None else [("exporter", tuple(f"values/{each}.yaml" for each in values))]
    assert found == told


def test_a_guide_shows_a_set_and_nothing_more() -> None:
    assert named(application_set(), "values/metrics.yaml", name="docs/set.md") == []
    other = application_set([{**CHARTS[1], "chart": "of-our-own"}])
    assert named(other, "values/exporter.yaml") == []
    one = application_set(CHARTS[1:]).replace("ApplicationSet", "Application")
    assert named(one, "values/exporter.yaml") == []


@pytest.mark.parametrize(
    ("label", "prometheus", "told"),
    [
        ("release: kube-prometheus-stack", "retention: 30d", True),
        ("release: metrics", "retention: 30d", False),
        ("release: other", "serviceMonitorSelectorNilUsesHelmValues: false", False),
    ],
)
def test_monitors_are_selected_by_the_name_that_an_element_gives(
    label: str, prometheus: str, told: bool
) -> None:
    files = {
        "argocd/set.yaml": application_set(),
        "values/metrics.yaml": f"prometheus: {{prometheusSpec: {{{prometheus}}}}}\n",
        "values/exporter.yaml": (
            f"serviceMonitor: {{enabled: true, additionalLabels: {{{label}}}}}\n"
        ),
    }
    reports = lint_files([GivenFile(*each) for each in files.items()])
    found = [each.code for report in reports for each in report.findings]

    assert ("GPU1393" in found) is told
