from __future__ import annotations

import json

import pytest
from pulumi.runtime import rpc

from eks_gpushare.program import values
from eks_gpushare.program.values import (
    UNKNOWN,
    Asset,
    OutputValue,
    ResourceRef,
    Secret,
    decode_properties,
    encode_properties,
    is_unknown,
    plain,
    to_json,
)

pytestmark = pytest.mark.sdk_internals

URN = "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::net"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (values.UNKNOWN_SENTINEL, "UNKNOWN"),
        (values.SIGNATURE_KEY, "_special_sig_key"),
        (values.SECRET_SIGNATURE, "_special_secret_sig"),
        (values.RESOURCE_SIGNATURE, "_special_resource_sig"),
        (values.OUTPUT_SIGNATURE, "_special_output_value_sig"),
        (values.ASSET_SIGNATURE, "_special_asset_sig"),
        (values.ARCHIVE_SIGNATURE, "_special_archive_sig"),
    ],
)
def test_a_signature_is_the_sdks(ours: str, theirs: str) -> None:
    assert getattr(rpc, theirs) == ours


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -3,
        4.5,
        "",
        "text",
        [],
        {},
        [1, "a", None, [True]],
        {"a": {"b": [1, {"c": None}]}},
        UNKNOWN,
        Secret({"token": "hunter2"}),
        Secret(UNKNOWN),
        ResourceRef(URN, "vpc-1", "7.51.1"),
        ResourceRef(URN, UNKNOWN),
        Asset("asset", {"text": "hello"}),
        Asset("archive", {"path": "."}),
    ],
)
def test_a_value_survives_the_wire(value: object) -> None:
    assert decode_properties(encode_properties({"value": value})) == {"value": value}


def test_an_integral_number_comes_back_as_an_integer() -> None:
    decoded = decode_properties(encode_properties({"n": 4.0}))

    assert repr(decoded) == "{'n': 4}"


def test_keys_come_back_sorted_at_every_depth() -> None:
    decoded = decode_properties(encode_properties({"b": {"z": 1, "a": 2}, "a": 0}))

    assert json.dumps(decoded) == '{"a": 0, "b": {"a": 2, "z": 1}}'


def test_an_output_is_answered_with_its_value() -> None:
    encoded = encode_properties(
        {"a": OutputValue(1, dependencies=(URN,)), "b": OutputValue(2, secret=True)}
    )

    assert decode_properties(encoded) == {"a": 1, "b": Secret(2)}


def test_an_unknown_signature_is_refused() -> None:
    encoded = encode_properties({"a": {values.SIGNATURE_KEY: "other"}})

    with pytest.raises(ValueError, match="has the signature 'other', which this version does not"):
        decode_properties(encoded)


def test_a_set_is_no_property_value() -> None:
    with pytest.raises(TypeError, match=r"^set is not a property value$"):
        encode_properties({"a": {1}})


def test_json_spells_out_unknowns_and_masks_secrets() -> None:
    value = {
        "id": UNKNOWN,
        "token": Secret("hunter2"),
        "tokens": [OutputValue("hunter3", secret=True)],
        "open": OutputValue("value"),
        "vpc": ResourceRef(URN, "vpc-1"),
        "file": Asset("asset", {"text": "hello"}),
    }

    assert to_json(value) == {
        "id": "<computed>",
        "token": "[secret]",
        "tokens": ["[secret]"],
        "open": "value",
        "vpc": URN,
        "file": {"asset": {"text": "hello"}},
    }


def test_a_secret_does_not_show_when_printed() -> None:
    assert repr({"token": Secret("hunter2")}) == "{'token': [secret]}"


def test_plain_opens_secrets_and_keeps_unknowns() -> None:
    assert plain({"a": Secret([OutputValue("x")]), "b": UNKNOWN}) == {"a": ["x"], "b": UNKNOWN}


def test_an_unknown_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="an unknown value is neither true nor false"):
        bool(UNKNOWN)


@pytest.mark.parametrize(
    "value", [UNKNOWN, [UNKNOWN], {"a": [Secret(UNKNOWN)]}, ResourceRef(URN, UNKNOWN)]
)
def test_an_unknown_is_found_at_any_depth(value: object) -> None:
    assert is_unknown(value)


def test_what_is_known_has_no_unknowns() -> None:
    assert not is_unknown({"a": [1, Secret("x"), OutputValue(None), ResourceRef(URN, "1")]})
