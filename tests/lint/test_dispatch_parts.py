"""Which files are read as what, how deep, and what is said of those that are not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare.findings.rule import Rule
from eks_gpushare.inventory.items import Workload
from eks_gpushare.inventory.problem import Edit, Judgement, NotSeen, Problem
from eks_gpushare.inventory.registry import edge
from eks_gpushare.inventory.source import Source
from eks_gpushare.lint import reading
from eks_gpushare.lint.declared import Declared
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.reading import Reading
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.inventory.inventory import Inventory
    from eks_gpushare.lint.report import FileReport

RULE = Rule("GPU1999", "warning", "A rule.", "Why.", "https://example.com")
SILENCED = Rule("GPU1009", "warning", "A rule.", "Why.", "https://example.com")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "main"}]},
}
PART = "tolerations: [{key: a}]\n"


def report(name: str, text: str) -> FileReport:
    (found,) = lint_files([GivenFile(name, text)])
    return found


def said(name: str, text: str) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in report(name, text).findings]


NOTHING, NO_KIND = ("GPU1001", "It holds nothing."), ("GPU1001", "It is of no kind that is read.")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.yaml", "", [NOTHING]),
        ("a.yaml", " \n", [NOTHING]),
        ("a.yaml", "a: b\n", [NO_KIND]),
        ("a.yaml", "a: b\n---\n" + json.dumps(POD), []),
        ("a.yaml", json.dumps(POD) + "\n---\na: b\n", []),
        ("a.txt", "Nothing of it.\n", []),
        ("a.md", "Nothing of it.\n", []),
        ("a.sh", "date\n", []),
        ("notes", "Nothing of it.\n", [NO_KIND]),
        ("a.yaml", "a: {b: 1, b: 2}\n",
         [("GPU1002", "The key 'b' is already set on line 1.")]),
    ],
)  # fmt: skip
def test_what_is_said_of_a_file_that_nothing_is_known_of(
    name: str, text: str, found: list[tuple[str, str]]
) -> None:
    assert said(name, text) == found


@pytest.mark.parametrize(
    ("name", "text", "is_yaml"),
    [
        ("a.yaml", PART, True),
        ("A.YML", PART, True),
        ("a.yaml.tmpl", PART, True),
        ("-", PART, True),
        ("pod", PART, False),
        ("pod", f"---\n{PART}", True),
        ("pod", f"\n\n---\n{PART}", True),
        ("pod", json.dumps({"tolerations": [{"key": "a"}]}), True),
        ("pod", "apiVersion: v1\nkind: Pod\n", True),
        ("pod", "kind: Pod\napiVersion: v1\n", True),
        ("a.toml", f"---\n{PART}", False),
        ("A.TOML", "kind: Pod\napiVersion: v1\n", False),
    ],
)
def test_what_is_taken_for_yaml(name: str, text: str, is_yaml: bool) -> None:
    found = report(name, text)

    assert bool(found.kinds) is is_yaml
    assert (NO_KIND in [(each.code, each.message) for each in found.findings]) is not is_yaml


def test_a_file_that_cannot_be_read_is_none() -> None:
    gone, passed = lint_files([GivenFile("a", problem="it is gone"), GivenFile("b", note="why")])

    assert (gone.readable, passed.readable) == (False, True)
    assert [each.message for each in gone.findings] == ["It cannot be read: it is gone."]
    assert [each.message for each in passed.findings] == ["Why."]


def test_a_character_that_yaml_has_not_is_all_that_is_said() -> None:
    found = report("a.yaml", f"{PART}b: \x07\n")

    assert [each.code for each in found.findings] == ["GPU1000"]
    assert not found.readable


@pytest.mark.parametrize(
    ("text", "code", "readable"),
    [
        ("a: {{ b }}\n{{ c }\n", "GPU1003", True),
        ("a: b\nc: ] ${D}\n", "GPU1003", True),
        ("a: ${B}\nc: ]\n", "GPU1000", False),
        ("c: ]\na: ${B}\n", "GPU1000", False),
    ],
)
def test_what_is_a_template_and_not_yaml_yet(text: str, code: str, readable: bool) -> None:
    found = report("a.yaml", text)

    assert [each.code for each in found.findings] == [code]
    assert found.readable is readable


@pytest.mark.parametrize(
    ("text", "of_helm"),
    [
        ("a: {{ b }}\n{{ c }\n", True),
        ("a: b\nc: ] ${D}\n", False),
        ("a: <your key>: b\nc: *****\n", False),
    ],
)
def test_helm_is_named_where_it_may_be_a_template_of_its(text: str, of_helm: bool) -> None:
    (found,) = report("a.yaml", text).findings

    assert found.code == "GPU1003"
    assert ("helm template" in found.fix, "quotes" in found.fix) == (of_helm, not of_helm)


# --- how much ------------------------------------------------------------------------------------


def lists(levels: int) -> str:
    value: Any = POD
    for _ in range(levels):
        value = {"apiVersion": "v1", "kind": "List", "items": [value]}
    return json.dumps(value)


def in_markdown(levels: int) -> str:
    return f"```yaml\n{lists(levels)}\n```\n"


@pytest.mark.parametrize(
    ("name", "text", "pods"),
    [
        ("a.yaml", lists(4), 1),
        ("a.yaml", lists(5), 0),
        ("a.md", in_markdown(3), 1),
        ("a.md", in_markdown(4), 0),
    ],
)
def test_how_deep_documents_within_documents_are_read(name: str, text: str, pods: int) -> None:
    assert len(read_files([GivenFile(name, text)]).items) == pods


def test_more_documents_than_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n---\n".join([json.dumps(POD)] * 3)
    monkeypatch.setattr(reading, "_MOST_DOCUMENTS", 2)
    assert len(read_files([GivenFile("a.yaml", text)]).items) == 2
    monkeypatch.setattr(reading, "_MOST_DOCUMENTS", 0)
    assert said("a.yaml", text) == [NO_KIND]


GPUS = {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 4}}


@pytest.mark.parametrize(
    ("begins", "is_script"),
    [
        ("cat <<EOF | kubectl apply -f -", True),
        ("# Ours\n\ncat <<-'END' > a.yaml", True),
        ("cat: <<EOF", False),
        ("echo a", False),
    ],
)
def test_a_here_document_makes_a_script_of_a_file_of_any_name(
    begins: str, *, is_script: bool
) -> None:
    found = report("pod.yaml", f"{begins}\n{json.dumps(POD)}\nEOF\n")

    assert ("shell script" in found.kinds) is is_script
    assert (
        "documentation"
        in report("README.md", f"{begins}\n\n```yaml\n{json.dumps(POD)}\n```\n").kinds
    )


UNEQUAL = json.dumps({**POD, "spec": {"containers": [{"name": "main", "resources": GPUS}]}})


def beyond(
    names: str, monkeypatch: pytest.MonkeyPatch, declared: Declared | None = None
) -> tuple[FileReport, ...]:
    """What is said of files of which the first is as much as is read together."""
    size = read_texts(UNEQUAL, "a.yaml").items
    monkeypatch.setattr(reading, "MAX_ITEMS", size)
    monkeypatch.setattr(reading, "MOST_ITEMS", size)
    return lint_files([GivenFile(f"{name}.yaml", UNEQUAL) for name in names], declared=declared)


@pytest.mark.parametrize(
    ("names", "which"),
    [("ab", "This file is judged by itself"), ("abc", "This file and 1 other are judged each by")],
)
def test_what_is_too_much_to_be_read_together_is_judged_by_itself(
    names: str, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *others = beyond(names, monkeypatch)
    assert all(report.readable for report in (first, second, *others))
    assert [each.code for each in first.findings] == ["GPU1114"]
    note, *found = second.findings
    assert (note.code, note.severity) == ("GPU1000", "info")
    assert note.message.startswith(which)
    assert found == [*first.findings]
    assert [report.findings for report in others] == [first.findings] * len(others)


@pytest.mark.parametrize(
    "declared",
    [Declared(together=True), Declared(paths={"prod": ("*.yaml",)})],
    ids=["all together", "scopes"],
)
def test_what_somebody_wants_judged_together_is_not_judged_apart(
    declared: Declared, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, *others = beyond("abc", monkeypatch, declared)
    told = [each for report in others for each in report.findings]
    assert [(each.code, each.severity) for each in told] == [("GPU1000", "error")]
    assert told[0].message.startswith("This file and 1 other cannot be read: files that may belong")
    assert not any(report.readable for report in others)


def test_what_a_kustomization_builds_is_not_judged_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = read_texts(UNEQUAL, "a.yaml").items
    monkeypatch.setattr(reading, "MAX_ITEMS", size)
    monkeypatch.setattr(reading, "MOST_ITEMS", size)
    given = {"a.yaml": UNEQUAL, "k/b.yaml": UNEQUAL, "k/kustomization.yaml": "resources: [b.yaml]"}
    reports = lint_files([GivenFile(*each) for each in (*given.items(), ("c.yaml", UNEQUAL))])

    found = {each.file: [(f.code, f.severity) for f in each.findings] for each in reports}
    assert found["k/b.yaml"] == [("GPU1000", "error")]
    assert found["c.yaml"] == [("GPU1000", "info"), ("GPU1114", "error")]


def test_of_one_file_that_is_too_much_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ITEMS", 3)
    (report,) = lint_files([GivenFile("a.yaml", "[a, b, c, d, e]")])
    (found,) = report.findings
    assert found.message.startswith("This file cannot be read: files that may belong together")
    assert not report.readable


# --- where it is said ----------------------------------------------------------------------------


def placed(*judgements: Judgement, text: str = json.dumps(POD, indent=1)) -> FileReport:
    reading = read_files([GivenFile("a.yaml", text)])
    (item,) = reading.items
    for each in judgements:
        reading.place(replace(each, source=replace(each.source, document=item.source.document)))
    return reading.reports()[0]


def problem(path: tuple[str, ...]) -> Problem:
    return Problem(RULE, Source("it"), path, f"At {'.'.join(path)}.", "Mend it.")


def test_findings_are_in_the_order_of_their_places() -> None:
    found = placed(problem(("spec",)), problem(("kind",)), problem(("metadata", "name")))

    assert [each.message for each in found.findings] == [
        "At kind.",
        "At metadata.name.",
        "At spec.",
    ]


def test_what_has_no_place_goes_first() -> None:
    reading = read_files([GivenFile("a.yaml", json.dumps(POD))])
    (item,) = reading.items
    at_first = replace(problem(()), source=Source("it", item.source.document))
    for each in (at_first, replace(at_first, source=Source("a stack"), message="Of a stack.")):
        reading.place(each)

    (found,) = reading.reports()
    assert [each.position for each in found.found] == [None, (1, 1)]


def test_edits_are_of_documents_that_can_be_edited() -> None:
    edited = replace(problem(("kind",)), edits=(Edit("set", ("kind",), "Job"),))

    (found,) = placed(edited).found
    assert [each.path for each in found.edits] == [("kind",)]
    (in_text,) = placed(edited, text=in_config_map()).found
    assert in_text.edits == ()
    (unseen,) = placed(NotSeen(RULE, Source("it"), "why")).found
    assert unseen.edits == ()


def in_config_map() -> str:
    """An object whose source says that nothing can be written back."""
    resources = {"limits": {"nvidia.com/gpu": 1}}
    value = {"apiVersion": "kubeflow.org/v1", "kind": "TrainJob", "spec": {"trainer": {}}}
    value["spec"]["trainer"] = {"resourcesPerNode": resources}  # type: ignore[index]
    return json.dumps(value)


@edge(SILENCED)
def each_is_wrong(inventory: Inventory) -> Iterator[Judgement]:
    for each in inventory.of(Workload):
        yield Problem(SILENCED, each.source, (), "It is wrong.", "Mend it.")


def test_a_comment_lets_it_be_until_its_day() -> None:
    comment = "# eks-gpushare: ignore GPU1009 until 2026-01-31 because it is on trial"
    reading = Reading()
    reading.add(GivenFile("a.yaml", f"{json.dumps(POD)} {comment}\n"))
    reading.judge([each_is_wrong])

    def codes(day: date | None) -> set[str]:
        return {each.code for each in reading.reports(day)[0].findings}

    assert "GPU1009" not in codes(date(2026, 1, 31))
    assert "GPU1009" in codes(date(2026, 2, 1))
    assert "GPU1009" in codes(None)
