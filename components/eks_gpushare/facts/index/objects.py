"""Facts about Kubernetes objects as such."""

from __future__ import annotations

from eks_gpushare.facts.fact import Fact

WRONG_KIND = Fact(
    "A value of a pod is of the kind that Kubernetes takes.",
    "Labels, selectors, tolerations and variables are text; true or 1 without quotes is refused.",
    "https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/",
    "error",
    ("GPU1004", "kubernetes-objects-valid"),
)

NO_FIELD = Fact(
    "A field of a pod is one that pods have, in its place.",
    "kubectl refuses others, and whatever applies without that check drops them in silence.",
    "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation",
    "error",
    ("GPU1005", "kubernetes-objects-valid"),
)

BAD_TOLERATION = Fact(
    "A toleration is one that Kubernetes takes.",
    "The pod is refused, or its controller makes none.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    "error",
    ("GPU1006", "kubernetes-objects-valid"),
)

OLD_API = Fact(
    "An object is of a version of its API that clusters still serve.",
    "It is refused as a kind that is not known.",
    "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
    "error",
    ("GPU1007", "kubernetes-objects-valid"),
)

COUNTS_NOTHING = Fact(
    "A quota of GPUs is one of requests.",
    "Of extended resources quotas take names with requests. alone; of others nothing is counted.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-for-extended-resources",
    "error",
    ("GPU1008", "kubernetes-objects-valid"),
)

DEVICES_BY_HAND = Fact(
    "A pod leaves it to the device plugin which GPUs it sees.",
    "A container that sets NVIDIA_VISIBLE_DEVICES sees those GPUs whether or not it was given one:"
    " nothing is counted, and shares of others are used.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/61",
    "warning",
    ("GPU1009", "visible-devices-leak-closed"),
)

GPU_FOR_ALL = Fact(
    "A LimitRange gives no GPU to containers that ask for none.",
    "Every container of the namespace that says nothing then takes a GPU, sidecars too.",
    "https://kubernetes.io/docs/concepts/policy/limit-range/",
    "warning",
    ("GPU1010", "limit-ranges-give-no-gpu"),
)

NO_VENDOR = Fact(
    "A resource of Spark's configuration has a vendor.",
    "Kubernetes knows resources as vendor and name; Spark stops before it makes a pod.",
    "https://spark.apache.org/docs/latest/running-on-kubernetes.html#resource-allocation-and-configuration-overview",
    "error",
    ("GPU1015", "kubernetes-objects-valid"),
)
