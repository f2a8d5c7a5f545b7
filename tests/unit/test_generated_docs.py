"""What of docs/ comes from the code: pages written for the build, and tables that are kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import finding_examples
import links
import make_pages
import pytest
import yaml

import eks_gpushare
from eks_gpushare import args
from eks_gpushare.config.models import models
from eks_gpushare.config.schema import field_descriptions
from eks_gpushare.documents.helm import merge_values
from eks_gpushare.findings.pages import SITE, page_of
from eks_gpushare.lint.all_rules import lint_rules
from eks_gpushare.rules import all_rules
from gpushare_policies.registry import POLICIES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made(written_pages: dict[Path, str]) -> dict[str, str]:
    """The pages, by their paths below `docs`."""
    pages = written_pages.items()
    return {path.relative_to(make_pages.DOCS).as_posix(): text for path, text in pages}


@pytest.fixture(scope="module")
def sections(made: dict[str, str]) -> dict[str, str]:
    """What there is to say of each finding of `check` and `preview`, by code."""
    return {
        section[len("## ") :].partition("\n")[0]: section
        for path, page in made.items()
        if path.startswith("findings/")
        for section in re.split(r"^(?=## GPU[0-9]+$)", page, flags=re.MULTILINE)[1:]
    }


def test_what_of_the_repository_comes_from_the_code_is_of_this_code() -> None:
    assert make_pages.outdated() == [], "run: python tools/docs/make_pages.py"


@pytest.mark.at_length
def test_the_same_pages_come_out_twice(made: dict[str, str]) -> None:
    again = make_pages.generated()

    assert {path.relative_to(make_pages.DOCS).as_posix() for path in again} == set(made)
    assert list(again.values()) == list(made.values())


@pytest.mark.at_length
def test_the_same_pages_come_out_where_sets_are_in_another_order(made: dict[str, str]) -> None:
    written = "print(json.dumps([*make_pages.generated().values()]))"
    done = subprocess.run(
        [sys.executable, "-c", f"import json, make_pages; {written}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout) == [*made.values()]


def test_a_page_that_comes_from_the_code_is_told_by_its_path(made: dict[str, str]) -> None:
    pages = [make_pages.DOCS / each for each in made]

    assert [path for path in pages if not make_pages.is_generated(path)] == []
    assert [path for path in make_pages.kept() if make_pages.is_generated(path)] == []


def test_no_page_that_comes_from_the_code_is_in_the_repository(made: dict[str, str]) -> None:
    tracked = ["git", "ls-files", "-ci", "--exclude-standard", "docs"]
    done = subprocess.run(tracked, cwd=make_pages.ROOT, capture_output=True, text=True, check=False)
    ignored = (make_pages.ROOT / ".gitignore").read_text(encoding="utf-8").split()

    assert done.stdout == ""
    assert [
        each for each in made if not any(f"/docs/{each}".startswith(name) for name in ignored)
    ] == []


def test_every_code_has_its_place_where_its_address_leads(made: dict[str, str]) -> None:
    """The address stands in SARIF, and behind every link to a finding."""
    lost = [
        rule.id
        for rule in (*all_rules(), *lint_rules())
        if not _leads(made, page_of(rule.id), rule.id)
    ]

    assert lost == []
    assert page_of("GPU913") == f"{SITE}/lab.html#findings-of-the-lab"


def _leads(made: dict[str, str], address: str, heading: str) -> bool:
    path, _, anchor = address.removeprefix(f"{SITE}/").partition("#")
    page = made.get(f"{path.removesuffix('.html')}.md", "")
    return f"\n## {heading}\n" in page and links.slug(heading) == anchor


def test_every_policy_has_its_place_where_its_address_leads(made: dict[str, str]) -> None:
    assert [
        policy.name for policy in POLICIES if not _leads(made, policy.url or "", policy.name)
    ] == []


def test_a_finding_is_shown_as_the_command_prints_it(sections: dict[str, str]) -> None:
    unlike = [
        rule.id for rule in all_rules() if f"{rule.severity} {rule.id}" not in sections[rule.id]
    ]

    assert unlike == []


def test_null_stands_only_where_a_whole_file_is_refused_for_it(sections: dict[str, str]) -> None:
    kept = {
        code: re.sub(r"^<!-- refused -->\n```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for code, text in sections.items()
        if len(code) == len("GPU000")
    }

    assert [
        code for code, text in kept.items() if re.search(r"^[^#\n]*\bnull\b", text, re.MULTILINE)
    ] == []


def test_a_reader_who_copies_the_right_side_gets_no_error(sections: dict[str, str]) -> None:
    """A part goes into a right environment key by key: `null` on a page would be a value there."""
    refused = {
        rule.id: found for rule in all_rules() if (found := _errors_of_right(sections[rule.id]))
    }

    assert refused == {}


def _errors_of_right(section: str) -> list[str]:
    block = re.search(r"^\*\*Right:\*\*\n.*?^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block
    text = block[1]
    if not re.search("^config:", text, re.MULTILINE):
        merged = merge_values(finding_examples.base(), yaml.safe_load(text), keep_null=True)
        text = finding_examples.stack_file_text(merged)
    report = finding_examples.checked(text)
    return [str(finding) for finding in report.findings if finding.severity == "error"]


def test_the_stack_file_of_the_reference_is_right(made: dict[str, str]) -> None:
    block = re.search(r"^```yaml\n(.*?)^```$", made["stack-file.md"], re.MULTILINE | re.DOTALL)
    assert block

    found = finding_examples.checked(block[1]).findings

    assert [str(finding) for finding in found if finding.severity == "error"] == []


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_the_reference_has_every_key(model: type, made: dict[str, str]) -> None:
    page = made["stack-file.md"]

    assert [key for key in field_descriptions(model) if f"| `{key}` |" not in page] == []


def test_the_schema_for_editors_is_json() -> None:
    schema = json.loads((make_pages.DOCS / "stack-file.schema.json").read_text(encoding="utf-8"))

    assert schema["title"] == "eks-gpushare stack file"


def test_the_reference_has_every_component_and_dictionary(made: dict[str, str]) -> None:
    page = made["component-reference.md"]
    components = [name for name in eks_gpushare.__all__ if f"{name}Args" in eks_gpushare.__all__]

    assert len(components) == len(_told(page, "##")) - 1  # but for the title of the others
    for name in components:
        section = _told(page, "##")[name]
        above = re.findall(r"All keys of \[`(\w+)`\]", section)
        of_others = {key for each in above for key in getattr(args, each).__annotations__}
        keys = getattr(eks_gpushare, f"{name}Args").__annotations__
        assert {key for key in keys if f"| `{key}` |" not in section} <= of_others
    for name in args.__all__:
        section = _told(page, "###")[name]
        assert all(f"| `{key}` |" in section for key in getattr(args, name).__annotations__)


def _told(page: str, level: str) -> dict[str, str]:
    sections = re.split(rf"^{level} ", page, flags=re.MULTILINE)[1:]
    return {section.partition("\n")[0]: section for section in sections}
