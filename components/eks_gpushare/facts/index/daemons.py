"""Facts about what runs on every GPU node."""

from __future__ import annotations

from eks_gpushare.facts.fact import Differs, Fact

ONE_ENGINE = Fact(
    "One host engine of DCGM runs on a node.",
    "Two of them are not supported by NVIDIA and may lead to deadlocks in the driver; only one can"
    " read profiling metrics. EKS's node monitoring agent has one on every GPU node.",
    "https://github.com/NVIDIA/DCGM/issues/108",
    "error",
    ("GPU644", "GPU1187", "GPU942", "one-dcgm-engine"),
)

ONE_PLUGIN = Fact(
    "One device plugin serves a node.",
    "Both register the same resource with kubelet, which keeps the one that came last: counts "
    "change with every restart, and the same GPU is given out twice.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/1105",
    "error",
    ("GPU1185", "GPU939", "one-device-plugin"),
)

KEPT_OUT = Fact(
    "What makes GPUs known tolerates the taints of the GPU nodes.",
    "The DaemonSet has no pod on those nodes and no event says so: they advertise no GPU, and "
    "every pod that asks for one stays Pending.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/1934",
    "error",
    ("GPU1100", "gpu-stack-tolerates-taints"),
)

UNLABELLED = Fact(
    "GPU nodes have a label that the device plugin goes by.",
    "Without one of its own labels and without node feature discovery the chart's DaemonSet is for"
    " no node: 0 desired, 0 ready, no error, and no GPU.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/1085",
    "error",
    ("GPU1101", "gpu-stack-tolerates-taints"),
)

NO_PLUGIN = Fact(
    "Every GPU node has a device plugin.",
    "A node without one advertises no GPU, whatever it has and costs.",
    "https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/",
    "error",
    ("GPU1102", "gpu-nodes-have-device-plugin"),
    {
        "gpu-nodes-have-device-plugin": Differs("warning", "Another program may install it."),
    },
)

UNWATCHED = Fact(
    "What tells of GPUs tolerates the taints of the GPU nodes.",
    "The DaemonSet has no pod on those nodes: labels or metrics of their GPUs are missing where "
    "somebody looks for them.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    "warning",
    ("GPU1103", "gpu-monitoring-reaches-nodes"),
)

UNTOLD_TAINT = Fact(
    "A NodePool has the taints that its nodes register with.",
    "Karpenter launches nodes by what the NodePool says. Pods that do not tolerate a taint of the "
    "user data never come to run on the node that was launched for them, so it launches the next.",
    "https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecstartuptaints",
    "error",
    ("GPU1144", "karpenter-objects-valid"),
)

UNTOLD_LABEL = Fact(
    "A NodePool has the labels that its nodes register with.",
    "Karpenter launches no node for a pod that selects by a label which only user data sets.",
    "https://karpenter.sh/docs/concepts/scheduling/#labels",
    "warning",
    ("GPU1145", "karpenter-pools-effective"),
)

PLUGIN_AND_DRA = Fact(
    "The GPUs of a node are given out by a device plugin or by a DRA driver, not by both.",
    "Neither knows of what the other has given out: two pods that each own a GPU get the same.",
    "https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu",
    "error",
    ("GPU1186", "one-device-plugin"),
)
