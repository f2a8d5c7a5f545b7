"""Rules about whether pools can launch nodes that hold what pods ask for."""

from __future__ import annotations

from typing import Final

from eks_gpushare.findings.rule import Rule

SMALL_BY_DEFAULT: Final = Rule(
    "GPU1248",
    "warning",
    "The volume that images of GPU nodes go to is made large enough.",
    "Karpenter gives nodes 20 GiB where nobody says. Bottlerocket keeps images on /dev/xvdb, "
    "whatever size /dev/xvda has. A CUDA image or two fills that, and the node evicts its pods.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#specblockdevicemappings",
)
NO_DISK: Final = Rule(
    "GPU1249",
    "error",
    "A node has the disk that a pod asks for, and a pod the disk that its model needs.",
    "The image, the system and the kubelet have a part of the volume. Karpenter launches nodes on "
    "which the pod then finds no room, or none at all. A pod that exceeds its own limit is evicted "
    "while it downloads, and a full volume ends the download.",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#local-ephemeral-storage",
)
NO_ROOM_FOR_ONE: Final = Rule(
    "GPU1251",
    "error",
    "A NodePool's limits leave room for one of its nodes, and those of a node for a pod.",
    "Karpenter launches no node that would exceed a limit, or on which the pod would find no room "
    "beside those of every node, and says so in its log alone.",
    "https://karpenter.sh/docs/concepts/nodepools/#speclimits",
)
MIXED: Final = Rule(
    "GPU1252",
    "warning",
    "A NodePool launches nodes with GPUs or nodes without.",
    "Pods without a GPU stay on a GPU node after those that needed it are gone, and keep it.",
    "https://github.com/aws/karpenter-provider-aws/issues/8447",
)
NO_TYPE_HAS_IT: Final = Rule(
    "GPU1253",
    "error",
    "A pool has types with as many GPUs as a pod asks for.",
    "An autoscaler counts the GPUs of the instance type. Where no type has enough, or AMD's, or "
    "parts of one that EC2 counts as none, it launches nothing.",
    "https://karpenter.sh/docs/concepts/scheduling/#acceleratorsgpu-resources",
)
CLAIM_FOR_KARPENTER: Final = Rule(
    "GPU1254",
    "warning",
    "Pods with claims of devices are for nodes that are there without them.",
    "Karpenter's AWS provider launches no node for a claim: the pods wait until one is there for "
    "another reason.",
    "https://github.com/aws/karpenter-provider-aws/issues/9519",
)
RESERVED_IN_VAIN: Final = Rule(
    "GPU1376",
    "warning",
    "Capacity that a node class has reserved is taken by a pool of it.",
    "Karpenter launches into a reservation only where the NodePool takes reserved capacity, and in "
    "its zone: the reservation is paid and stays idle, and the pods wait where there is no other.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#speccapacityreservationselectorterms",
)
NO_SUBNET: Final = Rule(
    "GPU1285",
    "warning",
    "The node class that a pool names is there, and selects subnets that are.",
    "A class that is not there, or finds none, is not ready: Karpenter passes its pools over, and "
    "their pods stay Pending.",
    "https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms",
)
OTHER_ARCHITECTURE: Final = Rule(
    "GPU1259",
    "error",
    "The image of a pool is for the architecture of its instance types.",
    "EC2 starts no instance from an image of another architecture.",
    "https://github.com/aws/karpenter-provider-aws/issues/3217",
)
