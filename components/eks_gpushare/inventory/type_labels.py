"""Labels that Karpenter gives nodes by what EC2 says of their type.

Source: `providers/instancetype/types.go` of aws/karpenter-provider-aws (2026-11-22). EKS Auto Mode
has the same below a prefix of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eks_gpushare.catalog.instances import InstanceType

KARPENTER: Final = "karpenter.k8s.aws/instance-"
AUTO_MODE: Final = "eks.amazonaws.com/instance-"
PREFIXES: Final = (KARPENTER, AUTO_MODE)
_SCHEME: Final = re.compile(r"([a-z]+)(?:-[0-9]+tb)?([0-9]+)")
"""Category and generation, as Karpenter takes them from a name: gr and 6 of gr6.4xlarge."""


def facts_of(found: InstanceType) -> dict[str, str]:
    """Their values, by what follows the prefix; an empty text where it is not known."""
    family, _, size = found.name.partition(".")
    made = {"family": family, "size": size, "cpu": str(found.vcpus), "arch": found.arch}
    made["memory"] = str(found.memory_mib)
    scheme = _SCHEME.match(family)
    if scheme is not None:
        made["category"], made["generation"] = scheme.groups()
    if found.gpu is not None:
        made["gpu-manufacturer"] = "nvidia"
        made["gpu-name"] = found.gpu.model.lower().replace(" ", "-")
        made["gpu-count"] = "" if found.api_gpu_count is None else str(found.api_gpu_count)
    return made
