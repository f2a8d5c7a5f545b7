"""Rules about the values that a chart is given."""

from __future__ import annotations

from eks_gpushare.facts.index import rule_of
from eks_gpushare.findings.rule import Rule

_HELM = "https://helm.sh/docs/chart_template_guide/values_files/"

UNKNOWN_VALUE = rule_of("GPU1034")
IDLE_VALUE = rule_of("GPU1035")
WRONG_TYPE = rule_of("GPU1036")
VALUES_ELSEWHERE = Rule(
    "GPU1037",
    "info",
    "All values of a release are among the files.",
    "Those that are written are judged. What else the release is given, and what follows from it, "
    "is not known.",
    _HELM,
)
BAD_GATES = Rule(
    "GPU1401",
    "error",
    "Feature gates of the DRA driver go with each other, with its version, and with Kubernetes.",
    "The driver ends at a gate that it does not know, and at two that exclude each other; on EKS "
    "before 1.36 nothing keeps parts of a GPU that it cuts by need from overlapping.",
    "https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/main/site/content/docs/reference/feature-gates.md",
)
