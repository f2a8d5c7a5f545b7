"""How the use of a simulated GPU is said."""

from __future__ import annotations

import pytest

from eks_gpushare_lab.simulated_node.load import Load, LoadError, parse


@pytest.mark.parametrize(
    ("text", "over_time"),
    [
        ("85", {0: 85, 1000: 85}),
        (" 85 % ".replace(" %", "%"), {0: 85}),
        ("85, 20s=10", {0: 85, 19.9: 85, 20: 10, 500: 10}),
        ("20s=10", {0: 0, 20: 10}),
        ("0s=5,1.5s=10.5,3s=0", {0: 5, 1.5: 10.5, 2.9: 10.5, 3: 0}),
        ("170", {0: 170}),
    ],
)
def test_a_load_over_time(text: str, over_time: dict[float, float]) -> None:
    load = parse(text)

    assert {seconds: load.at(seconds) for seconds in over_time} == over_time


@pytest.mark.parametrize(
    "text", ["", "high", "-5", "85,", "20=85", "20s:85", "10s=5, 10s=6", "10s=5, 85", "1e2", "NaN"]
)
def test_what_is_no_load_is_refused_with_how_one_is_written(text: str) -> None:
    with pytest.raises(LoadError, match=r'is no load: write percent, such as "85"'):
        parse(text)


def test_a_time_before_the_first_step_is_the_first_step() -> None:
    assert Load(((0.0, 7.0),)).at(-1) == 7
