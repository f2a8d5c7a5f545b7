"""Facts about how GPUs are shared, and what a share is."""

from __future__ import annotations

from eks_gpushare.facts.fact import Fact

PODS_FOR_SHARES = Fact(
    "A node can run as many pods as it advertises shares.",
    "Shares beyond the pod limit are paid for and never used, and pods stay Pending.",
    "https://docs.aws.amazon.com/eks/latest/userguide/choosing-instance-type.html",
    "warning",
    ("GPU209", "GPU1190", "shares-within-reach"),
)

# No policy says it: pods may ask for as little as there is, and a policy has no notes.
THIN_SHARE = Fact(
    "A share comes with a CPU and some memory of the node.",
    "CPU or memory runs out before the shares do, so the last shares are paid for and not used.",
    "https://karpenter.sh/docs/reference/instance-types/",
    "info",
    ("GPU210", "GPU1208"),
)

GOES_ROUND = Fact(
    "CPU and memory of a node go round for all its shares.",
    "The node is full before its shares are: some of the GPU that is paid for stays unused.",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    "warning",
    ("GPU837", "GPU1207", "shares-within-reach"),
)

SEVERAL_REFUSED = Fact(
    "A request for several shares is refused.",
    "Two shares of a time-sliced GPU are neither twice the compute nor twice the memory.",
    "https://github.com/NVIDIA/gpu-operator/issues/386",
    "warning",
    ("GPU205", "several-shares-refused"),
)

ONE_SHARE = Fact(
    "A container asks for one share of a GPU that pods take turns on.",
    "Two shares give no more time or memory than one and may be of the same GPU; with "
    "failRequestsGreaterThanOne the kubelet refuses the pod: UnexpectedAdmissionError.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-time-slicing",
    "error",
    ("GPU1113", "GPU922", "one-share-per-container"),
)

FEW_SLICES = Fact(
    "AWS advises 2 to 8 time-sliced replicas.",
    "Latency grows with every pod that takes its turn.",
    "https://docs.aws.amazon.com/eks/latest/userguide/device-management-nvidia-time-slicing.html",
    "info",
    ("GPU208", "time-slicing-replicas"),
)
