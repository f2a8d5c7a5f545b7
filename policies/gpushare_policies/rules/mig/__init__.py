"""Rules on GPUs that are cut by MIG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.mig.mig_config_valid import MIG_CONFIG_VALID

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (MIG_CONFIG_VALID,)
"""The rules of this theme, a module each."""
