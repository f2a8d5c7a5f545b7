"""Rules about the values that a chart is given."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

_HELM = "https://helm.sh/docs/chart_template_guide/values_files/"

UNKNOWN_VALUE = Rule(
    "GPU1034",
    "error",
    "Every value is one that the chart reads.",
    "Helm ignores others in silence: a misspelt or misplaced setting is simply not in force.",
    _HELM,
)
IDLE_VALUE = Rule(
    "GPU1035",
    "warning",
    "Every value has an effect.",
    "It stands among the chart's defaults, and no template reads it.",
    _HELM,
)
WRONG_TYPE = Rule(
    "GPU1036",
    "error",
    "A value is of the kind that the chart makes something of.",
    'A template takes the text "false" for true, and Kubernetes refuses what else comes out.',
    _HELM,
)
VALUES_ELSEWHERE = Rule(
    "GPU1037",
    "info",
    "All values of a release are among the files.",
    "Those that are written are judged. What else the release is given, and what follows from it, "
    "is not known.",
    _HELM,
)
