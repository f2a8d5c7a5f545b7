"""Facts about tenants that share nodes."""

from __future__ import annotations

from eks_gpushare.facts.fact import Differs, Fact

SHARED_BY_TENANTS = Fact(
    "A tenant that is marked isolated takes turns on no GPU with another.",
    "With time slicing one tenant's pods take the memory of the other's, with MPS a fault of one "
    "ends those of both; MIG divides memory and faults in hardware.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    "error",
    ("GPU1160", "tenants-share-no-gpu"),
)

LEAK = Fact(
    "On nodes of several tenants NVIDIA_VISIBLE_DEVICES gives no GPU to unprivileged containers.",
    "Any pod on the node sees every GPU and what is on it by setting the variable, or by an image "
    "that sets it, as CUDA's do: without a request, past quotas, past sharing.",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/61",
    "warning",
    ("GPU1161", "visible-devices-leak-closed"),
)

NO_WAY = Fact(
    "GPUs are handed to containers by a way that the nodes' runtime follows.",
    "The runtime ignores the variable for unprivileged containers, and the device plugin hands out"
    " GPUs by it alone: pods start and see no GPU.",
    "https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details",
    "error",
    ("GPU1162", "visible-devices-leak-closed"),
    {
        "visible-devices-leak-closed": Differs(
            "warning", "A program rarely says which runtime its nodes have."
        ),
    },
)
