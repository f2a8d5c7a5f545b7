"""Looking into values of which parts are missing, of another kind, or not known."""

from __future__ import annotations

from typing import Any

import pytest

from eks_gpushare.inventory.items import NodeTaint
from eks_gpushare.inventory.source import UNKNOWN, Source
from eks_gpushare.inventory.values import (
    PartlyKnown,
    at,
    every,
    frozen,
    has_unknown,
    holds,
    is_same,
    items,
    may_be_same,
    pairs,
    partly_known,
    some,
    switch,
    text,
)

VALUE = {"a": {"b": [1, {"c": None}, "x"]}, "later": UNKNOWN}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), VALUE),
        (("a", "b", 0), 1),
        (("a", "b", 2), "x"),
        (("a", "b", 3), None),
        (("a", "b", "0"), None),
        (("a", "b", 2, 0), None),  # a text is no list
        (("a", "b", 0, "c"), None),
        (("a", "b", 1, "c"), None),
        (("a", "none", "c"), None),
        (("later",), UNKNOWN),
        (("later", "c"), UNKNOWN),
    ],
)
def test_a_path_leads_to_a_value(path: tuple[Any, ...], found: Any) -> None:
    assert at(VALUE, *path) == found


def test_a_tuple_is_a_list() -> None:
    assert at((1, 2), 1) == 2
    assert items((1, 2)) == [1, 2]
    assert items("ab") == items({"a": 1}) == items(None) == []


def test_a_key_with_null_is_written() -> None:
    value = {"a": {"b": None}, "c": "b"}

    assert holds(value, "a", "b")
    assert not holds(value, "a", "c")
    assert not holds(value, "c", "b")
    assert not holds(UNKNOWN, "b")


def test_keys_become_texts() -> None:
    assert pairs({1: "a"}) == [("1", "a")]
    assert pairs([1]) == []


@pytest.mark.parametrize(
    ("value", "written"),
    [(True, "true"), (False, "false"), (None, ""), (0, "0"), ("x", "x"), (UNKNOWN, UNKNOWN)],
)
def test_scalars_are_texts(value: Any, written: Any) -> None:
    assert text(value) == written


@pytest.mark.parametrize(
    ("value", "on"),
    [("false", True), ("", False), (None, False), (False, False), (True, True), (UNKNOWN, UNKNOWN)],
)
def test_any_text_is_a_switch_that_is_on(value: Any, on: Any) -> None:
    assert switch(value) is on


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        (UNKNOWN, True),
        ({UNKNOWN: 1}, True),
        ({"a": [1, (UNKNOWN,)]}, True),
        ({"a": [1, (2,)]}, False),
        ([UNKNOWN], True),
        ([1], False),
        ("x", False),
    ],
)
def test_an_unknown_part_is_seen(value: Any, hidden: bool) -> None:
    assert has_unknown(value) is hidden


@pytest.mark.parametrize("value", ["x", 1, None, UNKNOWN, True], ids=str)
def test_a_scalar_is_wholly_known_or_not_at_all(value: Any) -> None:
    assert partly_known(value) is value


def test_of_a_mapping_that_is_partly_seen_other_keys_are_not_known() -> None:
    seen = partly_known({"a": {1: "b"}, "c": None})

    assert seen == {"a": {"1": "b"}, "c": None}
    assert isinstance(seen["a"], PartlyKnown)
    assert at(seen, "a", "1") == "b"
    assert at(seen, "c") is None
    assert at(seen, "d") is at(seen, "a", "d") is UNKNOWN
    assert has_unknown(seen)
    assert has_unknown({"e": [seen["a"]]})


@pytest.mark.parametrize(
    ("verdicts", "all_", "one"),
    [
        ([], True, False),
        ([True, True], True, True),
        ([True, False], False, True),
        ([False, False], False, False),
        ([None, True], None, True),
        ([True, None], None, True),
        ([None, False], False, None),
        ([False, None], False, None),
        ([None, None, True], None, True),
        ([None, None, False], False, None),
    ],
)
def test_verdicts_together(
    verdicts: list[bool | None], all_: bool | None, one: bool | None
) -> None:
    assert every(verdicts) is all_
    assert some(verdicts) is one


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a", "a", True), ("a", "b", False), (UNKNOWN, "b", True), ("a", UNKNOWN, True)],
)
def test_what_is_not_known_may_be_the_same(one: Any, other: Any, same: bool) -> None:
    assert may_be_same(one, other) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": [1, {"b": None}]}, {"a": (1, {"b": None})}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ([1, 2], [2, 1], False),
        ({}, [], False),
        ({"a": 1}, partly_known({"a": 1}), False),
        (UNKNOWN, UNKNOWN, True),
    ],
)
def test_values_are_keys_of_mappings(one: Any, other: Any, same: bool) -> None:
    assert len({frozen(one), frozen(other)}) == (1 if same else 2)


def test_what_is_of_no_file_is_there_on_no_condition() -> None:
    source = Source("the node group gpu", {"of": "a program"})

    assert not source.is_optional
    assert source.optional() is source


@pytest.mark.parametrize(
    ("written", "taint", "again"),
    [
        ("a=b:NoSchedule", NodeTaint("a", "b", "NoSchedule"), "a=b:NoSchedule"),
        ("a:NoExecute", NodeTaint("a", "", "NoExecute"), "a:NoExecute"),
        ("a=:NoExecute", NodeTaint("a", "", "NoExecute"), "a:NoExecute"),
        ("a", NodeTaint("", "", "a"), ":a"),
    ],
)
def test_a_taint_is_read_as_kubectl_takes_it(written: str, taint: NodeTaint, again: str) -> None:
    assert NodeTaint.parse(written) == taint
    assert str(taint) == again


@pytest.mark.parametrize(
    ("one", "other", "same", "may_be"),
    [
        ("a", "a", True, True),
        ("a", "b", False, False),
        ("a", UNKNOWN, False, True),
        (UNKNOWN, UNKNOWN, False, True),
        (None, None, True, True),
    ],
)
def test_two_that_are_not_known_may_be_the_same(
    one: object, other: object, *, same: bool, may_be: bool
) -> None:
    assert is_same(one, other) is same
    assert may_be_same(one, other) is may_be
