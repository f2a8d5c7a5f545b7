"""The pages of docs/ that come from the code are those of this code."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import finding_examples
import make_pages
import pytest
import yaml

from eks_gpushare.config.models import models
from eks_gpushare.config.schema import field_descriptions
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.rules import all_rules

if TYPE_CHECKING:
    from eks_gpushare.findings.rule import Rule


def test_the_committed_pages_are_up_to_date() -> None:
    assert make_pages.outdated() == [], "run: python tools/docs/make_pages.py"


def test_the_same_pages_come_out_twice() -> None:
    assert make_pages.generated() == make_pages.generated()


def test_every_code_has_a_page_that_the_index_names() -> None:
    index = (make_pages.DOCS / "findings" / "index.md").read_text(encoding="utf-8")

    assert [rule.id for rule in all_rules() if f"[{rule.id}]({rule.id}.md)" not in index] == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_a_page_shows_what_the_command_prints(rule: Rule) -> None:
    page = (make_pages.DOCS / "findings" / f"{rule.id}.md").read_text(encoding="utf-8")

    assert f"{rule.severity} {rule.id}" in page


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_a_page_says_null_only_where_a_whole_file_is_refused_for_it(rule: Rule) -> None:
    page = (make_pages.DOCS / "findings" / f"{rule.id}.md").read_text(encoding="utf-8")
    kept = re.sub(r"^<!-- refused -->\n```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)

    assert re.findall(r"^[^#\n]*\bnull\b.*$", kept, re.MULTILINE) == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_a_reader_who_copies_the_right_side_gets_no_error(rule: Rule) -> None:
    """A part goes into a right environment key by key: `null` on a page would be a value there."""
    page = (make_pages.DOCS / "findings" / f"{rule.id}.md").read_text(encoding="utf-8")
    block = re.search(r"^## Right\n.*?^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert block
    text = block[1]
    if not re.search("^config:", text, re.MULTILINE):
        merged = merge_values(finding_examples.base(), yaml.safe_load(text), keep_null=True)
        text = finding_examples.stack_file_text(merged)

    report = finding_examples.checked(text)

    assert [str(each) for each in report.findings if each.severity == "error"] == []


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_the_reference_has_every_key(model: type) -> None:
    page = (make_pages.DOCS / "stack-file.md").read_text(encoding="utf-8")

    assert [key for key in field_descriptions(model) if f"| `{key}` |" not in page] == []


def test_the_schema_for_editors_is_json() -> None:
    schema = json.loads((make_pages.DOCS / "stack-file.schema.json").read_text(encoding="utf-8"))

    assert schema["title"] == "eks-gpushare stack file"
