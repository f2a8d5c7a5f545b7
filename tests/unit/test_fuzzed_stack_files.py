"""No stack file makes a check fail: some hundreds here, 100,000 by the program itself."""

from __future__ import annotations

import time

import pytest
from tests.conftest import sampled
from tests.unit.fuzzed_stack_files import SLOW, Fuzzer, built_many, checked

FILES = 250
PREVIEWS = 12


@pytest.mark.parametrize("tenth", sampled(range(10), 3))
def test_no_check_fails_over_any_file(tenth: int) -> None:
    for number in range(tenth, FILES, 10):
        text = Fuzzer(number).text()
        begun = time.process_time()
        checked(text)
        assert time.process_time() - begun < 10 * SLOW, number


def test_no_component_fails_over_any_arguments() -> None:
    failed, counts, _ = built_many(11, PREVIEWS)

    assert not failed, failed
    assert counts["refused"]


def test_the_same_seed_makes_the_same_file() -> None:
    assert Fuzzer(3).text() == Fuzzer(3).text()
    assert len({Fuzzer(number).text() for number in range(50)}) > 40
