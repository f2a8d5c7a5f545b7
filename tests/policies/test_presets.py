"""Levels of all rules together."""

from __future__ import annotations

import json

import pytest

from gpushare_policies.presets import files, presets


@pytest.mark.parametrize(
    ("rule", "levels"),
    [
        ("secrets-encrypted", ["mandatory", "mandatory", "mandatory"]),  # grave
        ("keys-rotated", ["advisory", "mandatory", "mandatory"]),
        ("deletion-protection", ["advisory", "mandatory", "mandatory"]),  # grave, of the house
        ("desired-size-left-alone", ["advisory", "advisory", "mandatory"]),
        ("exemptions-in-force", ["advisory", "advisory", "advisory"]),  # which only lists
    ],
)
def test_presets_go_from_what_is_grave_to_everything(rule: str, levels: list[str]) -> None:
    assert [each[rule] for each in presets().values()] == levels


def test_a_preset_is_a_file_with_a_rule_a_line() -> None:
    for name, levels in presets().items():
        text = files()[f"{name}.json"]
        assert json.loads(text) == levels
        assert text.startswith('{\n  "')
