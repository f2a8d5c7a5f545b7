"""What holds of all tests of lint."""

from __future__ import annotations

import pytest

from eks_gpushare.lint import streaming


@pytest.fixture(autouse=True)
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few files there are, they are judged in parts, as many are."""
    monkeypatch.setattr(streaming, "_SMALL", 0)
