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
