"""Rules on the cluster: who reaches it, what it logs, how it authenticates and ages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = ()
"""The rules of this theme, a module each."""
