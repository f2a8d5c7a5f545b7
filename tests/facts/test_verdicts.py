"""Every front that says a fact comes to the same verdict, whatever the values.

The fronts read stack files, files of others, programs and clusters: their predicate is one, and
what they make of their own words on the way to it is theirs. `EKS_GPUSHARE_TEST_FACTS` is how many
random values each fact is asked of.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest
from questions import QUESTIONS

if TYPE_CHECKING:
    from question import Question

pytestmark = pytest.mark.sdk_internals

MOST = int(os.environ.get("EKS_GPUSHARE_TEST_FACTS", "20"))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.fact.title)
def test_fronts_agree(question: Question) -> None:
    fact, broken = question.fact, 0
    for number in range(MOST):
        given = question.draw(Random(f"{fact.title} {number}"))  # noqa: S311  (no secret)
        verdicts = {
            front: not {*fact.names_of(front)}.isdisjoint(ask(given))
            for front, ask in question.fronts.items()
        }
        assert len({*verdicts.values()}) == 1, f"{number}: {given} is {verdicts}"
        broken += any(verdicts.values())

    assert 0.1 < broken / MOST < 0.9, f"{broken} of {MOST} break it"
