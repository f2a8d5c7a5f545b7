"""What lint finds in the corpus: every mistake that is marked, and nothing else."""

from __future__ import annotations

import lint_corpus
import lint_corpus_page
import pytest
from lint_corpus import Case, Mark, judge

from eks_gpushare.findings.defects import CHECK_FAILED

CASES = lint_corpus.cases()
NUMBERS = {case.name: number for number, case in enumerate(CASES)}
LEAST_CASES, LEAST_PER_SIDE = 150, 75


def verdict_of(name: str) -> lint_corpus.Verdict:
    return lint_corpus.verdict_of(NUMBERS[name])


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_nothing_is_said_that_is_not_so(name: str) -> None:
    assert verdict_of(name).alarms == []


@pytest.mark.parametrize("name", [case.name for case in CASES if case.marks])
def test_every_mistake_is_found(name: str) -> None:
    verdict = verdict_of(name)
    known = [
        mark
        for mark in verdict.misses
        if any(lint_corpus.mistakes()[name].rules for name in mark.mistakes)
    ]
    assert known == [] or verdict.case.missed


def test_the_corpus_is_large_and_has_both_sides() -> None:
    cases = lint_corpus.cases()
    right = [case for case in cases if case.is_right]
    assert len(cases) >= LEAST_CASES
    assert min(len(right), len(cases) - len(right)) >= LEAST_PER_SIDE
    assert len({case.name for case in cases}) == len(cases)


def test_marks_are_of_known_mistakes_and_none_is_for_nothing() -> None:
    used = {name for case in lint_corpus.cases() for mark in case.marks for name in mark.mistakes}
    assert used == set(lint_corpus.mistakes())


def test_every_defect_of_published_guides_is_there_twice_and_mended() -> None:
    names = [case.name for case in lint_corpus.cases() if case.subject == "seeds"]
    wrong = [name for name in names if not name.endswith(", mended")]
    assert len(wrong) == 2 * 16
    assert set(names) == {*wrong, *(f"{name}, mended" for name in wrong)}


def test_no_check_breaks_on_any_of_it() -> None:
    """It would be an alarm, unless a case let it be."""
    assert not [case.name for case in CASES if CHECK_FAILED.id in case.also]


def test_a_mark_at_the_wrong_line_is_a_miss_and_an_alarm() -> None:
    """So that neither test above can pass by itself."""
    case = next(each for each in lint_corpus.cases() if each.name == "half-a-gpu")
    (mark,) = case.marks
    moved = Case(
        case.name, case.about, case.subject, case.files, (Mark(mark.file, 1, mark.mistakes),)
    )
    verdict = judge(moved)
    assert len(verdict.misses) == 1
    assert len(verdict.alarms) == 1
    assert judge(case).hits


def test_the_page_counts_them() -> None:
    text = lint_corpus_page.page(f"head\n{lint_corpus_page.BEGIN}old\n{lint_corpus_page.END}tail\n")
    marks = sum(len(case.marks) for case in lint_corpus.cases())
    assert text.startswith("head\n")
    assert text.endswith("tail\n")
    assert "\nold\n" not in text
    assert f"| **all** |  | {marks} |" in text
