"""How many pods may share a GPU: what of a node each pod takes, and what runs out first.

Who asks has measured what one pod takes. Every bound is a division of what a node has by that, and
the least of them counts.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from eks_gpushare.catalog.gpus import mps_client_limit
from eks_gpushare.catalog.versions import device_plugin_source
from eks_gpushare.config.sharing import Exclusive, Mig, Mps
from eks_gpushare.facts.shares import SYSTEM_PODS, most_pods
from eks_gpushare.sharing.efa import taken_interfaces
from eks_gpushare.sharing.nodes import allocatable
from eks_gpushare.sharing.resources import is_left_whole, shares
from eks_gpushare.sharing.system_load import (
    SystemLoad,
    exporter_load,
    known_addons,
    on_each_node,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog import Catalog, InstanceType
    from eks_gpushare.config.environment import Environment
    from eks_gpushare.config.pools import Pool

_OF_GPUS: Final = SystemLoad(1, 5, 64, ("node feature discovery's worker",))
"""DaemonSets of GPUs that request anything: values.yaml of node-feature-discovery 0.19.0. NVIDIA's
device plugin, GPU feature discovery and MPS daemon request nothing."""
_AMI_SOURCE: Final = "https://github.com/awslabs/amazon-eks-ami"
_ENI_SOURCE: Final = "https://docs.aws.amazon.com/eks/latest/userguide/choosing-instance-type.html"
_MIG_SOURCE: Final = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/"
_TURNS_SOURCE: Final = (
    "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html"
)


class Need(NamedTuple):
    """What one pod takes; None is what nobody has measured."""

    gpu_memory_mib: Fraction | None = None
    """GPU memory at its peak, CUDA context and all."""
    gpu_use: Fraction | None = None
    """Part of the time in which it keeps the GPU busy, alone on it: above 0 and at most 1."""
    cpu_millis: Fraction | None = None
    """CPU that it requests, in thousandths."""
    memory_mib: Fraction | None = None
    """Main memory that it requests."""
    gpu_memory_kept: Fraction = Fraction(0)
    """Part of the memory of each GPU or MIG device that is left free: the driver keeps some."""


class Bound(NamedTuple):
    """One thing that a node has so much of."""

    name: str
    """`gpuMemory`, `gpuTime`, `cpu`, `memory`, `pods` or `mpsClients`."""
    has: str
    """What there is of it, for people."""
    takes: str
    """What a pod takes of it."""
    replicas: int
    """Pods on one GPU or MIG device that it is enough for; 0 where it is too little for one."""
    pods: int
    """Pods of a node that it is enough for."""
    source: str
    """What says how much there is."""


class Sizing(NamedTuple):
    """What a node of one type is enough for."""

    instance_type: InstanceType
    devices: int
    """GPUs or MIG devices of a node that take pods."""
    bounds: tuple[Bound, ...]
    """Everything that was asked of, in the order of a pod's way: first the GPU, then the node."""

    @property
    def replicas(self) -> int:
        """Most pods on one GPU or MIG device; 0 where not even one has room."""
        return min(bound.replicas for bound in self.bounds)

    @property
    def pods(self) -> int:
        """Pods of a node with that many on each device."""
        return min(self.devices * self.replicas, *(bound.pods for bound in self.bounds))

    @property
    def least(self) -> tuple[Bound, ...]:
        """What runs out first."""
        return tuple(bound for bound in self.bounds if bound.replicas == self.replicas)


def size(
    need: Need, pool: Pool, instance_type: InstanceType, environment: Environment, catalog: Catalog
) -> Sizing:
    """How many pods may share each GPU or MIG device of a node.

    Args:
        need: What a pod takes.
        pool: A pool that the rules have accepted; how many replicas it has does not count.
        instance_type: One of its types, with a GPU.
        environment: Its environment: what runs on every node depends on it.
        catalog: Where MIG profiles and layouts are looked up.

    Raises:
        eks_gpushare.sharing.mig.layout.LayoutError: For a MIG layout that the rules refuse.
    """
    devices = _devices(pool, instance_type, catalog)
    count = sum(number for number, _ in devices.values())
    bounds = [
        *_of_the_gpu(need, pool, instance_type, devices),
        *_of_the_node(need, pool, instance_type, environment, count),
    ]
    return Sizing(instance_type, count, tuple(bounds))


def _devices(
    pool: Pool, instance_type: InstanceType, catalog: Catalog
) -> dict[str, tuple[int, int | None]]:
    """Count and memory in MiB of what pods share, by resource: GPUs, or MIG devices of a layout.

    GPUs that a layout leaves whole have a pod each, so that nobody shares them.
    """
    sharing = pool.sharing
    alone = sharing.model_copy(update={"time_slicing": None}) if isinstance(sharing, Mig) else None
    unshared = pool.model_copy(update={"sharing": alone or Exclusive(mode="exclusive")})
    return {
        share.base_resource: (share.per_node, share.memory_mib)
        for share in shares(unshared, instance_type, catalog)
        if not is_left_whole(pool, share.base_resource)
    }


def _of_the_gpu(
    need: Need,
    pool: Pool,
    instance_type: InstanceType,
    devices: dict[str, tuple[int, int | None]],
) -> Iterator[Bound]:
    count = sum(number for number, _ in devices.values())
    what = "MIG device" if isinstance(pool.sharing, Mig) else "GPU"
    known = {name: (n, mib) for name, (n, mib) in devices.items() if mib is not None}
    if need.gpu_memory_mib is not None and known:
        # A layout of several sizes has one number of replicas: the smallest device decides.
        least = min(mib for _, mib in known.values())
        fit = int(least * (1 - need.gpu_memory_kept) / need.gpu_memory_mib)
        has = ", ".join(f"{n} x {mib} MiB" for n, mib in known.values())
        if need.gpu_memory_kept:
            has += f" less {_number(need.gpu_memory_kept * 100)}%"
        source = _MIG_SOURCE if isinstance(pool.sharing, Mig) else _memory_source(instance_type)
        yield Bound("gpuMemory", has, _mib(need.gpu_memory_mib), fit, fit * count, source)
    if need.gpu_use is not None:
        fit = int(1 / need.gpu_use)
        takes = f"{_number(need.gpu_use * 100)}%"
        yield Bound("gpuTime", f"100% of a {what}", takes, fit, fit * count, _TURNS_SOURCE)
    if isinstance(pool.sharing, Mps) and instance_type.gpu is not None:
        limit = mps_client_limit(instance_type.gpu)
        source = device_plugin_source("cmd/mps-control-daemon/mps/device.go")
        yield Bound("mpsClients", f"{limit} of a GPU", "1", limit, limit * count, source)


def _memory_source(instance_type: InstanceType) -> str:
    estimated = instance_type.gpu is None or instance_type.gpu.memory_estimated
    own = "gpu_memory_mib" if estimated else "nvml_memory_mib"
    return instance_type.sources.get(own, "the stack's own catalog")


def _of_the_node(
    need: Need, pool: Pool, instance_type: InstanceType, environment: Environment, devices: int
) -> Iterator[Bound]:
    has = allocatable(instance_type)
    taken = on_each_node(environment).and_(_OF_GPUS).and_(exporter_load(environment))
    if need.cpu_millis is not None:
        left = has.cpu_millis - taken.cpu_millis
        pods = max(0, int(left / need.cpu_millis))
        takes = f"{_number(need.cpu_millis)}m"
        yield Bound("cpu", f"{left}m", takes, pods // devices, pods, _AMI_SOURCE)
    if need.memory_mib is not None:
        left = has.memory_mib - taken.memory_mib
        pods = max(0, int(left / need.memory_mib))
        takes = _mib(need.memory_mib)
        yield Bound("memory", f"{left} MiB", takes, pods // devices, pods, _AMI_SOURCE)
    most = pods_of_node(pool, instance_type, environment)
    if most is not None:
        pods = max(0, most - SYSTEM_PODS)
        said = f"{most}, {SYSTEM_PODS} of them the node's own"
        yield Bound("pods", said, "1", pods // devices, pods, _ENI_SOURCE)


def pods_of_node(pool: Pool, instance_type: InstanceType, environment: Environment) -> int | None:
    """How many pods a node of a pool takes, those of the system among them; None if unknown.

    Args:
        pool: The pool.
        instance_type: One of its types.
        environment: Its environment, which may be read in part.
    """
    given = (pool.kubelet or {}).get("maxPods")
    if isinstance(given, int):
        return given
    addons = known_addons(environment)
    prefixes = addons is not None and addons.prefix_delegation
    return most_pods(
        instance_type,
        by_karpenter=pool.provisioner == "karpenter",
        prefixes=prefixes,
        taken_interfaces=taken_interfaces(pool, instance_type),
    )


def _mib(amount: Fraction) -> str:
    return f"{_number(amount)} MiB"


def _number(amount: Fraction) -> str:
    return f"{float(amount):.4g}" if amount.denominator > 1 else str(amount.numerator)
