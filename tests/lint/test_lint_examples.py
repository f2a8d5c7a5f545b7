"""Each rule's example: the bad files have that finding and no other, the good ones have none."""

from __future__ import annotations

import lint_pages
import pytest

from eks_gpushare.lint.all_rules import lint_rules

ROOM = "GPU1208"
"""Told of most nodes with ten shares of a GPU, as a note: what comes with each."""


@pytest.mark.parametrize("code", lint_pages.codes())
def test_the_bad_files_have_that_finding_alone(code: str) -> None:
    found = {each.code for report in lint_pages.linted(code, "bad") for each in report.findings}

    assert found - {ROOM} <= {code}
    assert code in found


@pytest.mark.parametrize("code", lint_pages.codes())
def test_the_good_files_have_none(code: str) -> None:
    assert lint_pages.files_of(code, "good")
    found = [each for report in lint_pages.linted(code, "good") for each in report.findings]

    assert [each for each in found if code == ROOM or each.code != ROOM] == []


def test_every_example_is_one_of_a_rule() -> None:
    assert set(lint_pages.codes()) <= {rule.id for rule in lint_rules()}


def test_no_two_rules_have_one_code() -> None:
    codes = [rule.id for rule in lint_rules()]

    assert len(codes) == len(set(codes))
