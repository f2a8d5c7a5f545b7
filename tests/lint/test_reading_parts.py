"""What a reading makes of each kind of file, and to which file what is found is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.findings.finding import Position
from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import Release, Workload
from eks_gpushare.inventory.problem import NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint import reading as of_reading
from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.reading import Reading
from eks_gpushare.lint.rendered_charts import ChartValues, RenderedChart, RenderedCharts
from eks_gpushare.lint.stack_side import read_stack
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.inventory.problem import Judgement
    from eks_gpushare.lint.report import FileReport

RULE = Rule("GPU1999", "warning", "A rule.", "Why.", "https://example.com")
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "main", "image": "app"}]},
}


def lists(levels: int) -> Any:
    value: Any = POD
    for _ in range(levels):
        value = {"apiVersion": "v1", "kind": "List", "items": [value]}
    return value


def reported(*files: GivenFile) -> list[FileReport]:
    return list(lint_files(files))


def told(report: FileReport) -> list[tuple[str, str]]:
    return [(each.code, each.severity) for each in report.findings]


# --- of Terraform and of charts ------------------------------------------------------------------

TAKEN = ["File of Terraform", "Kubernetes Pod"]
MANIFEST = 'resource "kubectl_manifest" "a" {\n  yaml_body = file("a.yaml")\n}\n'


def test_files_that_are_judged_with_others_are_named_so() -> None:
    main, taken, values = reported(
        GivenFile("nowhere/main.tf", MANIFEST),
        GivenFile("nowhere/a.yaml", json.dumps(POD)),
        GivenFile("nowhere/more.tfvars", "a = 1\n"),
    )

    assert (list(main.kinds), list(taken.kinds)) == (["Terraform"], TAKEN)
    assert list(values.kinds) == ["Terraform"]
    assert [told(each) for each in (main, taken, values)] == [[], [], []]


def test_what_cannot_be_read_of_hcl_is_a_note() -> None:
    (report,) = reported(GivenFile("nowhere/main.tf", "locals {\n  a = [1, 2\n}\n"))

    assert {code for code, _ in told(report)} == {"GPU1001"}


@pytest.mark.parametrize(("levels", "pods"), [(3, 1), (4, 0)])
def test_how_deep_what_others_make_is_read(levels: int, pods: int) -> None:
    files = [
        GivenFile("nowhere/main.tf", MANIFEST),
        GivenFile("nowhere/a.yaml", json.dumps(lists(levels))),
    ]
    assert len(read_files(files).items) == pods
    reading = Reading()
    made = Document("app/templates/a.yaml", lists(levels), lambda _: Position(1, 1))
    reading.add_chart(RenderedChart("app", ChartValues(""), (made,)))
    assert len(reading.items) == pods


def test_why_a_chart_is_not_rendered_is_told_of_the_chart() -> None:
    reading = Reading(charted=RenderedCharts(templates={"app/templates/a.yaml"}))
    reading.add(GivenFile("app/Chart.yaml", "apiVersion: v2\nname: a\n"))
    reading.add(GivenFile("app/templates/a.yaml", "{{ of helm }}"))
    reading.add_chart(RenderedChart("app", ChartValues("")))
    chart, template = reading.reports()
    assert (list(template.kinds), told(template)) == (["Helm template"], [])
    before = told(chart)
    reading.add_chart(RenderedChart("app", ChartValues(""), problem="no values"))
    assert told(reading.reports()[0]) == sorted([*before, ("GPU1003", "info")])


# --- of YAML -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "in_folder", "code", "severity", "readable"),
    [
        ("a: \x07\n", True, "GPU1001", "info", True),
        ("a: \x07\n", False, "GPU1000", "error", False),
        ("apiVersion: \x07\n", True, "GPU1000", "error", False),
        ("a: ]\n", True, "GPU1001", "info", True),
        ("a: ]\n", False, "GPU1000", "error", False),
        ("apiVersion: ]\n", True, "GPU1000", "error", False),
        ("a: {b: 1, b: 2}\n", True, "GPU1002", "info", True),
        ("a: {b: 1, b: 2}\n", False, "GPU1002", "warning", True),
    ],
)
def test_of_files_that_nobody_named_less_is_said(
    text: str, in_folder: bool, code: str, severity: str, readable: bool
) -> None:
    (report,) = reported(GivenFile("a.yaml", text, in_folder=in_folder))

    assert (code, severity) in told(report)
    assert report.readable is readable


def test_a_key_that_is_there_twice_is_told_of_what_is_known() -> None:
    text = json.dumps(POD)[:-1] + ', "a": 1, "a": 2}'
    (report,) = reported(GivenFile("a.yaml", text, in_folder=True))

    assert ("GPU1002", "warning") in told(report)


def test_one_of_several_that_cannot_be_read_is_enough() -> None:
    text = "a: {b: 1, b: 2}\nc: ]\n"
    (report,) = reported(GivenFile("a.yaml", text))

    assert not report.readable


@pytest.mark.parametrize(
    ("own", "together", "texts", "beyond"),
    [
        (3, 3, ["[a, b, c, d]"], []),
        (9, 3, ["[a, b, c, d]"], [0]),
        (9, 3, ["[a, b]", "a"], [1]),
        (9, 4, ["[a, b]", "a"], []),
    ],
)
def test_keys_and_values_have_a_bound_of_one_and_of_all(
    own: int,
    together: int,
    texts: list[str],
    beyond: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of_reading, "MAX_ITEMS", own)
    monkeypatch.setattr(of_reading, "MOST_ITEMS", together)
    reports = reported(*(GivenFile(f"{n}.yaml", text) for n, text in enumerate(texts)))

    found = [
        number
        for number, report in enumerate(reports)
        if any("belong together" in each.message for each in report.findings)
    ]
    assert found == beyond
    alone = len(texts) == 1  # of several, what is beyond is read by itself
    unread = (beyond or [0] * (own < 4)) if alone else []
    assert [n for n, each in enumerate(reports) if not each.readable] == unread


# --- of values -----------------------------------------------------------------------------------


def releases(reading: Reading) -> list[str]:
    return [each.chart for each in reading.items if isinstance(each, Release)]


def test_values_are_of_the_chart_that_a_command_names() -> None:
    reading = Reading(charts={"a.yaml": "gpu-operator", "b.md": "gpu-operator"})
    reading.add(GivenFile("a.yaml", "mig: {strategy: single}\n"))
    reading.add(GivenFile("b.md", f"```yaml\n{json.dumps(POD)}\n```\n"))
    assert releases(reading) == ["gpu-operator"]
    assert len([each for each in reading.items if isinstance(each, Workload)]) == 1
    other = Reading(charts={"a.yaml": "gpu-operator"})
    other.add(GivenFile("a.yaml", "[1, 2]\n"))
    assert told(other.reports()[0]) == [("GPU1001", "info")]


# --- scopes --------------------------------------------------------------------------------------


def two(**given: Any) -> Reading:
    reading = Reading(**given)
    for name in ("a/a.yaml", "b/b.yaml"):
        reading.add(GivenFile(name, json.dumps(POD)))
    return reading


def test_files_are_together_by_what_joins_them_or_by_what_is_said() -> None:
    assert len(two().scopes()) == 2
    assert len(two(against=True).scopes()) == 1
    assert len(two(declared=Declared(together=True)).scopes()) == 1
    assert len(two(declared=Declared(together=False)).scopes()) == 2


def test_a_stack_makes_all_files_those_of_its_cluster() -> None:
    reading = two()
    reading.hold_against(read_stack(STACK))

    assert len(reading.scopes()) == 1


STACK = Path("stacks/Pulumi.time-slicing.yaml")


# --- where it is said ----------------------------------------------------------------------------


def problem(document: Document | None, **given: Any) -> Problem:
    made = Problem(RULE, Source("it", document), ("kind",), "It is wrong.", "Mend it.")
    return replace(made, **given)


def test_what_is_found_is_told_of_its_file() -> None:
    reading = two()
    second = reading.items[1].source.document
    reading.place(problem(second))
    reading.place(NotSeen(RULE, Source("it", second), "its name"))
    reading.place(problem(None))
    first, other = reading.reports()

    assert [each.path for each in first.findings] == [""]
    assert {each.path for each in other.findings} == {"kind", ""}
    assert [
        each.position and each.position.column for each in other.found if each.finding.path
    ] != [1]


def test_kinds_are_told_of_objects_alone() -> None:
    values = "# Values of nvidia-device-plugin\nconfig: {map: {default: 'version: v1'}}\n"
    pod, other = reported(GivenFile("a.yaml", json.dumps(POD)), GivenFile("b.yaml", values))

    assert list(pod.kinds) == ["Kubernetes Pod"]
    assert len(other.kinds) == 1
    assert "None" not in next(iter(other.kinds))


def test_a_patch_is_named_so_and_judged_with_its_object() -> None:
    kustomization = "resources: [a.yaml]\npatches: [{path: p.yaml}]\n"
    patch = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"b": "c"}}}
    *_, found = reported(
        GivenFile("o/kustomization.yaml", kustomization),
        GivenFile("o/a.yaml", json.dumps(POD)),
        GivenFile("o/p.yaml", json.dumps(patch)),
    )

    assert (list(found.kinds), told(found)) == (["Kustomize patch"], [])


def test_only_node_classes_are_such() -> None:
    of_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "a"},
        "spec": {},
    }
    files = [GivenFile("a.yaml", json.dumps(POD)), GivenFile("b.yaml", json.dumps(of_class))]

    assert [each.file for each in read_files(files).classes] == ["b.yaml"]


def test_of_an_object_that_cannot_be_read_it_is_known_that_it_is_there() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: it\ndata:\n  {{- if .a }}\n  a: ] b\n"
    )
    (found,) = read_files([GivenFile("a.yaml", text)]).items

    assert found.name == "it"


@edge(RULE)
def each_release_is_wrong(inventory: Inventory) -> Iterator[Judgement]:
    for each in inventory.of(Release):
        yield Problem(RULE, each.source, (), "It is wrong.", "Mend it.")


def test_values_that_nothing_takes_with_others_are_judged_by_themselves() -> None:
    reading = Reading()
    reading.add(GivenFile("a.yaml", "# Values of nvidia-device-plugin\nconfig: {name: a}\n"))
    reading.judge([each_release_is_wrong])

    assert RULE.id in {each.code for each in reading.reports()[0].findings}
