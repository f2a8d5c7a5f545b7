"""Rules about configurations of NVIDIA's mig-parted, which the MIG manager applies.

Source: `api/spec/v1/spec.go` of NVIDIA/mig-parted, at the version in `catalog.versions`.
"""

from __future__ import annotations

from eks_gpushare.catalog.versions import mig_parted_source
from eks_gpushare.findings.rule import Rule

REFUSED = Rule(
    "GPU1030",
    "error",
    "A MIG configuration is one that mig-parted takes.",
    "It refuses the whole file, and no node gets a layout.",
    mig_parted_source("api/spec/v1/spec.go"),
)
NO_PROFILE = Rule(
    "GPU1031",
    "error",
    "A MIG profile is one that a GPU has, by the name it has there.",
    "mig-parted takes any name of the right form, and makes no device of it on the node.",
    "https://github.com/NVIDIA/mig-parted/issues/97",
)
NO_FIT = Rule(
    "GPU1032",
    "error",
    "The devices of a MIG layout fit on the GPU that has them.",
    "The layout fails on the node, half of it made.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles",
)
NO_FILTER = Rule(
    "GPU1033",
    "error",
    "A device filter is a PCI device id of a GPU, with the vendor: 0x20B010DE.",
    "Any other matches no GPU, and the node is left as it was without an error.",
    mig_parted_source("pkg/types/device.go"),
)
