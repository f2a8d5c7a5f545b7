"""What a node advertises to the scheduler, by the way its GPUs are shared.

Source: https://github.com/NVIDIA/k8s-device-plugin v0.20.0, `internal/rm` and
`api/config/v1/replicas.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.config.sharing import Exclusive, Mig, Mps, TimeSlicing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.config.pools import Pool

GPU = "nvidia.com/gpu"
"""The resource of a whole GPU, or of a share of one that keeps the name."""
SHARED_SUFFIX = ".shared"
"""What `renameByDefault` adds to a resource's name."""


class NotPlannedError(Exception):
    """A way of sharing that this version checks but does not build yet."""


def renames(pool: Pool) -> bool:
    """Whether a share of this pool goes by another name than a whole GPU.

    Karpenter counts the GPUs of an instance type, so shares under the same name would mislead it:
    there the default is to rename.
    """
    sharing = pool.sharing.time_slicing if isinstance(pool.sharing, Mig) else pool.sharing
    if sharing is None or isinstance(sharing, Exclusive):
        return False
    return pool.provisioner == "karpenter" if sharing.rename is None else sharing.rename


def replicas(pool: Pool) -> int:
    """Shares per GPU; 1 where a GPU is not shared."""
    sharing = pool.sharing
    return sharing.replicas if isinstance(sharing, TimeSlicing | Mps) else 1


def request_name(pool: Pool) -> str:
    """The resource a pod asks for to get one share.

    Raises:
        NotPlannedError: For MIG.
    """
    if isinstance(pool.sharing, Mig):
        raise NotPlannedError
    return GPU + SHARED_SUFFIX if renames(pool) else GPU


def advertised(pool: Pool, instance_type: InstanceType) -> Mapping[str, int]:
    """Resources that one node of the given type advertises.

    With renamed shares the plain resource stays and shows 0, as the device plugin does it.

    Raises:
        NotPlannedError: For MIG.
    """
    shares = instance_type.gpu_count * replicas(pool)
    name = request_name(pool)
    return {name: shares} if name == GPU else {GPU: 0, name: shares}
