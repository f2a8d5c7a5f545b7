"""Expressions that Go takes, as Prometheus itself says."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.documents.go_expression import go_expression_fault

# What conftest.py offers.
Promtool = Any

TAKEN = (
    *("^app$", "", "a{1000}", "a{2,1000}", "a{1,}", "(a{100}b{10}){10}", "(a{20}b{20}){2}"),
    *("(?P<n>a)", "(?i)a", "(?i:a)", "(?:a)", "(?s-i:a)", "[(?=]", r"\(?=a", "[+]+", r"\++"),
    *("[^]a]{3}", "[[:alpha:]]+", r"\x41", r"[\]+]+", "a+?", "a{2}?", "(a|b){3}(c{500}){2}"),
)
REFUSED = {
    "(": "is no regular expression: missing ), unterminated subpattern at position 0.",
    r"\p{L": r"is no regular expression: bad escape \p at position 0.",
    "^a(?=b)": "has (?= in it, which expressions of Go do not know.",
    "(?!a)": "has (?! in it, which expressions of Go do not know.",
    "(?<=a)b": "has (?<= in it, which expressions of Go do not know.",
    "(?<!a)b": "has (?<! in it, which expressions of Go do not know.",
    "(?>a)": "has (?> in it, which expressions of Go do not know.",
    "(?P<n>a)(?P=n)": "has (?P= in it, which expressions of Go do not know.",
    "(?#c)a": "has (?# in it, which expressions of Go do not know.",
    "(?x)a": "has (?x) in it, which expressions of Go do not know.",
    "(?x:a)": "has (?x: in it, which expressions of Go do not know.",
    "(a)?(?(1)b|c)": "has (?( in it, which expressions of Go do not know.",
    r"(a)\1": r"has \1 in it, which expressions of Go do not know.",
    r"a\Z": r"has \Z in it, which expressions of Go do not know.",
    r"\u0041": r"has \u in it, which expressions of Go do not know.",
    "a++": "has ++ in it, which expressions of Go do not know.",
    "a{2}+": "has {2}+ in it, which expressions of Go do not know.",
    "a{1001}": "repeats something 1,001 times, and expressions of Go 1,000 times.",
    "a{2,1001}": "repeats something 1,001 times, and expressions of Go 1,000 times.",
    "(a{100}){11}": "repeats something 1,100 times, and expressions of Go 1,000 times.",
}


@pytest.mark.parametrize(("text", "fault"), REFUSED.items())
def test_what_go_refuses_is_said(text: str, fault: str) -> None:
    assert go_expression_fault(text) == fault


@pytest.mark.parametrize("text", TAKEN)
def test_what_go_takes_is_no_fault(text: str) -> None:
    assert go_expression_fault(text) is None


def matcher(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'up{{label=~"{escaped}"}}'


def test_prometheus_takes_what_is_taken(promtool: Promtool) -> None:
    assert promtool.refusal(*(f"count({matcher(text)})" for text in TAKEN)) == ""


@pytest.mark.parametrize("text", REFUSED)
def test_prometheus_refuses_what_is_refused(text: str, promtool: Promtool) -> None:
    assert promtool.refusal(f"count({matcher(text)})") != ""
