"""Rules on how GPUs are shared: the device plugin, its configuration and its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.sharing.gpu_stack_tolerates_taints import GPU_STACK_TOLERATES_TAINTS
from gpushare_policies.rules.sharing.sharing_config_exists import SHARING_CONFIG_EXISTS
from gpushare_policies.rules.sharing.time_slicing_replicas import TIME_SLICING_REPLICAS

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    SHARING_CONFIG_EXISTS,
    GPU_STACK_TOLERATES_TAINTS,
    TIME_SLICING_REPLICAS,
)
"""The rules of this theme, a module each."""
