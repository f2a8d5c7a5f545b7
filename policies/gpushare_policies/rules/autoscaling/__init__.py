"""Rules on what scales nodes and workloads, and what it is told of shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = ()
"""The rules of this theme, a module each."""
