from __future__ import annotations

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError, unknown_checking_proxy

from gpushare_policies.props import each, format_value, given, is_true, peek, read, stack_of, whole
from gpushare_policies.words import Fix, is_of_pulumi_eks, is_ours, name_of

PROPS = unknown_checking_proxy(
    {"known": {"deep": [1.0, 2.0]}, "null": None, "later": UNKNOWN_STRING_VALUE}
)


def test_a_value_is_read_along_its_path() -> None:
    assert list(read(PROPS, "known", "deep")) == [1.0, 2.0]


@pytest.mark.parametrize("path", [("absent",), ("absent", "deep"), ("null",), ("null", "deep")])
def test_what_is_missing_or_null_reads_as_none(path: tuple[str, ...]) -> None:
    assert read(PROPS, *path) is None


def test_reading_an_unknown_value_says_which_it_was() -> None:
    with pytest.raises(UnknownValueError) as error:
        read(PROPS, "later", "deep")

    assert error.value.message == "string value at .later can't be known during preview"


def test_a_path_beside_an_unknown_value_is_read() -> None:
    assert read(PROPS, "absent") is None


def test_the_sdk_raises_even_when_asked_whether_an_unknown_key_is_there() -> None:
    with pytest.raises(UnknownValueError):
        assert "later" in PROPS


def test_an_unknown_value_is_given() -> None:
    assert given(PROPS, "later")


def test_a_null_is_not_given() -> None:
    assert not given(PROPS, "null")


def test_peeking_at_an_unknown_value_gives_none() -> None:
    assert peek(PROPS, "later") is None


def test_a_single_value_counts_as_a_list_of_one() -> None:
    assert list(each("a")) == ["a"]


@pytest.mark.parametrize("value", [True, "true", "True", "TRUE", "t", "T", "1", 1.0])
def test_true_is_a_boolean_or_its_text(value: object) -> None:
    assert is_true(value)


@pytest.mark.parametrize("value", [False, "false", "", None, 0.0, 2.0, "f", "yes", "tRUE", " true"])
def test_everything_else_is_not_true(value: object) -> None:
    assert not is_true(value)


@pytest.mark.parametrize(("value", "number"), [(1.0, 1), ("2", 2), (3, 3)])
def test_whole_numbers_come_as_floats_and_text_too(value: object, number: int) -> None:
    assert whole(value) == number


@pytest.mark.parametrize("value", [True, None, "many", float("inf"), [1], "1_0", " 1", "1.5", "٣"])
def test_what_is_no_number_is_none(value: object) -> None:
    assert whole(value) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unset"), (True, "true"), (4.0, "4"), ("x", "x"), (["a", None], "[a, unset]")],
)
def test_values_are_shown_as_in_yaml(value: object, text: str) -> None:
    assert format_value(value) == text


def test_the_stack_is_the_first_part_of_a_urn() -> None:
    assert stack_of("urn:pulumi:prod-eu::project::aws:eks/cluster:Cluster::main") == "prod-eu"


_CLUSTER, _OURS = "aws:eks/cluster:Cluster", "eks-gpushare:index:EksCluster"
_COMPONENT = "eks:index:Cluster"


def _urn(types: str, name: str = "gpu") -> str:
    return f"urn:pulumi:prod::shop::{types}::{name}"


@pytest.mark.parametrize(
    ("urn", "ours", "of_pulumi_eks"),
    [
        (_urn(_CLUSTER), False, False),
        (_urn(_COMPONENT), False, True),
        (_urn(f"{_COMPONENT}${_CLUSTER}"), False, True),
        (_urn(f"my:own:Thing${_COMPONENT}${_CLUSTER}"), False, True),
        (_urn(_OURS), True, False),
        (_urn(f"{_OURS}${_COMPONENT}${_CLUSTER}"), True, False),
        (_urn(_CLUSTER, "eks:index:Cluster"), False, False),
        (_urn(_CLUSTER, "a::eks-gpushare:index:EksCluster"), False, False),
        ("", False, False),
    ],
)
def test_a_urn_says_what_made_a_resource(urn: str, ours: bool, of_pulumi_eks: bool) -> None:
    assert (is_ours(urn), is_of_pulumi_eks(urn)) == (ours, of_pulumi_eks)


@pytest.mark.parametrize(
    ("urn", "name"),
    [
        (_urn(_CLUSTER), "gpu"),
        (_urn(_CLUSTER, "a::b"), "a::b"),
        (_urn(f"{_COMPONENT}${_CLUSTER}", "gpu-eksCluster"), "gpu"),
        (_urn(f"{_COMPONENT}${_CLUSTER}", "gpu"), "gpu"),
        (_urn(f"my:own:Thing${_CLUSTER}", "gpu-eksCluster"), "gpu-eksCluster"),
        (_urn(_CLUSTER, "gpu-eksCluster"), "gpu-eksCluster"),
        (_urn(_COMPONENT, "gpu-eksCluster"), "gpu-eksCluster"),
    ],
)
def test_a_resource_has_the_name_that_somebody_gave_it(urn: str, name: str) -> None:
    assert name_of(urn) == name


def test_a_fix_is_in_the_words_of_who_made_the_resource() -> None:
    fix = Fix("Ours.", "Theirs.", "Raw.")

    assert fix.of(_urn(f"{_OURS}${_CLUSTER}")) == "Ours."
    assert fix.of(_urn(f"{_COMPONENT}${_CLUSTER}")) == "Theirs."
    assert fix.of(_urn(_CLUSTER)) == "Raw."
    assert fix.steps() == "Ours. With pulumi_eks: Theirs. With raw resources: Raw."
    assert Fix("Ours.", "Raw.", "Raw.").steps() == "Ours. With raw resources: Raw."
