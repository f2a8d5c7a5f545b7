"""Rules on GPUs that are cut by MIG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.mig.edges import EDGES
from gpushare_policies.rules.mig.mig_taint_taken_off import MIG_TAINT_TAKEN_OFF

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    *EDGES,
    MIG_TAINT_TAKEN_OFF,
)
"""The rules of this theme: those that edges judge, and a module for each of the others."""
