"""Facts about nodes: images, drivers, volumes, labels and taints."""

from __future__ import annotations

from eks_gpushare.catalog.versions import gpu_operator_source
from eks_gpushare.facts.fact import ADOPTED, Differs, Fact

TAINTED = Fact(
    "GPU nodes are tainted.",
    "Pods that need no GPU fill the node, and its shares stay unused.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/aiml-compute.html",
    "warning",
    (
        "GPU306",
        "GPU1215",
        "gpu-nodes-tainted",
        "gpu-launch-template-taints",
        "gpu-node-pools-tainted",
    ),
    {
        "GPU1215": Differs(
            "info", "Admission policies and selectors that are in no file may keep pods out too."
        ),
        "gpu-nodes-tainted": ADOPTED,
        "gpu-launch-template-taints": ADOPTED,
        "gpu-node-pools-tainted": ADOPTED,
    },
)

VOLUME_ROOM = Fact(
    "The root volume has room for CUDA images.",
    "Images of 10 GiB and more fill a small disk; the kubelet then evicts pods.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/aiml-performance.html",
    "warning",
    (
        "GPU506",
        "GPU1214",
        "gpu-node-volume-size",
        "gpu-launch-template-volume-size",
        "node-class-volume-size",
    ),
)

AMI_PINNED = Fact(
    "The AMI version is pinned.",
    "A node group created later, or a version update, starts from another driver than today's.",
    "https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html",
    "info",
    ("GPU508", "GPU1216", "ami-versions-pinned"),
    {
        "ami-versions-pinned": Differs(
            "error", "It judges stacks of production, whose nodes must not change by themselves."
        ),
    },
)

DRIVER = Fact(
    "GPU nodes get an NVIDIA driver, from their AMI or from the GPU Operator.",
    "Without one there is nothing to advertise: the device plugin finds no GPU and waits.",
    "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html",
    "error",
    ("GPU507", "GPU1181", "driver-not-twice"),
)

WAITS_FOR_DRIVER = Fact(
    "Kubelet waits for the NVIDIA driver on nodes of the GPU Operator.",
    "The operator looks for a driver on the host once. Nothing on the AMI orders kubelet after the"
    " driver, and a node that was too quick never advertises a GPU.",
    gpu_operator_source("cmd/nvidia-validator/main.go"),
    "warning",
    ("GPU642", "GPU940"),
    {
        "GPU940": Differs("error", "The lab has seen the node advertise nothing."),
    },
)

TWICE = Fact(
    "The GPU Operator installs no driver and no container toolkit on AMIs that have them.",
    "NVIDIA publishes no driver images for Amazon Linux, so the pods of the operator fail to pull;"
    " its toolkit rewrites containerd's configuration, and no pod starts on the node.",
    "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html",
    "error",
    ("GPU1180", "driver-not-twice"),
)

UNNAMED = Fact(
    "A managed node group of types with GPUs names its AMI type.",
    "EKS asks for one that goes with the GPUs, and nothing published says which it takes where "
    "none is named: of the standard ones none has a driver.",
    "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html",
    "warning",
    ("GPU1182", "gpu-ami-type-named"),
)

MIXED = Fact(
    "The instance types of a node group have GPUs all, or none of them has.",
    "EC2 starts whichever type it has room for, and Cluster Autoscaler takes every node of a group"
    " for the same: pods that ask for a GPU wait beside nodes that have none.",
    "https://docs.aws.amazon.com/eks/latest/best-practices/cas.html",
    "error",
    ("GPU1183", "gpu-node-types-alike"),
)

EFA_ZONE = Fact(
    "Nodes with EFA are in one zone.",
    "EFA traffic does not leave its zone: nodes of two zones speak TCP to each other, at a "
    "fraction of the speed, or fail to find each other.",
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
    "warning",
    ("GPU627", "efa-in-one-zone"),
    {
        "efa-in-one-zone": ADOPTED,
    },
)
