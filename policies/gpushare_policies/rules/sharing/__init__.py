"""Rules on how GPUs are shared: the device plugin, its configuration and its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.sharing.chart_values_known import CHART_VALUES_KNOWN
from gpushare_policies.rules.sharing.device_plugin_config_valid import DEVICE_PLUGIN_CONFIG_VALID
from gpushare_policies.rules.sharing.device_plugin_unprivileged import DEVICE_PLUGIN_UNPRIVILEGED
from gpushare_policies.rules.sharing.driver_not_twice import DRIVER_NOT_TWICE
from gpushare_policies.rules.sharing.gpu_faults_seen import GPU_FAULTS_SEEN
from gpushare_policies.rules.sharing.gpu_monitoring_reaches_nodes import (
    GPU_MONITORING_REACHES_NODES,
)
from gpushare_policies.rules.sharing.gpu_nodes_have_device_plugin import (
    GPU_NODES_HAVE_DEVICE_PLUGIN,
)
from gpushare_policies.rules.sharing.gpu_stack_tolerates_taints import GPU_STACK_TOLERATES_TAINTS
from gpushare_policies.rules.sharing.mps_runs import MPS_RUNS
from gpushare_policies.rules.sharing.one_dcgm_engine import ONE_DCGM_ENGINE
from gpushare_policies.rules.sharing.one_device_plugin import ONE_DEVICE_PLUGIN
from gpushare_policies.rules.sharing.quotas_within_capacity import QUOTAS_WITHIN_CAPACITY
from gpushare_policies.rules.sharing.several_shares_refused import SEVERAL_SHARES_REFUSED
from gpushare_policies.rules.sharing.shares_within_reach import SHARES_WITHIN_REACH
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
    QUOTAS_WITHIN_CAPACITY,
    MPS_RUNS,
    DRIVER_NOT_TWICE,
    ONE_DEVICE_PLUGIN,
    ONE_DCGM_ENGINE,
    SHARES_WITHIN_REACH,
    SEVERAL_SHARES_REFUSED,
    DEVICE_PLUGIN_UNPRIVILEGED,
    CHART_VALUES_KNOWN,
    GPU_FAULTS_SEEN,
)
"""The rules of this theme, a module each."""
