"""Rules on how GPUs are shared: the device plugin, its configuration and its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpushare_policies.rules.sharing.device_plugin_unprivileged import DEVICE_PLUGIN_UNPRIVILEGED
from gpushare_policies.rules.sharing.edges import EDGES
from gpushare_policies.rules.sharing.gpu_faults_seen import GPU_FAULTS_SEEN
from gpushare_policies.rules.sharing.several_shares_refused import SEVERAL_SHARES_REFUSED
from gpushare_policies.rules.sharing.time_slicing_replicas import TIME_SLICING_REPLICAS

if TYPE_CHECKING:
    from gpushare_policies.rule import AnyRule

RULES: tuple[AnyRule, ...] = (
    *EDGES,
    TIME_SLICING_REPLICAS,
    SEVERAL_SHARES_REFUSED,
    DEVICE_PLUGIN_UNPRIVILEGED,
    GPU_FAULTS_SEEN,
)
"""The rules of this theme: those that edges judge, and a module for each of the others."""
