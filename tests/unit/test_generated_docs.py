"""The pages of docs/ that come from the code are those of this code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import make_pages
import pytest

from eks_gpushare.config.models import models
from eks_gpushare.config.schema import field_descriptions
from eks_gpushare.rules import all_codes

if TYPE_CHECKING:
    from eks_gpushare.findings.finding import Code


def test_the_committed_pages_are_up_to_date() -> None:
    assert make_pages.outdated() == [], "run: python tools/docs/make_pages.py"


def test_the_same_pages_come_out_twice() -> None:
    assert make_pages.generated() == make_pages.generated()


def test_every_code_has_a_page_that_the_index_names() -> None:
    index = (make_pages.DOCS / "findings" / "index.md").read_text(encoding="utf-8")

    assert [c.code for c in all_codes() if f"[{c.code}]({c.code}.md)" not in index] == []


@pytest.mark.parametrize("code", all_codes(), ids=lambda code: code.code)
def test_a_page_shows_what_the_command_prints(code: Code) -> None:
    page = (make_pages.DOCS / "findings" / f"{code.code}.md").read_text(encoding="utf-8")

    assert f"{code.severity} {code.code}" in page


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_the_reference_has_every_key(model: type) -> None:
    page = (make_pages.DOCS / "stack-file.md").read_text(encoding="utf-8")

    assert [key for key in field_descriptions(model) if f"| `{key}` |" not in page] == []


def test_the_schema_for_editors_is_json() -> None:
    schema = json.loads((make_pages.DOCS / "stack-file.schema.json").read_text(encoding="utf-8"))

    assert schema["title"] == "eks-gpushare stack file"
