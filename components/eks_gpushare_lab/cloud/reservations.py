"""Capacity reservations: what EC2 keeps for the account, and what instances have taken of it.

moto has none. An instance takes one of a reservation if its launch template names it; one that
names none takes none, as with CapacityReservationPreference `none`, which Karpenter sets.

Sources, read 2026-11-22:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityReservations.html and
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import EC2ClientError

from eks_gpushare_lab.cloud.account import ACCOUNT_ID
from eks_gpushare_lab.cloud.settings import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eks_gpushare_lab.cloud.account import CapacityReservation
    from eks_gpushare_lab.cloud.settings import CloudSettings

PLENTY = 100
"""Instances of a reservation where nobody says how many."""
ONLY = "capacity-reservations-only"
"""What a launch template says that launches into a reservation and nowhere else."""
BLOCK = "capacity-block"
"""Kind of a Capacity Block: of the reservation, of the fleet's target, and of its instances."""

_ENDED = {"shutting-down", "terminated"}
_BEGAN = dt.datetime.now(dt.UTC)
_BLOCK_DAYS = 14
"""Days from the start of the emulation to the end of a Capacity Block: nothing ends in a run."""


def target_of(data: Mapping[str, Any]) -> str:
    """The reservation that a launch template's data names; `""` if it names none."""
    given = data.get("CapacityReservationSpecification") or {}
    if given.get("CapacityReservationPreference", ONLY) != ONLY:
        return ""
    return str((given.get("CapacityReservationTarget") or {}).get("CapacityReservationId") or "")


def total_of(reservation: CapacityReservation, settings: CloudSettings) -> int:
    """How many instances a reservation is for."""
    if reservation.count is not None:
        return reservation.count
    return PLENTY if settings.reserved is None else settings.reserved


def available_of(
    reservation: CapacityReservation, settings: CloudSettings, instances: Iterable[Any]
) -> int:
    """How many of them no instance has taken; never below 0.

    Args:
        reservation: the reservation.
        settings: how the emulation behaves.
        instances: moto's, ended ones too.
    """
    mine = (e for e in instances if getattr(e, "capacity_reservation_id", None) == reservation.id)
    taken = sum(1 for instance in mine if instance.state not in _ENDED)
    return max(0, total_of(reservation, settings) - taken)


def why_not(
    reservation: CapacityReservation | None,
    kind: str,
    zone: str,
    settings: CloudSettings,
    instances: Iterable[Any],
) -> tuple[str, str] | None:
    """Code and words of EC2 for a launch into a reservation that it refuses; None if it does not.

    Args:
        reservation: the one that is named; None where there is no such.
        kind: instance type of the launch.
        zone: its zone.
        settings: how the emulation behaves.
        instances: moto's.
    """
    if reservation is None:
        return "InvalidCapacityReservationId.NotFound", "The capacity reservation does not exist"
    lacks = any(shortage.covers(kind, zone, RESERVED) for shortage in settings.insufficient)
    matches = (kind, zone) == (reservation.instance_type, reservation.zone)
    if matches and not lacks and available_of(reservation, settings, instances):
        return None
    message = (
        "The requested reservation does not have sufficient compatible and available capacity for "
        "this request."
    )
    return "ReservationCapacityExceeded", message


def described(
    reservations: Sequence[CapacityReservation],
    asked: Sequence[str],
    filters: Mapping[str, Sequence[str]],
    settings: CloudSettings,
    instances: Sequence[Any],
) -> list[dict[str, Any]]:
    """What DescribeCapacityReservations answers.

    Raises:
        EC2ClientError: For the id of one that does not exist.
    """
    known = {reservation.id: reservation for reservation in reservations}
    for identifier in asked:
        if identifier not in known:
            message = f"The capacity reservation ID '{identifier}' does not exist"
            raise EC2ClientError("InvalidCapacityReservationId.NotFound", message)
    chosen = [known[identifier] for identifier in asked] or list(reservations)
    found = [
        _shown(
            reservation,
            total_of(reservation, settings),
            available_of(reservation, settings, instances),
        )
        for reservation in chosen
    ]
    return [
        reservation
        for reservation in found
        if all(_meets(reservation, *one) for one in filters.items())
    ]


def mark(instance: Any, reservation: str, *, is_block: bool) -> None:
    """Have moto say of an instance which reservation it runs in."""
    instance.capacity_reservation_id = reservation
    instance.capacity_reservation_specification = {
        "CapacityReservationPreference": ONLY,
        "CapacityReservationTarget": {"CapacityReservationId": reservation},
    }
    if is_block:
        instance.instance_lifecycle = BLOCK


def _shown(reservation: CapacityReservation, total: int, available: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "CapacityReservationId": reservation.id,
        "OwnerId": ACCOUNT_ID,
        "InstanceType": reservation.instance_type,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": reservation.zone,
        "Tenancy": "default",
        "TotalInstanceCount": total,
        "AvailableInstanceCount": available,
        "State": "active",
        "StartDate": _BEGAN,
        "EndDateType": "unlimited",
        "InstanceMatchCriteria": "targeted",
        "CreateDate": _BEGAN,
        "Tags": [{"Key": key, "Value": value} for key, value in reservation.tags.items()],
        "ReservationType": "default",
    }
    if reservation.is_block:
        ends = _BEGAN + dt.timedelta(days=_BLOCK_DAYS)
        found |= {"ReservationType": BLOCK, "EndDateType": "limited", "EndDate": ends}
    return found


_FILTERS = {
    "state": "State",
    "owner-id": "OwnerId",
    "instance-type": "InstanceType",
    "availability-zone": "AvailabilityZone",
    "instance-match-criteria": "InstanceMatchCriteria",
    "tenancy": "Tenancy",
}


def _meets(found: Mapping[str, Any], name: str, values: Sequence[str]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in found["Tags"]}
    if name == "tag-key":
        return any(value in tags for value in values)
    if name.startswith("tag:"):
        return tags.get(name.removeprefix("tag:")) in values
    return name in _FILTERS and found[_FILTERS[name]] in values
