"""Facts about MIG layouts, profiles and strategies."""

from __future__ import annotations

from eks_gpushare.catalog.versions import mig_parted_source
from eks_gpushare.facts.fact import Fact

PROFILE = Fact(
    "A MIG profile is one that a GPU has, by the name it has there.",
    "mig-parted takes any name of the right form, and makes no device of it on the node.",
    "https://github.com/NVIDIA/mig-parted/issues/97",
    "error",
    ("GPU221", "GPU1031", "mig-config-valid"),
)

FITS = Fact(
    "The devices of a MIG layout fit on the GPU that has them.",
    "The layout fails on the node, half of it made.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles",
    "error",
    ("GPU222", "GPU1032", "mig-config-valid"),
)

UNIFORM = Fact(
    "With the single strategy all GPUs of a node have the same MIG devices.",
    "The device plugin stops: more than one MIG device type present on node, or not all GPUs with "
    "the same migEnabled value. The node advertises nothing.",
    "https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details",
    "error",
    ("GPU228", "GPU1133", "mig-strategy-fits"),
)

APPLIED = Fact(
    "A node's label for a MIG layout stands beside a MIG manager.",
    "The device plugin's own chart does not look at the label: GPUs stay whole.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    "error",
    ("GPU1132", "GPU937", "mig-layouts-fit"),
)

BOOT_READ = Fact(
    "The AMI reads what a layout at boot says to kubelet.",
    "A node without its layout would join without taint and label.",
    "https://github.com/awslabs/amazon-eks-ami/pull/2427",
    "error",
    ("GPU640", "GPU941"),
)

REFUSED = Fact(
    "A MIG configuration is one that mig-parted takes.",
    "It refuses the whole file, and no node gets a layout.",
    mig_parted_source("api/spec/v1/spec.go"),
    "error",
    ("GPU1030", "mig-config-valid"),
)

NO_FILTER = Fact(
    "A device filter is a PCI device id of a GPU, with the vendor: 0x20B010DE.",
    "Any other matches no GPU, and the node is left as it was without an error.",
    mig_parted_source("pkg/types/device.go"),
    "error",
    ("GPU1033", "mig-config-valid"),
)

CANNOT = Fact(
    "A MIG layout is one that the GPUs of the nodes can have.",
    "MIG manager, or the node's boot, makes no device and says so only in its log: the node "
    "advertises nothing, or GPUs that are not as they should be.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
    "error",
    ("GPU1130", "mig-layouts-fit"),
)

NO_LAYOUT = Fact(
    "The MIG layout that a node's label names is there.",
    "MIG manager sets nvidia.com/mig.config.state=failed and leaves the GPUs as they are.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    "error",
    ("GPU1131", "mig-layouts-fit"),
)

NO_STRATEGY = Fact(
    "The device plugin of nodes with MIG devices has a MIG strategy.",
    "With none, its default, it advertises GPUs as if they were whole; a container that gets one "
    "of them finds no device to compute on.",
    "https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details",
    "error",
    ("GPU1134", "mig-strategy-fits"),
)

UNDONE = Fact(
    "MIG manager leaves GPUs alone that nodes cut at boot.",
    "The GPU Operator gives nodes without the label its default, all-disabled, and MIG manager "
    "then takes the MIG devices away: the node advertises whole GPUs, and its pods wait.",
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    "error",
    ("GPU1135", "mig-layouts-fit"),
)
