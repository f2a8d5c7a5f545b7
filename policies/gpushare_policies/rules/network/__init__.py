"""Rules on the network that nodes and pods are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = ()
"""The rules of this theme, a module each."""
