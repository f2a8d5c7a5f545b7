"""Rules on GPUs that are cut by MIG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.mig.mig_config_valid import MIG_CONFIG_VALID
from gpushare_policies.rules.mig.mig_layouts_fit import MIG_LAYOUTS_FIT
from gpushare_policies.rules.mig.mig_strategy_fits import MIG_STRATEGY_FITS
from gpushare_policies.rules.mig.mig_taint_taken_off import MIG_TAINT_TAKEN_OFF

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    MIG_CONFIG_VALID,
    MIG_LAYOUTS_FIT,
    MIG_STRATEGY_FITS,
    MIG_TAINT_TAKEN_OFF,
)
"""The rules of this theme, a module each."""
