"""What an edit does to what was kept or bought: records, series, reservations of capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eks_gpushare.documents.helm import value_at
from eks_gpushare.program.edits.compared import RELEASE, by_urn, inputs
from eks_gpushare.program.edits.kinds import Consequence, edit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eks_gpushare.program.recording import Recording

LOGS = "aws:cloudwatch/logGroup:LogGroup"
_NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_RENAMED = "another log group is made, and this one goes with every record that it has kept"
_SERIES = "aws:amp/workspaceConfiguration:WorkspaceConfiguration"
_SHORTER = "{what} older than {now} days go, which were kept for {was}"
_LONGER = "{what} are kept for {now} in place of {was}"
_PROMETHEUS = "prometheus.prometheusSpec"
# prometheus-operator.dev/docs/platform/storage, "Resizing volumes", read 2026-11-28.
_SAME_VOLUME = (
    "Prometheus' operator changes no volume that is there: it stays as it is until its claim is "
    "changed by hand"
)
# The same page, "Persistent volume claim retention", for claims of a Prometheus that goes.
_GOES = (
    "the installed Prometheus goes, with Alertmanager and Grafana if the chart had them; its "
    "volume stays, and is paid, until its claim is deleted by hand"
)
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
        # None are removed where it is not given: API_PutRetentionPolicy of CloudWatch Logs.
        was, now = (int(inputs(each).get("retentionInDays") or 0) for each in (old, new))
        yield from _of_days(new.name, "retentionInDays", "records", was, now)


def of_series(before: Recording, after: Recording) -> Iterator[Consequence]:
    """Series of Prometheus, in a workspace or on a volume of the cluster."""
    olds = by_urn(before, _SERIES)
    for urn, new in by_urn(after, _SERIES).items():
        if (old := olds.get(urn)) is not None:
            key = "retentionPeriodInDays"
            was, now = (int(inputs(each).get(key) or _MANAGED_DAYS) for each in (old, new))
            yield from _of_days(new.name, key, "series", was, now)
    releases = by_urn(before, RELEASE)
    for urn, new in by_urn(after, RELEASE).items():
        if (old := releases.get(urn)) is None:
            continue
        values = [inputs(each).get("values") or {} for each in (old, new)]
        specs = [value_at(each, _PROMETHEUS) for each in values]
        if [value_at(each, "prometheus.enabled") is False for each in values] == [False, True]:
            yield edit(new.name, "delete", ("prometheus.enabled",), _GOES)
        if all(isinstance(spec, dict) for spec in specs):
            days = [str(spec.get("retention", "")) for spec in specs]
            if all(
                each.endswith("d") and each[:-1].isascii() and each[:-1].isdigit() for each in days
            ):
                was, now = (int(each[:-1]) for each in days)
                yield from _of_days(new.name, "retention", "series", was, now)
            if specs[0].get("storageSpec") != specs[1].get("storageSpec"):
                yield edit(new.name, "update", ("storageSpec",), _SAME_VOLUME)


_MANAGED_DAYS = 150
"""What Amazon Managed Service for Prometheus keeps where nothing is said: its quotas."""


def _of_days(name: str, key: str, what: str, was: int, now: int) -> Iterator[Consequence]:
    if was == now:
        return
    shorter = now and (not was or now < was)
    says = _SHORTER if shorter else _LONGER
    kept = f"{was} days" if was else "ever"
    told = str(now) if shorter else f"{now} days" if now else "ever"
    yield edit(name, "update", (key,), says.format(what=what, was=kept, now=told))


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
