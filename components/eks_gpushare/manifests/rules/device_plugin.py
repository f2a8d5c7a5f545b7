"""Rules about configurations of NVIDIA's device plugin.

Source: `api/config/v1` of NVIDIA/k8s-device-plugin, at the version in `catalog.versions`.
"""

from __future__ import annotations

from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule

_README = "https://github.com/NVIDIA/k8s-device-plugin#"

IGNORED = rule_of("GPU1020")
REFUSED = rule_of("GPU1021")
RESET = rule_of("GPU1022")
BOTH = rule_of("GPU1023")
NO_VERSION = Rule(
    "GPU1024",
    "warning",
    "A device plugin's configuration says which version of the format it has.",
    "A plugin to come may take another version for the default; mig-parted refuses it already.",
    f"{_README}configuration-option-details",
)
NOT_WITH_MPS = rule_of("GPU1025")
