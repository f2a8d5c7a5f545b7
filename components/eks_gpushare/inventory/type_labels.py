"""Labels that Karpenter gives nodes by what EC2 says of their type.

Source: `providers/instancetype/types.go` of aws/karpenter-provider-aws (2026-11-22). EKS Auto Mode
has the same below a prefix of its own.
"""

from __future__ import annotations

from string import digits
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eks_gpushare.catalog.instances import InstanceType

KARPENTER: Final = "karpenter.k8s.aws/instance-"
AUTO_MODE: Final = "eks.amazonaws.com/instance-"
PREFIXES: Final = (KARPENTER, AUTO_MODE)


def facts_of(found: InstanceType) -> dict[str, str]:
    """Their values, by what follows the prefix."""
    family, _, size = found.name.partition(".")
    generation = next((each for each in family if each in digits), "")
    made = {
        "family": family,
        "size": size,
        "category": family[0],
        "generation": generation,
        "cpu": str(found.vcpus),
        "gpu-manufacturer": "nvidia",
        "gpu-count": "" if found.api_gpu_count is None else str(found.api_gpu_count),
        "arch": found.arch,
    }
    if found.gpu is not None:
        made["gpu-name"] = found.gpu.model.lower().replace(" ", "-")
    return made
