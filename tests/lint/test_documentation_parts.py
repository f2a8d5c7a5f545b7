"""What of documentation is prose, what commands, what data, and at which line each begins."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_reading import items, placed, problems, read_text_with

from eks_gpushare.findings.finding import Position
from eks_gpushare.inventory.items import NodeSet
from eks_gpushare.inventory.source import UNKNOWN
from eks_gpushare.lint.dispatch import lint_files, read_files
from eks_gpushare.lint.readers.markdown import MarkdownReader, blocks
from eks_gpushare.lint.terraform_roots import blocks_of_guide
from eks_gpushare.manifests.document import Document
from eks_gpushare.manifests.files import GivenFile
from eks_gpushare.manifests.snippets import expanded, read_snippet

DOCUMENTATION = MarkdownReader()


def prose(text: str, line: int) -> tuple[str, str, int, int]:
    return "prose", text, line, 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n", [prose("a\nb", 1)]),
        ("a\n```sh\nb\n```\nc\n", [prose("a", 1), ("shell", "b\n", 3, 1), prose("c", 5)]),
        ("```sh\nb\n```\n```sh\nc\n```\n", [("shell", "b\n", 2, 1), ("shell", "c\n", 5, 1)]),
        ("~~~~yaml\na: 1\n~~~\n~~~~\nb", [("data", "a: 1\n~~~\n", 2, 1), prose("b", 5)]),
        ("- ```yaml\n", [prose("- ```yaml", 1)]),
        ("```yaml\n  a:\n\n    b: 1\n", [("data", "a:\n\n  b: 1\n", 2, 3)]),
        ("```yaml\n```\na", [("data", "", 2, 1), prose("a", 3)]),
        ("```yaml title=x\na: 1\n```", [("data", "a: 1\n", 2, 1)]),
        ("```python\na: 1\n```\nb", [prose("b", 4)]),
        ("```text\nhelm ls\n```", [("shell", "helm ls\n", 2, 1)]),
        ("```\n# why\n---\na: 1\n```", [("data", "# why\n---\na: 1\n", 2, 1)]),
        ('```\n{"a": 1}\n```', [("data", '{"a": 1}\n', 2, 1)]),
        ("```\na\nb: 1\n```", []),
        ("```\n# only this\n```", []),
        ("a\nkubectl get x\nb", [prose("a", 1), ("shell", "kubectl get x\n", 2, 1), prose("b", 3)]),
        ("helm a \\\n b \\\n c\nd", [("shell", "helm a \\\n b \\\n c\n", 1, 1), prose("d", 4)]),
        ("helm a \\", [("shell", "helm a \\\n", 1, 1)]),
        (
            "cat <<E-_.1 > x\na\nEOF\nE-_.1\nb",
            [("shell", "cat <<E-_.1 > x\na\nEOF\nE-_.1\n", 1, 1), prose("b", 5)],
        ),
        ("EOF\ncat <<EOF\na", [prose("EOF", 1), ("shell", "cat <<EOF\n", 2, 1), prose("a", 3)]),
        (
            "kind: A\nb:\n  c: 1\n\n  d: 2\n\n---\ne: 3\n\nThe end.",
            [("data", "kind: A\nb:\n  c: 1\n\n  d: 2\n\n---\ne: 3\n", 1, 1),
             prose("\nThe end.", 9)],
        ),
        ("kind: A\n", [("data", "kind: A\n", 1, 1)]),
        ("kind: A\n\n", [("data", "kind: A\n", 1, 1), prose("", 2)]),
        ("kind: A\nWord b\n  c", [("data", "kind: A\n", 1, 1), prose("Word b\n  c", 2)]),
        ("kind:A\n", [prose("kind:A", 1)]),
    ],
)  # fmt: skip
def test_parts_of_a_text(text: str, expected: list[tuple[str, str, int, int]]) -> None:
    assert [each[:4] for each in blocks(text)] == expected


def test_of_what_is_no_yaml_the_first_is_told() -> None:
    text = "```\nkind: A\nb: [\n---\nkind: B\nc: ]\n```\n"

    assert len(problems(read_text_with(DOCUMENTATION, text))) == 1


def test_a_plan_whose_indentation_was_lost_begins_at_its_line() -> None:
    text = "Plan\n\nmultiTenantGpu:\ninstanceType: g9.xlarge\nmigProfile: a\n"
    (read,) = (DOCUMENTATION.read("file.md", text),)
    (plan,) = read.inner

    assert plan.position(()) == (3, 1)
    assert plan.position(("x-omnistrate-integrations", "multiTenantGpu", "migProfile"))[0] in (3, 5)


def value_of(text: str) -> Any:
    (document,) = read_snippet(text, "setup.sh", 1).documents
    return document


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: $KNOWN", {"a": "b"}),
        ("a: |\n  x-${KNOWN}-y\n  z", {"a": "x-b-y\nz"}),
        ("a: [$COUNT, 5, c]", {"a": [3, 5, "c"]}),
        ("a: $ARABIC", {"a": "\u0663"}),
        ("a: $UNKNOWN", {"a": UNKNOWN}),
        ("a: ${UNKNOWN}", {"a": UNKNOWN}),
        ("a: $(command)", {"a": UNKNOWN}),
        ("a: {b: $KNOWN}", {"a": {"b": "b"}}),
        ("$KNOWN: 1", {"b": 1}),
        ("'${KNOWN}': 1", {"b": 1}),
        ("$UNKNOWN: 1", {"$UNKNOWN": 1}),
        ("a: |\n  x: $UNKNOWN\n  y: $KNOWN", {"a": "x: $UNKNOWN\ny: b"}),
        ("a: `command`", {"a": UNKNOWN}),
        ("a: x-$(command)-y", {"a": UNKNOWN}),
        ("a: |\n  $UNKNOWN\n", {"a": UNKNOWN}),
        ("a: 5$", {"a": "5$"}),
    ],
)
def test_variables_of_a_here_document(text: str, expected: Any) -> None:
    variables = {"KNOWN": "b", "COUNT": "3", "ARABIC": "\u0663"}

    assert value_of(expanded(text, variables)).value == expected


def test_a_character_that_yaml_has_not_is_told_at_its_line() -> None:
    (problem,) = read_snippet("a: 1\nb: \x07", "setup.sh", 5).problems

    assert (problem.line, problem.column) == (6, 4)


def test_a_label_in_a_fence_stands_at_its_line() -> None:
    text = "Do this:\n\n  ```console\n  $ kubectl label node n1 a=b\n  ```\n"
    reads = read_text_with(DOCUMENTATION, text)

    assert [type(each) for each in items(reads)] == [NodeSet]
    assert [placed(each) for each in problems(reads)] == [(4, 27)]


GUIDE = """\
# Nodes

Make a group:

```LANGUAGE
resource "aws_eks_node_group" "gpu" {
  node_group_name = "gpu"
  ami_type        = "AL2023_x86_64_NVIDIA"
  instance_types  = ["g5.xlarge"]
  taint {
    key    = "team"
    value  = "vision"
    effect = "NO_SCHEDULE"
  }
  scaling_config {
    min_size = 1
    max_size = 2
  }
}
```

Then run:

```yaml
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  tolerations: [{key: TEAM, operator: Exists}]
  containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: 1}}}]
```
"""


def codes(text: str) -> list[tuple[str, int | None]]:
    (report,) = lint_files([GivenFile("README.md", text)])
    return [
        (each.finding.code, each.position.line if each.position else None)
        for each in report.found
        if each.finding.severity != "info"
    ]


@pytest.mark.parametrize(
    ("language", "team", "wrong"),
    [
        ("hcl", "other", True),
        ("terraform", "other", True),
        ("tf", "other", True),
        ("hcl", "team", False),
        ("go", "other", False),
    ],
)
def test_blocks_of_terraform_are_those_of_their_guide(
    language: str, team: str, wrong: bool
) -> None:
    text = GUIDE.replace("LANGUAGE", language).replace("TEAM", team)

    assert codes(text) == ([("GPU1111", 29)] if wrong else [])


@pytest.mark.parametrize(
    "line", ["  # ... labels as above", "  // …", "  labels = {", "  ..."], ids=range(4)
)
def test_a_block_that_leaves_something_out_is_not_read(line: str) -> None:
    text = GUIDE.replace("LANGUAGE", "hcl").replace("TEAM", "other")

    assert codes(text.replace("  taint {", f"{line}\n  taint {{")) == []


def test_a_place_in_a_block_is_one_of_the_guide() -> None:
    (nodes,) = (
        each
        for each in read_files([GivenFile("README.md", GUIDE.replace("LANGUAGE", "hcl"))]).items
        if isinstance(each, NodeSet)
    )
    document = nodes.source.document

    assert [*blocks_of_guide(GivenFile("README.yaml", GUIDE.replace("LANGUAGE", "hcl")))] == []
    assert isinstance(document, Document)
    assert document.where(("ami_type",)) == ("README.md", Position(8, 3))
