"""What a node advertises to the scheduler, by the way its GPUs are shared.

Source: `internal/rm` and `api/config/v1/replicas.go` of NVIDIA/k8s-device-plugin, at the version in
`catalog.versions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, assert_never

from eks_gpushare.config.sharing import Exclusive, Mig, Mps, SharedMigDevices, TimeSlicing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eks_gpushare.catalog import Catalog, InstanceType
    from eks_gpushare.config.pools import Pool
    from eks_gpushare.sharing.mig.layout import NodeLayout

GPU = "nvidia.com/gpu"
"""The resource of a whole GPU, or of a share of one that keeps the name."""
SHARED_SUFFIX = ".shared"
"""What `renameByDefault` adds to a resource's name."""
MIG_PREFIX = "nvidia.com/mig-"
"""What the mixed strategy puts before the name of a profile."""


class Share(NamedTuple):
    """One kind of share on a node: what a pod asks for, and of what it is a part."""

    resource: str
    """Name that a pod requests."""
    base_resource: str
    """Name without what renaming adds; where the two differ, no node advertises it."""
    per_node: int
    """How many of them a node has."""
    of_node: float
    """Part of the node's GPUs that one of them stands for, above 0 and at most 1."""
    memory_mib: int | None
    """GPU memory of one if all pods keep to it; None if unknown. MPS and MIG enforce it, time
    slicing does not. Of a GPU it is what NVML reports, or EC2's figure where that is not known."""


def mig_resource(profile: str) -> str:
    """The resource of a MIG profile under the mixed strategy; `+` is no letter for a resource."""
    return MIG_PREFIX + profile.replace("+", ".")


def renames(pool: Pool) -> bool:
    """Whether a share of this pool goes by another name than a whole GPU.

    Karpenter counts the GPUs of an instance type, so shares under the same name would mislead it:
    there the default is to rename.
    """
    turns = _turns(pool)
    if turns is None:
        return False
    return pool.provisioner == "karpenter" if turns.rename is None else turns.rename


def replicas(pool: Pool) -> int:
    """Pods per GPU, or per MIG device; 1 where it is not shared."""
    turns = _turns(pool)
    return 1 if turns is None else turns.replicas


def _turns(pool: Pool) -> TimeSlicing | Mps | SharedMigDevices | None:
    """How several pods share a GPU or MIG device; None where each has one of its own."""
    sharing = pool.sharing
    match sharing:
        case Exclusive():
            return None
        case TimeSlicing() | Mps():
            return sharing
        case Mig():
            return sharing.time_slicing
        case _:
            assert_never(sharing)


def shares(pool: Pool, instance_type: InstanceType, catalog: Catalog) -> tuple[Share, ...]:
    """The shares that one node of the given type has, the one to ask for by default first.

    Args:
        pool: A pool that the rules have accepted.
        instance_type: Type of the node.
        catalog: Where MIG profiles and layouts are looked up.

    Raises:
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    sharing = pool.sharing
    match sharing:
        case Exclusive() | TimeSlicing() | Mps():
            return (_named(_whole(instance_type, instance_type.gpu_count), pool),)
        case Mig():
            from eks_gpushare.sharing.mig.layout import node_layout

            layout = node_layout(sharing.layout, instance_type, catalog)
            return _mig(pool, sharing, layout, _whole(instance_type, layout.whole))
        case _:
            assert_never(sharing)


def mig_strategy(sharing: Mig, pool: Pool) -> Literal["mixed", "single"]:
    """How the MIG devices of a pool are called: mixed unless it says otherwise.

    Bottlerocket's device plugin knows single alone, so that is the default there.
    """
    return sharing.strategy or ("single" if pool.runs_bottlerocket else "mixed")


def is_left_whole(pool: Pool, resource: str | None) -> bool:
    """Whether a resource of a MIG pool is of GPUs that the layout does not divide.

    They are not shared, whatever is said of the devices. Under the single strategy the devices have
    the name of a GPU, and no GPU is left whole.
    """
    sharing = pool.sharing
    mixed = isinstance(sharing, Mig) and mig_strategy(sharing, pool) == "mixed"
    return mixed and resource == GPU


def advertised(pool: Pool, instance_type: InstanceType, catalog: Catalog) -> Mapping[str, int]:
    """Resources that one node of the given type advertises.

    Renamed shares have taken their devices from the base resource, for which no plugin starts
    (`updateDeviceMapWithReplicas`): a new node does not have it. Only a node that advertised it
    before keeps it, at 0. Autoscalers have to be told that 0 all the same, in an overlay or a node
    template, since they take the GPUs of the instance type for `nvidia.com/gpu`.

    With mixed MIG devices the whole GPUs left are always told, if only as 0.

    Raises:
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    found = shares(pool, instance_type, catalog)
    mixed = isinstance(pool.sharing, Mig) and mig_strategy(pool.sharing, pool) != "single"
    whole = {GPU: 0} if mixed else {}
    return whole | {share.resource: share.per_node for share in found}


def _whole(instance_type: InstanceType, count: int) -> Share:
    gpus = instance_type.gpu_count
    memory = instance_type.gpu.memory_mib if instance_type.gpu else None
    return Share(GPU, GPU, count, 1 / gpus if gpus else 1.0, memory)


def _named(share: Share, pool: Pool) -> Share:
    """A GPU or MIG device as the pods that take turns on it see it."""
    turns = max(1, replicas(pool))  # below 1 is refused, and must not stop other checks
    return Share(
        share.base_resource + SHARED_SUFFIX if renames(pool) else share.base_resource,
        share.base_resource,
        share.per_node * turns,
        share.of_node / turns,
        None if share.memory_mib is None else share.memory_mib // turns,
    )


def _mig(pool: Pool, sharing: Mig, layout: NodeLayout, whole: Share) -> tuple[Share, ...]:
    """The most numerous devices first; GPUs left whole are last, and time slicing leaves them."""
    single = mig_strategy(sharing, pool) == "single"
    devices = []
    for name, count in layout.instances.items():
        profile = layout.model.profiles[name]
        memory = profile.memory_mib or profile.memory_gb * 1024
        resource = GPU if single else mig_resource(name)
        part = _part_of_node(layout, name)
        devices.append(_named(Share(resource, resource, count, part, memory), pool))
    devices.sort(key=lambda share: (-share.per_node, share.of_node, share.resource))
    return (*devices, *((whole,) if layout.whole else ()))


def _part_of_node(layout: NodeLayout, profile: str) -> float:
    """What one device of a profile stands for, on average where GPUs are cut differently.

    Slices that a layout leaves unused count as those of its devices, by their compute.
    """
    profiles = layout.model.profiles
    part, count = 0.0, 0
    for gpu in layout.gpus:
        used = sum(n * profiles[name].compute_slices for name, n in gpu.devices.items())
        if gpu.devices.get(profile):
            part += gpu.devices[profile] * profiles[profile].compute_slices / used
            count += gpu.devices[profile]
    return part / count / len(layout.gpus)
