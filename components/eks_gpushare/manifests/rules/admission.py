"""Rules about what refuses or holds pods with GPUs before a scheduler sees them."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

OTHER_RESOURCE: Final = Rule(
    "GPU1250",
    "error",
    "A queue covers what its workloads ask for, by the names that they ask by.",
    "Kueue admits nothing whose resources the queue does not cover: the workload stays suspended.",
    "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#resource-groups",
)
MORE_THAN_QUEUE: Final = Rule(
    "GPU1244",
    "error",
    "A job asks for no more GPUs at once than its queue may ever have.",
    "Volcano starts none of its pods before all have room within the queue's capability, and Kueue "
    "admits none before one flavor of the queue has all that they ask for.",
    "https://github.com/volcano-sh/volcano/issues/1331",
)
NO_FLAVOR_FITS: Final = Rule(
    "GPU1273",
    "error",
    "A queue has a flavor that is for the pods of its workloads.",
    "Kueue gives no flavor whose taints the pods do not tolerate, or whose labels are not those "
    "that they select: the workload stays suspended.",
    "https://kueue.sigs.k8s.io/docs/concepts/resource_flavor/",
)
OTHER_NAMESPACES: Final = Rule(
    "GPU1278",
    "error",
    "A queue takes workloads of the namespaces whose queues lead to it.",
    "A ClusterQueue without a namespaceSelector takes workloads of none; that of all is {}.",
    "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#namespace-selector",
)
NOT_MANAGED: Final = Rule(
    "GPU1399",
    "warning",
    "Kueue manages the kinds of workloads that name a queue.",
    "Of a kind that its configuration does not list it takes no notice: the pods start at once, "
    "beside what the queue gives out.",
    "https://kueue.sigs.k8s.io/docs/reference/kueue-config.v1beta2/#Integrations",
)
NO_CLASS: Final = Rule(
    "GPU1255",
    "warning",
    "A pod names a runtime class that somebody makes.",
    "The API server refuses pods of a class that is not there. The GPU Operator makes the class "
    "nvidia; EKS's images and the device plugin's chart do not, and need none.",
    "https://github.com/vllm-project/production-stack/issues/61",
)
REFUSED: Final = Rule(
    "GPU1256",
    "error",
    "What admits pods admits those with GPUs, and the DaemonSets for them.",
    "The Pod Security levels baseline and restricted refuse host paths and privileged containers, "
    "and Knative refuses fields whose feature is off: the objects are created, and their pods "
    "never are.",
    "https://kubernetes.io/docs/concepts/security/pod-security-standards/",
)
SAME_PODS: Final = Rule(
    "GPU1257",
    "warning",
    "Two workloads of a namespace select pods of their own.",
    "Each keeps to the pods that it owns, but autoscalers, disruption budgets and Services go by "
    "labels: an autoscaler counts the other's pods too, or stops where there are two.",
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#selector",
)
FAILS_ELSEWHERE: Final = Rule(
    "GPU1258",
    "warning",
    "A device plugin that fails without a GPU is for GPU nodes alone.",
    "On other nodes it ends and is started again for ever; its logs were seen to fill the disk of "
    "one.",
    "https://github.com/eksctl-io/eksctl/issues/8858",
)
SHARED_PRODUCT: Final = Rule(
    "GPU1260",
    "error",
    "Pods and flavors select a shared GPU's product by the name that feature discovery gives it.",
    "It adds -SHARED where a GPU is shared under its own name: no node has the name without.",
    "https://github.com/NVIDIA/k8s-device-plugin/blob/main/docs/gpu-feature-discovery/README.md",
)
