"""The device plugin takes its configuration as it is meant."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Set `pools.<pool>.sharing` in the stack file, from which the configuration is made."
_RAW = "Correct the configuration in the ConfigMap or in the values of the chart."

DEVICE_PLUGIN_CONFIG_VALID = StackPolicy(
    "device-plugin-config-valid",
    "Configurations of the device plugin must be ones that it starts with, and hold no key "
    "that it ignores.",
    check=edge_check("device-plugin-config-valid", stack_file=_STACK_FILE),
    applies_to=(*kinds.CHARTS, "kubernetes:core/v1:ConfigMap"),
    severity=Severity.HIGH,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
