"""Rules on how GPUs are shared: the device plugin, its configuration and its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.sharing.device_plugin_config_valid import DEVICE_PLUGIN_CONFIG_VALID
from gpushare_policies.rules.sharing.gpu_monitoring_reaches_nodes import (
    GPU_MONITORING_REACHES_NODES,
)
from gpushare_policies.rules.sharing.gpu_nodes_have_device_plugin import (
    GPU_NODES_HAVE_DEVICE_PLUGIN,
)
from gpushare_policies.rules.sharing.gpu_stack_tolerates_taints import GPU_STACK_TOLERATES_TAINTS
from gpushare_policies.rules.sharing.sharing_config_exists import SHARING_CONFIG_EXISTS
from gpushare_policies.rules.sharing.sharing_config_takes_effect import SHARING_CONFIG_TAKES_EFFECT
from gpushare_policies.rules.sharing.time_slicing_replicas import TIME_SLICING_REPLICAS

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    SHARING_CONFIG_EXISTS,
    GPU_STACK_TOLERATES_TAINTS,
    TIME_SLICING_REPLICAS,
    GPU_NODES_HAVE_DEVICE_PLUGIN,
    GPU_MONITORING_REACHES_NODES,
    SHARING_CONFIG_TAKES_EFFECT,
    DEVICE_PLUGIN_CONFIG_VALID,
)
"""The rules of this theme, a module each."""
