"""What nodes cost, those of node groups and Karpenter's: instances, and the volumes of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import Catalog
from eks_gpushare.catalog.service_prices import HOURS_PER_MONTH, SOURCES, service_prices
from eks_gpushare.inventory.capacity import way_named
from eks_gpushare.program.costs.items import CostItem, Count, no_price
from eks_gpushare.program.pools import (
    KARPENTER_POOL_TYPE,
    POOL_TYPE,
    catalog_of_pool,
    planned_pool,
    region_of_resource,
)
from eks_gpushare.program.values import to_json
from eks_gpushare.sharing.labels import POOL_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eks_gpushare.catalog import InstanceType
    from eks_gpushare.program.recording import Recording, Resource
    from eks_gpushare.sharing.scaling_range import ScalingRange

_GROUP = "aws:eks/nodeGroup:NodeGroup"
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_NOT_LISTED = {
    "SPOT": "the price of spot instances changes by the hour; spotUsdPerHour of "
    "catalog.instanceTypes says what you pay",
    "CAPACITY_BLOCK": "a capacity block is paid when it is reserved",
}
_CAPACITY = {"spot": "SPOT", "capacityBlock": "CAPACITY_BLOCK"}
_HOURS_PER_WEEK = 168
_EKS_DISK_GIB, _EKS_TYPE, _EKS_NODES = 20, "t3.medium", 2
"""What EKS takes where a node group names none: API_CreateNodegroup of the EKS API."""


def node_items(recording: Recording, region: str | None) -> Iterator[CostItem]:
    """A line for the instances of each group, GPU pools first, and one for all root volumes."""
    groups: list[_Nodes] = [
        *(_Group(recording, group, region) for group in recording.of_type(_GROUP)),
        *(_Pool(recording, pool, region) for pool in recording.of_type(KARPENTER_POOL_TYPE)),
    ]
    for group in sorted(groups, key=lambda group: not group.gpus):
        yield from group.items()
    for home in dict.fromkeys(group.region for group in groups):
        yield from _volumes([group for group in groups if group.region == home], home)


def _volumes(groups: list[_Nodes], region: str | None) -> Iterator[CostItem]:
    desired = round(sum(group.disk_gib * group.disks for group in groups))
    counted = [group for group in groups if group.most_disks is not None]
    most = sum(group.disk_gib * (group.most_disks or 0) for group in counted)
    monthly = service_prices(region).gp3
    price = None if monthly is None else monthly / HOURS_PER_MONTH
    unknown = "" if price is not None else no_price("gp3 volumes", region)
    if most or len(counted) < len(groups):
        yield CostItem(
            kind="rootVolumes",
            name="",
            words="root volumes (gp3), GiB",
            count=Count(desired, most if len(counted) == len(groups) else None),
            price=price,
            source=SOURCES["rootVolume"],
            unknown=unknown,
        )


class _Nodes:
    """Nodes of one kind with what their cost depends on."""

    name: str
    region: str | None
    kept: int
    """Nodes that there are when no pod asks for one."""
    most: int | None
    """Nodes at most; of types of which there may be more or less, of the dearest together."""
    most_disks: int | None
    """Nodes at most of whichever type, which each have a volume."""
    disk_gib: int
    _called: str
    _catalog: Catalog
    _capacity: str
    _types: list[str]
    _scheduled: int = 0
    """Nodes that are kept besides, some hours of a week."""
    _hours: float = 0.0
    _reserved: int | None = 0
    """Instances that are paid for, used or not."""
    _dearest: str | None = None
    """The type that costs most where of each there are as many nodes as there may be; None where
    that is the one of which a node does."""

    @property
    def gpus(self) -> bool:
        """Whether any of their types has a GPU."""
        return any(t is not None and t.gpu is not None for t in self._known())

    @property
    def part(self) -> float:
        """For what part of the time the scheduled ones are there."""
        return self._hours / _HOURS_PER_WEEK

    @property
    def disks(self) -> float:
        """Volumes that there are on average when no pod asks for a node."""
        return self.kept + self._scheduled * self.part

    def _schedule(self, scaling: ScalingRange | None) -> None:
        if scaling is not None:
            self._scheduled, self._hours = scaling.scheduled, scaling.hours_per_week

    def _known(self) -> list[InstanceType | None]:
        return [self._catalog.find(name) for name in self._types]

    def items(self) -> Iterator[CostItem]:
        """The line of the group's instances, of types that differ the dearest, and of idle ones."""
        kind = "gpuNodes" if self.gpus else "systemNodes"
        types = ", ".join(self._types) or "type not known"
        words = f"{'GPU nodes' if self.gpus else 'nodes'} {self._called} ({types})"
        price, source, unknown = self._price()
        if self.most is None:
            unknown = unknown or f"{self._called}: nothing limits how many nodes it may have."
        yield CostItem(kind, self.name, words, Count(self.kept, self.most), price, source, unknown)
        if self._scheduled:
            # At most they are among the others.
            words = f"GPU nodes kept for {self._called}, {self._hours:g} hours of a week"
            more: Count[int | None] = Count(self._scheduled, 0)
            name, part = self.name, self.part
            yield CostItem("scheduledNodes", name, words, more, price, source, unknown, part)
        words = f"instances reserved for {self._called}, and idle"
        if self._reserved is None:
            unknown = f"{self._called}: how many instances its reservation has is not known; "
            unknown += "give reservation.instances."
            idle: Count[int | None] = Count(None, None)
            yield CostItem("reservedInstances", self.name, words, idle, price, source, unknown)
        elif self._reserved:
            used = (self.kept, self.most or 0)
            idle = Count(*(max(0, self._reserved - count) for count in used))
            if idle.at_desired or idle.at_max:
                yield CostItem("reservedInstances", self.name, words, idle, price, source, unknown)

    def _prices(self, types: Iterable[str], region: str) -> list[float | None]:
        known = map(self._catalog.find, types)
        return [t.price(region, (way_named(self._capacity),)) if t else None for t in known]

    def _price(self) -> tuple[float | None, str, str]:
        if self.region is None:
            return None, "", f"{self._called}: the stack names no aws:region."
        prices = self._prices(self._types, self.region)
        lacking = [n for n, p in zip(self._types, prices, strict=True) if p is None]
        reason = _NOT_LISTED.get(self._capacity)
        if reason is not None and (lacking or not prices):
            return None, "", f"{self._called}: {reason}."
        if lacking or not prices:
            which = ", ".join(lacking) or "its instance types"
            return None, "", f"{self._called}: no price of {which} in {self.region} is known."
        sources = map(_sources, self._known())
        priced = {n: (p, t) for n, p, t in zip(self._types, prices, sources, strict=True) if p}
        price, found = priced[self._dearest] if self._dearest else max(priced.values())
        return price, found, ""


class _Group(_Nodes):
    """A node group."""

    def __init__(self, recording: Recording, group: Resource, region: str | None) -> None:
        given: dict[str, Any] = to_json(group.inputs)
        self.name = group.name
        labels = given.get("labels")
        self._called = (labels.get(POOL_LABEL) if isinstance(labels, dict) else None) or self.name
        self.region = region_of_resource(recording, group, region)
        pool = recording.by_urn.get(group.parent)
        ours = pool is not None and pool.type == POOL_TYPE
        self._catalog = catalog_of_pool(pool, self.region) if pool and ours else Catalog()
        made_from = recording.needed_by(group, "launchTemplate", _TEMPLATE)
        template: dict[str, Any] = to_json(made_from.inputs) if made_from else {}
        self._capacity = str(given.get("capacityType") or "ON_DEMAND")
        in_template = template.get("instanceType")
        self._types = _texts(given.get("instanceTypes") or [in_template or _EKS_TYPE])
        count = _sizes(given.get("scalingConfig"))
        self.most_disks = count.at_max
        planned = planned_pool(pool, self.region) if pool and ours else None
        if planned is not None:
            count = Count(max(count.at_desired, planned.kept), count.at_max)
            self._reserved = planned.reserved
            self._schedule(planned.scaling)
        self.kept, self.most = count.at_desired, count.at_max
        self.disk_gib = _disks(template) or _whole(given.get("diskSize")) or _EKS_DISK_GIB


class _Pool(_Nodes):
    """A pool of Karpenter's: from the nodes that it begins with to the most that it may have."""

    def __init__(self, recording: Recording, pool: Resource, region: str | None) -> None:
        given: dict[str, Any] = to_json(pool.inputs)
        self.name = pool.name
        self._called = str(given.get("pool") or pool.name)
        self.region = region_of_resource(recording, pool, region)
        self._catalog = catalog_of_pool(pool, self.region)
        ways = (given.get("karpenter") or {}).get("capacityTypes") or [given.get("capacityType")]
        # Of several, on demand is the dearest, and what is left where there is no other.
        own = [_CAPACITY.get(str(way), "ON_DEMAND") for way in ways]
        self._capacity = min(own, key=lambda capacity: capacity != "ON_DEMAND")
        self._types = _texts(given.get("instanceTypes"))
        self.disk_gib = _whole(given.get("rootVolumeGiB")) or 0
        planned = planned_pool(pool, self.region)
        scaling = planned.scaling if planned else None
        if planned is None or scaling is None:  # what is not known yet
            self.kept = self.most = self.most_disks = 0
            return
        self._reserved = planned.reserved
        self._schedule(scaling)
        most = self.most_disks = scaling.most
        if by_type := self._most_by_type(scaling.by_type):
            most, self._dearest = max(by_type)[1:]
        self.kept, self.most = planned.kept, most

    def _most_by_type(self, counts: Mapping[str, int]) -> list[tuple[float, int, str]]:
        """What the most nodes of each type cost, their number and type, where numbers differ."""
        if self.region is None or len({*counts.values()}) < 2:  # noqa: PLR2004
            return []
        prices = self._prices(counts, self.region)
        if not all(prices):
            return []
        return [
            (count * (price or 0), count, name)
            for (name, count), price in zip(counts.items(), prices, strict=True)
        ]


def _sources(found: InstanceType | None) -> str:
    sources = found.sources if found else {}
    return sources.get("prices") or sources.get("*", "")


def _sizes(given: Any) -> Count[int]:
    """Sizes as they are given, or what EKS takes where they are not: two nodes, and at most two."""
    sizes = given if isinstance(given, dict) else {}
    desired, most = (_whole(sizes.get(key)) for key in ("desiredSize", "maxSize"))
    desired = desired if desired is not None else most if most is not None else _EKS_NODES
    return Count(desired, desired if most is None else most)


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number else None


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _disks(template: dict[str, Any]) -> int:
    """GiB of the volumes whose size a launch template names."""
    devices = template.get("blockDeviceMappings")
    given = devices if isinstance(devices, list) else []
    volumes = [mapping.get("ebs") for mapping in given if isinstance(mapping, dict)]
    sizes = [volume.get("volumeSize") for volume in volumes if isinstance(volume, dict)]
    return sum(_whole(size) or 0 for size in sizes)
