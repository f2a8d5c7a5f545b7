"""Facts about charts, their versions and values."""

from __future__ import annotations

from eks_gpushare.facts.fact import Fact

EXACT_VERSION = Fact(
    "A chart version is exact.",
    "A range is resolved anew at every update, and the chart changes under the stack.",
    "https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v3/release/",
    "error",
    ("GPU702", "chart-versions-pinned"),
)

UNKNOWN_VALUE = Fact(
    "Every chart value is one that the chart reads.",
    "Helm ignores others in silence: a misspelt setting is simply not in force.",
    "https://helm.sh/docs/chart_template_guide/values_files/",
    "error",
    ("GPU711", "GPU1034", "chart-values-known"),
)

IDLE_VALUE = Fact(
    "Every chart value has an effect.",
    "It stands among the chart's defaults, and no template reads it.",
    "https://helm.sh/docs/chart_template_guide/values_files/",
    "warning",
    ("GPU712", "GPU1035"),
)

WRONG_TYPE = Fact(
    "A chart value is of the kind that the chart makes something of.",
    'A template takes the text "false" for true, and Kubernetes refuses what else comes out.',
    "https://helm.sh/docs/chart_template_guide/values_files/",
    "error",
    ("GPU727", "GPU1036", "chart-values-known"),
)

OLD_CHART = Fact(
    "The version of a chart of NVIDIA's can do what its values and configurations ask for.",
    "Templates of an older chart do not read the value, and an older program drops what it does "
    "not know: the GPUs are not shared, and nothing says so.",
    "https://github.com/NVIDIA/k8s-device-plugin/releases",
    "error",
    ("GPU718", "GPU1126", "device-plugin-config-valid"),
)

PINNED = Fact(
    "Pods that select nodes by a label can be on such nodes.",
    "They stay Pending: no node has the label, or those that have it keep them off by a taint. EKS"
    " adds tolerations of GPUs only to pods that ask for some.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    "error",
    ("GPU1118", "workloads-can-land"),
)
