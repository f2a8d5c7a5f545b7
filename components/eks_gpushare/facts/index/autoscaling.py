"""Facts about autoscalers: what they are told of, and of whom."""

from __future__ import annotations

from eks_gpushare.facts.fact import Differs, Fact

PROMISE = Fact(
    "An autoscaler is told of as many GPUs or shares as a node advertises.",
    "Told more, it leaves pods waiting or launches a node for each of them; told less, it pays for"
    " nodes that stay empty. An overlay of 10 on nodes that register 1 was seen to launch 25 nodes"
    " for 25 pods.",
    "https://karpenter.sh/docs/concepts/nodeoverlays/",
    "error",
    ("GPU790", "GPU1140", "GPU965", "autoscalers-know-shares"),
)

SAME_MINOR = Fact(
    "Cluster Autoscaler is that of the cluster's version of Kubernetes.",
    "It simulates the scheduler of one minor version, and is tested with that one only.",
    "https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/README.md#releases",
    "warning",
    ("GPU786", "cluster-autoscaler-agrees"),
)

NOT_PROMISED = Fact(
    "An autoscaler is told of every resource that its nodes advertise.",
    "Pods that ask for it wait for ever while there is no node: no autoscaler knows that a new one"
    " would have it.",
    "https://github.com/aws/karpenter-provider-aws/issues/3376",
    "error",
    ("GPU1141", "autoscalers-know-shares"),
)

NOT_TAKEN_BACK = Fact(
    "An autoscaler is told of 0 nvidia.com/gpu where nodes have none.",
    "It takes the GPUs of the instance type for them: a pod that asks for nvidia.com/gpu makes it "
    "launch nodes that cannot hold the pod, one after another.",
    "https://karpenter.sh/docs/concepts/nodeoverlays/",
    "warning",
    ("GPU1142", "autoscalers-know-shares"),
    {
        "autoscalers-know-shares": Differs(
            "error", "A program has both the nodes and what is told of them."
        ),
    },
)

SAME_WEIGHT = Fact(
    "Of two NodeOverlays for the same nodes one has the greater weight.",
    "Karpenter takes neither of two that say different things with the same weight.",
    "https://karpenter.sh/docs/concepts/nodeoverlays/",
    "error",
    ("GPU1143", "autoscalers-know-shares"),
)

NO_TARGET = Fact(
    "The workload that an autoscaler names is there, of that kind and in its namespace.",
    "KEDA and the HorizontalPodAutoscaler scale nothing: pods on GPUs stay as many as they are.",
    "https://keda.sh/docs/2.18/reference/scaledobject-spec/#scaletargetref",
    "error",
    ("GPU1191", "autoscalers-have-targets"),
)

NO_PODS = Fact(
    "The selector of a Service or of a disruption budget matches pods.",
    "A Service without pods refuses every connection; a budget without pods protects none.",
    "https://kubernetes.io/docs/concepts/services-networking/service/",
    "warning",
    ("GPU1192", "services-reach-pods"),
)

NO_PORT = Fact(
    "A port that a Service names is one of its pods'.",
    "The Service has no endpoint for a name that no container gives a port.",
    "https://kubernetes.io/docs/concepts/services-networking/service/#field-spec-ports",
    "warning",
    ("GPU1193", "services-reach-pods"),
)

TRIGGERS = Fact(
    "The triggers of a ScaledObject are queries, of the target's namespace, by the names that its "
    "formula has.",
    "KEDA gets no number, or that of other pods: it scales nothing, or the wrong way.",
    "https://keda.sh/docs/2.18/concepts/scaling-deployments/#scaling-modifiers",
    "error",
    ("GPU1194", "autoscalers-have-targets"),
)
