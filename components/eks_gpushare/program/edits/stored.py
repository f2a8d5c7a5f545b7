"""What an edit does to what was kept or bought: log records, and reservations of capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.program.edits.compared import by_urn, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording, Resource

LOGS = "aws:cloudwatch/logGroup:LogGroup"
_NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_RENAMED = "another log group is made, and this one goes with every record that it has kept"
_SHORTER = "records older than {now} days go, which were kept for {was}"
_LONGER = "records are kept for {now} in place of {was}"
_PAID = (
    "{reservation} is paid until it is cancelled or ends, with nodes in it or without, and the "
    "cost of the stack leaves it out from then on"
)


def of_logs(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Log groups that are there before and after, by what they keep."""
    olds = by_urn(before, LOGS)
    for urn, new in by_urn(after, LOGS).items():
        if (old := olds.get(urn)) is None:
            continue
        if inputs(old).get("name") != inputs(new).get("name"):
            yield edit(new.name, "replace", ("name",), _RENAMED)
            continue
        was, now = (_days(resource) for resource in (old, new))
        if was != now:
            shorter = now and (not was or now < was)
            says = _SHORTER if shorter else _LONGER
            kept = f"{was} days" if was else "ever"
            told = str(now) if shorter else f"{now} days" if now else "ever"
            yield edit(new.name, "update", ("retentionInDays",), says.format(was=kept, now=told))


def _days(group: Resource) -> int:
    """None are removed where it is 0: API_PutRetentionPolicy of CloudWatch Logs."""
    return int(inputs(group).get("retentionInDays") or 0)


def of_reservations(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Reservations that no pool uses any more: they are the account's, not the stack's."""
    news = _reservations(after)
    for reservation, pool in _reservations(before).items():
        if reservation not in news:
            says = _PAID.format(reservation=reservation)
            yield edit(pool, "update", ("reservation",), says)


def _reservations(run: Recording) -> Mapping[str, str]:
    """Pools by the IDs of the reservations that their nodes start in."""
    found: dict[str, str] = {}
    for resource in run.of_type(_TEMPLATE):
        given = inputs(resource).get("capacityReservationSpecification") or {}
        target = given.get("capacityReservationTarget") or {}
        if called := target.get("capacityReservationId"):
            found[str(called)] = resource.parent.rpartition("::")[2]
    for resource in run.of_type(_NODE_CLASS):
        spec = inputs(resource).get("spec") or {}
        for term in spec.get("capacityReservationSelectorTerms") or ():
            if called := term.get("id"):
                found[str(called)] = resource.parent.rpartition("::")[2]
    return found
