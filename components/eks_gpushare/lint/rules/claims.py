"""Rules about what documentation says of shares, profiles and types."""

from __future__ import annotations

from eks_gpushare.findings.rule import Rule

SHARE_CLAIM = Rule(
    "GPU1065",
    "warning",
    "A replica is not said to be a share of the GPU.",
    "Replicas of time slicing divide neither compute nor memory: each pod may take all of both, "
    "and one that does takes it from the others. Whoever counts on a tenth gets anything.",
    "https://github.com/NVIDIA/k8s-device-plugin#with-cuda-time-slicing",
)
PROFILE_CLAIM = Rule(
    "GPU1066",
    "warning",
    "A MIG profile is named with a GPU that has it.",
    "Names of profiles hold the memory of the board: what is 2g.10gb on one is 2g.20gb on another. "
    "Copied to nodes that do not have it, the layout fails.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles",
)
STRATEGY_NAME = Rule(
    "GPU1067",
    "warning",
    "The single strategy is not told of resources of the mixed one.",
    "With single, devices are nvidia.com/gpu; nvidia.com/mig-* is what mixed advertises. Pods that "
    "request the other name wait for ever.",
    "https://docs.nvidia.com/datacenter/cloud-native/kubernetes/latest/index.html",
)
COUNT_CLAIM = Rule(
    "GPU1068",
    "warning",
    "As many MIG devices are named as the GPUs can have.",
    "Whoever plans by a wrong number buys too few nodes, or has pods that wait.",
    "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles",
)
RETIRED_TYPE = Rule(
    "GPU1069",
    "warning",
    "An instance type is one that EC2 has and still offers.",
    "Nodes of it cannot be launched in any region.",
    "https://aws.amazon.com/ec2/previous-generation/",
)
