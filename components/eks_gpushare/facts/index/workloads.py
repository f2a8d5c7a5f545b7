"""Facts about pods and what they ask for."""

from __future__ import annotations

from eks_gpushare.facts.fact import ADOPTED, Differs, Fact

TOLERATED = Fact(
    "Pods tolerate the taints of the nodes whose GPUs they ask for.",
    "They stay Pending. EKS adds a toleration whose key is the resource that a pod asks for, which"
    " is another key as soon as shares are renamed or GPUs are cut by MIG.",
    "https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html",
    "error",
    ("GPU1111", "GPU924", "workloads-can-land"),
    {
        "GPU924": Differs(
            "warning",
            "The lab tells why pods wait; whether that is as wanted is for --expect to say.",
        ),
    },
)

ADVERTISED = Fact(
    "Pods ask for a resource that some node advertises.",
    "The scheduler knows no node that has it: the pods stay Pending, and no autoscaler adds one.",
    "https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/",
    "error",
    ("GPU1110", "GPU923", "workloads-can-land"),
)

IMAGE_PINNED = Fact(
    "The image of a workload is pinned.",
    "A pod that is added later may run another program than those beside it.",
    "https://kubernetes.io/docs/concepts/containers/images/",
    "warning",
    ("GPU830", "images-pinned"),
    {
        "images-pinned": ADOPTED,
    },
)

BUDGET = Fact(
    "A disruption budget lets a pod go when its node has to.",
    "No node with such a pod can be drained: updates of the node group and of Karpenter's nodes "
    "wait for ever.",
    "https://kubernetes.io/docs/tasks/run-application/configure-pdb/",
    "warning",
    ("GPU849", "budgets-let-nodes-go"),
)

ELSEWHERE = Fact(
    "Pods select nodes that are there and have what they ask for.",
    "No node has both the labels and the resource, so the pods stay Pending.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/",
    "error",
    ("GPU1112", "workloads-can-land"),
)

AMOUNT = Fact(
    "GPUs are asked for in whole numbers, under the limits, and the same under the requests.",
    "The API server refuses the pod: a device is given whole or not at all, and is never promised "
    "twice.",
    "https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",
    "error",
    ("GPU1114", "gpu-requests-whole"),
)

TOO_MANY = Fact(
    "A pod asks for no more of a resource than a node has.",
    "No node can hold it, however many there are: it stays Pending.",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    "error",
    ("GPU1115", "workloads-can-land"),
)

NO_CLASS = Fact(
    "A claim asks for devices of a class that is there.",
    "No device is ever of a class that nobody makes: pods with the claim stay Pending.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
    "error",
    ("GPU1146", "workloads-can-land"),
)

BAD_CONFIG = Fact(
    "The settings of a claim are ones that NVIDIA's driver takes.",
    "The driver refuses to prepare the device, and the pod hangs in ContainerCreating.",
    "https://github.com/NVIDIA/k8s-dra-driver-gpu/tree/main/api/nvidia.com/resource/v1beta1",
    "error",
    ("GPU1147", "workloads-can-land"),
)

NO_CLAIM = Fact(
    "A pod uses claims that are there.",
    "It waits for a claim or a template of that name; a container that uses a claim which its pod "
    "does not list is refused.",
    "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/",
    "error",
    ("GPU1148", "workloads-can-land"),
)

CLAIM_SHAPE = Fact(
    "A claim has the fields of its version, and its parts name its own requests.",
    "The API server refuses it.",
    "https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-claim-v1/",
    "error",
    ("GPU1149", "workloads-can-land"),
)

NO_SUCH_RESOURCE = Fact(
    "A pod asks for GPUs by a name that the device plugin gives them.",
    "No node ever advertises another one: the pod stays Pending, and no autoscaler adds a node.",
    "https://github.com/NVIDIA/k8s-device-plugin#readme",
    "error",
    ("GPU1204", "workloads-can-land"),
)

RESOURCE_AS_LABEL = Fact(
    "A pod chooses nodes by labels that nodes have, not by names of resources.",
    "Nothing labels nodes with the name of a resource: the pod stays Pending.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html",
    "error",
    ("GPU1205", "workloads-can-land"),
)

OTHER_STRATEGY = Fact(
    "Pods ask for MIG devices by the name that the MIG strategy of the charts gives them.",
    "With the strategy single they are called nvidia.com/gpu, with none there are none: the pod "
    "stays Pending.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    "error",
    ("GPU1206", "workloads-can-land"),
)
