"""GPU nodes name the AMI that they run."""

from __future__ import annotations

from pulumi_policy import Severity

from gpushare_policies.reading import kinds
from gpushare_policies.reading.edges import edge_check
from gpushare_policies.rule import StackPolicy
from gpushare_policies.words import Fix

_STACK_FILE = "Leave the AMI type to the pool, which sets it by `amiFamily` and the GPUs."
_RAW = "Set `amiType` to one for NVIDIA, such as AL2023_x86_64_NVIDIA."

GPU_AMI_TYPE_NAMED = StackPolicy(
    "gpu-ami-type-named",
    "A managed node group of types with GPUs must name its AMI type.",
    # What EKS takes where none is named is written nowhere; its API asks for one.
    check=edge_check("gpu-ami-type-named", stack_file=_STACK_FILE),
    applies_to=kinds.NODES,
    severity=Severity.MEDIUM,
    fix=Fix(_STACK_FILE, _RAW, _RAW),
)
