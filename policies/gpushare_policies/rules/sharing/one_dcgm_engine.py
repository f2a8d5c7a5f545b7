"""One program measures the GPUs of a node."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.tokens import ADDON
from gpushare_policies.words import Fix

_STACK_FILE = "Turn one of them off in the stack file."
_RAW = "Turn one of them off, or let the exporter use the engine that is there."

ONE_DCGM_ENGINE = StackPolicy(
    "one-dcgm-engine",
    "One host engine of DCGM must run on a node.",
    check=edge_check("one-dcgm-engine", stack_file=_STACK_FILE),
    applies_to=(*kinds.NODES, *kinds.CHARTS, "kubernetes:apps/v1:DaemonSet", ADDON),
    severity=Severity.LOW,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
