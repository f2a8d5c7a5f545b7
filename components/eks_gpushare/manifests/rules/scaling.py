"""Rules about what scales workloads with GPUs, and replaces their pods."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

TWO_SCALERS: Final = Rule(
    "GPU1239",
    "error",
    "A workload with GPUs is scaled by one autoscaler.",
    "Several write the same number of replicas in turn: pods on GPUs are made and ended again. "
    "KEDA makes a HorizontalPodAutoscaler of its own, and refuses a target that has one.",
    "https://keda.sh/docs/2.18/concepts/admission-webhooks/",
)
NOBODY_WAKES: Final = Rule(
    "GPU1240",
    "warning",
    "What brings a workload back from zero is there without its pods.",
    "With no pod there is no value of a metric that the pods export: KEDA takes that for 0, and "
    "the workload stays at zero for good.",
    "https://keda.sh/docs/2.18/scalers/prometheus/",
)
NOT_OF_MIG: Final = Rule(
    "GPU1241",
    "warning",
    "A metric that scales pods on MIG devices, or warns of them, is one that MIG devices have.",
    "DCGM has no utilisation of a MIG device by these fields: the query is empty, nothing is "
    "scaled, and no alert fires.",
    "https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/feature-overview.html#profiling-metrics",
)
METRIC_NAME: Final = Rule(
    "GPU1242",
    "warning",
    "A metric of vLLM is asked for by its name, vllm:num_requests_waiting, and by the model's.",
    "Prometheus has no metric by the name with an underscore, and none of a model by another name "
    "than the one that it is served by: the query is empty, and nothing is scaled.",
    "https://docs.vllm.ai/en/stable/usage/metrics/",
)
NO_SPARE_GPU: Final = Rule(
    "GPU1243",
    "warning",
    "Nodes can have a GPU for all pods that run for good, and a roll-out one to begin with.",
    "Pods beyond that stay Pending, and an autoscaler adds no node for them. "
    "By default a Deployment starts the new pod before it ends the old one. Where the old ones "
    "hold every GPU that there can be, the new one waits for ever, and so does the roll-out.",
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment",
)
NOT_MEASURED: Final = Rule(
    "GPU1391",
    "warning",
    "A metric of kind Resource is of cpu or memory.",
    "The metrics server measures these two of a pod: of any other the autoscaler knows no value. "
    "It never adds pods by it, and beside other metrics it takes none away.",
    "https://github.com/kubernetes-sigs/metrics-server#use-cases",
)
OTHER_CLUSTER: Final = Rule(
    "GPU1398",
    "warning",
    "Cluster Autoscaler looks for the node groups of the cluster that is here.",
    "It finds groups by a tag that has the name of their cluster: by another it finds none, scales "
    "nothing, and pods stay Pending without a word of why.",
    "https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#auto-discovery-setup",
)
