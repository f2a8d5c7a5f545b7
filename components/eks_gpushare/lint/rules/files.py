"""What is wrong with a file as such, or why nothing is said of it."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule
from eks_gpushare.findings.silenced import FAULTY_SILENCE, FOR_NOTHING, OVER

_YAML = "https://yaml.org/spec/1.2.2/"

UNREADABLE = Rule(
    "GPU1000",
    "error",
    "A file can be read.",
    "Of a file that cannot be read nothing is known, so nothing in it is checked.",
    _YAML,
)
NOT_READ = Rule(
    "GPU1001",
    "info",
    "A file is of a kind that lint reads.",
    "Nothing in it is checked; what others refer to may stand there.",
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/",
)
TWICE = Rule(
    "GPU1002",
    "warning",
    "A mapping has each key once.",
    "Helm and kubectl take the last one in silence. Kustomize refuses the file, and so does an API "
    "server that is asked for strict validation of a text.",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation",
)
TEMPLATE = Rule(
    "GPU1003",
    "info",
    "A template is rendered before it is checked.",
    "What a template makes depends on its values, so nothing in it is checked.",
    "https://helm.sh/docs/helm/helm_template/",
)
NO_VALUES = Rule(
    "GPU1379",
    "error",
    "The values that an application, or a release of Flux, takes from elsewhere are there.",
    "Argo CD stops at a file that is not, and Flux at a key of a ConfigMap: nothing of the chart "
    "is installed or brought up to date.",
    "https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files",
)

__all__ = [
    "FAULTY_SILENCE",
    "FOR_NOTHING",
    "NOT_READ",
    "NO_VALUES",
    "OVER",
    "TEMPLATE",
    "TWICE",
    "UNREADABLE",
]
