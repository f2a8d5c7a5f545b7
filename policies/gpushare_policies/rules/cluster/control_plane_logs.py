"""The rule on what the control plane logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from eks_gpushare.inventory.control_plane import LOG_TYPES, not_logged
from gpushare_policies.props import each, format_value, read
from gpushare_policies.rule import ResourcePolicy, cis
from gpushare_policies.shapes import on_clusters
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
