"""Rules about single objects of Kubernetes."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

_PODS = "https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/"

WRONG_KIND = Rule(
    "GPU1004",
    "error",
    "A value of a pod is of the kind that Kubernetes takes.",
    "Labels, selectors, tolerations and variables are text; true or 1 without quotes is refused.",
    _PODS,
)
NO_FIELD = Rule(
    "GPU1005",
    "error",
    "A field of a pod is one that pods have, in its place.",
    "kubectl refuses others, and whatever applies without that check drops them in silence.",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation",
)
BAD_TOLERATION = Rule(
    "GPU1006",
    "error",
    "A toleration is one that Kubernetes takes.",
    "The pod is refused, or its controller makes none.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
OLD_API = Rule(
    "GPU1007",
    "error",
    "An object is of a version of its API that clusters still serve.",
    "It is refused as a kind that is not known.",
    "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
)
COUNTS_NOTHING = Rule(
    "GPU1008",
    "error",
    "A quota of GPUs is one of requests.",
    "Of extended resources quotas take names with requests. alone; of others nothing is counted.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-for-extended-resources",
)
DEVICES_BY_HAND = Rule(
    "GPU1009",
    "warning",
    "A pod leaves it to the device plugin which GPUs it sees.",
    "A container that sets NVIDIA_VISIBLE_DEVICES sees those GPUs whether or not it was given one: "
    "nothing is counted, and shares of others are used.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/61",
)
GPU_FOR_ALL = Rule(
    "GPU1010",
    "warning",
    "A LimitRange gives no GPU to containers that ask for none.",
    "Every container of the namespace that says nothing then takes a GPU, sidecars too.",
    "https://kubernetes.io/docs/concepts/policy/limit-range/",
)
NO_VENDOR = Rule(
    "GPU1015",
    "error",
    "A resource of Spark's configuration has a vendor.",
    "Kubernetes knows resources as vendor and name; Spark stops before it makes a pod.",
    "https://spark.apache.org/docs/latest/running-on-kubernetes.html#resource-allocation-and-"
    "configuration-overview",
)
