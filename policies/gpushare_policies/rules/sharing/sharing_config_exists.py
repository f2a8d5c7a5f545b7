"""The device plugin's configuration is there, with every key that nodes name."""

from __future__ import annotations

from pulumi_policy import Severity

from eks_gpushare.inventory.edges.configs import MAP_MISSING
from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = (
    "Declare pools under `pools` in the stack file: the ConfigMap, its keys, the Release and the "
    "node labels then come from one declaration."
)
_RAW = "Make the ConfigMap in the Release's namespace, with one key for each value of the label."

SHARING_CONFIG_EXISTS = StackPolicy(
    "sharing-config-exists",
    "The configurations of the device plugin, MIG manager and others must exist and hold every key "
    "that a node label or a mount names.",
    # Whoever installs a chart in a program makes there what it names.
    check=edge_check("sharing-config-exists", likely=(MAP_MISSING.id,)),
    applies_to=(
        *kinds.CHARTS,
        *kinds.NODES,
        "kubernetes:core/v1:ConfigMap",
        "kubernetes:apps/v1:DaemonSet",
    ),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
