"""What a stack costs by the hour and month, as far as list prices tell.

It is counted from what a program registers, so that it holds for programs of any kind. What is
charged by use is named and not guessed; a price that is not known makes the sum unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog import support
from eks_gpushare.catalog.kubernetes import eks_versions
from eks_gpushare.catalog.service_prices import (
    HOURS_PER_MONTH,
    SOURCES,
    control_plane_price,
    service_prices,
)
from eks_gpushare.program.costs.claimed import claimed_volumes
from eks_gpushare.program.costs.items import CostItem, Count, added, no_price, per_month
from eks_gpushare.program.costs.nodes import node_items
from eks_gpushare.program.edits.compared import ADDON
from eks_gpushare.program.pools import ENVIRONMENT_TYPE
from eks_gpushare.program.values import to_json
from eks_gpushare.sharing.cloudwatch import ADDON as CLOUDWATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eks_gpushare.catalog.kubernetes import Support
    from eks_gpushare.program.recording import Recording

_CLUSTERS = ("aws:eks/cluster:Cluster", "eks:index:Cluster")
_NAT, _ADDRESS, _KEY = "aws:ec2/natGateway:NatGateway", "aws:ec2/eip:Eip", "aws:kms/key:Key"

_BY_USE = {
    _NAT: "data through NAT gateways",
    "aws:ec2/vpc:Vpc": "data between zones and to the internet",
    "aws:cloudwatch/logGroup:LogGroup": "logs in CloudWatch",
    "aws:ec2/flowLog:FlowLog": "flow logs",
    _KEY: "requests to KMS keys",
    "aws:eks/nodeGroup:NodeGroup": "volumes that pods claim, and load balancers of services",
    "aws:sqs/queue:Queue": "messages about interruptions",
    "aws:amp/workspace:Workspace": "samples and queries of managed Prometheus",
}
"""What is charged by use, by the type of resource that brings it."""
_UNCOUNTED = {
    "aws:amp/scraper:Scraper": "collectors of managed Prometheus",
    "aws:autoscaling/group:Group": "nodes of auto scaling groups",
    "aws:ec2/instance:Instance": "instances",
    "aws:ec2/fleet:Fleet": "fleets",
    "aws:ec2/capacityReservation:CapacityReservation": "capacity reservations",
    "aws:lb/loadBalancer:LoadBalancer": "load balancers",
    "aws:rds/instance:Instance": "databases",
    "aws:efs/fileSystem:FileSystem": "file systems",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "file systems",
}
"""What costs by the hour too, and is not counted here."""
_ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"


@dataclass(frozen=True, slots=True)
class StackCost:
    """What everything of a stack costs that has a list price."""

    region: str | None
    """Region of the stack."""
    items: tuple[CostItem, ...]
    """In the order in which people think of them."""
    not_included: tuple[str, ...]
    """What is charged by use, or not counted."""

    def total(self) -> Count[float | None]:
        """USD per hour of all items; None where the price of one is unknown."""
        costs = [item.usd_per_hour() for item in self.items]
        return Count(added(c.at_desired for c in costs), added(c.at_max for c in costs))

    def known(self) -> Count[float | None]:
        """USD per hour of the items whose price is known."""
        costs = [item.usd_per_hour() for item in self.items]
        return Count(
            round(sum(c.at_desired or 0 for c in costs), 6),
            round(sum(c.at_max or 0 for c in costs), 6),
        )

    def unknown(self) -> tuple[str, ...]:
        """Why the price of an item is unknown, one sentence each."""
        return tuple(dict.fromkeys(item.unknown for item in self.items if item.unknown))

    def as_json(self) -> dict[str, Any]:
        """The cost as `preview --json` prints it."""
        total, known = self.total(), self.known()
        return {
            "region": self.region,
            "hoursPerMonth": HOURS_PER_MONTH,
            "usdPerHour": total.as_json(),
            "usdPerMonth": per_month(total).as_json(),
            "knownUsdPerHour": known.as_json(),
            "knownUsdPerMonth": per_month(known).as_json(),
            "items": [item.as_json() for item in self.items],
            "unknown": list(self.unknown()),
            "notIncluded": list(self.not_included),
        }


def cost_of(recording: Recording, region: str | None, today: date | None = None) -> StackCost:
    """What a program's resources cost.

    Args:
        recording: What the program registered.
        region: Region of the stack; of a provider that names another, its own counts.
        today: For Kubernetes versions in extended support. Default: today.
    """
    today = today or datetime.now(tz=UTC).date()
    items = [
        *_control_planes(recording, region, today),
        *node_items(recording, region),
        *claimed_volumes(recording, region),
        *_services(recording, region),
    ]
    return StackCost(region, tuple(items), tuple(_not_included(recording)))


def _control_planes(recording: Recording, region: str | None, today: date) -> Iterator[CostItem]:
    clusters = next((found for t in _CLUSTERS if (found := recording.of_type(t))), [])
    for cluster in clusters:
        given = to_json(cluster.inputs)
        version = given.get("version")
        how = _support(version, today) if isinstance(version, str) else "standard"
        price = control_plane_price(region, how)
        words = f"{how} support" if how in {"standard", "extended"} else "support unknown"
        name = given.get("name")
        unknown = "" if price else no_price("a control plane", region)
        yield CostItem(
            "controlPlane",
            name if isinstance(name, str) and not name.startswith("<") else cluster.name,
            f"control plane, {words}",
            Count(1, 1),
            price,
            SOURCES["controlPlane"],
            unknown,
        )


def _support(version: str, today: date) -> Support:
    """A version that is newer than the table is in standard support."""
    newest = max(map(_numbers, eks_versions()))
    try:
        return "standard" if _numbers(version) > newest else support(version, today)
    except ValueError:
        return "unknown"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _services(recording: Recording, region: str | None) -> Iterator[CostItem]:
    prices = service_prices(region)
    monthly = prices.kms_key
    kinds = (
        ("natGateway", _NAT, "NAT gateways", prices.nat_gateway),
        ("publicIpv4", _ADDRESS, "public IPv4 addresses", prices.public_ipv4),
        ("kmsKey", _KEY, "KMS keys", None if monthly is None else monthly / HOURS_PER_MONTH),
    )
    for kind, token, words, price in kinds:
        count = len([resource for resource in recording.of_type(token) if not resource.existing])
        if count:
            unknown = "" if price is not None else no_price(words, region)
            yield CostItem(kind, "", words, Count(count, count), price, SOURCES[kind], unknown)


def _not_included(recording: Recording) -> Iterator[str]:
    tokens = {resource.type for resource in recording.resources}
    yield from dict.fromkeys(words for token, words in _BY_USE.items() if token in tokens)
    yield from dict.fromkeys(words for token, words in _UNCOUNTED.items() if token in tokens)
    if any(each.inputs.get("addonName") == CLOUDWATCH for each in recording.of_type(ADDON)):
        yield "metrics in CloudWatch"
    if any(
        _charged(resource.inputs.get("vpcEndpointType"))
        for resource in recording.of_type(_ENDPOINT)
    ):
        yield "interface endpoints"
    made_by = _provisioners(recording)
    if "existing" in made_by:
        yield "nodes of pools that somebody else makes"
    if not any(token in tokens for token in _CLUSTERS):
        yield "the cluster, which is not made here"


def _provisioners(recording: Recording) -> set[str]:
    """Who makes the nodes of the pools, as the stack file names them."""
    found = (
        to_json(resource.outputs).get("pools") for resource in recording.of_type(ENVIRONMENT_TYPE)
    )
    pools = [pool for table in found if isinstance(table, dict) for pool in table.values()]
    return {str(pool.get("provisioner")) for pool in pools}


def _charged(kind: object) -> bool:
    return kind not in {None, "Gateway"}
