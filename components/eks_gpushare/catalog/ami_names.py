"""By which parameters and names EKS's AMI types are looked up.

Sources, read 2026-11-22: https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html and
https://bottlerocket.dev/en/os/latest/install/quickstart/aws/amis/ for parameters of Systems
Manager, the names of images from the releases of awslabs/amazon-eks-ami.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

PARAMETERS: Final = {
    "AL2_x86_64": "eks/optimized-ami/{}/amazon-linux-2",
    "AL2_x86_64_GPU": "eks/optimized-ami/{}/amazon-linux-2-gpu",
    "AL2_ARM_64": "eks/optimized-ami/{}/amazon-linux-2-arm64",
    "AL2023_x86_64_STANDARD": "eks/optimized-ami/{}/amazon-linux-2023/x86_64/standard",
    "AL2023_ARM_64_STANDARD": "eks/optimized-ami/{}/amazon-linux-2023/arm64/standard",
    "AL2023_x86_64_NVIDIA": "eks/optimized-ami/{}/amazon-linux-2023/x86_64/nvidia",
    "AL2023_ARM_64_NVIDIA": "eks/optimized-ami/{}/amazon-linux-2023/arm64/nvidia",
    "AL2023_x86_64_NEURON": "eks/optimized-ami/{}/amazon-linux-2023/x86_64/neuron",
    "BOTTLEROCKET_ARM_64": "bottlerocket/aws-k8s-{}/arm64",
    "BOTTLEROCKET_x86_64": "bottlerocket/aws-k8s-{}/x86_64",
    "BOTTLEROCKET_ARM_64_NVIDIA": "bottlerocket/aws-k8s-{}-nvidia/arm64",
    "BOTTLEROCKET_x86_64_NVIDIA": "bottlerocket/aws-k8s-{}-nvidia/x86_64",
}
"""AMI type to the parameter below `/aws/service/` that names its images, by Kubernetes version."""
_NAMES: Final = {
    "AL2_x86_64": "amazon-eks-node-{}",
    "AL2_x86_64_GPU": "amazon-eks-gpu-node-{}",
    "AL2_ARM_64": "amazon-eks-arm64-node-{}",
    "AL2023_x86_64_STANDARD": "amazon-eks-node-al2023-x86_64-standard-{}",
    "AL2023_ARM_64_STANDARD": "amazon-eks-node-al2023-arm64-standard-{}",
    "AL2023_x86_64_NVIDIA": "amazon-eks-node-al2023-x86_64-nvidia-{}",
    "AL2023_ARM_64_NVIDIA": "amazon-eks-node-al2023-arm64-nvidia-{}",
    "AL2023_x86_64_NEURON": "amazon-eks-node-al2023-x86_64-neuron-{}",
    "BOTTLEROCKET_ARM_64": "bottlerocket-aws-k8s-{}-aarch64",
    "BOTTLEROCKET_x86_64": "bottlerocket-aws-k8s-{}-x86_64",
    "BOTTLEROCKET_ARM_64_NVIDIA": "bottlerocket-aws-k8s-{}-nvidia-aarch64",
    "BOTTLEROCKET_x86_64_NVIDIA": "bottlerocket-aws-k8s-{}-nvidia-x86_64",
}
"""AMI type to how names of its images begin."""
# A version, a pattern for several, or what stands for one that is yet to be filled in.
_VERSION: Final = r"(?:1\.[0-9*]+|\$\{[^{}/]+\})"


def ami_type_of(name: str) -> str | None:
    """The AMI type whose images a parameter names, or that an image's name or a pattern is of.

    Args:
        name: Such as `/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/nvidia/
            recommended/image_id`, or `amazon-eks-node-al2023-x86_64-standard-1.33-*`.

    Returns:
        None of what says nothing of an AMI type.
    """
    return next((kind for kind, pattern in _patterns() if pattern.match(name)), None)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (kind, re.compile(before + re.escape(text).replace(r"\{\}", _VERSION) + after))
        for before, table, after in (
            ("(?:resolve:ssm:)?/aws/service/", PARAMETERS, r"/[^/]+(?:/image_id)?(?::[0-9]+)?\Z"),
            ("", _NAMES, r"(?![A-Za-z0-9.])"),
        )
        for kind, text in table.items()
    )
