"""Rules on where software comes from and how exactly it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.supply_chain.chart_versions_pinned import CHART_VERSIONS_PINNED
from gpushare_policies.rules.supply_chain.images_pinned import IMAGES_PINNED

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (CHART_VERSIONS_PINNED, IMAGES_PINNED)
"""The rules of this theme, a module each."""
