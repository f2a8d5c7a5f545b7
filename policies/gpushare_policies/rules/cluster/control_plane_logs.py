"""The rules on what the control plane logs, and how long that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from eks_gpushare.inventory.control_plane import LOG_TYPES, not_logged
from gpushare_policies.props import each, format_value, read, whole
from gpushare_policies.rule import ResourcePolicy, cis, number, security_hub
from gpushare_policies.shapes import on_clusters
from gpushare_policies.tokens import LOG_GROUP
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_SET_LOGS = f"Set `enabledClusterLogTypes: {format_value(LOG_TYPES)}`."
_ALL_LOGS = Fix(
    "A cluster made from a stack file always has them: remove what takes them away, such as a "
    "transform.",
    _SET_LOGS,
    _SET_LOGS,
)


def _logs(args: ResourceValidationArgs) -> Iterator[str]:
    enabled = [str(kind) for kind in each(read(args.props, "enabledClusterLogTypes"))]
    missing = not_logged(enabled)
    if missing:
        yield (
            f"The control plane of {name_of(args.urn)} does not log {', '.join(missing)}. All five "
            f"types must be logged. {_ALL_LOGS.of(args.urn)}"
        )


CONTROL_PLANE_LOGS = ResourcePolicy(
    "control-plane-logs",
    "The control plane must log all five types.",
    checks=on_clusters(_logs),
    severity=Severity.MEDIUM,
    framework=cis("2.1.1", "Audit logs are enabled."),
    also=("aws-security-hub/EKS.8", "prowler/eks_control_plane_logging_all_types_enabled"),
    fix=_ALL_LOGS,
)


MINIMUM_DAYS = number(
    "minimumDays", 90, "How long logs of the control plane are kept at least, in days.", minimum=1
)
_SET_RETENTION = "Set `retentionInDays`."
_KEPT_FIX = Fix("Set `cluster.logRetentionDays` in the stack file.", _SET_RETENTION, _SET_RETENTION)


def _kept(args: ResourceValidationArgs) -> Iterator[str]:
    name = str(read(args.props, "name") or read(args.props, "namePrefix") or "")
    if not name.startswith("/aws/eks/"):
        return
    days = whole(read(args.props, "retentionInDays")) or 0
    least = MINIMUM_DAYS.of(args)
    if days == 0:
        found = "for ever, and paid for as long"
    elif days < least:
        found = f"for {days} days"
    else:
        return
    yield (
        f"The log group {args.name} keeps the logs of {name} {found}. They must be kept for a set "
        f"time of at least {least} days. {_KEPT_FIX.of(args.urn)}"
    )


CONTROL_PLANE_LOGS_KEPT = ResourcePolicy(
    "control-plane-logs-kept",
    "Log groups of the control plane must keep logs for a set time, of at least 90 days.",
    checks={LOG_GROUP: _kept},
    unseen="a group that EKS makes itself, because no program does; it keeps logs for ever.",
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    framework=security_hub("CloudWatch.16", "Log groups are retained for a specified time."),
    fix=_KEPT_FIX,
    settings=(MINIMUM_DAYS,),
)
