"""What tests of several verbs start from."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def time_slicing() -> str:
    """The text of the time-slicing stack file, for tests that change it."""
    return (ROOT / "stacks" / "Pulumi.time-slicing.yaml").read_text(encoding="utf-8")
