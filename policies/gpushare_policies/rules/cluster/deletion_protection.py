"""The rule on deleting clusters of production by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_policy import ResourceValidationArgs, Severity

from gpushare_policies.props import format_value, is_true, read, stack_of
from gpushare_policies.rule import ResourcePolicy, is_among, stacks
from gpushare_policies.shapes import on_clusters
from gpushare_policies.words import Fix, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTECTED_STACKS = stacks(
    "Stacks whose cluster must be protected, as patterns of stack names (`*` matches anything)."
)


_SET_PROTECTION = "Set `deletionProtection: true`."
_PROTECTION = Fix(
    "Set `cluster.deletionProtection: true` in the stack file.", _SET_PROTECTION, _SET_PROTECTION
)


def _protected(args: ResourceValidationArgs) -> Iterator[str]:
    if not is_among(PROTECTED_STACKS.of(args), args.urn):
        return
    protection = read(args.props, "deletionProtection")
    if not is_true(protection):
        yield (
            f"Deletion protection of {name_of(args.urn)} is {format_value(protection)}. In the "
            f"stack {stack_of(args.urn)} it must be on, so that nobody deletes the cluster by "
            f"mistake. {_PROTECTION.of(args.urn)}"
        )


DELETION_PROTECTION = ResourcePolicy(
    "deletion-protection",
    "Clusters of production stacks must be protected from deletion.",
    checks=on_clusters(_protected),
    severity=Severity.HIGH,
    also=("prowler/eks_cluster_deletion_protection_enabled",),
    fix=_PROTECTION,
    settings=(PROTECTED_STACKS,),
)
