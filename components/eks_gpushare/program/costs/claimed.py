"""What the volumes cost that an installed Prometheus claims, which no other line has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eks_gpushare.catalog.service_prices import HOURS_PER_MONTH, SOURCES, service_prices
from eks_gpushare.catalog.versions import PROMETHEUS
from eks_gpushare.documents.helm import value_at
from eks_gpushare.documents.quantity import quantity
from eks_gpushare.program.costs.items import CostItem, Count, no_price
from eks_gpushare.program.edits.compared import ADDON, RELEASE
from eks_gpushare.program.values import to_json
from eks_gpushare.sharing.addons import EBS_CSI
from eks_gpushare.sharing.monitoring.volumes import DEFAULT_CLASS, Claim, claims_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from eks_gpushare.program.recording import Recording

_GIB = 2**30


def claimed_volumes(recording: Recording, region: str | None) -> Iterator[CostItem]:
    """A line for what is of one StorageClass; of one that is not made here no price is known.

    Args:
        recording: What the program registered.
        region: Region of the stack.
    """
    claims = [
        claim
        for release in recording.of_type(RELEASE)
        for claim in claims_of(_values(to_json(release.inputs)))
    ]
    gp3 = _makes_gp3(recording)
    for storage_class in dict.fromkeys(claim.storage_class for claim in claims):
        sizes = [_gib(claim) for claim in claims if claim.storage_class == storage_class]
        known = None if None in sizes else round(sum(size or 0 for size in sizes))
        monthly = service_prices(region).gp3
        price = None if monthly is None else monthly / HOURS_PER_MONTH
        unknown = "" if price is not None else no_price("gp3 volumes", region)
        if storage_class is not None or not gp3:
            what = f"the StorageClass {storage_class}" if storage_class else "the default class"
            price, unknown = None, f"What volumes of {what} cost is not known here."
        yield CostItem(
            kind="claimedVolumes",
            name=storage_class or "",
            words=f"volumes of Prometheus{' (gp3)' if price is not None else ''}, GiB",
            count=Count(known, known),
            price=price,
            source=SOURCES["rootVolume"],
            unknown=unknown if known is not None else "How large a volume is, is not known here.",
        )


def _values(inputs: dict[str, Any]) -> dict[str, Any]:
    """Values of the release, if it is of Prometheus' chart, whatever its mirror."""
    chart = inputs.get("chart")
    if not isinstance(chart, str) or chart.rpartition("/")[2] != PROMETHEUS.name:
        return {}
    values = inputs.get("values")
    return values if isinstance(values, dict) else {}


def _makes_gp3(recording: Recording) -> bool:
    """Whether the program's add-on makes the default class."""
    for addon in recording.of_type(ADDON):
        inputs = to_json(addon.inputs)
        if inputs.get("addonName") == EBS_CSI:
            return bool(value_at(_configured(inputs), DEFAULT_CLASS))
    return False


def _configured(inputs: dict[str, Any]) -> dict[str, Any]:
    import json

    try:
        found = json.loads(inputs.get("configurationValues") or "{}")
    except (TypeError, ValueError):  # not known yet, or not JSON
        return {}
    return found if isinstance(found, dict) else {}


def _gib(claim: Claim) -> Fraction | None:
    found = quantity(claim.size) if isinstance(claim.size, str) else None
    return None if found is None else found * claim.copies / _GIB
