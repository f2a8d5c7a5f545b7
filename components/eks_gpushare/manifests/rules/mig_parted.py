"""Rules about configurations of NVIDIA's mig-parted, which the MIG manager applies.

Source: `api/spec/v1/spec.go` of NVIDIA/mig-parted, at the version in `catalog.versions`.
"""

from __future__ import annotations

from typing import Final

from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule

REFUSED = rule_of("GPU1030")
NO_PROFILE = rule_of("GPU1031")
NO_FIT = rule_of("GPU1032")
NO_FILTER = rule_of("GPU1033")
MAP_MISSING = rule_of("GPU1120")
MADE_BY_OPERATOR: Final = Rule(
    "GPU1395",
    "error",
    "Layouts of one's own have another name than those that the GPU Operator writes.",
    "The operator puts back what it makes: the layouts are gone, and a node that is labelled with "
    "one fails.",
    "https://github.com/NVIDIA/gpu-operator/issues/281",
)
