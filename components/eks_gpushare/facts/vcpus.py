"""vCPUs that groups of nodes take at their largest, by EC2's quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from eks_gpushare.catalog.quotas import bucket
from eks_gpushare.facts.index import rule_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eks_gpushare.catalog.instances import InstanceType
    from eks_gpushare.catalog.quotas import Capacity

VCPU_QUOTA = rule_of("GPU801")
T = TypeVar("T")


class Group(NamedTuple, Generic[T]):
    """Nodes that are of one of several types."""

    of: T
    """What they are to who asks."""
    nodes: Mapping[str, int]
    """How many there may be of each type at most, if all are of that."""
    types: Iterable[InstanceType]
    """What is known of these types."""
    ways: Iterable[Capacity]
    """How they may be bought."""


class Demand(NamedTuple, Generic[T]):
    """What is taken of one quota."""

    name: str
    """The quota's name in Service Quotas."""
    parts: tuple[tuple[T, int], ...]
    """Groups with the vCPUs of each, all of its nodes being of the type that takes most."""

    @property
    def vcpus(self) -> int:
        """Of all groups together: they may be at their largest at one time."""
        return sum(vcpus for _, vcpus in self.parts)


def demands(groups: Iterable[Group[T]]) -> Mapping[str, Demand[T]]:
    """What groups take together at their largest, by the code of EC2's quota.

    Quotas are in vCPUs of what runs:
    https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
    """
    found: dict[str, Demand[T]] = {}
    for group in groups:
        ways = tuple(group.ways)
        most: dict[tuple[str, str], int] = {}
        for instance in group.types:
            for quota in {bucket(instance, way) for way in ways} - {None}:
                if quota is not None:
                    vcpus = instance.vcpus * group.nodes[instance.name]
                    most[quota] = max(most.get(quota, 0), vcpus)
        for (code, name), vcpus in most.items():
            before = found.get(code)
            parts = before.parts if before else ()
            found[code] = Demand(name, (*parts, (group.of, vcpus)))
    return found
