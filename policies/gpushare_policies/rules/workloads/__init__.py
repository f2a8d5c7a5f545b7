"""Rules on pods that use GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.workloads.pods_not_privileged import PODS_NOT_PRIVILEGED

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (PODS_NOT_PRIVILEGED,)
"""The rules of this theme, a module each."""
