"""Rules about names of GPUs in pods: as resources, and where no label is called so."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

_PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin#readme"

NO_SUCH_RESOURCE = Rule(
    "GPU1204",
    "error",
    "A pod asks for GPUs by a name that the device plugin gives them.",
    "No node ever advertises another one: the pod stays Pending, and no autoscaler adds a node.",
    _PLUGIN,
)
RESOURCE_AS_LABEL = Rule(
    "GPU1205",
    "error",
    "A pod chooses nodes by labels that nodes have, not by names of resources.",
    "Nothing labels nodes with the name of a resource: the pod stays Pending.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html",
)
OTHER_STRATEGY = Rule(
    "GPU1206",
    "error",
    "Pods ask for MIG devices by the name that the MIG strategy of the charts gives them.",
    "With the strategy single they are called nvidia.com/gpu, with none there are none: the pod "
    "stays Pending.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
)
