"""EC2 instance types: what a node of each has, costs and may be bought as.

The figures are in data/instances.json (types with NVIDIA GPUs), data/other-types.json (the rest)
and data/zones.json (of all), made by tools/catalog/generate.py from public packages. A type is
built when it is first asked for: reading the first file takes about a millisecond, building a
type microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from eks_gpushare.catalog._data import load

_Told = TypeVar("_Told")

Arch = Literal["amd64", "arm64"]

# Amazon EKS user guide, cni-increase-ip-addresses-procedure: managed node groups cap what the
# network interfaces allow, with prefix delegation or without.
SMALL_NODE_VCPUS = 30
SMALL_NODE_PODS = 110
LARGE_NODE_PODS = 250


@dataclass(frozen=True, slots=True)
class Gpu:
    """One NVIDIA GPU as an instance type has it.

    Attributes:
        model: EC2's name of it, such as "V100" or "RTX PRO Server 6000".
        memory_mib: memory of one GPU in MiB, of one partition on g6f, as NVML reports the total
            with drivers of branch 510 or later: what GPU feature discovery writes on the node and
            what the MPS daemon divides. EC2's figure where `memory_estimated`; None if unknown.
        architecture: NVIDIA's code name in lower case, such as "volta".
        compute_capability: CUDA compute capability, such as (7, 0).
        mig_capable: whether the hardware can be split by MIG. Whether an image allows it is
            another question: on p6e-gb200 the EKS image does not.
        memory_estimated: whether what NVML reports is not published, so that `memory_mib` is EC2's
            figure; the two differ by up to 7 % where both are known.
        ec2_memory_mib: what EC2's DescribeInstanceTypes says; None if unknown.

    """

    model: str
    memory_mib: int | None
    architecture: str
    compute_capability: tuple[int, int]
    mig_capable: bool
    memory_estimated: bool = False
    ec2_memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One EC2 instance type.

    Attributes:
        name: EC2's name, such as "p3.8xlarge".
        vcpus: virtual CPUs; EC2's vCPU quotas count these.
        memory_mib: main memory in MiB.
        arch: "amd64" or "arm64".
        gpu: the NVIDIA GPU, None if it has none.
        gpu_count: GPUs that the driver, and so the device plugin, shows.
        api_gpu_count: GPUs that EC2's API counts, and with it Karpenter and Cluster Autoscaler;
            0 on g6f and gr6f, None if unknown.
        gpu_fraction: share of a whole GPU that each is; 1, but 0.125 to 0.5 on g6f and gr6f.
        max_pods: pods a managed node group's node takes (see `eks_max_pods`); None if unknown.
        eni_pods: pods its network interfaces alone allow, before EKS's cap; None if unknown.
        interface_pods: those of them that each interface allows; None if unknown.
        efa_interfaces: EFA interfaces at most.
        network_cards: network cards; EFA interfaces are spread over them.
        network_mbps: baseline network bandwidth in Mbit/s; None if unknown.
        nvme_gb: local NVMe storage in GB (10^9 bytes), all disks together.
        bare_metal: whether it is a .metal size.
        usage_classes: "on-demand", "spot", "capacity-block".
        placement: placement group strategies it can be in.
        prices: Linux on-demand USD per hour by region; None or absent means unknown, never 0.
        spot_prices: USD per hour as spot by region; AWS lists none, so they are a stack's own.
        zones: zone ids by region in which EC2 offers it.
        quota: code of the vCPU quota it counts on, by "onDemand" and "spot".
        retired: whether EC2 offers it in no region any more.
        driver_min: oldest NVIDIA driver branch that runs it; None if no limit matters here.
        driver_max: newest NVIDIA driver branch that runs it; None if no limit is known.
        notes: what else somebody choosing it should know, one sentence each.
        sources: where each field comes from, by field name; "*" stands for all others.

    """

    name: str
    vcpus: int
    memory_mib: int
    arch: Arch
    gpu: Gpu | None = None
    gpu_count: int = 0
    api_gpu_count: int | None = 0
    gpu_fraction: float = 1.0
    max_pods: int | None = None
    eni_pods: int | None = None
    interface_pods: int | None = None
    efa_interfaces: int = 0
    network_cards: int = 1
    network_mbps: int | None = None
    nvme_gb: int = 0
    bare_metal: bool = False
    usage_classes: tuple[str, ...] = ("on-demand", "spot")
    placement: tuple[str, ...] = ("cluster", "partition", "spread")
    prices: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    spot_prices: Mapping[str, float] = field(default_factory=dict, hash=False)
    zones: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    quota: Mapping[str, str] = field(default_factory=dict, hash=False)
    retired: bool = False
    driver_min: int | None = None
    driver_max: int | None = None
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def family(self) -> str:
        """The part of the name before the dot, such as "p3"."""
        return self.name.partition(".")[0]

    def price(self, region: str, ways: Collection[str] = ("onDemand",)) -> float | None:
        """The Linux price in USD per hour in a region, None if unknown.

        Args:
            region: where it is.
            ways: how it may be bought: `onDemand`, `reserved`, `spot`, `capacityBlock`. Of several
                on demand counts, which is the dearest. Default: on demand.
        """
        if not {"onDemand", "reserved"}.isdisjoint(ways):
            return self.prices.get(region)
        return self.spot_prices.get(region) if "spot" in ways else None


def gpu_instance_types() -> Mapping[str, InstanceType]:
    """Every type with NVIDIA GPUs that the catalog knows, built as they are looked up."""
    return _gpu_types()


@cache
def other_instance_type(name: str) -> InstanceType | None:
    """The EC2 type `name` if it exists and has no NVIDIA GPU, else None.

    Size, architecture, pods, zones and prices are known of these types; the rest is not.
    """
    row = load("other-types.json").get(name)
    if row is None:
        return None
    vcpus, memory_mib, arch, eni_pods = row
    references = load("instances.json")["references"]
    return InstanceType(
        name=name,
        vcpus=vcpus,
        memory_mib=memory_mib,
        arch=arch,
        max_pods=eks_max_pods(eni_pods, vcpus),
        eni_pods=eni_pods,
        prices=_ByRegion(_other_prices, name),
        zones=_ByRegion(_zones, name),
        sources=MappingProxyType(
            {
                "*": references["moto"],
                "prices": references["price-regions"],
                "zones": references["moto-zones"],
            }
        ),
    )


@cache
def _offered() -> Mapping[str, int]:
    """A number whose bits are the zones, by type."""
    table = load("zones.json")["offered"]
    return {name: int(bits, 16) for bits, names in table.items() for name in names.split()}


def other_instance_names() -> Iterator[str]:
    """Names of the EC2 types without NVIDIA GPUs."""
    return iter(load("other-types.json"))


def alternatives(instance: InstanceType, region: str | None = None) -> tuple[str, ...]:
    """Types to use instead: as many whole GPUs, same architecture, sold on demand.

    They come cheapest first, those of unknown price last.

    Args:
        instance: What is not to be had.
        region: Where they have to be offered, and whose prices count. Default: anywhere, and
            those of us-east-1.
    """
    found = [
        other
        for other in gpu_instance_types().values()
        if other.name != instance.name
        and not other.retired
        and "on-demand" in other.usage_classes
        and other.gpu_count == instance.gpu_count
        and other.gpu_fraction >= instance.gpu_fraction
        and other.arch == instance.arch
        and (region is None or region in other.zones)
    ]
    found.sort(key=lambda other: _by_price(other, region or "us-east-1"))
    return tuple(other.name for other in found)


def eks_max_pods(eni_pods: int | None, vcpus: int) -> int | None:
    """The pods of a managed node: what the interfaces allow, under EKS's cap.

    The cap is 110 below 30 vCPUs and 250 from there on. None stays None.
    """
    if eni_pods is None:
        return None
    return min(eni_pods, SMALL_NODE_PODS if vcpus < SMALL_NODE_VCPUS else LARGE_NODE_PODS)


class _ByRegion(Mapping[str, _Told]):
    """What is told of a type by region, read from its file when it is asked for."""

    __slots__ = ("_name", "_read")

    def __init__(self, read: Callable[[str], Mapping[str, _Told]], name: str) -> None:
        self._read, self._name = read, name

    def __getitem__(self, region: str) -> _Told:
        return self._read(self._name)[region]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read(self._name))

    def __len__(self) -> int:
        return len(self._read(self._name))


@cache
def _zones(name: str) -> Mapping[str, tuple[str, ...]]:
    """Zone ids by region in which EC2 offers a type."""
    bits = _offered().get(name, 0)
    found: dict[str, tuple[str, ...]] = {}
    for region, zones in load("zones.json")["zones"].items():
        here = tuple(zone for at, zone in enumerate(zones) if bits >> at & 1)
        bits >>= len(zones)
        if here:
            found[region] = here
    return MappingProxyType(found)


def _other_prices(name: str) -> Mapping[str, float | None]:
    """Prices by region of a type without GPU."""
    try:
        table = load("other-prices.json")
    except FileNotFoundError:  # it comes with the components, whose cost takes it
        return {}
    row = table["types"].get(name, ())
    return dict(zip(table["regions"], row, strict=False))


class _GpuTypes(Mapping[str, InstanceType]):
    """The types of instances.json; a row becomes an InstanceType when it is first read."""

    __slots__ = ("_built", "_table")

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table
        self._built: dict[str, InstanceType] = {}

    def __getitem__(self, name: str) -> InstanceType:
        found = self._built.get(name)
        if found is None:
            found = self._built[name] = _build(name, self._table)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._table["types"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table["types"])

    def __len__(self) -> int:
        return len(self._table["types"])

    def __repr__(self) -> str:
        return f"<{len(self)} EC2 instance types with NVIDIA GPUs>"


@cache
def _gpu_types() -> _GpuTypes:
    return _GpuTypes(load("instances.json"))


def _build(name: str, table: Mapping[str, Any]) -> InstanceType:
    row = dict(table["types"][name])
    model, ec2_mib, nvml_mib = (
        row.pop(key) for key in ("gpu", "gpu_memory_mib", "nvml_memory_mib")
    )
    facts = table["gpus"][model]
    return InstanceType(
        name=name,
        gpu=Gpu(
            model=model,
            memory_mib=ec2_mib if nvml_mib is None else nvml_mib,
            architecture=facts["architecture"],
            compute_capability=tuple(facts["compute_capability"]),
            mig_capable=facts["mig_capable"],
            memory_estimated=nvml_mib is None and ec2_mib is not None,
            ec2_memory_mib=ec2_mib,
        ),
        max_pods=eks_max_pods(row["eni_pods"], row["vcpus"]),
        usage_classes=tuple(row.pop("usage_classes")),
        placement=tuple(row.pop("placement")),
        prices=MappingProxyType(row.pop("prices")),
        zones=_ByRegion(_zones, name),
        quota=MappingProxyType(row.pop("quota")),
        notes=tuple(row.pop("notes")),
        sources=MappingProxyType(_sources(name, table)),
        **row,
    )


def _sources(name: str, table: Mapping[str, Any]) -> dict[str, str]:
    references = table["references"]
    return {
        field_name: references[keys.get(name, keys["*"])]
        for field_name, keys in table["sources"].items()
    }


def _by_price(instance: InstanceType, region: str) -> tuple[bool, float, str]:
    price = instance.price(region)
    return (price is None, price or 0.0, instance.name)
