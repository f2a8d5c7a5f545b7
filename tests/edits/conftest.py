"""Karpenter, whom edits are asked of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.edits.karpenter import Karpenter, built

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def karpenter(request: pytest.FixtureRequest) -> Iterator[Karpenter]:
    """Karpenter's word: asked where its program may be built, else as it was given before."""
    asking = bool(os.environ.get("EKS_GPUSHARE_TEST_KARPENTER"))
    found = Karpenter(built() if asking else None)
    yield found
    if asking and request.config.getoption("--update-golden"):
        found.keep()
