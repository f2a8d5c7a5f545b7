"""Rules about the values that a chart is given."""

from __future__ import annotations

from eks_gpushare.facts.index import charts as charts_facts
from eks_gpushare.findings.rule import Rule

_HELM = "https://helm.sh/docs/chart_template_guide/values_files/"

UNKNOWN_VALUE = charts_facts.UNKNOWN_VALUE.rule("GPU1034")
IDLE_VALUE = charts_facts.IDLE_VALUE.rule("GPU1035")
WRONG_TYPE = charts_facts.WRONG_TYPE.rule("GPU1036")
VALUES_ELSEWHERE = Rule(
    "GPU1037",
    "info",
    "All values of a release are among the files.",
    "Those that are written are judged. What else the release is given, and what follows from it, "
    "is not known.",
    _HELM,
)
