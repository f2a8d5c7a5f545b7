"""Scalars as sigs.k8s.io/yaml 1.6.0 reads them: what `YAMLToJSON` made of `v: <scalar>`."""

from __future__ import annotations

import json

import pytest

from eks_gpushare.documents.go_yaml import first_document

SEEN = {
    "0x_": '"0x_"',
    "0b_": '"0b_"',
    "0o_": '"0o_"',
    "0x": '"0x"',
    "0b": '"0b"',
    "0o9": '"0o9"',
    "0b102": '"0b102"',
    "08": "8",
    "09_1": "91",
    "0_": "0",
    "_1": '"_1"',
    "1__0": "10",
    "-_1": "-1",
    "+1": "1",
    "-0b101": "-5",
    "0B101": "5",
    "0X1F": "31",
    "+0x1f": "31",
    "-0o17": "-15",
    "-010": "-8",
    ".": '"."',
    "._": '"._"',
    ".5_0": "0.5",
    ".5e3": "500",
    "1.": "1",
    "1.e3": "1000",
    "1_0.5_0": "10.5",
    "1e_": '"1e_"',
    "1e3": "1000",
    "1e-3": "0.001",
    "1e999": '"1e999"',
    "18446744073709551615": "18446744073709551615",
    "18446744073709551616": "18446744073709552000",
    "-9223372036854775808": "-9223372036854775808",
    "-9223372036854775809": "-9223372036854776000",
    "0xffffffffffffffff": "18446744073709551615",
    "0x10000000000000000": '"0x10000000000000000"',
    "99999999999999999999999": "1e+23",
    "9" * 5000: json.dumps("9" * 5000),
    '!!int "12"': "12",
    "!!float 3": "3",
}

MOST_DIGITS = 20


@pytest.mark.parametrize(("scalar", "read"), SEEN.items(), ids=lambda text: text[:24])
def test_a_scalar_is_what_go_makes_of_it(scalar: str, read: str) -> None:
    found = first_document(f"v: {scalar}\n")["v"]
    # Go writes what is too large for it as a fraction, to as many digits as that has.
    expected = json.loads(read, parse_int=int if len(read) < MOST_DIGITS else float)

    assert found == (expected if isinstance(found, str) else pytest.approx(expected, rel=1e-15))
    assert isinstance(found, str) is isinstance(expected, str)


@pytest.mark.parametrize("tag", ["int", "float"])
def test_a_text_by_a_number_s_tag_is_refused_in_go_s_words(tag: str) -> None:
    with pytest.raises(ValueError, match=f"cannot decode !!str `x` as a !!{tag}"):
        first_document(f"v: !!{tag} x\n")
