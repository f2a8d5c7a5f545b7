"""Each kind of finding has an example of what is wrong and how it is right, and both are tried."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import finding_examples
import pytest
from finding_examples import example

from eks_gpushare.rules import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable

CODES = [rule.id for rule in all_rules()]


def test_a_code_has_an_example_and_an_example_a_code() -> None:
    assert finding_examples.codes() == CODES


def test_a_code_stands_for_one_kind() -> None:
    assert len(set(CODES)) == len(CODES)


@pytest.mark.parametrize("code", CODES)
def test_the_wrong_side_has_the_finding_at_its_path(code: str) -> None:
    found = {(f.code, f.path) for f in example(code).wrong.report.findings}

    assert (code, example(code).path) in found


@pytest.mark.parametrize("code", CODES)
def test_the_wrong_side_has_no_error_that_is_not_named(code: str) -> None:
    errors = {f.code for f in example(code).wrong.report.findings if f.severity == "error"}

    assert errors - {code} == example(code).also


@pytest.mark.parametrize("code", CODES)
def test_the_right_side_has_neither_the_finding_nor_an_error(code: str) -> None:
    report = example(code).right.report

    found = {f.code for f in report.findings}

    assert report.ok, [str(f) for f in report.findings]
    assert (code in found) is bool(example(code).stays)
    assert [f.severity for f in report.findings if f.code == code] in ([], ["info"])


def test_what_all_fragments_start_from_has_nothing_wrong() -> None:
    text = finding_examples.stack_file_text(finding_examples.base())
    report = finding_examples.checked(text)

    notes = [(f.code, f.severity) for f in report.findings]
    assert notes == [("GPU333", "info"), ("GPU801", "info")]


def test_the_wording_of_every_finding(golden: Callable[[str, str], None]) -> None:
    texts = {
        code: [
            {"path": f.path, "severity": f.severity, "message": f.message, "fix": f.fix}
            for f in example(code).wrong.report.findings
            if f.code == code
        ]
        for code in CODES
    }

    golden("findings.json", json.dumps(texts, indent=2, ensure_ascii=False) + "\n")


def test_a_message_is_whole_sentences() -> None:
    for found in (each for code in CODES for each in example(code).wrong.report.findings):
        for text in (found.message, found.fix):
            assert text == text.strip()
            assert text.endswith((".", "?", ":", "...")), text
            assert "  " not in text
            assert "None" not in text
