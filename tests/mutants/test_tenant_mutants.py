"""What holds tenants, with one thing broken at a time: who says so, or why nobody does."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import pytest
from stack_mutants import by_verify
from stack_mutants.mutant import mutants
from stack_mutants.table import row_of
from stack_mutants.tenant_edges import TENANT_EDGES, TENANT_REASONS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.sdk_internals,
    pytest.mark.skipif(
        not os.environ.get("EKS_GPUSHARE_TEST_MUTANTS"),
        reason="EKS_GPUSHARE_TEST_MUTANTS=1 tries all",
    ),
]
MOST_BY_REASON = 3
"""Of some hundred; a new one is to be seen by a check."""


def test_who_catches_what_of_tenants(golden: Callable[[str, str], None]) -> None:
    lines, left = [], 0
    for mutant in mutants("tenants", TENANT_EDGES):
        row = row_of(mutant, {})
        reasons = [why for pattern, why in TENANT_REASONS.items() if fnmatchcase(row.name, pattern)]

        live = () if row.caught else by_verify.caught_by(mutant)
        assert row.caught or live or reasons, row.name
        left += not (row.caught or live)
        says = f"verify: {', '.join(live)}" if live else next(iter(reasons), "")
        lines.append(f"{row.name}: {row.verdict if row.caught else says}")
    golden("tenant-mutants.txt", "\n".join([*lines, ""]))
    assert left <= MOST_BY_REASON
