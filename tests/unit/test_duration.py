"""Durations, held against the table of Go's own test of `time.ParseDuration`.

https://github.com/golang/go/blob/go1.25.0/src/time/time_test.go (`parseDurationTests` and
`parseDurationErrorTests`), in which nanoseconds are whole.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from eks_gpushare.documents.duration import LONGEST, seconds

NS = Fraction(1, 10**9)
US, MS, S, M, H = 1000 * NS, 10**6 * NS, 1, 60, 3600
MEANT: dict[str, Fraction | int] = {
    "0": 0,
    "5s": 5 * S,
    "30s": 30 * S,
    "1478s": 1478 * S,
    "-5s": -5 * S,
    "+5s": 5 * S,
    "-0": 0,
    "+0": 0,
    "5.0s": 5 * S,
    "5.6s": 5 * S + 600 * MS,
    "5.s": 5 * S,
    ".5s": 500 * MS,
    "1.0s": 1 * S,
    "1.00s": 1 * S,
    "1.004s": 1 * S + 4 * MS,
    "1.0040s": 1 * S + 4 * MS,
    "100.00100s": 100 * S + 1 * MS,
    "10ns": 10 * NS,
    "11us": 11 * US,
    "12µs": 12 * US,
    "12μs": 12 * US,  # the Greek letter
    "13ms": 13 * MS,
    "14s": 14 * S,
    "15m": 15 * M,
    "16h": 16 * H,
    "3h30m": 3 * H + 30 * M,
    "10.5s4m": 4 * M + 10 * S + 500 * MS,
    "-2m3.4s": -(2 * M + 3 * S + 400 * MS),
    "1h2m3s4ms5us6ns": 1 * H + 2 * M + 3 * S + 4 * MS + 5 * US + 6 * NS,
    "39h9m14.425s": 39 * H + 9 * M + 14 * S + 425 * MS,
    "52763797000ns": 52763797000 * NS,
    "0.3333333333333333333h": 20 * M,
    "9007199254740993ns": ((1 << 53) + 1) * NS,
    "9223372036854775807ns": ((1 << 63) - 1) * NS,
    "9223372036854775.807us": ((1 << 63) - 1) * NS,
    "9223372036s854ms775us807ns": ((1 << 63) - 1) * NS,
    "-9223372036854775807ns": -((1 << 63) - 1) * NS,
    "-9223372036854775808ns": -(1 << 63) * NS,
    "-9223372036854775.808us": -(1 << 63) * NS,
    "0.100000000000000000000h": 6 * M,
}
REFUSED = (
    *("", "3", "-", "s", ".", "-.", ".s", "+.s", "1d", "1e3s", " 5s", "5s ", "5 s", "1h 2m", "5S"),
    *("--5s", "1_000s", "٣s", "5s\n"),
    *(
        "-9223372036854775809ns",
        "9223372036854775810ns",
        "9223372036854775808ns",
        "9223372036854ms775us808ns",
    ),
    *("3000000h", "1" * 300 + "s"),
)


@pytest.mark.parametrize("text", MEANT)
def test_what_go_reads(text: str) -> None:
    assert seconds(text) == MEANT[text]


@pytest.mark.parametrize("text", REFUSED)
def test_what_go_refuses(text: str) -> None:
    assert seconds(text) is None


def test_the_longest_is_that_of_64_bits() -> None:
    assert LONGEST // H == 2562047
