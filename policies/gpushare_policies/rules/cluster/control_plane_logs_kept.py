"""The rule on how long the logs of the control plane are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import EnforcementLevel, ResourceValidationArgs, Severity

from gpushare_policies.props import read, whole
from gpushare_policies.rule import ResourcePolicy, number, security_hub
from gpushare_policies.tokens import LOG_GROUP
from gpushare_policies.words import Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

MINIMUM_DAYS = number(
    "minimumDays", 90, "How long logs of the control plane are kept at least, in days.", minimum=1
)
_RAW = "Set `retentionInDays`."
_FIX = Fix("Set `cluster.logRetentionDays` in the stack file.", _RAW, _RAW)


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
        f"time of at least {least} days. {_FIX.of(args.urn)}"
    )


CONTROL_PLANE_LOGS_KEPT = ResourcePolicy(
    "control-plane-logs-kept",
    "Logs of the control plane must be kept for a set time.",
    checks={LOG_GROUP: _kept},
    level=EnforcementLevel.ADVISORY,
    severity=Severity.LOW,
    framework=security_hub("CloudWatch.16", "Log groups are retained for a specified time."),
    fix=_FIX,
    settings=(MINIMUM_DAYS,),
)
