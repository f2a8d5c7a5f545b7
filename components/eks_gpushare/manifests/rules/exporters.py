"""Rules about exporters of metrics of GPUs."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

SEES_NO_SHARES: Final = Rule(
    "GPU1245",
    "warning",
    "The exporter of GPU metrics is told that pods share GPUs.",
    "Without KUBERNETES_VIRTUAL_GPUS one pod gets the series of a shared GPU and the others none; "
    "of a resource that it has not been told of, none of them does.",
    "https://github.com/NVIDIA/dcgm-exporter/issues/151",
)
EXPORTS_NO_PODS: Final = Rule(
    "GPU1246",
    "error",
    "An exporter that is to name pods can ask the kubelet for them, by words that it knows.",
    "It goes on without: its series name no pod, and nobody can tell whose they are.",
    "https://github.com/NVIDIA/dcgm-exporter/blob/main/README.md",
)
LITTLE_MEMORY: Final = Rule(
    "GPU1247",
    "warning",
    "The exporter of GPU metrics has the memory that it needs.",
    "Since 3.6 it uses 400 to 500 MiB, more with eight GPUs, before that half as much; with less "
    "it is ended again and again, and the metrics have gaps.",
    "https://github.com/NVIDIA/dcgm-exporter/issues/609",
)
NOT_COUNTERS: Final = Rule(
    "GPU1381",
    "error",
    "The list of an exporter's metrics is one that the exporter reads, with what is asked for.",
    "Of a line that is not a field of DCGM, a type and a text of one field each, it ends at its "
    "start, and there are no metrics of GPUs at all. What is not in the list nobody gets.",
    "https://github.com/NVIDIA/dcgm-exporter/blob/main/internal/pkg/counters/counter_config.go",
)
UNSCRAPED: Final = Rule(
    "GPU1393",
    "warning",
    "Prometheus selects the monitors of GPU metrics, and these ports that are there.",
    "It takes those that its selector matches and no others, by ports of the name that they give "
    "and where network policies let it in, and says nothing of the rest: alerts and autoscalers by "
    "their metrics see no GPU at all.",
    "https://github.com/NVIDIA/gpu-operator/issues/363",
)
OTHER_PODS: Final = Rule(
    "GPU1394",
    "warning",
    "Metrics of GPUs keep the pod that they are about, where queries go by it.",
    "Unless labels are honored, Prometheus writes the exporter's pod over that of the workload, "
    "which becomes exported_pod: a query by pod matches nothing, and nothing scales or warns.",
    "https://github.com/NVIDIA/dcgm-exporter/issues/85",
)
